// SPDX-License-Identifier: ISC
/* Finds what is wrong with a queue's names. */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/damage.h"
#include "queue/repair/internal.h"
#include "queue/update.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROGRESS_EVERY = 256 };

/* --- messages --- */

static int set_message_aside(struct repair *repair, uint64_t number, const char *why)
{
	int result = repair_set_names_aside(repair, number, why);

	return result == 0 ? repair_set_place_aside(repair, QUEUE_MESS, NULL, number, why) : result;
}

/* Whether the message can be kept: 0, -EBADMSG or another -errno. Damaged data can: they are held
 * when they are to be delivered. */
static int judge_message_at_place(struct repair *repair, uint64_t number, unsigned place,
				  const struct os_file_info *info)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;
	int result = repair_load(repair, place, number, &text, &control);

	if (result < 0)
		return result;
	result = repair_link_package(repair, control->envelope, place, info);
	queue_control_free(control);
	return result;
}

static void nobody_hears(void *context, const struct queue_cleaner_finding *finding)
{
	(void)context;
	(void)finding;
}

/* The same as when the manager finds it. */
static int set_queued_aside(struct repair *repair, enum mail_stage stage, uint64_t number)
{
	const struct queue_repair *options = repair->options;
	int result = repair_make_directory(repair, QUEUE_DAMAGED);

	if (result == 0)
		result = queue_cleaner_set_aside(
			repair->store, stage, number,
			options->lost != NULL ? options->lost : nobody_hears, options->context);
	if (result == 0)
		result =
			queue_store_drop(repair->store, QUEUE_TODO, mail_stage_name(stage), number);
	return result < 0 ? result : 0;
}

static int set_damaged_aside(struct repair *repair, unsigned place, uint64_t number, bool is_true)
{
	int result = -EPROTO;

	if (place != REPAIR_INFO && is_true && !repair->options->dry_run)
		result = set_queued_aside(repair, (enum mail_stage)place, number);
	return result == -EPROTO ? set_message_aside(repair, number, "its control file is damaged")
				 : result;
}

static int add_move(struct repair *repair, struct repair_move move)
{
	if (repair->options->dry_run) {
		repair->options->renumbered(repair->options->context, move.old, move.number);
		return 0;
	}
	repair->group[repair->group_count++] = move;
	return repair->group_count == REPAIR_GROUP ? repair_out(repair) : 0;
}

static void tell_progress(struct repair *repair)
{
	if (repair->seen++ % PROGRESS_EVERY == 0)
		repair->options->progress(repair->options->context, repair->seen - 1);
}

/* What cannot be read for other reasons is the judge's. */
static void tell_differences(const struct repair *repair, unsigned place, uint64_t number)
{
	struct queue_damage damage = {.store = repair->store,
				      .with_data = true,
				      .each = repair->options->differs,
				      .context = repair->options->context};
	enum mail_stage stage = place;
	int result = queue_damage_look(&damage, place == REPAIR_INFO ? NULL : &stage, number);

	(void)result;
}

/* Checks a message at S4 or S5 (PLACE), whose data file is INFO. */
static int check_message_at_place(struct repair *repair, unsigned place, uint64_t number,
				  const struct os_file_info *info)
{
	bool is_true = info->inode == number;
	int result;

	tell_differences(repair, place, number);
	result = judge_message_at_place(repair, number, place, info);
	if (result == -EBADMSG)
		return set_damaged_aside(repair, place, number, is_true);
	if (result < 0)
		return result;
	return is_true ? repair_tell_kept(repair, number, number)
		       : add_move(repair, (struct repair_move){info->inode, number, place});
}

static int on_message_to_repair(void *context, uint64_t number)
{
	struct repair *repair = context;
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	int result;

	tell_progress(repair);
	repair_data_path(repair, repair->place, number, path);
	result = os_file_info_at(repair->store->directory, path, &info);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return check_message_at_place(repair, repair->place, number, &info);
}

static int on_mess(void *context, uint64_t number)
{
	struct repair *repair = context;
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	unsigned place;
	int result;

	tell_progress(repair);
	queue_store_path(repair->store, QUEUE_MESS, NULL, number, path);
	result = os_file_info_at(repair->store->directory, path, &info);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	result = repair_find(repair, number, &place);
	if (result == -ENOENT) /* it has ended; if its number is true, the cleaner removes it */
		return info.inode == number
			       ? 0
			       : set_message_aside(repair, number, "it has no control file");
	if (result < 0)
		return result;
	if (place == REPAIR_INFO)
		return check_message_at_place(repair, place, number, &info);
	/* between todo/ and info/: the name in todo/ counts */
	if (info.inode == number || repair->options->dry_run)
		return 0;
	result = queue_store_drop(repair->store, QUEUE_MESS, NULL, number);
	return result < 0 ? result : 0;
}

static int on_stray_to_repair(void *context, const char *path)
{
	return repair_set_aside(context, path, "that is no message's name");
}

/* --- names without a message --- */

