// SPDX-License-Identifier: ISC
/* Replies as text, and the count of errors that ends a session. */
#include "base/text/base64.h"
#include "smtp/server/internal.h"
#include <stdio.h>
#include <string.h>

/* Verdicts may contain UTF-8; a reply without SMTPUTF8 is ASCII. */
static void append_ascii(struct buffer *output, const char *text)
{
	size_t length = strlen(text);
	char *place = buffer_reserve(output, length);

	for (size_t i = 0; i < length; i++)
		place[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	buffer_commit(output, length);
}

/* Passes the output from FROM on to the watch. */
static void tell_reply_to_watch(const struct smtp_server *s, size_t from)
{
	const struct smtp_watch *watch = &s->service->watch;

	if (smtp_watch_is_on(watch))
		smtp_watch_tell(watch, s->head.peer.context, SMTP_SAID_BY_SERVER,
				str_skip(buffer_view(&s->head.output), from));
}

static void append_reply(struct smtp_server *s, unsigned code, const char *status, const char *text)
{
	size_t before = s->head.output.length;

	buffer_append_number(&s->head.output, code);
	buffer_append_byte(&s->head.output, ' ');
	if (status != NULL) {
		buffer_append_string(&s->head.output, status);
		buffer_append_byte(&s->head.output, ' ');
	}
	append_ascii(&s->head.output, text);
	buffer_append(&s->head.output, "\r\n", 2);
	tell_reply_to_watch(s, before);
}

/* A client may be deferred as often as it likes, but must not fill the log with it. */
static bool is_news(struct smtp_server *s, unsigned code)
{
	return code >= 500 || s->state == SMTP_STATE_END ||
	       s->deferrals++ < s->service->limits.errors;
}

struct str smtp_command_shown(const struct smtp_server *s, char space[SMTP_SHOWN_SIZE])
{
	struct str line = buffer_view(&s->line);

	if (s->shown == SIZE_MAX)
		return line;
	snprintf(space, SMTP_SHOWN_SIZE, "%.*s%s(not shown)", (int)s->shown, line.data,
		 s->shown > 0 ? " " : "");
	return str_from(space);
}

static void report_reply_refusal(struct smtp_server *s, unsigned code, const char *status,
				 const char *text)
{
	const struct smtp_transaction *t = s->transaction;
	char shown[SMTP_SHOWN_SIZE];
	const struct smtp_refusal refusal = {
		.code = code,
		.status = status,
		.text = text,
		.command = smtp_command_shown(s, shown),
		.is_message = s->state == SMTP_STATE_END,
		.envelope = t != NULL ? t->envelope : NULL,
		.message_id = t != NULL ? smtp_text_message_id(&t->text) : STR(""),
		.field = t != NULL ? t->refused_field : STR(""),
		.address = t != NULL ? t->refused_address : STR(""),
		.limit = s->limit,
	};

	if (code >= 400 && s->service->on_refusal != NULL)
		s->service->on_refusal(s->head.peer.context, &refusal);
	s->limit = SMTP_LIMIT_NONE;
}

/* Whether a reply with CODE is one error too many; then the last reply is sent instead. */
static bool exceeds_errors(struct smtp_server *s, unsigned code)
{
	if (code < 500 || ++s->errors <= s->service->limits.errors)
		return false;
	s->limit = SMTP_LIMIT_ERRORS;
	smtp_reply_last(s, 421, "4.7.0", "Too many errors, closing the connection");
	return true;
}

enum smtp_step smtp_reply(struct smtp_server *s, unsigned code, const char *status,
			  const char *text)
{
	if (exceeds_errors(s, code))
		return SMTP_STEP_DONE;
	if (code >= 400 && is_news(s, code))
		report_reply_refusal(s, code, status, text);
	append_reply(s, code, status, text);
	return SMTP_STEP_DONE;
}

enum smtp_step smtp_reply_last(struct smtp_server *s, unsigned code, const char *status,
			       const char *text)
{
	if (s->state != SMTP_STATE_CLOSED) {
		report_reply_refusal(s, code, status, text);
		append_reply(s, code, status, text);
	}
	smtp_server_enter(s, SMTP_STATE_CLOSED);
	return SMTP_STEP_DONE;
}

/* For the statuses of RFC 3463: the first match. */
unsigned smtp_verdict_code(const struct mail_verdict *verdict)
{
	static const struct {
		struct str status;
		unsigned code;
	} codes[] = {
		{STR("2."), 250},    {STR("4.1."), 450},  {STR("4.2.2"), 452}, {STR("4.2."), 450},
		{STR("4.3.1"), 452}, {STR("4.5.3"), 452}, {STR("4.7."), 450},  {STR("4."), 451},
		{STR("5.2.2"), 552}, {STR("5.3.4"), 552}, {STR("5.4.6"), 554}, {STR("5."), 550},
	};

	for (size_t i = 0; i < COUNT_OF(codes); i++)
		if (str_starts_with(str_from(verdict->status), codes[i].status))
			return codes[i].code;
	return 451;
}

enum smtp_step smtp_reply_verdict(struct smtp_server *s, const struct mail_verdict *verdict)
{
	return smtp_reply(s, smtp_verdict_code(verdict), verdict->status, verdict->text);
}

enum smtp_step smtp_reply_message(struct smtp_server *s, const struct mail_verdict *verdict)
{
	bool is_lmtp = s->service->protocol == SMTP_PROTOCOL_LMTP;
	size_t accepted = s->transaction != NULL ? s->transaction->accepted : 0;
	size_t count = is_lmtp ? accepted : 1;

	if (exceeds_errors(s, smtp_verdict_code(verdict)))
		return SMTP_STEP_DONE;
	report_reply_refusal(s, smtp_verdict_code(verdict), verdict->status, verdict->text);
	for (size_t i = 0; i < count; i++)
		append_reply(s, smtp_verdict_code(verdict), verdict->status, verdict->text);
	return SMTP_STEP_DONE;
}

/* What a mechanism says is no secret, but nobody's business either. */
enum smtp_step smtp_reply_challenge(struct smtp_server *s, struct str message)
{
	const struct smtp_watch *watch = &s->service->watch;

	buffer_append_string(&s->head.output, "334 ");
	base64_append(&s->head.output, message);
	buffer_append(&s->head.output, "\r\n", 2);
	if (smtp_watch_is_on(watch))
		watch->line(s->head.peer.context, SMTP_SAID_BY_SERVER, STR("334 (not shown)"));
	return SMTP_STEP_DONE;
}

void smtp_reply_banner(struct smtp_server *s)
{
	bool is_lmtp = s->service->protocol == SMTP_PROTOCOL_LMTP;
	size_t before = s->head.output.length;

	buffer_append_format(&s->head.output, "220 %s %s Stagepost\r\n", s->service->hostname,
			     is_lmtp ? "LMTP" : "ESMTP");
	tell_reply_to_watch(s, before);
}

bool smtp_offers_requiretls(const struct smtp_server *s)
{
	return s->tls.version != NULL && s->service->protocol != SMTP_PROTOCOL_LMTP;
}

/* Strangers would all be in a hurry. A user authenticates after he has seen what is offered. */
/* Or may turn out to be. */
static bool is_trusted(const struct smtp_server *s)
{
	bool may_authenticate = s->service->auth != SMTP_AUTH_NONE &&
				s->service->protocol == SMTP_PROTOCOL_SUBMISSION;

	return smtp_peer_is_trusted(s) || may_authenticate;
}

bool smtp_offers_priority(const struct smtp_server *s)
{
	return s->service->protocol != SMTP_PROTOCOL_LMTP && is_trusted(s);
}

bool smtp_offers_future_release(const struct smtp_server *s)
{
	return s->service->protocol == SMTP_PROTOCOL_SUBMISSION && s->service->release_max_us > 0;
}

bool smtp_offers_deliver_by(const struct smtp_server *s)
{
	/* strangers could have anything returned to whom they name as the sender */
	return s->service->deliver_by_min > 0 &&
	       (s->service->protocol == SMTP_PROTOCOL_LMTP || is_trusted(s));
}

struct str smtp_offers_mechanisms(const struct smtp_server *s)
{
	if (s->service->auth == SMTP_AUTH_NONE || s->service->mechanisms == NULL)
		return STR("");
	return s->service->mechanisms(s->head.peer.context);
}

static void append_mechanisms(struct smtp_server *s)
{
	struct str mechanisms = smtp_offers_mechanisms(s);

	if (mechanisms.length > 0)
		buffer_append_format(&s->head.output, "250-AUTH " STR_FORMAT "\r\n",
				     STR_ARGUMENTS(mechanisms));
}

/* Only those who may use them see them. */
static void append_for_some(struct smtp_server *s)
{
	if (s->service->has_etrn && s->head.peer.may_etrn)
		buffer_append_string(&s->head.output, "250-ETRN\r\n");
	if (s->head.peer.may_xclient)
		buffer_append_string(
			&s->head.output,
			"250-XCLIENT NAME ADDR PORT PROTO HELO LOGIN DESTADDR DESTPORT\r\n");
	if (s->head.peer.may_xforward)
		buffer_append_string(&s->head.output,
				     "250-XFORWARD NAME ADDR PORT PROTO HELO IDENT SOURCE\r\n");
}

/* The longest interval in seconds, and the latest time (RFC 4865 section 3). */
static void append_future_release(struct smtp_server *s)
{
	int64_t max_us = s->service->release_max_us;
	char latest[TIMESTAMP_SIZE];

	if (!smtp_offers_future_release(s))
		return;
	timestamp_format_seconds(s->service->now_us() + max_us, latest);
	buffer_append_format(&s->head.output, "250-FUTURERELEASE %lld %s\r\n",
			     (long long)(max_us / SECOND_US), latest);
}

/* The shortest time in seconds (RFC 2852 section 2). */
static void append_deliver_by(struct smtp_server *s)
{
	if (!smtp_offers_deliver_by(s))
		return;
	buffer_append_string(&s->head.output, "250-DELIVERBY ");
	buffer_append_number(&s->head.output, (uint64_t)s->service->deliver_by_min);
	buffer_append(&s->head.output, "\r\n", 2);
}

static void append_greeting(struct smtp_server *s)
{
	static const char requiretls[] = "250-REQUIRETLS\r\n";
	static const char starttls[] = "250-STARTTLS\r\n";
	static const char extensions[] = "250-PIPELINING\r\n"
					 "250-8BITMIME\r\n"
					 "250-ENHANCEDSTATUSCODES\r\n"
					 "250-CHUNKING\r\n"
					 "250-SMTPUTF8\r\n"
					 "250-DSN\r\n"
					 "250-LIMITS RCPTMAX=";
	static const char size[] = "\r\n250 SIZE ";

	buffer_append_string(&s->head.output, s->is_extended ? "250-" : "250 ");
	buffer_append_string(&s->head.output, s->service->hostname);
	buffer_append(&s->head.output, "\r\n", 2);
	if (!s->is_extended)
		return;
	if (s->service->tls != SMTP_TLS_NONE && s->tls.version == NULL && s->head.peer.may_tls)
		buffer_append(&s->head.output, starttls, sizeof starttls - 1);
	append_mechanisms(s);
	append_for_some(s);
	if (smtp_offers_requiretls(s))
		buffer_append(&s->head.output, requiretls, sizeof requiretls - 1);
	if (s->service->offers_binary)
		buffer_append_string(&s->head.output, "250-BINARYMIME\r\n");
	append_future_release(s);
	append_deliver_by(s);
	if (smtp_offers_priority(s))
		buffer_append_string(&s->head.output, "250-MT-PRIORITY MIXER\r\n");
	buffer_append(&s->head.output, extensions, sizeof extensions - 1);
	buffer_append_number(&s->head.output, s->service->limits.recipients); /* RFC 9422 */
	buffer_append(&s->head.output, size, sizeof size - 1);
	buffer_append_number(&s->head.output, s->service->limits.message_size);
	buffer_append(&s->head.output, "\r\n", 2);
}

enum smtp_step smtp_reply_greeting(struct smtp_server *s)
{
	size_t before = s->head.output.length;

	append_greeting(s);
	tell_reply_to_watch(s, before);
	return SMTP_STEP_DONE;
}

enum smtp_step smtp_reply_no_tls(struct smtp_server *s)
{
	if (!s->head.peer.may_tls)
		return smtp_reply(s, 454, "4.7.0", "TLS is required, and not available now");
	return smtp_reply(s, 530, "5.7.0", "TLS is required, send STARTTLS first");
}

enum smtp_step smtp_reply_misplaced(struct smtp_server *s, bool is_mail)
{
	bool is_lmtp = s->service->protocol == SMTP_PROTOCOL_LMTP;

	if (s->state == SMTP_STATE_CONNECTED)
		return smtp_reply(s, 503, "5.5.1", is_lmtp ? "Send LHLO first" : "Send EHLO first");
	if (s->state == SMTP_STATE_GREETED)
		return smtp_reply(s, 503, "5.5.1", "Send MAIL first");
	if (s->state == SMTP_STATE_FAILED)
		return smtp_reply(s, 503, "5.5.1", "The message was refused, send RSET first");
	if (is_mail)
		return smtp_reply(s, 503, "5.5.1", "The sender was given already");
	if (s->state == SMTP_STATE_BETWEEN)
		return smtp_reply(s, 503, "5.5.1", "BDAT must follow BDAT");
	/* RFC 2033 section 4.2 requires 503; RFC 5321 section 3.3 allows either. */
	return smtp_reply(s, is_lmtp ? 503 : 554, "5.5.1", "No valid recipients");
}
