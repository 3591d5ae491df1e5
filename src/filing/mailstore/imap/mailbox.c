// SPDX-License-Identifier: ISC
/* Opens mailboxes, and reads what the server says of messages in them. */
#include "filing/mailstore/imap/internal.h"
#include <errno.h>

static void take_imap_mailbox(void *context, const struct imap_response *response)
{
	struct imap_mailbox *mailbox = context;
	struct str text = response->text;
	struct str first = imap_word(&text);
	uint64_t value;

	if (imap_is(first, "OK") && str_starts_with(text, STR("[UIDVALIDITY "))) {
		ptrdiff_t end = str_find(text, ']');

		(void)imap_word(&text);
		if (end >= 0 &&
		    str_to_u64(str_slice(text.data, (size_t)(str_find(text, ']'))), &value))
			mailbox->validity = value;
	} else if (str_to_u64(first, &value) && imap_is(imap_word(&text), "EXISTS")) {
		mailbox->messages = value;
	}
}

static void note_any(void *context, const struct imap_response *response)
{
	struct str text = response->text;

	if (imap_is(imap_word(&text), "LIST"))
		*(bool *)context = true;
}

int imap_mailbox_exists(struct imap_connection *connection, struct str name)
{
	struct buffer command CLEANUP(buffer_clear) = {0};
	struct imap_answer answer;
	bool is_there = false;
	int result;

	buffer_append_format(&command, "LIST \"\" " STR_FORMAT, STR_ARGUMENTS(name));
	buffer_append_byte(&command, '\0');
	result = imap_command(connection, buffer_data(&command), 0, note_any, &is_there, &answer);
	if (result == 0 && answer.status != IMAP_OK)
		return 1; /* not known: then it is not known to be missing */
	return result == 0 ? is_there : result;
}

int imap_mailbox_open(struct imap_connection *connection, const char *command,
		      const struct mailstore_location *location, struct imap_mailbox *out)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct buffer line CLEANUP(buffer_clear) = {0};
	struct imap_answer answer;
	int result = imap_store_name(connection, location, &name);

	if (result < 0)
		return result;
	*out = (struct imap_mailbox){0};
	buffer_append_format(&line, "%s " STR_FORMAT, command, STR_ARGUMENTS(buffer_view(&name)));
	buffer_append_byte(&line, '\0');
	result = imap_command(connection, buffer_data(&line), 0, take_imap_mailbox, out, &answer);
	if (result < 0 || answer.status == IMAP_OK)
		return result;
	if (imap_is(answer.code, "NONEXISTENT"))
		return imap_store_refuse(connection, -ENOENT, "no such mailbox", &answer);
	(void)imap_store_refuse(connection, -EIO, "the mailbox cannot be opened", &answer);
	result = imap_mailbox_exists(connection, buffer_view(&name));
	return result == 0 ? -ENOENT : result < 0 ? result : -EIO;
}

uint64_t imap_mailbox_fetched(struct str text)
{
	uint64_t number;

	if (!str_to_u64(imap_word(&text), &number) || !imap_is(imap_word(&text), "FETCH"))
		return 0;
	while (text.length > 0) {
		struct str word;

		if (*text.data == '(' || *text.data == ')')
			text = str_skip(text, 1);
		word = imap_word(&text);
		if (imap_is(word, "UID"))
			return str_to_u64(imap_word(&text), &number) ? number : 0;
	}
	return 0;
}

/* "7" or "7:9", in either order. */
static void pass_range(struct str range, imap_mailbox_range *each, void *context)
{
	struct str first;
	uint64_t from;
	uint64_t to;

	(void)str_split(&range, ':', &first);
	if (!str_to_u64(first, &from))
		return;
	to = from;
	if (range.data != NULL && !str_to_u64(range, &to))
		return;
	each(context, from < to ? from : to, from < to ? to : from);
}

/* "(TAG "S3") UID ALL 2,5:7"; without ALL there are none. */
static void pass_extended(struct str text, imap_mailbox_range *each, void *context)
{
	while (text.length > 0) {
		struct str range;
		struct str set;

		if (*text.data == '(' || *text.data == ')')
			text = str_skip(text, 1);
		if (!imap_is(imap_word(&text), "ALL"))
			continue;
		set = imap_word(&text);
		while (set.length > 0 && str_split(&set, ',', &range))
			pass_range(range, each, context);
	}
}

void imap_mailbox_found(struct str text, imap_mailbox_range *each, void *context)
{
	struct str name = imap_word(&text);
	uint64_t uid;

	if (imap_is(name, "ESEARCH"))
		pass_extended(text, each, context);
	while (imap_is(name, "SEARCH") && text.length > 0 && str_to_u64(imap_word(&text), &uid))
		each(context, uid, uid);
}
