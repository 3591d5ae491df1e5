// SPDX-License-Identifier: ISC
#include "smtp/server/trace.h"
#include <string.h>

static bool is_ipv6(const struct smtp_peer *peer)
{
	return strchr(peer->address, ':') != NULL;
}

static void append_two(struct buffer *out, const char *first, const char *second)
{
	buffer_append_string(out, first);
	buffer_append_string(out, second);
}

/* "[192.0.2.7]", RFC 5321 section 4.1.3 */
static void append_literal(struct buffer *out, const struct smtp_peer *peer)
{
	append_two(out, is_ipv6(peer) ? "[IPv6:" : "[", peer->address);
	buffer_append_byte(out, ']');
}

/* "from HELO (NAME [ADDRESS])"; a client that gave no name is called by its address. */
static void append_trace_from(struct buffer *out, const struct smtp_trace *trace)
{
	const struct smtp_peer *peer = trace->peer;

	buffer_append_string(out, "from ");
	if (trace->helo != NULL)
		buffer_append_string(out, trace->helo);
	else if (peer->address[0] == '\0')
		buffer_append_string(out, trace->hostname);
	else
		append_literal(out, peer);
	if (peer->address[0] == '\0')
		return;
	buffer_append_string(out, " (");
	if (peer->name[0] != '\0')
		append_two(out, peer->name, " ");
	append_literal(out, peer);
	buffer_append_byte(out, ')');
}

/* In a comment of a header field, and a word in a record. */
static void append_trace_user(struct buffer *out, const char *user)
{
	for (; *user != '\0'; user++) {
		bool is_safe = *user > ' ' && *user <= '~' && strchr("()\\", *user) == NULL;

		buffer_append_byte(out, is_safe ? *user : '?');
	}
}

void smtp_trace_append(struct buffer *out, const struct smtp_trace *trace,
		       const struct mail_envelope *envelope)
{
	char date[TIMESTAMP_HEADER_SIZE];
	char id[MAIL_ID_SIZE];

	mail_id_format(envelope->id, id);
	timestamp_format_header(envelope->id.born_us, date);
	buffer_append_string(out, "Received: ");
	if (!trace->hides_client)
		append_trace_from(out, trace);
	if (trace->tls->version != NULL) {
		append_two(out, trace->hides_client ? "(using " : "\r\n\t(using ",
			   trace->tls->version);
		append_two(out, " with cipher ", trace->tls->cipher);
		buffer_append_byte(out, ')');
	}
	if (trace->user != NULL && trace->shows_user) {
		buffer_append_string(out, "\r\n\t(authenticated as ");
		append_trace_user(out, trace->user);
		buffer_append_byte(out, ')');
	}
	append_two(out, "\r\n\tby ", trace->hostname);
	append_two(out, " with ", trace->with);
	append_two(out, " id ", id);
	/* a trace field must not make the message need SMTPUTF8 */
	if (envelope->recipient_count == 1 && str_is_ascii(envelope->recipients[0].address)) {
		buffer_append_string(out, "\r\n\tfor <");
		buffer_append_str(out, envelope->recipients[0].address);
		buffer_append_byte(out, '>');
	}
	append_two(out, ";\r\n\t", date);
	buffer_append_string(out, "\r\n");
}

/* "192.0.2.7:53112", "[2001:db8::7]:53112" */
static void append_trace_address(struct buffer *out, const struct smtp_peer *peer)
{
	if (peer->address[0] == '\0') {
		buffer_append_string(out, "local");
		return;
	}
	append_two(out, is_ipv6(peer) ? "[" : "", peer->address);
	buffer_append_string(out, is_ipv6(peer) ? "]:" : ":");
	buffer_append_number(out, peer->port);
}

struct str smtp_trace_origin(const struct smtp_trace *trace, struct arena *arena)
{
	const struct smtp_peer *peer = trace->peer;
	struct buffer text CLEANUP(buffer_clear) = {0};

	append_two(&text, trace->protocol, " ");
	append_trace_address(&text, peer);
	if (peer->name[0] != '\0')
		append_two(&text, " name=", peer->name);
	if (trace->helo != NULL)
		append_two(&text, " helo=", trace->helo);
	if (trace->tls->version != NULL)
		append_two(&text, " tls=", trace->tls->version);
	if (trace->user != NULL) {
		buffer_append_string(&text, " user=");
		append_trace_user(&text, trace->user);
	}
	return arena_copy_str(arena, buffer_view(&text));
}
