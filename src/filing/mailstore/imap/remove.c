// SPDX-License-Identifier: ISC
/* Removes a copy on an IMAP server, and nothing else (RFC 4315: UID EXPUNGE). */
#include "filing/mailstore/imap/internal.h"
#include <errno.h>
#include <inttypes.h>

struct removing {
	const struct mailstore_location *location;
	uint64_t validity;
	uint64_t uid;
	bool is_there;
};

static bool parse_copy(const char *copy, struct removing *removing)
{
	struct str text = str_from(copy);
	struct str validity;

	return str_split(&text, ':', &validity) && str_to_u64(validity, &removing->validity) &&
	       str_to_u64(text, &removing->uid) && removing->uid > 0;
}

static void note_range(void *context, uint64_t from, uint64_t to)
{
	struct removing *removing = context;

	removing->is_there |= from <= removing->uid && removing->uid <= to;
}

static void note_uid(void *context, const struct imap_response *response)
{
	imap_mailbox_found(response->text, note_range, context);
}

/* COMMAND has the UID as its %. */
static int say_removal_command(struct imap_connection *connection, struct removing *removing,
			       const char *before, const char *after, imap_untagged *each)
{
	struct buffer command CLEANUP(buffer_clear) = {0};
	struct imap_answer answer;
	int result;

	buffer_append_format(&command, "%s %" PRIu64 "%s", before, removing->uid, after);
	buffer_append_byte(&command, '\0');
	result = imap_command(connection, buffer_data(&command), 0, each, removing, &answer);
	if (result == 0 && answer.status != IMAP_OK)
		result = imap_store_refuse(connection,
					   imap_is(answer.code, "NOPERM") ? -EACCES : -EIO,
					   "the message cannot be removed", &answer);
	return result;
}

static int look_for_removed_uid(struct imap_connection *connection, struct removing *removing)
{
	struct imap_mailbox mailbox;
	int result = imap_mailbox_open(connection, "SELECT", removing->location, &mailbox);

	if (result < 0)
		return result;
	removing->is_there = false;
	if (mailbox.validity == removing->validity)
		result = say_removal_command(connection, removing, "UID SEARCH UID", "", note_uid);
	if (result == 0 && !removing->is_there)
		return imap_store_refuse(connection, -ENOENT, "no such message",
					 &(struct imap_answer){.text = STR("")});
	return result;
}

static int run_remove(struct imap_connection *connection, void *context)
{
	struct removing *removing = context;
	int result;

	if (!connection->has_uidplus)
		return imap_store_refuse(
			connection, -EOPNOTSUPP, "one message alone cannot be removed",
			&(struct imap_answer){.text = STR("the server does not have UIDPLUS")});
	result = look_for_removed_uid(connection, removing);
	if (result == 0)
		result = say_removal_command(connection, removing, "UID STORE",
					     " +FLAGS.SILENT (\\Deleted)", NULL);
	return result == 0 ? say_removal_command(connection, removing, "UID EXPUNGE", "", NULL)
			   : result;
}

int imap_remove(struct mailstore *mailstore, const struct mailstore_location *location,
		const char *copy)
{
	struct removing removing = {.location = location};

	if (!parse_copy(copy, &removing))
		return -ENOENT;
	return imap_store_with((struct imap_store *)mailstore, location->user, run_remove,
			       &removing);
}
