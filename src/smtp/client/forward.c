// SPDX-License-Identifier: ISC
/* XFORWARD (Postfix): the server is told which client the message came from. */
#include "mail/host.h"
#include "mail/text/xtext.h"
#include "smtp/client/internal.h"

enum {
	FORWARD_LINE_MAX_SIZE =
		510,     /* bytes of a command without its CRLF (RFC 5321 section 4.5.3.1.4) */
	VALUE_MAX = 255, /* of a value; with one of them the others fit in any case */
};

bool client_forwards(const struct smtp_client *client)
{
	return client->message.origin != NULL && client->capabilities.xforward != 0;
}

/* Names that their owners have chosen may resolve and be no host names (dns/name.h). Postfix
 * refuses such a one together with the address, and would take the client for us. */
static struct str host_name_of_origin(const struct smtp_client_origin *origin)
{
	return mail_host_is_name(origin->name) ? origin->name : STR("");
}

static struct str value_of_xforward(const struct smtp_client_origin *origin,
				    enum smtp_xforward attribute)
{
	switch (attribute) {
	case SMTP_XFORWARD_NAME:
		return host_name_of_origin(origin);
	case SMTP_XFORWARD_ADDR:
		return origin->address;
	case SMTP_XFORWARD_PORT:
		return origin->port;
	case SMTP_XFORWARD_PROTO:
		return origin->protocol;
	case SMTP_XFORWARD_HELO:
		return origin->helo;
	case SMTP_XFORWARD_IDENT:
		return origin->ident;
	case SMTP_XFORWARD_SOURCE:
		return origin->is_local ? STR("LOCAL") : STR("REMOTE");
	case SMTP_XFORWARD_COUNT:
		break;
	}
	return STR("");
}

/* What the server knew of another client must not stay: each attribute is told, or is unknown, also
 * when it is too long. */
static void append_attribute(struct buffer *line, const struct smtp_client_origin *origin,
			     unsigned index)
{
	struct str value = value_of_xforward(origin, (enum smtp_xforward)(1u << index));
	size_t before;

	buffer_append_format(line, " %s=", smtp_xforward_names[index]);
	before = line->length;
	if (value.length > 0 && index == 1 && str_find(value, ':') >= 0)
		buffer_append_string(line, "IPV6:");
	mail_xtext_append(line, value);
	if (line->length > before && line->length - before <= VALUE_MAX &&
	    line->length <= FORWARD_LINE_MAX_SIZE)
		return;
	buffer_truncate(line, before);
	buffer_append_string(line, "[UNAVAILABLE]");
}

void client_emit_forward(struct smtp_client *client)
{
	/* the longest last */
	static const unsigned order[] = {1, 2, 3, 6, 5, 0, 4};
	struct buffer line CLEANUP(buffer_clear) = {0};

	buffer_append_string(&line, "XFORWARD");
	for (size_t i = 0; i < COUNT_OF(order); i++)
		if ((client->capabilities.xforward & 1u << order[i]) != 0)
			append_attribute(&line, client->message.origin, order[i]);
	buffer_append_string(&line, "\r\n");
	buffer_append_byte(&line, '\0');
	client_emit(client, buffer_data(&line));
}
