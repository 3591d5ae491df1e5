// SPDX-License-Identifier: ISC
/* Where the names of messages are, and all names in a folder. */
#include "os/file/file.h"
#include "queue/handed.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdio.h>

static const char *const folder_names[] = {
	[QUEUE_MESS] = "mess",     [QUEUE_INTD] = "intd",   [QUEUE_TODO] = "todo",
	[QUEUE_INFO] = "info",     [QUEUE_LOCAL] = "local", [QUEUE_REMOTE] = "remote",
	[QUEUE_BOUNCE] = "bounce",
};

/* A path in the making. A message needs a dozen: snprintf() would take a tenth of a simulated
 * queue's time. */
struct path {
	char *at;
	const char *end; /* of what fits, without the final 0 */
};

static void put_text_in_path(struct path *path, const char *text)
{
	while (*text != '\0' && path->at < path->end)
		*path->at++ = *text++;
	*path->at = '\0';
}

static void put_number_in_path(struct path *path, uint64_t number)
{
	char digits[sizeof "18446744073709551615"];
	char *first = digits + sizeof digits - 1;

	*first = '\0';
	do
		*--first = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	put_text_in_path(path, first);
}

static struct path put_part(enum queue_folder folder, const char *name, uint64_t x, char *text)
{
	struct path path = {text, text + QUEUE_PATH_SIZE - 1};

	put_text_in_path(&path, folder_names[folder]);
	if (name != NULL) {
		put_text_in_path(&path, "/");
		put_text_in_path(&path, name);
	}
	put_text_in_path(&path, "/");
	put_number_in_path(&path, x);
	return path;
}

void queue_store_part_path(enum queue_folder folder, const char *name, uint64_t x,
			   char path[QUEUE_PATH_SIZE])
{
	put_part(folder, name, x, path);
}

void queue_store_directory_path(const struct queue_store *store, enum queue_folder folder,
				const char *name, uint64_t number, char path[QUEUE_PATH_SIZE])
{
	queue_store_part_path(folder, name, number % store->split, path);
}

void queue_store_path(const struct queue_store *store, enum queue_folder folder, const char *name,
		      uint64_t number, char path[QUEUE_PATH_SIZE])
{
	struct path made = put_part(folder, name, number % store->split, path);

	put_text_in_path(&made, "/");
	put_number_in_path(&made, number);
}

void queue_handed_path(const char *node, const char *name, bool is_done, char path[QUEUE_PATH_SIZE])
{
	struct path made = {path, path + QUEUE_PATH_SIZE - 1};

	put_text_in_path(&made, QUEUE_HANDED_FOLDER "/");
	put_text_in_path(&made, node);
	put_text_in_path(&made, "/");
	put_text_in_path(&made, name);
	put_text_in_path(&made, is_done ? ".done" : "");
}

void queue_spare_path(const struct queue_intake *intake, const struct queue_spare *spare,
		      char path[QUEUE_PATH_SIZE])
{
	struct path made = {path, path + QUEUE_PATH_SIZE - 1};

	put_text_in_path(&made, spare->serial != 0 ? "pid/n" : "pid/m");
	if (spare->serial == 0) {
		put_number_in_path(&made, spare->number);
		return;
	}
	put_number_in_path(&made, (uint64_t)intake->process);
	put_text_in_path(&made, "-");
	put_number_in_path(&made, spare->serial);
}

int queue_store_has(const struct queue_store *store, enum queue_folder folder, const char *name,
		    uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	int result;

	queue_store_path(store, folder, name, number, path);
	result = os_file_info_at(store->directory, path, &info);
	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : 1;
}

/* Looks at todo before info: a message that moves from one to the other has both names. */
int queue_store_is_live(const struct queue_store *store, uint64_t number)
{
	for (unsigned stage = 0; stage < MAIL_STAGE_COUNT; stage++) {
		int result = queue_store_has(store, QUEUE_TODO, mail_stage_name(stage), number);

		if (result != 0)
			return result;
	}
	return queue_store_has(store, QUEUE_INFO, NULL, number);
}

int queue_store_has_any(const struct queue_store *store, uint64_t number)
{
	static const enum queue_folder folders[] = {QUEUE_MESS, QUEUE_BOUNCE, QUEUE_REMOTE};
	int result = queue_store_is_live(store, number);

	for (size_t i = 0; result == 0 && i < COUNT_OF(folders); i++)
		result = queue_store_has(store, folders[i], NULL, number);
	return result;
}

int queue_store_look(const struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		     uint64_t *inode_out)
{
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	int result;

	queue_store_path(store, stage != NULL ? QUEUE_TODO : QUEUE_MESS,
			 stage != NULL ? mail_stage_name(*stage) : NULL, number, path);
	result = os_file_info_at(store->directory, path, &info);
	if (result < 0)
		return result;
	if (inode_out != NULL)
		*inode_out = info.inode;
	if (info.inode != number)
		return -EUCLEAN;
	return info.size == 0 ? -ENODATA : 0;
}

int queue_store_is_committing(const struct queue_store *store, enum mail_stage stage,
			      uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result;
	int file;

	queue_store_path(store, QUEUE_TODO, mail_stage_name(stage), number, path);
	file = os_file_open(store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	result = os_file_lock(file);
	os_file_close(file);
	return result == -EAGAIN ? 1 : result;
}

int queue_store_drop(const struct queue_store *store, enum queue_folder folder, const char *name,
		     uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_store_path(store, folder, name, number, path);
	result = os_file_unlink(store->directory, path);
	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : 1;
}

struct folder_walk {
	const struct queue_store *store;
	const char *directory;
	uint64_t x;
	int (*each)(void *context, uint64_t number);
	int (*stray)(void *context, const char *path);
	void *context;
};

bool queue_store_is_number(const struct queue_store *store, const char *name, uint64_t x,
			   uint64_t *number_out)
{
	return name[0] != '0' && str_to_u64(str_from(name), number_out) &&
	       *number_out % store->split == x;
}

static int visit_name_in_place(void *context, const char *name)
{
	const struct folder_walk *walk = context;
	char path[QUEUE_PATH_SIZE + 256];
	uint64_t number;

	if (queue_store_is_number(walk->store, name, walk->x, &number))
		return walk->each(walk->context, number);
	if (walk->stray == NULL)
		return 0;
	snprintf(path, sizeof path, "%s/%s", walk->directory, name);
	return walk->stray(walk->context, path);
}

int queue_store_each_part(struct queue_store *store, enum queue_folder folder, const char *name,
			  uint32_t x, int (*each)(void *context, uint64_t number),
			  int (*stray)(void *context, const char *path), void *context)
{
	char path[QUEUE_PATH_SIZE];
	struct folder_walk walk = {.store = store,
				   .directory = path,
				   .x = x,
				   .each = each,
				   .stray = stray,
				   .context = context};

	int result;

	queue_store_part_path(folder, name, x, path);
	result = os_file_list(store->directory, path, visit_name_in_place, &walk);
	/* not made again since a power failure took it: queue_store_add_service() */
	return result == -ENOENT && folder == QUEUE_LOCAL ? 0 : result;
}

int queue_store_each(struct queue_store *store, enum queue_folder folder, const char *name,
		     int (*each)(void *context, uint64_t number),
		     int (*stray)(void *context, const char *path), void *context)
{
	int result = 0;

	for (uint32_t x = 0; result == 0 && x < store->split; x++)
		result = queue_store_each_part(store, folder, name, x, each, stray, context);
	return result;
}
