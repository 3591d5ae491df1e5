// SPDX-License-Identifier: ISC
/*
 * For each X: read the names of info/, mess/ and todo/ into a table; check the table for
 * mismatches; then check the names of the other folders against it.
 */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/cleaner/internal.h"
#include "queue/trigger.h"
#include "queue/update.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES_A_STEP = 1000,
	HAS_INFO = 1,
	HAS_MESS = 2,
	HAS_TODO = 4,   /* also names of the later stages */
	PHASE_INFO = 0, /* then mess, then the stages of todo */
	PHASE_JUDGE = 2 + MAIL_STAGE_COUNT,
	PHASE_BOUNCE,
	PHASE_REMOTE,
	PHASE_INTD,
	PHASE_LOCAL, /* then the other services */
};

struct queue_cleaner *queue_cleaner_new(struct queue_store *store, const char *const *services,
					size_t service_count,
					const struct queue_cleaner_handler *handler, void *context)
{
	struct queue_cleaner *cleaner = memory_alloc_zero(1, sizeof *cleaner);

	cleaner->store = store;
	cleaner->services = services;
	cleaner->service_count = service_count;
	cleaner->handler = handler;
	cleaner->context = context;
	return cleaner;
}

void queue_cleaner_free(struct queue_cleaner *cleaner)
{
	if (cleaner == NULL)
		return;
	os_file_list_close(cleaner->list);
	number_table_clear(&cleaner->table);
	free(cleaner);
}

bool queue_cleaner_is_sure(const struct queue_cleaner *cleaner)
{
	return !cleaner->has_failed;
}

/* --- one message --- */

static int settle_queued_message(struct queue_cleaner *cleaner, unsigned flags, uint64_t number)
{
	const struct queue_settling settling = {cleaner->store, cleaner->services,
						cleaner->service_count, cleaner->handler->removed,
						cleaner->context};

	for (unsigned stage = 0; stage < MAIL_STAGE_COUNT; stage++)
		if ((flags & ((unsigned)HAS_TODO << stage)) != 0)
			return queue_update_settle(&settling, (enum mail_stage)stage, number);
	return 0;
}

static int judge_number_entry(struct queue_cleaner *cleaner, const struct number_entry *entry)
{
	unsigned flags = entry->flags;
	bool has_todo = flags >= HAS_TODO;

	/* at S4 only, or at S5: nearly all messages */
	if (flags == (HAS_INFO | HAS_MESS) || (has_todo && (flags & (HAS_INFO | HAS_MESS)) == 0) ||
	    cleaner->handler->is_busy(cleaner->context, entry->number))
		return 0;
	return has_todo ? settle_queued_message(cleaner, flags, entry->number)
			: cleaner_judge(cleaner, entry->number);
}

/* A name in any other folder. Whatever is still in info/ is S5: then that in intd/ is of an update
 * that was interrupted. At S4 all of them go: everything is in the data file. */
static int judge_side(struct queue_cleaner *cleaner, enum queue_folder folder, const char *name,
		      uint64_t number)
{
	bool is_s5 = (number_table_flags(&cleaner->table, number) & HAS_INFO) != 0;
	int result;

	if ((is_s5 && folder != QUEUE_INTD) || cleaner->handler->is_busy(cleaner->context, number))
		return 0;
	result = is_s5 ? 1 : queue_store_is_live(cleaner->store, number);
	if (result == 0)
		return cleaner_judge(cleaner, number);
	if (result < 0 || folder == QUEUE_INTD)
		return result < 0 ? result : cleaner_drop(cleaner, folder, name, number);
	result = queue_store_has(cleaner->store, QUEUE_INFO, NULL, number);
	return result == 0 ? cleaner_drop(cleaner, folder, name, number) : result < 0 ? result : 0;
}

/* --- all messages --- */

/* The folder of a phase; *FLAG is the flag of names there. */
static enum queue_folder folder_of_phase(const struct queue_cleaner *cleaner, const char **name,
					 unsigned *flag)
{
	static const enum queue_folder sides[] = {QUEUE_BOUNCE, QUEUE_REMOTE, QUEUE_INTD};
	size_t phase = cleaner->phase;

	*name = NULL;
	*flag = 0;
	if (phase < 2) {
		*flag = phase == PHASE_INFO ? HAS_INFO : HAS_MESS;
		return phase == PHASE_INFO ? QUEUE_INFO : QUEUE_MESS;
	}
	if (phase < PHASE_JUDGE) {
		*flag = (unsigned)HAS_TODO << (phase - 2);
		*name = mail_stage_name((enum mail_stage)(phase - 2));
		return QUEUE_TODO;
	}
	if (phase < PHASE_LOCAL)
		return sides[phase - PHASE_BOUNCE];
	*name = cleaner->services[phase - PHASE_LOCAL];
	return QUEUE_LOCAL;
}

static int open_place_of_phase(struct queue_cleaner *cleaner)
{
	char path[QUEUE_PATH_SIZE];
	const char *name;
	unsigned flag;
	enum queue_folder folder = folder_of_phase(cleaner, &name, &flag);

	queue_store_part_path(folder, name, cleaner->x, path);
	return os_file_list_open(cleaner->store->directory, path, &cleaner->list);
}

