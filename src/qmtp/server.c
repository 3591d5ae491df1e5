// SPDX-License-Identifier: ISC
#include "qmtp/server.h"
#include "base/panic.h"
#include "qmtp/internal.h"
#include <stdlib.h>

static enum qmtp_state first_state(const struct qmtp_server *s)
{
	return qmtp_is_qmqp(s) ? QMTP_STATE_WHOLE_LENGTH : QMTP_STATE_MESSAGE_LENGTH;
}

struct qmtp_server *qmtp_server_new(const struct smtp_service *service, struct smtp_peer peer)
{
	struct qmtp_server *s = memory_alloc_zero(1, sizeof *s);

	s->service = service;
	s->peer = peer;
	return s;
}

void qmtp_server_free(struct qmtp_server *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < QMTP_SERVER_SLOTS; i++)
		qmtp_package_free(s->packages[i]);
	buffer_clear(&s->address);
	buffer_clear(&s->completed);
	buffer_clear(&s->output);
	free(s);
}

void qmtp_server_set_peer_name(struct qmtp_server *s, const char *name)
{
	s->peer.name = name;
}

void qmtp_server_set_peer_ours(struct qmtp_server *s)
{
	s->peer.is_ours = true;
}

void qmtp_server_set_tls(struct qmtp_server *s, const struct smtp_tls *tls)
{
	if (s->state != QMTP_STATE_NEW)
		panic("TLS begins amid a session of the QMTP server");
	s->tls = *tls;
}

void qmtp_server_start(struct qmtp_server *s)
{
	s->state = first_state(s);
}

bool qmtp_server_is_closed(const struct qmtp_server *s)
{
	return s->state == QMTP_STATE_CLOSED && s->count == 0;
}

struct buffer *qmtp_server_output(struct qmtp_server *s)
{
	return &s->output;
}

uint32_t qmtp_server_timeout_seconds(const struct qmtp_server *s)
{
	if (!qmtp_server_is_ready(s))
		return 0; /* it must take its answers first */
	if (qmtp_server_is_receiving(s))
		return s->service->limits.data_timeout;
	return s->count > 0 ? 0 : s->service->limits.command_timeout;
}

/* There is no answer for that, but a line in the log. */
static void end_for(struct qmtp_server *s, unsigned code, const char *status, const char *text)
{
	const struct smtp_refusal refusal = {.code = code, .status = status, .text = text};

	if (s->state == QMTP_STATE_CLOSED)
		return;
	if (s->service->on_refusal != NULL)
		s->service->on_refusal(s->peer.context, &refusal);
	qmtp_server_end(s);
}

static void end_wrong(struct qmtp_server *s)
{
	end_for(s, 554, "5.5.2", "What the client sent is no package");
}

void qmtp_server_timeout(struct qmtp_server *s)
{
	if (!s->is_asking)
		end_for(s, 421, "4.4.2", "Timeout, closing the connection");
}

void qmtp_server_shutdown(struct qmtp_server *s)
{
	s->is_stopping = true;
	if (!s->is_asking)
		end_for(s, 421, "4.3.2", "Service is stopping, try again later");
}

void qmtp_server_refuse_session(struct qmtp_server *s, const char *text)
{
	if (s->is_asking)
		panic("a client of the QMTP server is turned away amid its question");
	end_for(s, 421, "4.3.2", text);
}

/* --- what comes in --- */

/* Whether the bytes count for LIST_LEFT. */
static bool is_byte_of_list(const struct qmtp_server *s)
{
	if (qmtp_is_qmqp(s))
		return s->state != QMTP_STATE_WHOLE_LENGTH && s->state != QMTP_STATE_PACKAGE_END;
	return s->state == QMTP_STATE_RECIPIENT_LENGTH || s->state == QMTP_STATE_RECIPIENT ||
	       s->state == QMTP_STATE_RECIPIENT_END;
}

/* False: the list ends before it. */
static bool spend_list_bytes(struct qmtp_server *s, size_t count)
{
	if (!is_byte_of_list(s))
		return true;
	if (count > s->list_left)
		return false;
	s->list_left -= count;
	return true;
}

static void ask_open(struct qmtp_server *s)
{
	s->question = (struct qmtp_question){
		.type = SMTP_QUESTION_OPEN,
		.slot = qmtp_package_slot(s),
		.envelope = qmtp_package_current(s)->envelope,
	};
	s->is_asking = true;
}

