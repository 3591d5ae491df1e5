// SPDX-License-Identifier: ISC
/*
 * What crashes leave. Every rule here removes a name only when no message that
 * was answered for can have it.
 */
#include "os/file.h"
#include "queue/internal.h"
#include "queue/update.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct clean {
	struct queue_intake *intake;
	const struct queue_store *store;
	int64_t before_us; /* what was changed before is old */
	void (*each)(void *context, const char *path);
	void *context;
};

static void tell(const struct clean *clean, const char *path)
{
	if (clean->each != NULL)
		clean->each(clean->context, path);
}

/* Durable at once: the next new file may get this number. Rare, after a crash. */
static int make_durable(const struct queue_store *store, enum queue_place place, const char *name,
			uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_directory_path(store, place, name, number, path);
	return os_file_sync_directory(store->directory, path);
}

static bool is_old(const struct clean *clean, const char *path)
{
	struct os_file_info info;

	return os_file_info_at(clean->store->directory, path, &info) == 0 &&
	       info.modified_us < clean->before_us;
}

/* Data of a message that is neither at S4 nor at S5: it has ended. */
static int clean_mess(void *context, uint64_t number)
{
	const struct clean *clean = context;
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	int result = queue_store_is_live(clean->store, number);

	if (result != 0)
		return result < 0 ? result : 0;
	queue_store_path(clean->store, QUEUE_MESS, NULL, number, path);
	if (os_file_info_at(clean->store->directory, path, &info) < 0 || info.inode != number)
		return 0;
	/* whichever names it had, its number is not free before a sync */
	for (unsigned which = 0; which < QUEUE_DIRTY_COUNT; which++)
		queue_spare_mark_dirty(clean->intake, which, number);
	result = queue_retire_data(clean->intake, path, number);
	if (result == 0)
		tell(clean, path);
	return result;
}

/* What another process began and left. Spares and our own new files are in use. */
static int clean_pid(void *context, const char *name)
{
	const struct clean *clean = context;
	char path[QUEUE_PATH_SIZE + 256];
	char own[32];
	int result;

	/* that of a boot is kept as long as the machine runs */
	if (name[0] == 'x' && strchr(name, '.') != NULL && strchr(name, '.')[1] != '\0')
		return 0;
	snprintf(own, sizeof own, "n%ld-", (long)clean->intake->process);
	snprintf(path, sizeof path, "pid/%s", name);
	if (name[0] == 'm' || strncmp(name, own, strlen(own)) == 0 || !is_old(clean, path))
		return 0;
	result = os_file_unlink(clean->store->directory, path);
	if (result == 0)
		tell(clean, path);
	return result == -ENOENT ? 0 : result;
}

int queue_intake_clean(struct queue_intake *intake, int64_t now_us, int64_t age_us,
		       void (*each)(void *context, const char *path), void *context)
{
	struct clean clean = {.intake = intake,
			      .store = intake->store,
			      .before_us = now_us - age_us,
			      .each = each,
			      .context = context};
	int result = 0;

	/* later a message's end may be under way */
	if (!intake->has_cleaned)
		result =
			queue_store_each(intake->store, QUEUE_MESS, NULL, clean_mess, NULL, &clean);
	if (result < 0)
		return result;
	intake->has_cleaned = true;
	return os_file_list(intake->store->directory, "pid", clean_pid, &clean);
}

struct end_clean {
	struct queue_store *store;
	enum queue_place place;
	enum mail_stage stage;
	const char *service;
	void (*each)(void *context, const char *path);
	void *context;
};

static int end_drop(const struct end_clean *clean, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result = queue_store_drop(clean->store, clean->place, clean->service, number);

	if (result <= 0)
		return result;
	if (clean->each != NULL) {
		queue_store_path(clean->store, clean->place, clean->service, number, path);
		clean->each(clean->context, path);
	}
	return make_durable(clean->store, clean->place, clean->service, number);
}

/* Whether it is S5, or will be when its name in todo/ goes: 1, 0 or -errno. */
static int is_preprocessed(const struct queue_store *store, uint64_t number)
{
	for (unsigned stage = 0; stage < MAIL_STAGE_COUNT; stage++) {
		int result = queue_store_has(store, QUEUE_TODO, mail_stage_name(stage), number);

		if (result != 0)
			return result < 0 ? result
					  : queue_update_is_interrupted(store, stage, number);
	}
	return queue_store_has(store, QUEUE_MESS, NULL, number);
}

static int clean_info(void *context, uint64_t number)
{
	const struct end_clean *clean = context;
	int result = is_preprocessed(clean->store, number);

	if (result == -ENODATA) /* damaged: for people to look at */
		return 0;
	if (result != 0)
		return result < 0 ? result : 0;
	return end_drop(clean, number);
}

/* Nobody works on a control file when we start. */
static int clean_intd(void *context, uint64_t number)
{
	return end_drop(context, number);
}

/* A message that does not go on to S5 has no name there yet. */
static int clean_queued(void *context, uint64_t number)
{
	const struct end_clean *clean = context;
	int result = queue_store_has(clean->store, QUEUE_MESS, NULL, number);

	if (result > 0)
		result = queue_update_is_interrupted(clean->store, clean->stage, number) == 0;
	return result > 0 ? end_drop(clean, number) : result;
}

/* What info/ has left is S5. */
static int clean_side(void *context, uint64_t number)
{
	const struct end_clean *clean = context;
	int result = queue_store_has(clean->store, QUEUE_INFO, NULL, number);

	if (result != 0)
		return result < 0 ? result : 0;
	return end_drop(clean, number);
}

int queue_update_clean(struct queue_store *store, const char *const *services, size_t service_count,
		       void (*each)(void *context, const char *path), void *context)
{
	struct end_clean clean = {
		.store = store, .place = QUEUE_INFO, .each = each, .context = context};
	int result = queue_store_each(store, QUEUE_INFO, NULL, clean_info, NULL, &clean);

	clean.place = QUEUE_MESS;
	for (unsigned stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++) {
		clean.stage = (enum mail_stage)stage;
		result = queue_store_each(store, QUEUE_TODO, mail_stage_name(clean.stage),
					  clean_queued, NULL, &clean);
	}
	clean.place = QUEUE_INTD;
	if (result == 0)
		result = queue_store_each(store, QUEUE_INTD, NULL, clean_intd, NULL, &clean);
	clean.place = QUEUE_LOCAL;
	for (size_t i = 0; result == 0 && i < service_count; i++) {
		clean.service = services[i];
		result =
			queue_store_each(store, QUEUE_LOCAL, services[i], clean_side, NULL, &clean);
	}
	clean.service = NULL;
	clean.place = QUEUE_REMOTE;
	if (result == 0)
		result = queue_store_each(store, QUEUE_REMOTE, NULL, clean_side, NULL, &clean);
	clean.place = QUEUE_BOUNCE;
	if (result == 0)
		result = queue_store_each(store, QUEUE_BOUNCE, NULL, clean_side, NULL, &clean);
	return result;
}
