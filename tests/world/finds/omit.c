// SPDX-License-Identifier: ISC
/*
 * A world whose disk does not do a step that a node asks it for, or does it too late: the mutants
 * of tests/crash. Linked before the disk (--wrap): neither the product nor the world knows.
 *
 * WORLD_OMITS is the number of the mutant and the mode of queue_sync that it is in, "3 files";
 * "- files": none. "12 files alone": what the omitted sync of a directory was to make durable, no
 * other step makes durable either. Not set: all are listed.
 */
#include "../../crash/mutants.h"
#include "forgotten.h"
#include "node.h"
#include "place.h"
#include "queue/store.h"
#include "settings.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE      "/var/queue"
#define WRAP(name) __typeof__(name) __real_##name, __wrap_##name
WRAP(disk_cut_power);
WRAP(disk_link);
WRAP(disk_live);
WRAP(disk_make);
WRAP(disk_new);
WRAP(disk_open);
WRAP(disk_open_directory);
WRAP(disk_rename);
WRAP(disk_sync);
WRAP(disk_sync_all);
WRAP(disk_sync_names);
WRAP(disk_set_modified);
WRAP(disk_truncate);
WRAP(disk_unlink);
WRAP(disk_write_out);
WRAP(settings_new_node);

static const char *const modes[] = {[QUEUE_SYNC_FILES] = "files",
				    [QUEUE_SYNC_FILESYSTEM] = "filesystem",
				    [QUEUE_SYNC_ORDERED] = "ordered"};

enum { DISK_TAKES_US = 8000 }; /* as for any sync: files.c */

static struct {
	const struct mutant *mutant; /* NULL: nothing is omitted */
	enum queue_sync mode;
	bool is_alone;
	bool was_cut;
	unsigned long strikes;
	struct disk_node *deferred; /* held: a step that waits */
	bool is_write_out;
	struct disk *deferred_disk; /* all of it */
	intptr_t due;               /* the number of the step that the disk is doing; 0: none */
	intptr_t steps;
	struct disk_node *first; /* held: MUTANT_FIRST's directory */
} omit;

/* --- which mutant --- */

static void list(void)
{
	for (size_t i = 0; i < mutant_count; i++)
		for (enum queue_sync mode = QUEUE_SYNC_FILES; mode <= QUEUE_SYNC_ORDERED; mode++)
			if ((mutants[i].modes & 1u << mode) != 0)
				printf("%zu %s\t%s\n", i, modes[mode], mutants[i].name);
	exit(0);
}

static void __attribute__((constructor)) choose(void)
{
	const char *text = getenv("WORLD_OMITS");
	char *rest;
	size_t number;

	if (text == NULL)
		list();
	number = strtoul(text, &rest, 10);
	if (*text != '-' && number < mutant_count)
		omit.mutant = &mutants[number];
	rest += rest == text; /* "-" */
	for (enum queue_sync mode = QUEUE_SYNC_FILES; mode <= QUEUE_SYNC_ORDERED; mode++) {
		size_t length = strlen(modes[mode]);

		if (*rest != ' ' || strncmp(rest + 1, modes[mode], length) != 0)
			continue;
		omit.is_alone = omit.mutant != NULL && strcmp(rest + 1 + length, " alone") == 0;
		if (omit.is_alone || rest[1 + length] == '\0')
			omit.mode = mode;
	}
	if (omit.mode == QUEUE_SYNC_AUTO)
		errx(2, "WORLD_OMITS: not understood: %s", text);
}

/* Several names may lead to a control file: it is called as it was opened. */
static const char *place_of_file(const struct disk_file *file)
{
	const char *place = place_of(file);

	return (file->flags & OS_FILE_APPEND) != 0 || strcmp(place, "intd") == 0
		       ? place
		       : place_of(file->node);
}

/* --- what strikes --- */

/* A mutant that is never struck says nothing about the world's judges. */
static void __attribute__((destructor)) tell_strikes(void)
{
	if (omit.mutant != NULL)
		printf("omitted %lu times\n", omit.strikes);
}

static bool strikes(int kind, enum call call, const char *place)
{
	const struct mutant *mutant = omit.mutant;

	bool is_struck = mutant != NULL && (int)mutant->kind == kind &&
			 (!mutant->is_aftermath || omit.was_cut) &&
			 mutant_is_call(call, place, mutant->call, mutant->place);

	omit.strikes += is_struck;
	return is_struck;
}

static void forget_deferred(void)
{
	if (omit.deferred != NULL)
		disk_node_drop(omit.deferred);
	omit.deferred = NULL;
	omit.deferred_disk = NULL;
	omit.due = 0;
}