/* What is too long by its own account needs no file. */
static void begin_text(struct qmtp_server *s, enum smtp_text_form form)
{
	static const struct mail_verdict large = {MAIL_FAIL, "5.3.4",
						  "Message is over the size limit"};
	struct qmtp_package *p = qmtp_package_current(s);
	uint64_t bound = s->service->limits.message_size;

	p->text.rules.form = form;
	if (bound > 0 && s->left > bound)
		qmtp_package_refuse(p, &large);
	else
		ask_open(s);
	s->state = QMTP_STATE_TEXT;
}

static void begin_address(struct qmtp_server *s, enum qmtp_state state)
{
	buffer_reset(&s->address);
	s->is_cut = false;
	s->state = state;
	if (s->left > QMTP_SERVER_SKIPPED_MAX)
		end_wrong(s);
}

/* A length is complete: what it belongs to begins. */
static void on_length(struct qmtp_server *s)
{
	switch (s->state) {
	case QMTP_STATE_WHOLE_LENGTH:
		s->list_left = s->left;
		s->state = QMTP_STATE_MESSAGE_LENGTH;
		break;
	case QMTP_STATE_MESSAGE_LENGTH:
		if (qmtp_is_qmqp(s))
			begin_text(s, SMTP_TEXT_FEEDS);
		else
			s->state = QMTP_STATE_CODING;
		break;
	case QMTP_STATE_SENDER_LENGTH:
		begin_address(s, QMTP_STATE_SENDER);
		break;
	case QMTP_STATE_LIST_LENGTH:
		s->list_left = s->left;
		s->state = QMTP_STATE_RECIPIENT_LENGTH;
		break;
	default:
		begin_address(s, QMTP_STATE_RECIPIENT);
		break;
	}
}

static void take_length_byte(struct qmtp_server *s, char byte)
{
	if (s->state == first_state(s) && !qmtp_server_is_receiving(s))
		qmtp_package_begin(s);
	if (!spend_list_bytes(s, 1)) {
		end_wrong(s);
		return;
	}
	switch (qmtp_length_take(&s->length, byte)) {
	case QMTP_LENGTH_MORE:
		break;
	case QMTP_LENGTH_WRONG:
		end_wrong(s);
		break;
	case QMTP_LENGTH_DONE:
		s->left = s->length.value;
		s->length = (struct qmtp_length){0};
		if (is_byte_of_list(s) && s->left >= s->list_left)
			end_wrong(s); /* there must be room for its comma, too */
		else
			on_length(s);
		break;
	}
}

static void take_coding(struct qmtp_server *s, char byte)
{
	if (s->left == 0 || (byte != '\n' && byte != '\r')) {
		end_wrong(s);
		return;
	}
	s->left--;
	begin_text(s, byte == '\n' ? SMTP_TEXT_FEEDS : SMTP_TEXT_COUNTED);
}

/* Bytes of a message or an address. */
static size_t take_counted(struct qmtp_server *s, const char *data, size_t length)
{
	size_t piece = smtp_text_piece(&qmtp_package_current(s)->text);

	if (length > piece)
		length = piece;
	if (length > s->left)
		length = (size_t)s->left;
	(void)spend_list_bytes(s, length); /* on_length() has seen to that */
	s->left -= length;
	if (s->state == QMTP_STATE_TEXT)
		qmtp_package_text(qmtp_package_current(s), data, length);
	else {
		size_t room = QMTP_SERVER_ADDRESS_MAX - s->address.length;

		s->is_cut |= length > room;
		buffer_append(&s->address, data, length < room ? length : room);
	}
	return length;
}

static void on_comma(struct qmtp_server *s)
{
	switch (s->state) {
	case QMTP_STATE_TEXT_END:
		s->state = QMTP_STATE_SENDER_LENGTH;
		break;
	case QMTP_STATE_SENDER_END:
		qmtp_envelope_sender(s, s->is_cut);
		s->state = qmtp_is_qmqp(s) ? QMTP_STATE_RECIPIENT_LENGTH : QMTP_STATE_LIST_LENGTH;
		break;
	case QMTP_STATE_RECIPIENT_END:
		s->state = QMTP_STATE_RECIPIENT_LENGTH;
		qmtp_envelope_recipient(s, s->is_cut);
		break;
	default:
		s->state = qmtp_is_qmqp(s) ? QMTP_STATE_CLOSED : first_state(s);
		qmtp_package_end(s);
		break;
	}
}

