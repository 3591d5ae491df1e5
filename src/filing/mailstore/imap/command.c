// SPDX-License-Identifier: ISC
/* Commands and their answers, RFC 3501 section 2.2. */
#include "filing/mailstore/imap/internal.h"
#include <errno.h>
#include <stdio.h>

enum { TAG_SIZE = 12 };

static void tag_of_command(const struct imap_connection *connection, char out[TAG_SIZE])
{
	snprintf(out, TAG_SIZE, "S%u", connection->tag);
}

struct str imap_word(struct str *text)
{
	struct str word = *text;
	size_t length = 0;

	while (length < text->length && text->data[length] != ' ' && text->data[length] != ')')
		length++;
	word.length = length;
	*text = str_skip(*text, length);
	while (text->length > 0 && *text->data == ' ')
		*text = str_skip(*text, 1);
	return word;
}

bool imap_is(struct str code, const char *name)
{
	return str_equal_nocase(code, str_from(name));
}

/* "OK [CODE ARGUMENT] text" */
static bool parse_answer(struct str text, struct imap_answer *out)
{
	struct str status = imap_word(&text);
	ptrdiff_t end;

	*out = (struct imap_answer){.text = text};
	if (imap_is(status, "OK"))
		out->status = IMAP_OK;
	else if (imap_is(status, "NO"))
		out->status = IMAP_NO;
	else if (imap_is(status, "BAD"))
		out->status = IMAP_BAD;
	else
		return false;
	end = str_find(text, ']');
	if (text.length == 0 || text.data[0] != '[' || end < 0)
		return true;
	out->argument = str_slice(text.data + 1, (size_t)end - 1);
	out->code = imap_word(&out->argument);
	out->text = str_trim(str_skip(text, (size_t)end + 1));
	return true;
}

/* 1: RESPONSE answers the command; 0: it is another one, which was passed to EACH. */
static int judge_imap_response(struct imap_connection *connection,
			       const struct imap_response *response, imap_untagged *each,
			       void *context, struct imap_answer *out)
{
	struct imap_response untagged = *response;
	char tag[TAG_SIZE];

	if (str_starts_with(response->text, STR("* "))) {
		untagged.text = str_skip(untagged.text, 2);
		if (untagged.text.length >= 3 &&
		    str_equal_nocase(str_slice(untagged.text.data, 3), STR("BYE")))
			return imap_connection_break(connection, -ENOTCONN,
						     "the server has ended the session:" STR_FORMAT,
						     STR_ARGUMENTS(str_skip(untagged.text, 3)));
		if (each != NULL)
			each(context, &untagged);
		return 0;
	}
	tag_of_command(connection, tag);
	if (str_equal(imap_word(&untagged.text), str_from(tag)) && parse_answer(untagged.text, out))
		return 1;
	return imap_connection_break(connection, -EPROTO, "the server's answer is not IMAP");
}

int imap_command_begin(struct imap_connection *connection, const char *command, uint64_t size)
{
	struct buffer line CLEANUP(buffer_clear) = {0};
	char tag[TAG_SIZE];

	connection->tag++;
	tag_of_command(connection, tag);
	buffer_append_format(&line, "%s %s\r\n", tag, command);
	imap_connection_allow(connection, size);
	return imap_connection_send(connection, buffer_view(&line));
}

int imap_command_continue(struct imap_connection *connection, struct imap_answer *out)
{
	for (;;) {
		struct imap_response response;
		int result = imap_connection_read(connection, &response);

		if (result < 0)
			return result;
		if (response.text.length > 0 && response.text.data[0] == '+')
			return 0;
		result = judge_imap_response(connection, &response, NULL, NULL, out);
		if (result == 1 && out->status == IMAP_OK)
			return imap_connection_break(connection, -EPROTO,
						     "the server's answer is not IMAP");
		if (result != 0)
			return result;
	}
}

