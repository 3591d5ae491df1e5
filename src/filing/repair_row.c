// SPDX-License-Identifier: ISC
/* One row and its mailbox, or one copy without a row, under the lock of its Message-ID. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/decode/identity.h"
#include "filing/internal.h"
#include "filing/internal_repair.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/random.h"
#include <errno.h>
#include <string.h>

static const int64_t RECENT_US = MINUTE_US;

/* Of a row: what the record and the mailbox have. */
struct comparison {
	const struct repair_mailbox *mailbox;
	const struct repair_row *row;
	struct mailstore_location location;
	struct record_filing filing;
	char recorded[MAILSTORE_COPY_SIZE]; /* of FILING */
	struct mailstore_found *found;
	size_t found_count;
	size_t kept; /* of FOUND */
};

static bool is_recent(const struct comparison *comparison)
{
	int64_t age_us = os_clock_wall_us() - comparison->filing.last_us;

	return comparison->filing.others > 0 &&
	       age_us < comparison->mailbox->store->append_max_us + RECENT_US;
}

static void tell_repair_of_row(const struct comparison *comparison, enum filing_repair_kind kind,
			       const char *copy, const char *text, bool is_repaired)
{
	repair_tell(comparison->mailbox, kind, comparison->row->id, copy, text, is_repaired);
}

/* The record's copy if it is there, else the oldest. */
static void choose_kept(struct comparison *comparison)
{
	comparison->kept = 0;
	for (size_t i = 0; i < comparison->found_count; i++)
		if (strcmp(comparison->found[i].copy, comparison->recorded) == 0)
			comparison->kept = i;
}

static int look_up_row_and_copies(struct comparison *comparison, struct arena *arena)
{
	const struct repair_mailbox *mailbox = comparison->mailbox;
	static const struct record_token nobody;
	struct str copy;
	int error = record_look(mailbox->repair->record, comparison->row->filing, &nobody,
				&comparison->filing);

	if (error != 0)
		return error;
	copy = comparison->filing.copy;
	if (copy.length >= sizeof comparison->recorded)
		copy.length = sizeof comparison->recorded - 1;
	memcpy(comparison->recorded, copy.data, copy.length);
	if (mailbox->repair->applies)
		error = mailstore_fence(mailbox->store, &comparison->location);
	if (error == 0)
		error = mailstore_find(mailbox->store, &comparison->location, arena,
				       &comparison->found, &comparison->found_count);
	if (error != 0) {
		tell_repair_of_row(comparison, FILING_REPAIR_FAILED, "", mailbox->store->error,
				   false);
		return -ECANCELED;
	}
	choose_kept(comparison);
	return 0;
}

/* What the record will say. */
static int correct_row(const struct comparison *comparison)
{
	struct record *record = comparison->mailbox->repair->record;
	static const struct record_token nobody;
	int64_t now_us = os_clock_wall_us();
	const char *kept;
	int error = 0;

	if (comparison->found_count == 0)
		return record_unfile(record, comparison->row->filing);
	kept = comparison->found[comparison->kept].copy;
	if (comparison->filing.state != RECORD_FILED || strcmp(kept, comparison->recorded) != 0)
		error = record_filed(record, comparison->row->filing, &nobody, str_from(kept),
				     now_us);
	if (error == 0)
		error = record_settle(record, comparison->row->filing,
				      filing_settled_before_us(comparison->mailbox->store));
	return error;
}

static bool must_change_row(const struct comparison *comparison)
{
	if (!comparison->mailbox->repair->applies)
		return false;
	return comparison->found_count > 0 || comparison->filing.state != RECORD_FILED ||
	       comparison->mailbox->repair->forgets;
}

/* Once the change holds, or for a dry run. */
static void tell_of_row(const struct comparison *comparison)
{
	bool is_filed = comparison->filing.state == RECORD_FILED;
	bool is_changed = must_change_row(comparison);
	const char *kept;

	if (comparison->found_count == 0) {
		tell_repair_of_row(comparison,
				   is_filed ? FILING_REPAIR_MISSING : FILING_REPAIR_ABANDONED,
				   comparison->recorded, "", is_changed);
		return;
	}
	kept = comparison->found[comparison->kept].copy;
	if (!is_filed)
		tell_repair_of_row(comparison, FILING_REPAIR_UNMARKED, kept, "", is_changed);
	else if (strcmp(kept, comparison->recorded) != 0)
		tell_repair_of_row(comparison, FILING_REPAIR_RENAMED, kept, comparison->recorded,
				   is_changed);
}

/* Still under the lock, after record_check(). */
static void remove_surplus_copies(const struct comparison *comparison)
{
	const struct repair_mailbox *mailbox = comparison->mailbox;

	for (size_t i = 0; i < comparison->found_count; i++) {
		const char *copy = comparison->found[i].copy;
		int error = 0;

		if (i == comparison->kept)
			continue;
		if (mailbox->repair->applies)
			error = mailstore_remove(mailbox->store, &comparison->location, copy);
		if (error != 0 && error != -ENOENT)
			tell_repair_of_row(comparison, FILING_REPAIR_FAILED, copy,
					   mailbox->store->error, false);
		else
			tell_repair_of_row(comparison, FILING_REPAIR_SURPLUS, copy, "",
					   mailbox->repair->applies);
	}
}

