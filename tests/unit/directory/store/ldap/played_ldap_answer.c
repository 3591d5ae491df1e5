// SPDX-License-Identifier: ISC
/* What played LDAP servers answer, in BER. */
#include "played_ldap_internal.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- BER --- */

size_t played_ldap_begin_element(struct buffer *out, unsigned char tag)
{
	buffer_append(out, (const char[]){(char)tag, (char)0x84, 0, 0, 0, 0}, 6);
	return out->length;
}

void played_ldap_end_element(struct buffer *out, size_t at)
{
	uint32_t length = htonl((uint32_t)(out->length - at));

	memcpy(buffer_data(out) + at - sizeof length, &length, sizeof length);
}

void played_ldap_put_bytes(struct buffer *out, unsigned char tag, const void *data, size_t length)
{
	size_t at = played_ldap_begin_element(out, tag);

	buffer_append(out, data, length);
	played_ldap_end_element(out, at);
}

void played_ldap_put_text(struct buffer *out, unsigned char tag, const char *text)
{
	played_ldap_put_bytes(out, tag, text, strlen(text));
}

void played_ldap_put_number(struct buffer *out, unsigned char tag, int number)
{
	uint32_t bytes = htonl((uint32_t)number);

	played_ldap_put_bytes(out, tag, &bytes, sizeof bytes);
}

bool played_ldap_take_element(struct str *rest, unsigned char *tag_out, struct str *content_out)
{
	size_t length, head = 2;

	if (rest->length < 2)
		return false;
	*tag_out = (unsigned char)rest->data[0];
	length = (unsigned char)rest->data[1];
	if (length > 0x80) {
		size_t count = length & 0x7f;

		head += count;
		length = 0;
		for (size_t i = 2; i < head && head <= rest->length; i++)
			length = length << 8 | (unsigned char)rest->data[i];
	}
	if (rest->length < head || rest->length - head < length)
		return false;
	*content_out = str_slice(rest->data + head, length);
	*rest = str_skip(*rest, head + length);
	return true;
}

static struct str next_content(struct str *rest)
{
	unsigned char tag = 0;
	struct str content = {0};

	assert_true(played_ldap_take_element(rest, &tag, &content));
	return content;
}

static int next_number(struct str *rest)
{
	struct str content = next_content(rest);
	int number = 0;

	for (size_t i = 0; i < content.length; i++)
		number = number << 8 | (unsigned char)content.data[i];
	return number;
}

/* --- answers --- */

struct played_ldap_message played_ldap_begin_answer(struct buffer *out, int number,
						    unsigned char tag)
{
	struct played_ldap_message message = {.whole = played_ldap_begin_element(out, 0x30)};

	played_ldap_put_number(out, 0x02, number);
	message.body = played_ldap_begin_element(out, tag);
	return message;
}

void played_ldap_end_answer(struct buffer *out, struct played_ldap_message message)
{
	played_ldap_end_element(out, message.body);
	played_ldap_end_element(out, message.whole);
}

void played_ldap_send_result(struct buffer *out, int number, unsigned char tag, int code,
			     const char *text)
{
	struct played_ldap_message message = played_ldap_begin_answer(out, number, tag);

	played_ldap_put_number(out, 0x0a, code);
	played_ldap_put_text(out, 0x04, "");
	played_ldap_put_text(out, 0x04, text);
	played_ldap_end_answer(out, message);
}

static void put_attribute(struct buffer *out, const char *name, const char *const *values)
{
	size_t attribute = played_ldap_begin_element(out, 0x30), set;

	played_ldap_put_text(out, 0x04, name);
	set = played_ldap_begin_element(out, 0x31);
	for (; *values != NULL; values++)
		played_ldap_put_text(out, 0x04, *values);
	played_ldap_end_element(out, set);
	played_ldap_end_element(out, attribute);
}

/* NAME NULL: an entry without attributes. */
void played_ldap_put_entry_body(struct buffer *out, const char *dn, const char *name,
				const char *const *values)
{
	size_t attributes;

	played_ldap_put_text(out, 0x04, dn);
	attributes = played_ldap_begin_element(out, 0x30);
	if (name != NULL)
		put_attribute(out, name, values);
	played_ldap_end_element(out, attributes);
}

void played_ldap_send_entry(struct buffer *out, int number, const char *dn, const char *name,
			    const char *const *values)
{
	struct played_ldap_message message = played_ldap_begin_answer(out, number, 0x64);

	played_ldap_put_entry_body(out, dn, name, values);
	played_ldap_end_answer(out, message);
}

void played_ldap_send_reference(struct buffer *out, int number)
{
	struct played_ldap_message message = played_ldap_begin_answer(out, number, 0x73);

	played_ldap_put_text(out, 0x04, "ldap://elsewhere/");
	played_ldap_end_answer(out, message);
}

void played_ldap_send_intermediate(struct buffer *out, int number, const char *kind,
				   struct str data)
{
	struct played_ldap_message message = played_ldap_begin_answer(out, number, 0x79);

	played_ldap_put_text(out, 0x80, kind);
	played_ldap_put_bytes(out, 0x81, data.data, data.length);
	played_ldap_end_answer(out, message);
}

/* --- requests --- */

