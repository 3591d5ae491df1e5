// SPDX-License-Identifier: ISC
#include "states.h"
#include "accounts.h"
#include "damages.h"
#include "files.h"
#include "judge.h"
#include "mail.h"
#include "origins.h"
#include "queue_files.h"
#include "queue_folder.h"
#include <ctype.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>

/* The message of a number, and the folder of that inode, if it is one. */
struct state {
	uint8_t names[PLACES];
	bool is_torn;     /* in no state, since the power was cut */
	int64_t gone_us;  /* when its data file went, the last time */
	int64_t begun_us; /* when it came */
	char *path;       /* of the folder, and of those above the queue */
	enum queue_folder folder;
	unsigned part;
};

enum { TOUCHED_MAX = 8 };

struct states {
	struct machine *machine;
	struct disk_watch watch;
	struct state *list; /* by number */
	uint64_t count;
	uint64_t touched[TOUCHED_MAX]; /* by the call that is not done yet */
	size_t touched_count;
	char queued[512]; /* what got a name in todo by it, or "" */
	bool is_reading;  /* what the disk has, which may be wrong */
	struct states *next;
};

static struct states *all;

static void have_room(struct states *states, uint64_t count)
{
	uint64_t before = states->count;

	if (count <= before)
		return;
	states->count = count;
	states->list = realloc(states->list, count * sizeof *states->list);
	if (states->list == NULL)
		err(1, "no memory");
	memset(&states->list[before], 0, (count - before) * sizeof *states->list);
}

static struct state *state_of(struct states *states, uint64_t number)
{
	if (number >= states->count)
		have_room(states, 2 * number + 64);
	return &states->list[number];
}

/* --- folders --- */

static void add_folder(struct states *states, uint64_t inode, const char *path)
{
	struct state *folder = state_of(states, inode);

	free(folder->path);
	folder->path = strdup(path);
	if (folder->path == NULL)
		err(1, "no memory");
	folder->folder = queue_folder(path, &folder->part);
}

/* --- names --- */

static void touch(struct states *states, uint64_t number)
{
	for (size_t i = 0; i < states->touched_count; i++)
		if (states->touched[i] == number)
			return;
	if (states->touched_count < TOUCHED_MAX)
		states->touched[states->touched_count++] = number;
}

static void check_name(struct states *states, const struct state *folder, uint64_t number,
		       uint64_t inode)
{
	if (folder->folder != PID && number % STATES_SPLIT != folder->part)
		judge_object(JUDGE_STATES, "%s: message %llu has a name in %s",
			     states->machine->name, (unsigned long long)number, folder->path);
	if ((folder->folder == TODO || folder->folder == MESS) && number != inode)
		judge_object(JUDGE_STATES, "%s: %s/%llu leads to file %llu", states->machine->name,
			     folder->path, (unsigned long long)number, (unsigned long long)inode);
}

static bool has_data(const struct states *states, uint64_t number)
{
	return number < states->count &&
	       (states->list[number].names[TODO] > 0 || states->list[number].names[MESS] > 0);
}

static void name_in(struct states *states, const struct state *folder, const char *name,
		    uint64_t before, uint64_t inode)
{
	const enum queue_folder kind = folder->folder;
	const uint64_t number = kind == PID ? 0 : strtoull(name, NULL, 10);

	if (kind != PID && !isdigit((unsigned char)name[0]))
		return;
	if (inode != 0 && !states->is_reading)
		check_name(states, folder, kind == PID ? inode : number, inode);
	if (before != 0) {
		state_of(states, kind == PID ? before : number)->names[kind]--;
		if ((kind == TODO || kind == MESS) && !has_data(states, number))
			states->list[number].gone_us = kernel_now_us();
		touch(states, kind == PID ? before : number);
	}
	if (inode != 0 && (kind == TODO || kind == MESS) && !has_data(states, number))
		state_of(states, number)->begun_us = kernel_now_us();
	if (inode != 0) {
		state_of(states, kind == PID ? inode : number)->names[kind]++;
		touch(states, kind == PID ? inode : number);
		if (kind == TODO)
			snprintf(states->queued, sizeof states->queued, "%s/%s", folder->path,
				 name);
	}
}

