// SPDX-License-Identifier: ISC
/* A message from its beginning to its end: the Received field, and reasons to refuse it. */
#include "smtp/internal.h"
#include <string.h>

enum {
	TRACE_SIZE = 512,   /* usually enough for our own header fields */
	TYPICAL_SIZE = 8192 /* of a message without SIZE */
};

static bool is_ipv6(const struct smtp_peer *peer)
{
	return strchr(peer->address, ':') != NULL;
}

/* "from HELO (NAME [ADDRESS])", RFC 5321 section 4.4 */
static void append_from(struct buffer *out, const struct smtp_server *s)
{
	const struct smtp_peer *peer = &s->peer;

	buffer_append_format(out, "from %s", s->helo);
	if (peer->address[0] == '\0')
		return;
	buffer_append_string(out, " (");
	if (peer->name[0] != '\0')
		buffer_append_format(out, "%s ", peer->name);
	buffer_append_format(out, "[%s%s])", is_ipv6(peer) ? "IPv6:" : "", peer->address);
}

/* RFC 3848, RFC 6531 section 4.3. There is no word for SMTP without EHLO in TLS. */
static const char *with_protocol(const struct smtp_server *s)
{
	static const char *const names[][4] = {
		{"SMTP", "SMTP", "SMTP", "SMTP"},
		{"ESMTP", "ESMTPS", "ESMTPA", "ESMTPSA"},
		{"UTF8SMTP", "UTF8SMTPS", "UTF8SMTPA", "UTF8SMTPSA"},
		{"UTF8LMTP", "UTF8LMTPS", "UTF8LMTPA", "UTF8LMTPSA"},
		{"LMTP", "LMTPS", "LMTPA", "LMTPSA"},
	};
	bool is_utf8 = s->transaction->envelope->utf8;
	size_t row = s->is_extended ? 1 : 0;

	if (s->service->protocol == SMTP_PROTOCOL_LMTP)
		row = is_utf8 ? 3 : 4;
	else if (is_utf8)
		row = 2;
	return names[row][(s->tls.version != NULL) + 2 * (s->user != NULL)];
}

/* In a comment of a header field, and a word in a record. */
static void append_user(struct buffer *out, const char *user)
{
	for (; *user != '\0'; user++) {
		bool is_safe = *user > ' ' && *user <= '~' && strchr("()\\", *user) == NULL;

		buffer_append_byte(out, is_safe ? *user : '?');
	}
}

/* With several recipients none is named, so that blind copies stay blind. */
static void append_trace(struct buffer *out, const struct smtp_server *s)
{
	const struct mail_envelope *envelope = s->transaction->envelope;
	char date[TIMESTAMP_HEADER_SIZE];
	char id[MAIL_ID_SIZE];

	mail_id_format(envelope->id, id);
	timestamp_format_header(envelope->id.born_us, date);
	buffer_append_string(out, "Received: ");
	append_from(out, s);
	if (s->tls.version != NULL)
		buffer_append_format(out, "\r\n\t(using %s with cipher %s)", s->tls.version,
				     s->tls.cipher);
	if (s->user != NULL && s->service->shows_user) {
		buffer_append_string(out, "\r\n\t(authenticated as ");
		append_user(out, s->user);
		buffer_append_byte(out, ')');
	}
	buffer_append_format(out, "\r\n\tby %s with %s id %s", s->service->hostname,
			     with_protocol(s), id);
	if (envelope->recipient_count == 1)
		buffer_append_format(out, "\r\n\tfor <" STR_FORMAT ">",
				     STR_ARGUMENTS(envelope->recipients[0].address));
	buffer_append_format(out, ";\r\n\t%s\r\n", date);
}

/* "smtp 192.0.2.7:53112 helo=mail.example.com" */
static struct str received_record(const struct smtp_server *s)
{
	const struct smtp_peer *peer = &s->peer;
	struct buffer text = {0};
	struct str copy;

	buffer_append_string(&text, s->service->protocol == SMTP_PROTOCOL_LMTP ? "lmtp " : "smtp ");
	if (peer->address[0] == '\0')
		buffer_append_string(&text, "local");
	else
		buffer_append_format(&text, is_ipv6(peer) ? "[%s]:%u" : "%s:%u", peer->address,
				     (unsigned)peer->port);
	buffer_append_format(&text, " helo=%s", s->helo);
	if (s->tls.version != NULL)
		buffer_append_format(&text, " tls=%s", s->tls.version);
	if (s->user != NULL) {
		buffer_append_string(&text, " user=");
		append_user(&text, s->user);
	}
	copy = arena_copy_str(s->transaction->envelope->arena, buffer_view(&text));
	buffer_clear(&text);
	return copy;
}

void smtp_message_begin(struct smtp_server *s)
{
	struct smtp_transaction *t = s->transaction;
	uint64_t expected = t->declared_size > 0 ? t->declared_size : TYPICAL_SIZE;

	if (expected > SMTP_SERVER_BODY_MAX)
		expected = SMTP_SERVER_BODY_MAX;
	(void)buffer_reserve(&s->body, TRACE_SIZE + (size_t)expected);
	t->envelope->id = s->opened_id;
	t->envelope->received = received_record(s);
	append_trace(&s->body, s);
	t->trace_size = s->body.length;
	s->message_is_open = true;
}

void smtp_message_discard(struct smtp_server *s)
{
	s->message_is_open = false;
	buffer_clear(&s->body);
}

void smtp_message_refuse(struct smtp_server *s, const struct mail_verdict *verdict)
{
	struct mail_verdict *kept = arena_alloc(s->transaction->envelope->arena, sizeof *kept);

	*kept = *verdict;
	s->transaction->refusal = kept;
	smtp_message_discard(s);
}

const struct mail_verdict *smtp_message_refusal(const struct smtp_server *s)
{
	static const struct mail_verdict large = {MAIL_FAIL, "5.3.4",
						  "Message is over the size limit"};
	static const struct mail_verdict loop = {MAIL_FAIL, "5.4.6",
						 "Too many hops, this message loops"};
	const struct smtp_server_limits *limits = &s->service->limits;
	const struct smtp_transaction *t = s->transaction;

	if (limits->message_size > 0 && t->size > limits->message_size)
		return &large;
	if (t->header.hops > limits->hops)
		return &loop;
	return t->refusal;
}

/* Checked at the end, when the whole message is known. */
static const struct mail_verdict *refusal_of(const struct smtp_server *s)
{
	static const struct mail_verdict bare = {MAIL_FAIL, "5.6.11",
						 "A CR or LF stands alone in the message"};

	static const struct mail_verdict nul = {MAIL_FAIL, "5.6.0", "A NUL is in the message"};
	const struct smtp_transaction *t = s->transaction;

	if (t->has_bare_line_end && !t->is_normalized)
		return &bare;
	return t->has_nul ? &nul : smtp_message_refusal(s);
}

enum smtp_step smtp_message_end(struct smtp_server *s)
{
	struct smtp_transaction *t = s->transaction;
	const struct mail_verdict *verdict = refusal_of(s);

	t->envelope->size = t->trace_size + t->size;
	if (verdict == NULL && !smtp_ask_commit(s, &verdict))
		return SMTP_STEP_WAIT;
	if (verdict->class == MAIL_OK)
		s->errors = s->deferrals = s->commands = 0;
	smtp_reply_message(s, verdict);
	smtp_server_enter(s, SMTP_STATE_GREETED);
	return SMTP_STEP_DONE;
}