static void hear(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void hear(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buffer_append_format_list(&played_ldap.heard, format, arguments);
	va_end(arguments);
}

static void hear_filter(struct str filter)
{
	unsigned char tag = 0;
	struct str content = {0};

	while (played_ldap_take_element(&filter, &tag, &content)) {
		if (tag == 0xa1) {
			hear("(|");
			hear_filter(content);
			hear(")");
		} else if (tag == 0xa3) {
			struct str name = next_content(&content);
			struct str value = next_content(&content);

			hear("(" STR_FORMAT "=" STR_FORMAT ")", STR_ARGUMENTS(name),
			     STR_ARGUMENTS(value));
		} else if (tag == 0x87) {
			hear("(" STR_FORMAT "=*)", STR_ARGUMENTS(content));
		} else {
			hear("(%02x)", tag);
		}
	}
}

static void answer_bind(struct played_ldap_session *session, int number, struct str body)
{
	int version = next_number(&body);
	struct str dn = next_content(&body), password = next_content(&body);
	int code = session->server->bind_code;

	hear("bind %d \"" STR_FORMAT "\" \"" STR_FORMAT "\"\n", version, STR_ARGUMENTS(dn),
	     STR_ARGUMENTS(password));
	if (session->server->password != NULL && str_starts_with(dn, STR("uid=")) &&
	    !str_equal(password, str_from(session->server->password)))
		code = LDAP_INVALID_CREDENTIALS;
	played_ldap_send_result(&session->out, number, 0x61, code, code == 0 ? "" : "not you");
}

static void send_more(struct played_ldap_session *session, int number)
{
	if (!session->server->says_more)
		return;
	played_ldap_send_reference(&session->out, number);
	played_ldap_send_intermediate(&session->out, number, "1.2.3", STR("x"));
}

static void answer_csns(struct played_ldap_session *session, int number, const char *base)
{
	const struct played_ldap_server *server = session->server;
	const char *values[4] = {server->csn, NULL};

	if (server->csn_code == 0)
		played_ldap_send_entry(&session->out, number, base,
				       server->csn != NULL ? "contextCSN" : NULL, values);
	played_ldap_send_result(&session->out, number, 0x65, server->csn_code, "");
}

static void answer_found(struct played_ldap_session *session, int number)
{
	const char *const values[] = {"x", NULL};
	char dn[40];

	for (unsigned i = 0; i < session->server->found; i++) {
		snprintf(dn, sizeof dn, "uid=%u,dc=test", i + 1);
		played_ldap_send_entry(&session->out, number, dn, "uid", values);
	}
	played_ldap_send_result(&session->out, number, 0x65, session->server->search_code, "");
}

static void answer_search(struct played_ldap_session *session, int number, struct str body,
			  bool is_sync)
{
	char base[100], first[40] = "";
	struct str text = next_content(&body), filter, names;
	int scope, size;

	snprintf(base, sizeof base, STR_FORMAT, STR_ARGUMENTS(text));
	scope = next_number(&body);
	(void)next_number(&body);
	size = next_number(&body);
	hear("search \"%s\" %d, %d at most, time %d, ", base, scope, size, next_number(&body));
	hear("types %d ", next_number(&body) != 0);
	filter = body;
	(void)next_content(&body);
	filter.length -= body.length;
	hear_filter(filter);
	names = next_content(&body);
	while (names.length > 0) {
		struct str name = next_content(&names);

		if (*first == '\0')
			snprintf(first, sizeof first, STR_FORMAT, STR_ARGUMENTS(name));
		if (!is_sync)
			hear(" " STR_FORMAT, STR_ARGUMENTS(name));
	}
	hear("%s\n", is_sync ? " sync" : "");
	if (is_sync) {
		session->server->sync = number;
		return;
	}
	if (session->server->answers_no_probe && session->server->sync != 0)
		return;
	send_more(session, number);
	if (strcmp(first, "namingContexts") == 0) {
		played_ldap_send_entry(&session->out, number, "", first, session->server->contexts);
		played_ldap_send_result(&session->out, number, 0x65, 0, "");
	} else if (strcmp(first, "contextCSN") == 0) {
		answer_csns(session, number, base);
	} else {
		answer_found(session, number);
	}
}

static bool does_request_fail(struct played_ldap_session *session, int number, unsigned char tag)
{
	if (++played_ldap.requests != played_ldap.fails_at)
		return false;
	switch (played_ldap.fault) {
	case PLAYED_LDAP_REFUSES:
		played_ldap_send_result(&session->out, number,
					tag == 0x60   ? 0x61
					: tag == 0x77 ? 0x78
						      : 0x65,
					played_ldap.fault_code, "it is refused");
		break;
	case PLAYED_LDAP_CLOSES:
		session->is_closing = true;
		break;
	case PLAYED_LDAP_IS_SILENT:
		session->server->is_silent = true;
		break;
	case PLAYED_LDAP_BABBLES:
		buffer_append_string(&session->out, "\x30\x05what is this?");
		break;
	default:
		return false;
	}
	return true;
}

void played_ldap_answer_request(struct played_ldap_session *session, struct str message)
{
	int number = next_number(&message);
	unsigned char tag = 0;
	struct str body = {0};

	assert_true(played_ldap_take_element(&message, &tag, &body));
	if (tag == 0x42) {
		hear("unbind\n");
		session->is_closing = true;
	} else if (tag == 0x50) {
		hear("abandon\n");
	} else if (does_request_fail(session, number, tag)) {
		hear("fault\n");
	} else if (tag == 0x60) {
		answer_bind(session, number, body);
	} else if (tag == 0x63) {
		answer_search(session, number, body, message.length > 0);
	} else if (tag == 0x77) {
		body = next_content(&body);
		hear("extended " STR_FORMAT "\n", STR_ARGUMENTS(body));
		played_ldap_send_result(&session->out, number, 0x78, session->server->tls_code,
					"no TLS");
	} else {
		fail_msg("a request %02x", tag);
	}
}