static void named(void *context, uint64_t directory, const char *name, uint64_t before,
		  uint64_t inode, bool is_directory)
{
	struct states *states = context;
	struct state folder = *state_of(states, directory);
	char path[512];

	if (folder.path == NULL)
		return;
	snprintf(path, sizeof path, "%s/%s", folder.path, name);
	if (is_directory && queue_folder_is_followed(path))
		add_folder(states, inode, path);
	else if (folder.folder != ELSEWHERE)
		name_in(states, &folder, name, before, inode);
}

/* --- the table --- */

static bool has_only(const struct state *state, unsigned places_allowed)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (state->names[i] > 0 && (places_allowed & 1u << i) == 0)
			return false;
	return true;
}

static bool is_in_table(const struct state *state)
{
	const uint8_t *names = state->names;
	const unsigned way =
		1u << INTD | 1u << MESS | 1u << INFO | 1u << LOCAL | 1u << REMOTE | 1u << BOUNCE;

	if (names[PID] > 1 || names[TODO] > 1 || names[MESS] > 1)
		return false;
	if (names[TODO] > 0)
		return has_only(state, way | 1u << TODO);
	if (names[MESS] > 0 && names[INFO] > 0)
		return has_only(state, way);
	return has_only(state, 1u << PID) || has_only(state, 1u << MESS);
}

/* Names of a control file that a crash or a full disk has left: only the cleaner cares. Or of a
 * message in the making that stands for a damaged one, without data. */
static bool is_litter(const struct state *state)
{
	if (damages_are_there() && has_only(state, 1u << MESS | 1u << INTD | 1u << BOUNCE))
		return true;
	return ledger_is_disturbed() && state->names[PID] <= 1 &&
	       has_only(state, 1u << PID | 1u << INTD | 1u << LOCAL | 1u << REMOTE);
}

static void object(const struct states *states, uint64_t number, const char *when)
{
	const struct state *state = &states->list[number];
	char text[128] = "";
	size_t used = 0;

	for (unsigned i = 0; i < PLACES; i++)
		if (state->names[i] > 0)
			used += (size_t)snprintf(text + used, sizeof text - used, " %s",
						 queue_folder_name((enum queue_folder)i));
	judge_object(JUDGE_STATES, "%s: message %llu is in no state%s: it has names in%s",
		     states->machine->name, (unsigned long long)number, when, text);
}

/* Its last line is "at: " and 20 digits. */
static void check_whole(const struct states *states)
{
	enum { LINE = 25 };
	const char *name = strrchr(states->queued, '/') + 1;
	char line[LINE];
	size_t size = files_end_of(states->machine, states->queued, line, LINE);

	origins_check(states->machine, states->queued);
	if (size == LINE && memcmp(line, "at: ", 4) == 0 && line[LINE - 1] == '\n')
		return;
	if (queue_file_is_damaged(states->machine, strtoull(name, NULL, 10)))
		return;
	judge_object(JUDGE_STATES, "%s: %s is not complete", states->machine->name, states->queued);
}

static void settled(void *context)
{
	struct states *states = context;

	for (size_t i = 0; i < states->touched_count; i++) {
		struct state *state = &states->list[states->touched[i]];

		if (is_in_table(state))
			state->is_torn = false;
		else if (!state->is_torn && !is_litter(state) &&
			 !queue_file_is_torn(states->machine, states->touched[i]))
			object(states, states->touched[i], "");
	}
	states->touched_count = 0;
	if (states->queued[0] != '\0')
		check_whole(states);
	states->queued[0] = '\0';
}

/* --- all of a disk --- */

static void read_folder(struct states *states, const char *path)
{
	size_t size = 0;
	char *names = files_names(states->machine, path, &size);
	uint64_t directory = files_inode(states->machine, path);

	add_folder(states, directory, path);
	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		char file[512];
		bool is_directory;
		uint64_t inode;

		snprintf(file, sizeof file, "%s/%s", path, names + i);
		is_directory = files_is_folder(states->machine, file);
		inode = files_inode(states->machine, file);
		named(states, directory, names + i, 0, inode, is_directory);
		if (is_directory && queue_folder_is_followed(file))
			read_folder(states, file);
	}
	if (names != NULL)
		disk_list_free(names);
}

static void forget(struct states *states)
{
	for (uint64_t i = 0; i < states->count; i++)
		free(states->list[i].path);
	free(states->list);
	states->list = NULL;
	states->count = 0;
}