static void carry_out(void *step)
{
	struct disk_file file = {.node = omit.deferred};
	int result = 0;

	if (omit.due == 0 || omit.due != (intptr_t)step)
		return;
	if (omit.deferred == NULL)
		result = __real_disk_sync_all(omit.deferred_disk);
	else if (omit.is_write_out)
		result = __real_disk_write_out(&file);
	else
		result = __real_disk_sync(&file);
	(void)result; /* nobody waits for it */
	forget_deferred();
}

static void defer(struct disk_node *node, struct disk *disk, bool is_write_out)
{
	carry_out((void *)omit.due);
	forget_deferred();
	if (node != NULL)
		disk_node_hold(node);
	omit.deferred = node;
	omit.deferred_disk = disk;
	omit.is_write_out = is_write_out;
}

/* After a call was done: the disk begins with what waited for it. */
static int end(const struct disk *disk, enum call call, const char *place, int result)
{
	if (result == 0 && omit.deferred_disk == disk && omit.due == 0 && omit.mutant != NULL &&
	    omit.mutant->kind == MUTANT_DEFER &&
	    mutant_is_call(call, place, omit.mutant->until, omit.mutant->until_place)) {
		omit.due = ++omit.steps;
		kernel_at(kernel_now_us() + 1 + (int64_t)kernel_below(DISK_TAKES_US), carry_out,
			  (void *)omit.due);
	}
	return result;
}

static void note_first(struct disk *disk, struct disk_file *from, const char *path, enum call call)
{
	char name[DISK_NAME_MAX + 1];
	char place[PLACE_SIZE];

	place_of_path(path, place);
	if (omit.first == NULL && omit.mutant != NULL && omit.mutant->kind == MUTANT_FIRST &&
	    mutant_is_call(call, place, omit.mutant->until, omit.mutant->until_place) &&
	    disk_walk(disk, from, path, &omit.first, name) == 0)
		disk_node_hold(omit.first);
}

static void forget(struct disk *disk)
{
	if (omit.mutant != NULL && omit.mutant->kind == MUTANT_FORGET_REMOVALS)
		omit.strikes += forget_removals(disk, omit.mutant->place);
}

/* --- the disk's calls --- */

struct disk *__wrap_disk_new(const struct disk_options *options)
{
	struct disk_options chosen = *options;

	chosen.keeps_order = omit.mode == QUEUE_SYNC_ORDERED;
	return __real_disk_new(&chosen);
}

void __wrap_disk_cut_power(struct disk *disk)
{
	forget_deferred();
	if (omit.first != NULL)
		disk_node_drop(omit.first);
	omit.first = NULL;
	omit.was_cut = true;
	forgotten_put_back(disk);
	__real_disk_cut_power(disk);
}

/* What the disk does by itself. */
void __wrap_disk_live(struct disk *disk, int64_t uptime_us)
{
	if (disk->first != NULL && uptime_us >= disk->first->made_us + DISK_COMMIT_US)
		forget(disk);
	__real_disk_live(disk, uptime_us);
}

int __wrap_disk_open(struct disk *disk, struct disk_file *from, const char *path, unsigned flags,
		     struct disk_file **out)
{
	int result = __real_disk_open(disk, from, path, flags, out);

	if (result == 0)
		place_know(*out, path);
	if (result == 0 && (flags & OS_FILE_CREATE) != 0)
		place_know((*out)->node, path);
	return result;
}

int __wrap_disk_open_directory(struct disk *disk, struct disk_file *from, const char *path,
			       struct disk_file **out)
{
	int result = __real_disk_open_directory(disk, from, path, out);

	if (result == 0)
		place_know(*out, path);
	return result;
}

int __wrap_disk_make(struct disk *disk, struct disk_file *from, const char *path, mode_t mode)
{
	int result = __real_disk_make(disk, from, path, mode);
	struct disk_node *node;

	if (result != 0)
		return result;
	if (disk_look_up(disk, from, path, &node) == 0)
		place_know(node, path);
	/* its parent is the first one's whose sync is omitted, whoever asks for that */
	if (omit.is_alone && strcmp(omit.mutant->place, "..") == 0 && strcmp(path, QUEUE) == 0)
		forget_last(disk);
	return 0;
}

int __wrap_disk_sync(struct disk_file *file)
{
	struct disk *disk = file->node->disk;
	const char *place = place_of_file(file);

	if (strikes(MUTANT_SKIP, CALL_SYNC, place))
		return 0;
	if (strikes(MUTANT_DEFER, CALL_SYNC, place)) {
		defer(file->node, disk, false);
		return 0;
	}
	forget(disk);
	return end(disk, CALL_SYNC, place, __real_disk_sync(file));
}

