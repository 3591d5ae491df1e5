// SPDX-License-Identifier: ISC
/* Answers as netstrings. */
#include "qmtp/internal.h"
#include <string.h>

static const char letters[] = {[MAIL_OK] = 'K', [MAIL_WAIT] = 'Z', [MAIL_FAIL] = 'D'};

/* "DThere is no such mailbox (#5.1.1)"; a status of success says nothing. */
static void append_answer_text(struct buffer *out, const struct mail_verdict *verdict)
{
	buffer_append_byte(out, letters[verdict->class]);
	buffer_append_string(out, verdict->text);
	if (verdict->class != MAIL_OK)
		buffer_append_format(out, " (#%s)", verdict->status);
	for (size_t i = 0; i < out->length; i++) /* verdicts may have UTF-8 */
		if (buffer_data(out)[i] < ' ' || buffer_data(out)[i] > '~')
			buffer_data(out)[i] = '?';
}

static void append_answer(struct buffer *out, const struct mail_verdict *verdict)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	append_answer_text(&text, verdict);
	qmtp_netstring_append(out, buffer_view(&text));
}

static void report_recipient_refusal(const struct qmtp_server *s,
				     const struct mail_verdict *verdict)
{
	const struct smtp_refusal refusal = {
		.code = smtp_verdict_code(verdict),
		.status = verdict->status,
		.text = verdict->text,
		.command = buffer_view(&s->address),
		.envelope = qmtp_package_current(s)->envelope,
	};

	if (s->service->on_refusal != NULL)
		s->service->on_refusal(s->peer.context, &refusal);
}

void qmtp_answer_recipient(struct qmtp_server *s, const struct mail_verdict *verdict)
{
	struct qmtp_package *p = qmtp_package_current(s);
	size_t before = p->answers.length;
	uint16_t length;

	if (verdict->class == MAIL_FAIL)
		s->errors++;
	report_recipient_refusal(s, verdict);
	if (qmtp_is_qmqp(s)) { /* all or nothing */
		qmtp_package_refuse(p, verdict);
		return;
	}
	append_answer(&p->answers, verdict);
	length = (uint16_t)(p->answers.length - before);
	buffer_append(&p->lengths, &length, sizeof length);
}

static void give_qmtp_answer(struct qmtp_server *s, struct str answer)
{
	const struct smtp_watch *watch = &s->service->watch;

	if (smtp_watch_is_on(watch))
		watch->line(s->peer.context, SMTP_SAID_BY_SERVER, answer);
	buffer_append_str(&s->output, answer);
}

void qmtp_answer_package(struct qmtp_server *s, struct qmtp_package *p)
{
	struct buffer message CLEANUP(buffer_clear) = {0};
	struct str lengths = buffer_view(&p->lengths);
	struct str answers = buffer_view(&p->answers);
	uint16_t length;

	append_answer(&message, &p->verdict);
	if (qmtp_is_qmqp(s))
		give_qmtp_answer(s, buffer_view(&message));
	for (; !qmtp_is_qmqp(s) && lengths.length > 0; lengths = str_skip(lengths, sizeof length)) {
		memcpy(&length, lengths.data, sizeof length);
		if (length == 0)
			give_qmtp_answer(s, buffer_view(&message));
		else
			give_qmtp_answer(s, str_slice(answers.data, length));
		answers = str_skip(answers, length);
	}
}