static uint64_t read_message(struct states *states, uint64_t number)
{
	return has_data(states, number) ? queue_file_message(states->machine, number) : UINT64_MAX;
}

/* A message that had ended is there again. What was recorded of it is there, too: its name in todo
 * does not come back when info has gone. */
static void excuse(struct states *states, const struct states *before, uint64_t number)
{
	if (has_data(states, number) && !has_data(before, number))
		accounts_returned(states->machine, number, read_message(states, number));
}

/* What the power cut has left, each in a state of the table or not. */
static void cut(void *context)
{
	struct states *states = context;
	struct states before = *states;

	states->list = NULL;
	states->count = 0;
	states->is_reading = true;
	add_folder(states, files_inode(states->machine, "/"), "");
	read_folder(states, "/var");
	states->is_reading = false;
	states->touched_count = 0;
	states->queued[0] = '\0';
	for (uint64_t i = 0; i < states->count; i++)
		states->list[i].is_torn = !is_in_table(&states->list[i]);
	have_room(states, before.count); /* no more: the power fails often in a year */
	for (uint64_t i = 0; i < before.count; i++) {
		states->list[i].gone_us = before.list[i].gone_us;
		states->list[i].begun_us = before.list[i].begun_us;
	}
	for (uint64_t i = 0; i < states->count; i++)
		if (states->list[i].names[MESS] > 0 && states->list[i].names[INFO] > 0 &&
		    !queue_file_is_damaged(states->machine, i))
			states_check_failures(states->machine, i);
	for (uint64_t i = 0; i < before.count; i++)
		excuse(states, &before, i);
	forget(&before);
}

void states_begin(struct machine *machine)
{
	struct states *states = calloc(1, sizeof *states);

	if (states == NULL)
		err(1, "no memory");
	states->machine = machine;
	states->watch = (struct disk_watch){named, settled, cut, states};
	states->next = all;
	all = states;
	cut(states);
	disk_set_watch(machine->disk, &states->watch);
}

static struct states *states_of(const struct machine *machine)
{
	struct states *states = all;

	while (states != NULL && states->machine != machine)
		states = states->next;
	return states;
}

void states_damaged(const struct machine *machine, uint64_t number)
{
	struct states *states = states_of(machine);

	if (states != NULL)
		state_of(states, number)->is_torn = true;
}

uint64_t states_message(struct machine *machine, uint64_t number)
{
	struct states *states = states_of(machine);

	return states != NULL ? read_message(states, number) : UINT64_MAX;
}

bool states_have(const struct machine *machine, uint64_t number)
{
	const struct states *states = states_of(machine);

	return states != NULL && has_data(states, number);
}

int64_t states_gone_us(const struct machine *machine, uint64_t number)
{
	const struct states *states = states_of(machine);

	return states != NULL && number < states->count ? states->list[number].gone_us : 0;
}

int64_t states_begun_us(const struct machine *machine, uint64_t number)
{
	const struct states *states = states_of(machine);

	return states != NULL && number < states->count ? states->list[number].begun_us : 0;
}

/* --- promises --- */

/* Its number may be another one's by now. Where order is kept, the name in todo may come back
 * instead of that in mess. */
void states_promised(uint32_t address, const char *id, uint64_t number)
{
	struct states *states = all;
	char path[512];

	while (states != NULL && states->machine->address != address)
		states = states->next;
	if (states == NULL || states->machine->disk_has_stopped ||
	    !queue_file_find(states->machine, strtoull(id, NULL, 10), path, sizeof path))
		return;
	if (disk_keeps_order(states->machine->disk) && strstr(path, "/mess/") != NULL)
		return;
	if (!disk_is_durable(states->machine->disk, path) &&
	    queue_file_message(states->machine, strtoull(id, NULL, 10)) == number)
		judge_object(JUDGE_STATES, "%s: %s was promised and is not durable",
			     states->machine->name, path);
}

/* --- the end --- */

void states_look_at_end(void)
{
	for (struct states *states = all; states != NULL; states = states->next)
		for (uint64_t i = 0; i < states->count; i++)
			if (!is_in_table(&states->list[i]))
				object(states, i, " at the end");
}

void states_end(void)
{
	while (all != NULL) {
		struct states *states = all;

		all = states->next;
		forget(states);
		free(states);
	}
}