struct side {
	struct repair *repair;
	enum queue_folder folder;
	const char *name;
};

static int on_side(void *context, uint64_t number)
{
	const struct side *side = context;
	const struct queue_store *store = side->repair->store;
	int result = 0;

	if (side->folder == QUEUE_INFO) /* its own name does not count */
		result = queue_store_has(store, QUEUE_MESS, NULL, number);
	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++)
		result = queue_store_has(store, QUEUE_TODO, mail_stage_name(stage), number);
	if (result == 0 && side->folder != QUEUE_INFO)
		result = queue_store_has(store, QUEUE_INFO, NULL, number);
	/* beside its data it may be what makes it a message again: queue/cleaner.h */
	if (result == 0 && queue_store_look(store, NULL, number, NULL) == 0)
		return 0;
	if (result != 0)
		return result < 0 ? result : 0;
	return repair_set_place_aside(side->repair, side->folder, side->name, number,
				      "there is no message of that number");
}

static int on_side_stray(void *context, const char *path)
{
	const struct side *side = context;

	return on_stray_to_repair(side->repair, path);
}

static int check_place(struct repair *repair, enum queue_folder folder, const char *name)
{
	struct side side = {repair, folder, name};

	return queue_store_each(repair->store, folder, name, on_side, on_side_stray, &side);
}

static int check_places_of_queue(struct repair *repair)
{
	int result = check_place(repair, QUEUE_INTD, NULL);

	if (result == 0)
		result = check_place(repair, QUEUE_INFO, NULL);
	for (size_t i = 0; result == 0 && i < repair->service_count; i++)
		result = check_place(repair, QUEUE_LOCAL, repair->services[i]);
	if (result == 0)
		result = check_place(repair, QUEUE_REMOTE, NULL);
	return result == 0 ? check_place(repair, QUEUE_BOUNCE, NULL) : result;
}

/* The name of a spare is the number of its inode too; spares can simply be removed. */
static int on_pid(void *context, const char *name)
{
	struct repair *repair = context;
	char path[REPAIR_PATH_SIZE];
	int result;

	if (repair->options->dry_run || name[0] != 'm')
		return 0;
	snprintf(path, sizeof path, "pid/%s", name);
	result = os_file_unlink(repair->store->directory, path);
	return result == -ENOENT ? 0 : result;
}

/* --- the whole repair --- */

static int on_service(void *context, const char *name)
{
	struct repair *repair = context;

	if (!queue_service_is_valid(str_from(name)))
		return 0;
	repair->services = memory_resize(repair->services,
					 (repair->service_count + 1) * sizeof *repair->services);
	snprintf(repair->services[repair->service_count++], QUEUE_SERVICE_MAX + 1, "%s", name);
	return 0;
}

int repair_learn_services(struct repair *repair)
{
	return os_file_list(repair->store->directory, "local", on_service, repair);
}

static int check_messages(struct repair *repair)
{
	int result = 0;

	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++) {
		repair->place = stage;
		result = queue_store_each(repair->store, QUEUE_TODO, mail_stage_name(stage),
					  on_message_to_repair, on_stray_to_repair, repair);
	}
	if (result == 0)
		result = queue_store_each(repair->store, QUEUE_MESS, NULL, on_mess,
					  on_stray_to_repair, repair);
	return result;
}

/* A power failure may have taken some of their directories. */
static int make_services(const struct repair *repair)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < repair->service_count; i++)
		result = queue_store_add_service(repair->store, repair->services[i]);
	return result;
}

static int repair_all(struct repair *repair)
{
	bool is_real = !repair->options->dry_run;
	int directory = repair->store->directory;
	int result = repair_learn_services(repair);

	if (result == 0 && is_real)
		result = make_services(repair);
	if (result == 0 && is_real)
		result = repair_make_directory(repair, "repair");
	if (result == 0 && is_real)
		result = repair_resume_out(repair);
	if (result == 0)
		result = check_messages(repair);
	if (result == 0 && is_real)
		result = repair_out(repair);
	if (result == 0 && is_real)
		result = repair_in(repair);
	if (result == 0)
		result = check_places_of_queue(repair);
	if (result == 0)
		result = os_file_list(directory, "pid", on_pid, repair);
	return result == 0 && is_real ? repair_barrier(repair) : result;
}

int queue_repair(struct queue_store *store, const struct queue_repair *options)
{
	struct repair *repair = memory_alloc_zero(1, sizeof *repair);
	int result;

	repair->store = store;
	repair->options = options;
	result = repair_all(repair);
	free(repair->services);
	free(repair);
	return result;
}

static int on_name_left_in_repair(void *context, const char *name)
{
	(void)context;
	(void)name;
	return 1;
}

int queue_repair_is_pending(struct queue_store *store)
{
	int result = os_file_list(store->directory, "repair", on_name_left_in_repair, NULL);

	if (result == -ENOENT)
		return 0;
	/* names whose removal was not synced must not come back later */
	return result == 0 ? os_file_sync_directory(store->directory, "repair") : result;
}