int imap_command_end(struct imap_connection *connection, imap_untagged *each, void *context,
		     struct imap_answer *out)
{
	for (;;) {
		struct imap_response response;
		int result = imap_connection_read(connection, &response);

		if (result == 0)
			result = judge_imap_response(connection, &response, each, context, out);
		if (result == 1)
			connection->was_used = true;
		if (result != 0)
			return result < 0 ? result : 0;
	}
}

int imap_command(struct imap_connection *connection, const char *command, uint64_t size,
		 imap_untagged *each, void *context, struct imap_answer *out)
{
	int result = imap_command_begin(connection, command, size);

	return result == 0 ? imap_command_end(connection, each, context, out) : result;
}

/* ---- what the server can do ---- */

static void take_capability(void *context, const struct imap_response *response)
{
	struct imap_connection *connection = context;
	struct str text = response->text;

	if (!imap_is(imap_word(&text), "CAPABILITY"))
		return;
	while (text.length > 0 && *text.data != ')') {
		struct str word = imap_word(&text);

		connection->has_uidplus |= imap_is(word, "UIDPLUS");
		connection->has_namespace |= imap_is(word, "NAMESPACE");
		connection->has_quota |= imap_is(word, "QUOTA");
	}
}

/* "LIST (\Noselect) "/" """ */
static void take_hierarchy_separator(void *context, const struct imap_response *response)
{
	struct imap_connection *connection = context;
	struct str text = response->text;
	ptrdiff_t end = str_find(text, ')');

	if (!imap_is(imap_word(&text), "LIST") || end < 0)
		return;
	text = str_trim(str_skip(response->text, (size_t)end + 1));
	if (text.length < 3 || text.data[0] != '"')
		return; /* NIL */
	connection->separator = text.data[1] == '\\' ? text.data[2] : text.data[1];
}

/* Takes a quoted string from the beginning of *TEXT, of less than SIZE printable bytes. */
static bool take_quoted_imap_string(struct str *text, char *out, size_t size)
{
	size_t used = 0;

	if (text->length == 0 || *text->data != '"')
		return false;
	*text = str_skip(*text, 1);
	for (; text->length > 0 && *text->data != '"'; *text = str_skip(*text, 1)) {
		if (*text->data == '\\')
			*text = str_skip(*text, 1);
		if (text->length == 0 || used + 1 >= size || (unsigned char)*text->data < ' ' ||
		    (unsigned char)*text->data >= 0x7f)
			return false;
		out[used++] = *text->data;
	}
	out[used] = '\0';
	*text = str_skip(*text, 1);
	return true;
}

/* "NAMESPACE (("INBOX." ".")) NIL NIL" (RFC 2342): the first of the user's own. */
static void take_namespace(void *context, const struct imap_response *response)
{
	struct imap_connection *connection = context;
	struct str text = response->text;
	char prefix[IMAP_PREFIX_SIZE];
	char separator[2] = "";

	if (!imap_is(imap_word(&text), "NAMESPACE") || !str_starts_with(text, STR("((")))
		return; /* NIL */
	text = str_skip(text, 2);
	if (!take_quoted_imap_string(&text, prefix, sizeof prefix))
		return;
	text = str_trim(text);
	if (!str_starts_with(text, STR("NIL")) &&
	    !take_quoted_imap_string(&text, separator, sizeof separator))
		return;
	memcpy(connection->prefix, prefix, sizeof prefix);
	if (separator[0] != '\0')
		connection->separator = separator[0];
}

int imap_command_ask(struct imap_connection *connection)
{
	struct imap_answer answer;
	int result =
		imap_command(connection, "CAPABILITY", 0, take_capability, connection, &answer);

	if (result == 0)
		result = imap_command(connection, "LIST \"\" \"\"", 0, take_hierarchy_separator,
				      connection, &answer);
	if (result == 0 && connection->has_namespace)
		result = imap_command(connection, "NAMESPACE", 0, take_namespace, connection,
				      &answer);
	connection->was_used = false;
	return result;
}