static void fail_cleaning(struct queue_cleaner *cleaner, int error)
{
	cleaner->has_failed = true;
	cleaner->error = error;
}

/* Reads some names of a folder: whether there may be more, or -errno. */
static int read_names_of_folder(struct queue_cleaner *cleaner)
{
	const char *name;
	unsigned flag;
	enum queue_folder folder = folder_of_phase(cleaner, &name, &flag);
	int result = cleaner->list == NULL ? open_place_of_phase(cleaner) : 1;

	if (result == -ENOENT && folder == QUEUE_LOCAL) /* as for queue_store_each_part() */
		return 0;
	for (unsigned i = 0; result >= 0 && i < NAMES_A_STEP; i++) {
		const char *entry;
		uint64_t number;

		result = os_file_list_next(cleaner->list, &entry);
		if (result <= 0)
			return result;
		if (!queue_store_is_number(cleaner->store, entry, cleaner->x, &number))
			continue;
		if (flag != 0) {
			number_table_add(&cleaner->table, number, flag);
			continue;
		}
		result = judge_side(cleaner, folder, name, number);
		if (result < 0)
			fail_cleaning(cleaner, result);
		result = 1;
	}
	return result;
}

/* Judges some of the names read: whether there are more, or -errno. */
static int judge_some(struct queue_cleaner *cleaner)
{
	for (unsigned i = 0; i < NAMES_A_STEP; i++) {
		const struct number_entry *entry;
		int result;

		if (cleaner->judged == cleaner->table.size)
			return 0;
		entry = &cleaner->table.entries[cleaner->judged++];
		if (entry->number == 0)
			continue;
		result = judge_number_entry(cleaner, entry);
		if (result < 0)
			fail_cleaning(cleaner, result);
	}
	return 1;
}

/* --- holds --- */

/* A number that is in use again keeps the hold of the message that had it before, which holds
 * nobody: to see that, each message that is held would have to be read. */
static int judge_hold(struct queue_cleaner *cleaner, struct str name)
{
	struct mail_id id;
	int result;

	if (queue_trigger_kind(name) != QUEUE_TRIGGER_HOLD ||
	    !mail_id_parse(str_skip(name, strlen("hold.")), &id) ||
	    cleaner->handler->is_busy(cleaner->context, id.number))
		return 0;
	result = queue_store_has(cleaner->store, QUEUE_MESS, NULL, id.number);
	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++)
		result = queue_store_has(cleaner->store, QUEUE_TODO, mail_stage_name(stage),
					 id.number);
	if (result != 0)
		return result < 0 ? result : 0;
	return cleaner->handler->end_hold(cleaner->context, name);
}

/* Some names of trigger/: whether there may be more, or -errno. */
static int judge_holds(struct queue_cleaner *cleaner)
{
	int result = cleaner->list != NULL ? 1
					   : os_file_list_open(cleaner->store->directory, "trigger",
							       &cleaner->list);

	for (unsigned i = 0; result >= 0 && i < NAMES_A_STEP; i++) {
		const char *entry;

		result = os_file_list_next(cleaner->list, &entry);
		if (result <= 0)
			return result;
		result = judge_hold(cleaner, str_from(entry));
		if (result < 0)
			fail_cleaning(cleaner, result);
		result = 1;
	}
	return result;
}

/* After the last X. */
static int end_holds(struct queue_cleaner *cleaner)
{
	int result = cleaner->handler->end_hold != NULL ? judge_holds(cleaner) : 0;

	if (result < 0)
		fail_cleaning(cleaner, result);
	cleaner->is_finished = result <= 0;
	if (cleaner->is_finished) {
		os_file_list_close(cleaner->list);
		cleaner->list = NULL;
	}
	return cleaner->error < 0 ? cleaner->error : !cleaner->is_finished;
}

/* Begins the next phase, perhaps of the next X. */
static void begin_next_cleaning_phase(struct queue_cleaner *cleaner)
{
	os_file_list_close(cleaner->list);
	cleaner->list = NULL;
	cleaner->judged = 0;
	cleaner->phase++;
	if (cleaner->phase < PHASE_LOCAL + cleaner->service_count)
		return;
	cleaner->phase = PHASE_INFO;
	number_table_reset(&cleaner->table);
	cleaner->x++;
}

int queue_cleaner_step(struct queue_cleaner *cleaner)
{
	int result;

	if (cleaner->is_finished)
		return 0;
	cleaner->error = 0;
	if (cleaner->x == cleaner->store->split)
		return end_holds(cleaner);
	result =
		cleaner->phase == PHASE_JUDGE ? judge_some(cleaner) : read_names_of_folder(cleaner);
	if (result < 0) {
		fail_cleaning(cleaner, result);
		if (cleaner->phase < PHASE_JUDGE) /* if names are missing nothing can be judged */
			cleaner->phase = PHASE_LOCAL + cleaner->service_count;
	}
	if (result <= 0)
		begin_next_cleaning_phase(cleaner);
	return cleaner->error < 0 ? cleaner->error : 1;
}
