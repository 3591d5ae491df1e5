// SPDX-License-Identifier: ISC
#include "smtp/server/trace.h"
#include <string.h>

static bool is_ipv6(const struct smtp_peer *peer)
{
	return strchr(peer->address, ':') != NULL;
}

/* "[192.0.2.7]", RFC 5321 section 4.1.3 */
static void append_literal(struct buffer *out, const struct smtp_peer *peer)
{
	buffer_append_format(out, "[%s%s]", is_ipv6(peer) ? "IPv6:" : "", peer->address);
}

/* "from HELO (NAME [ADDRESS])"; a client that gave no name is called by its address. */
static void append_from(struct buffer *out, const struct smtp_trace *trace)
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
		buffer_append_format(out, "%s ", peer->name);
	append_literal(out, peer);
	buffer_append_byte(out, ')');
}

/* In a comment of a header field, and a word in a record. */
static void append_user(struct buffer *out, const char *user)
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
	append_from(out, trace);
	if (trace->tls->version != NULL)
		buffer_append_format(out, "\r\n\t(using %s with cipher %s)", trace->tls->version,
				     trace->tls->cipher);
	if (trace->user != NULL && trace->shows_user) {
		buffer_append_string(out, "\r\n\t(authenticated as ");
		append_user(out, trace->user);
		buffer_append_byte(out, ')');
	}
	buffer_append_format(out, "\r\n\tby %s with %s id %s", trace->hostname, trace->with, id);
	if (envelope->recipient_count == 1)
		buffer_append_format(out, "\r\n\tfor <" STR_FORMAT ">",
				     STR_ARGUMENTS(envelope->recipients[0].address));
	buffer_append_format(out, ";\r\n\t%s\r\n", date);
}

struct str smtp_trace_origin(const struct smtp_trace *trace, struct arena *arena)
{
	const struct smtp_peer *peer = trace->peer;
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "%s ", trace->door);
	if (peer->address[0] == '\0')
		buffer_append_string(&text, "local");
	else
		buffer_append_format(&text, is_ipv6(peer) ? "[%s]:%u" : "%s:%u", peer->address,
				     (unsigned)peer->port);
	if (peer->name[0] != '\0')
		buffer_append_format(&text, " name=%s", peer->name);
	if (trace->helo != NULL)
		buffer_append_format(&text, " helo=%s", trace->helo);
	if (trace->tls->version != NULL)
		buffer_append_format(&text, " tls=%s", trace->tls->version);
	if (trace->user != NULL) {
		buffer_append_string(&text, " user=");
		append_user(&text, trace->user);
	}
	return arena_copy_str(arena, buffer_view(&text));
}