int __wrap_disk_write_out(struct disk_file *file)
{
	struct disk *disk = file->node->disk;
	const char *place = place_of_file(file);

	if (strikes(MUTANT_SKIP, CALL_WRITE_OUT, place))
		return 0;
	if (strikes(MUTANT_DEFER, CALL_WRITE_OUT, place)) {
		defer(file->node, disk, true);
		return 0;
	}
	return end(disk, CALL_WRITE_OUT, place, __real_disk_write_out(file));
}

/* The directory that changed first, in place of this one. */
static int sync_first(struct disk_file *file)
{
	struct disk_file first = {.node = omit.first};
	int result = __real_disk_sync_names(omit.first != NULL ? &first : file);

	if (omit.first != NULL)
		disk_node_drop(omit.first);
	omit.first = NULL;
	return result;
}

int __wrap_disk_sync_names(struct disk_file *file)
{
	struct disk *disk = file->node->disk;
	const char *place = place_of(file);

	if (strikes(MUTANT_SKIP, CALL_SYNC_DIRECTORY, place)) {
		if (omit.is_alone)
			forget_names(file->node);
		return 0;
	}
	if (strikes(MUTANT_FIRST, CALL_SYNC_DIRECTORY, place))
		return sync_first(file);
	if (strikes(MUTANT_DEFER, CALL_SYNC_DIRECTORY, place)) {
		defer(file->node, disk, false);
		return 0;
	}
	forget(disk);
	return end(disk, CALL_SYNC_DIRECTORY, place, __real_disk_sync_names(file));
}

/* Bounces whose bytes are not durable, and new names of messages. */
static const char *place_of_all(const struct disk *disk)
{
	for (const struct disk_node *node = disk->nodes; node != NULL; node = node->after)
		if (node->dirty_count > 0 && strcmp(place_of(node), "bounce") == 0)
			return "bounce";
	for (const struct disk_item *item = disk->first; item != NULL; item = item->after)
		if (item->kind == DISK_ITEM_NAME && item->target != NULL &&
		    (strcmp(place_of(item->node), "todo") == 0 ||
		     strcmp(place_of(item->node), "info") == 0))
			return "names";
	return "bytes";
}

int __wrap_disk_sync_all(struct disk *disk)
{
	const char *place = place_of_all(disk);

	if (strikes(MUTANT_SKIP, CALL_SYNC_FILESYSTEM, place))
		return 0;
	if (strikes(MUTANT_DEFER, CALL_SYNC_FILESYSTEM, place)) {
		defer(NULL, disk, false);
		return 0;
	}
	forget(disk);
	return end(disk, CALL_SYNC_FILESYSTEM, place, __real_disk_sync_all(disk));
}

int __wrap_disk_truncate(struct disk_file *file, uint64_t size)
{
	return strikes(MUTANT_SKIP, CALL_TRUNCATE, place_of(file->node))
		       ? 0
		       : __real_disk_truncate(file, size);
}

int __wrap_disk_set_modified(struct disk *disk, struct disk_file *from, const char *path,
			     int64_t modified_us)
{
	char place[PLACE_SIZE];

	place_of_path(path, place);
	return strikes(MUTANT_SKIP, CALL_MODIFY, place)
		       ? 0
		       : __real_disk_set_modified(disk, from, path, modified_us);
}

/* PATH has a new name. */
static int named(struct disk *disk, struct disk_file *from, const char *path, enum call call)
{
	char place[PLACE_SIZE];
	struct disk_node *node;

	if (disk_look_up(disk, from, path, &node) == 0)
		place_know(node, path);
	note_first(disk, from, path, call);
	place_of_path(path, place);
	return end(disk, call, place, 0);
}

int __wrap_disk_link(struct disk *disk, struct disk_file *from, const char *path, const char *to)
{
	int result = __real_disk_link(disk, from, path, to);

	return result < 0 ? result : named(disk, from, to, CALL_LINK);
}

int __wrap_disk_rename(struct disk *disk, struct disk_file *from, const char *path, const char *to,
		       bool may_replace)
{
	int result = __real_disk_rename(disk, from, path, to, may_replace);

	return result < 0 ? result : named(disk, from, to, CALL_RENAME);
}

int __wrap_disk_unlink(struct disk *disk, struct disk_file *from, const char *path)
{
	char place[PLACE_SIZE];

	place_of_path(path, place);
	return end(disk, CALL_UNLINK, place, __real_disk_unlink(disk, from, path));
}

/* --- the mode --- */

struct machine *__wrap_settings_new_node(size_t index, char settings[SETTINGS_SIZE])
{
	struct machine *machine = __real_settings_new_node(index, settings);

	settings_write(index, modes[omit.mode], settings);
	node_set(machine, settings);
	return machine;
}
