// SPDX-License-Identifier: ISC
/* What a node that hands packages over was told of them, and what the queue says after a crash. */
#include "ledger.h"
#include "os/file/file.h"
#include "queue/handed.h"
#include <errno.h>
#include <string.h>

enum { GROUPS_MAX = 8 };

static int note_kept(void *context, struct str name, struct str numbers)
{
	bool *is_kept = context;

	(void)numbers;
	for (size_t i = 0; i < ledger.count; i++)
		if (ledger.messages[i].package != NULL &&
		    str_equal(name, str_from(ledger.messages[i].package))) {
			is_kept[i] = true;
			return 0;
		}
	return -EBADMSG;
}

int ledger_greet(struct queue_intake *intake, uint64_t run, bool *is_kept)
{
	uint64_t durable = 0;
	int result = 1;

	for (unsigned i = 0; result == 1 && i < GROUPS_MAX; i++) {
		if (i > 0)
			queue_message_commit_group(intake, NULL, 0, NULL);
		if (queue_intake_durable(intake) >= durable)
			result = queue_handed_greet(intake, STR("a1"), 1, run, &durable);
	}
	memset(is_kept, 0, LEDGER_MESSAGES_MAX * sizeof *is_kept);
	if (result == 0)
		result = queue_handed_each(intake, STR("a1"), note_kept, is_kept);
	return result == 1 ? -EIO : result;
}

static const char *what_is_wrong(const struct entry *entry, bool is_found, bool is_kept)
{
	if (entry->is_denied && (is_found || is_kept))
		return "is here although that was denied";
	if (entry->is_settled)
		return NULL; /* its name may have come back: a1 settles it again */
	if (entry->is_answered && !is_kept)
		return "was taken and would be handed over again";
	if (is_found && !is_kept)
		return "is queued and would be handed over again";
	if (is_kept && !is_found && !entry->is_ended)
		return "is kept and has no message";
	return NULL;
}

int ledger_check_packages(struct queue_store *store, struct queue_intake *intake,
			  const bool *is_found, struct buffer *why)
{
	bool is_kept[LEDGER_MESSAGES_MAX];
	uint64_t epoch;
	uint64_t run;
	int result;

	(void)store;
	if (ledger.run == 0)
		return 0;
	queue_handed_run(intake, STR("a1"), &epoch, &run);
	if (run < ledger.run) {
		buffer_append_string(why, "the run of a1 is forgotten");
		return -EBADMSG;
	}
	result = ledger_greet(intake, run + 1, is_kept);
	for (size_t i = 0; result == 0 && i < ledger.count; i++) {
		const struct entry *entry = &ledger.messages[i];
		const char *wrong = entry->package != NULL
					    ? what_is_wrong(entry, is_found[i], is_kept[i])
					    : NULL;

		if (wrong == NULL)
			continue;
		buffer_append_format(why, "package %s %s", entry->package, wrong);
		result = -EBADMSG;
	}
	return result;
}

static int expect_run(void *context, const char *name)
{
	if (str_starts_with(str_from(name), STR("run.")))
		return 0;
	buffer_append_format(context, "package %s is never forgotten", name);
	return -EBADMSG;
}

int ledger_settle_packages(struct queue_store *store, struct queue_intake *intake,
			   struct buffer *why)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < ledger.count; i++)
		if (ledger.messages[i].package != NULL)
			result = queue_handed_settle(intake, STR("a1"),
						     str_from(ledger.messages[i].package));
	if (result == 0)
		result = os_file_list(queue_store_directory(store), "handed/a1", expect_run, why);
	return result == -ENOENT ? 0 : result;
}