static int compare_row_and_copies(struct comparison *comparison, struct arena *arena,
				  bool *is_told_out)
{
	int error = look_up_row_and_copies(comparison, arena);

	if (error != 0)
		return error;
	if (is_recent(comparison)) {
		tell_repair_of_row(comparison, FILING_REPAIR_RECENT, "", "", false);
		return -ECANCELED;
	}
	*is_told_out = true;
	if (must_change_row(comparison))
		error = correct_row(comparison);
	if (error == 0)
		error = record_check(comparison->mailbox->repair->record);
	if (error == 0)
		remove_surplus_copies(comparison);
	return error;
}

int repair_row(const struct repair_mailbox *mailbox, const struct repair_row *row)
{
	struct comparison comparison = {
		.mailbox = mailbox,
		.row = row,
		.location = {.user = mailbox->mailbox->user,
			     .folder = mailbox->mailbox->folder,
			     .id = row->id,
			     .digest = row->digest},
	};
	struct arena *arena = arena_new();
	bool is_told = false;
	int error = repair_begin(mailbox->repair, row->id);

	if (error == -EAGAIN) {
		tell_repair_of_row(&comparison, FILING_REPAIR_RECENT, "",
				   "another process has its lock", false);
		error = -ECANCELED;
	} else if (error == 0) {
		error = repair_end(mailbox->repair,
				   compare_row_and_copies(&comparison, arena, &is_told));
	}
	if (error == 0 && is_told)
		tell_of_row(&comparison);
	arena_free(arena);
	return error == -ECANCELED || error == -ENOENT ? 0 : error;
}

/* ---- a copy without a row ---- */

static int write_row(const struct repair_mailbox *mailbox, const struct repair_copy *copy,
		     const struct record_message *message)
{
	struct record *record = mailbox->repair->record;
	struct record_token token;
	struct record_filing row;
	unsigned different;
	int64_t number;
	bool is_new;
	int error = record_put(record, message, &number, &is_new, &different);

	for (size_t i = 0; i < sizeof token.bytes; i++)
		token.bytes[i] = (unsigned char)os_random_u64();
	if (error == 0)
		error = record_open(record, number, mailbox->mailbox, &token, message->recorded_us,
				    &row);
	if (error == 0 && row.state == RECORD_FILED)
		return record_end(record, row.number, &token); /* somebody was faster */
	if (error == 0)
		error = record_filed(record, row.number, &token, str_from(copy->copy),
				     message->recorded_us);
	return error;
}

static int record_copy(const struct repair_mailbox *mailbox, const struct repair_copy *copy,
		       const struct ipc_content *content, const struct decode_identity *identity,
		       struct arena *arena)
{
	const struct filing_repair *repair = mailbox->repair;
	struct decode_message decoded;
	struct record_message message = {
		.id = identity->id,
		.is_derived = identity->is_derived,
		.size = content->size,
		.recorded_us = os_clock_wall_us(),
		.sender = STR(""),
		.decoded = &decoded,
	};
	int error;

	memcpy(message.digest, identity->digest, sizeof message.digest);
	repair->decode(repair->context, content, arena, &decoded);
	error = repair_begin(repair, identity->id);
	if (error == 0)
		error = repair_end(repair, write_row(mailbox, copy, &message));
	return error;
}

static bool is_what_name_says(const struct repair_copy *copy,
			      const struct decode_identity *identity)
{
	char mark[MAILSTORE_MARK_SIZE];

	mailstore_mark(&(struct mailstore_location){.id = identity->id, .digest = identity->digest},
		       mark);
	return strcmp(mark, copy->mark) == 0;
}

static int look_at_copy(const struct repair_mailbox *mailbox, const struct repair_copy *copy,
			const struct ipc_content *content, struct arena *arena)
{
	struct decode_identity identity = {.id = STR("")};
	int error = decode_identify(content, arena, &identity);
	const char *text = error == 0 ? "" : strerror(-error);

	if (error == 0 && !is_what_name_says(copy, &identity))
		text = "its content is not what its name says";
	if (*text != '\0') {
		repair_tell(mailbox, FILING_REPAIR_FAILED, identity.id, copy->copy, text, false);
		return 0;
	}
	if (mailbox->repair->applies)
		error = record_copy(mailbox, copy, content, &identity, arena);
	if (error == -EAGAIN)
		repair_tell(mailbox, FILING_REPAIR_RECENT, identity.id, copy->copy,
			    "another process has its lock", false);
	else if (error == 0)
		repair_tell(mailbox, FILING_REPAIR_UNRECORDED, identity.id, copy->copy, "",
			    mailbox->repair->applies);
	return error == -EAGAIN ? 0 : error;
}

int repair_copy(const struct repair_mailbox *mailbox, const struct repair_copy *copy)
{
	struct ipc_content content;
	struct arena *arena;
	int error = mailstore_open(mailbox->store, mailbox->mailbox->user, mailbox->mailbox->folder,
				   copy->copy, &content);

	if (error == -ENOENT)
		return 0; /* its reader has removed it meanwhile */
	if (error != 0) {
		repair_tell(mailbox, FILING_REPAIR_FAILED, STR(""), copy->copy,
			    mailbox->store->error, false);
		return 0;
	}
	arena = arena_new();
	error = look_at_copy(mailbox, copy, &content, arena);
	arena_free(arena);
	os_file_close(content.file);
	return error;
}