static void take_comma(struct qmtp_server *s, char byte)
{
	if (byte == ',' && spend_list_bytes(s, 1))
		on_comma(s);
	else
		end_wrong(s);
}

/* What has no bytes, or all of them, is complete. */
static void settle_qmtp_state(struct qmtp_server *s)
{
	if (s->state == QMTP_STATE_TEXT && s->left == 0) {
		if (!s->is_asking) {
			qmtp_package_text_end(qmtp_package_current(s));
			s->state = QMTP_STATE_TEXT_END;
		}
	} else if (s->state == QMTP_STATE_SENDER && s->left == 0) {
		s->state = QMTP_STATE_SENDER_END;
	} else if (s->state == QMTP_STATE_RECIPIENT && s->left == 0) {
		s->state = QMTP_STATE_RECIPIENT_END;
	} else if (s->state == QMTP_STATE_RECIPIENT_LENGTH && s->list_left == 0 && !s->is_asking) {
		s->state = QMTP_STATE_PACKAGE_END;
	}
}

static size_t take_qmtp_bytes(struct qmtp_server *s, const char *data, size_t length)
{
	switch (s->state) {
	case QMTP_STATE_WHOLE_LENGTH:
	case QMTP_STATE_MESSAGE_LENGTH:
	case QMTP_STATE_SENDER_LENGTH:
	case QMTP_STATE_LIST_LENGTH:
	case QMTP_STATE_RECIPIENT_LENGTH:
		take_length_byte(s, *data);
		return 1;
	case QMTP_STATE_CODING:
		take_coding(s, *data);
		return 1;
	case QMTP_STATE_TEXT:
	case QMTP_STATE_SENDER:
	case QMTP_STATE_RECIPIENT:
		return take_counted(s, data, length);
	case QMTP_STATE_TEXT_END:
	case QMTP_STATE_SENDER_END:
	case QMTP_STATE_RECIPIENT_END:
	case QMTP_STATE_PACKAGE_END:
		take_comma(s, *data);
		return 1;
	case QMTP_STATE_NEW:
	case QMTP_STATE_CLOSED:
		break;
	}
	return length;
}

size_t qmtp_server_input(struct qmtp_server *s, const char *data, size_t length)
{
	size_t consumed = 0;

	while (consumed < length && qmtp_server_is_ready(s)) {
		consumed += take_qmtp_bytes(s, data + consumed, length - consumed);
		settle_qmtp_state(s);
	}
	return consumed;
}

bool qmtp_server_is_ready(const struct qmtp_server *s)
{
	if (s->is_asking || s->state == QMTP_STATE_NEW || s->state == QMTP_STATE_CLOSED ||
	    s->output.length >= SMTP_SERVER_OUTPUT_MAX)
		return false;
	if (qmtp_server_is_receiving(s))
		return qmtp_package_current(s)->body.length < SMTP_SERVER_BODY_MAX;
	return s->count < QMTP_SERVER_SLOTS && s->flight_bytes < QMTP_SERVER_FLIGHT_MAX;
}

/* --- questions --- */

const struct qmtp_question *qmtp_server_question(const struct qmtp_server *s)
{
	return s->is_asking ? &s->question : NULL;
}

static void go_on_with_package(struct qmtp_server *s)
{
	if (s->is_stopping)
		qmtp_server_end(s);
	else
		settle_qmtp_state(s);
}

void qmtp_server_answer(struct qmtp_server *s, const struct mail_verdict *verdict)
{
	if (!s->is_asking || (s->question.type == SMTP_QUESTION_OPEN && verdict->class == MAIL_OK))
		panic("an answer to no question of the QMTP server");
	s->is_asking = false;
	if (s->question.type == SMTP_QUESTION_OPEN)
		qmtp_package_refuse(qmtp_package_current(s), verdict);
	else
		qmtp_envelope_answer(s, verdict);
	go_on_with_package(s);
}

void qmtp_server_answer_open(struct qmtp_server *s, struct mail_id id)
{
	if (!s->is_asking || s->question.type != SMTP_QUESTION_OPEN)
		panic("an answer to no question of the QMTP server");
	s->is_asking = false;
	qmtp_package_open(s, id);
	go_on_with_package(s);
}
