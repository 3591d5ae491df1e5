// SPDX-License-Identifier: ISC
/*
 * Removes what crashes leave. Every rule here removes a name only when no accepted message can have
 * it.
 */
#include "os/file/file.h"
#include "queue/internal.h"
#include "queue/update.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct clean {
	struct queue_intake *intake;
	const struct queue_store *store;
	int64_t before_us; /* what was changed before this time is old */
	void (*each)(void *context, const char *path);
	void *context;
};

static bool is_old_file(const struct clean *clean, const char *path)
{
	struct os_file_info info;

	return os_file_info_at(clean->store->directory, path, &info) == 0 &&
	       info.modified_us < clean->before_us;
}

/* Old files that another process left. Spares and files that we handed out are in use. */
static int clean_pid(void *context, const char *name)
{
	const struct clean *clean = context;
	char path[QUEUE_PATH_SIZE + 256];
	char own[32];
	int result;

	/* a file set aside is kept until the next boot */
	if (name[0] == 'x' && strchr(name, '.') != NULL && strchr(name, '.')[1] != '\0')
		return 0;
	snprintf(own, sizeof own, "n%ld-", (long)clean->intake->process);
	snprintf(path, sizeof path, "pid/%s", name);
	if (name[0] == 'm' || strncmp(name, own, strlen(own)) == 0 || !is_old_file(clean, path))
		return 0;
	result = os_file_unlink(clean->store->directory, path);
	if (result == 0 && clean->each != NULL)
		clean->each(clean->context, path);
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

	return os_file_list(intake->store->directory, "pid", clean_pid, &clean);
}

int queue_store_drop_durably(const struct queue_store *store, enum queue_folder folder,
			     const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result = queue_store_drop(store, folder, name, number);

	if (result <= 0)
		return result;
	queue_store_directory_path(store, folder, name, number, path);
	result = os_file_sync_directory(store->directory, path);
	return result < 0 ? result : 1;
}

/* Whether a message at S4 has names left that must be settled: 1, 0 or -errno. */
static int has_name_to_settle(const struct queue_store *store, uint64_t number)
{
	int result = queue_store_has(store, QUEUE_MESS, NULL, number);

	return result == 0 ? queue_store_has(store, QUEUE_INFO, NULL, number) : result;
}

static int settle_place(const struct queue_settling *settling, enum queue_folder folder,
			const char *name, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result = queue_store_drop_durably(settling->store, folder, name, number);

	if (result > 0 && settling->removed != NULL) {
		queue_store_path(settling->store, folder, name, number, path);
		settling->removed(settling->context, path);
	}
	return result < 0 ? result : 0;
}

/* All names of S5 but that in intd/. */
static int settle_places(const struct queue_settling *settling, uint64_t number)
{
	static const enum queue_folder folders[] = {QUEUE_INFO, QUEUE_MESS, QUEUE_REMOTE,
						    QUEUE_BOUNCE};
	int result = 0;

	for (size_t i = 0; result == 0 && i < COUNT_OF(folders); i++)
		result = settle_place(settling, folders[i], NULL, number);
	for (size_t i = 0; result == 0 && i < settling->service_count; i++)
		result = settle_place(settling, QUEUE_LOCAL, settling->services[i], number);
	return result;
}

int queue_update_settle(const struct queue_settling *settling, enum mail_stage stage,
			uint64_t number)
{
	int result = settle_place(settling, QUEUE_INTD, NULL, number);

	if (result == 0)
		result = has_name_to_settle(settling->store, number);
	if (result > 0)
		result = queue_update_is_interrupted(settling->store, stage, number);
	if (result == -ENODATA || result == -ENOENT) /* damaged: kept for people; or gone */
		return 0;
	if (result == 0)
		result = settle_places(settling, number);
	return result < 0 ? result : 0;
}
