// SPDX-License-Identifier: ISC
/*
 * The start of "queue": what an earlier process left in handed/.
 *
 * Litter is removed, and that made durable, before anything new is queued: the number of its file
 * is free afterwards, and a power failure must not bring the name back for the message that has the
 * number then.
 */
#include "os/file/file.h"
#include "queue/handed/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct handed_load {
	struct queue_intake *intake;
	struct handed_node *node;
	bool has_removed;                      /* litter of NODE */
	struct queue_handed_name **unfinished; /* ended, but still in todo/; owned */
	size_t unfinished_count;
	size_t unfinished_capacity;
};

enum { RUN_NAME_SIZE = sizeof "run.18446744073709551615.18446744073709551615" };

/* "run.EPOCH.RUN" */
static bool read_run_name(struct str text, uint64_t *epoch_out, uint64_t *run_out)
{
	struct str rest = text;
	struct str word;
	char name[RUN_NAME_SIZE];

	if (!str_split(&rest, '.', &word) || !str_equal(word, STR("run")) ||
	    !str_split(&rest, '.', &word) || !str_to_u64(word, epoch_out) || *epoch_out == 0 ||
	    rest.data == NULL || !str_to_u64(rest, run_out))
		return false;
	snprintf(name, sizeof name, "run.%" PRIu64 ".%" PRIu64, *epoch_out, *run_out);
	return str_equal(text, str_from(name)); /* no serial has two names */
}

static bool is_later_run(const struct handed_node *node, uint64_t epoch, uint64_t run)
{
	return epoch > node->epoch || (epoch == node->epoch && run > node->run);
}

/* The removal of one that a newer one has replaced was interrupted. */
static int drop_older_run(struct handed_load *load, const char *name, uint64_t epoch, uint64_t run)
{
	struct handed_node *node = load->node;
	char older[RUN_NAME_SIZE];
	char path[QUEUE_PATH_SIZE];
	int result;

	if (!is_later_run(node, epoch, run)) {
		snprintf(older, sizeof older, "%s", name);
	} else {
		snprintf(older, sizeof older, "run.%" PRIu64 ".%" PRIu64, node->epoch, node->run);
		node->epoch = epoch;
		node->run = run;
		if (strcmp(older, "run.0.0") == 0)
			return 0;
	}
	queue_handed_path(node->name, older, false, path);
	result = os_file_unlink(load->intake->store->directory, path);
	return result == -ENOENT ? 0 : result;
}

static int remove_litter(struct handed_load *load, const char *path)
{
	int result = os_file_unlink(load->intake->store->directory, path);

	load->has_removed = true;
	return result == -ENOENT ? 0 : result;
}

/* Whether a message has the number, or what is left of one that ended: 1, 0 or -errno. A name in
 * mess/ goes last. */
static int has_message(const struct queue_intake *intake, uint64_t number)
{
	int result = queue_store_is_live(intake->store, number);

	return result == 0 ? queue_store_has(intake->store, QUEUE_MESS, NULL, number) : result;
}

/* Of the two names that a power failure may leave of a rename, the later one counts. */
static int add_ended(struct handed_load *load, struct str name, const struct os_file_info *info)
{
	struct queue_handed_name *found = handed_name_find(load->node, name);
	char path[QUEUE_PATH_SIZE];
	int result = 0;

	if (found != NULL) {
		queue_handed_name_path(found, path);
		result = remove_litter(load, path);
		found->state = QUEUE_HANDED_ENDED;
	} else {
		found = handed_name_add(load->intake, load->node, name, info->inode,
					QUEUE_HANDED_ENDED);
	}
	found->is_reported = true;
	if (info->links == 1)
		return result;
	load->unfinished = memory_grow(load->unfinished, load->unfinished_count,
				       &load->unfinished_capacity, sizeof *load->unfinished);
	load->unfinished[load->unfinished_count++] = found;
	return result;
}

/* A file that was emptied because its commit failed is no message either (intake/aside.c). */
static int add_taken(struct handed_load *load, struct str name, const char *path,
		     const struct os_file_info *info)
{
	struct queue_handed_name *added;
	int result = info->links > 1 && info->size > 0 ? has_message(load->intake, info->inode) : 0;

	if (result < 0)
		return result;
	if (result == 0 || handed_name_find(load->node, name) != NULL)
		return remove_litter(load, path);
	added = handed_name_add(load->intake, load->node, name, info->inode, QUEUE_HANDED_TAKEN);
	added->is_reported = true;
	return 0;
}

static int load_handed_name(void *context, const char *text)
{
	static const struct str done = STR(".done");
	struct handed_load *load = context;
	struct str name = str_from(text);
	struct mail_package package;
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];
	uint64_t epoch;
	uint64_t run;
	bool is_done;
	int result;

	if (read_run_name(name, &epoch, &run))
		return drop_older_run(load, text, epoch, run);
	is_done = name.length > done.length &&
		  str_equal(str_skip(name, name.length - done.length), done);
	if (is_done)
		name = str_slice(name.data, name.length - done.length);
	if (!mail_package_parse(name, &package))
		return 0; /* not ours: the cleaner reports it */
	queue_handed_path(load->node->name, text, false, path);
	result = os_file_info_at(load->intake->store->directory, path, &info);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return is_done ? add_ended(load, name, &info) : add_taken(load, name, path, &info);
}

/* Their other name in todo/ goes next, once NAME.done is durable: the manager must not find it.
 * That in mess/ it removes itself. */
static int end_unfinished(struct handed_load *load)
{
	struct queue_intake *intake = load->intake;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < load->unfinished_count; i++)
		for (unsigned stage = 0; result >= 0 && stage < MAIL_STAGE_COUNT; stage++) {
			uint64_t number = load->unfinished[i]->number;

			result = queue_store_drop(intake->store, QUEUE_TODO, mail_stage_name(stage),
						  number);
			queue_spare_mark_dirty(intake, stage, number);
		}
	return result < 0 ? result : 0;
}

static int load_handed_node(void *context, const char *name)
{
	struct queue_intake *intake = context;
	struct handed_load load = {.intake = intake};
	char path[QUEUE_PATH_SIZE];
	int result;

	if (!mail_node_is_valid(str_from(name)))
		return 0;
	load.node = handed_node_add(intake, str_from(name));
	if (load.node == NULL)
		return -EMFILE;
	snprintf(path, sizeof path, QUEUE_HANDED_FOLDER "/%s", name);
	result = os_file_list(intake->store->directory, path, load_handed_name, &load);
	if (result == -ENOTDIR)
		result = 0;
	if (result == 0 && (load.has_removed || load.unfinished_count > 0))
		result = os_file_sync_directory(intake->store->directory, path);
	if (result == 0)
		result = end_unfinished(&load);
	free(load.unfinished);
	return result;
}

int queue_handed_load(struct queue_intake *intake)
{
	int result;

	intake->handed = memory_alloc_zero(1, sizeof *intake->handed);
	result = os_file_list(intake->store->directory, QUEUE_HANDED_FOLDER, load_handed_node,
			      intake);
	return result == -ENOENT ? queue_store_make_folders(intake->store) : result;
}
