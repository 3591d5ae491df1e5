// SPDX-License-Identifier: ISC
#include "rot_files.h"
#include "damages.h"
#include "files.h"
#include "queue_files.h"
#include "states.h"
#include <ctype.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 3 /* local/SERVICE/PART/NUMBER */ };

struct paths {
	struct machine *node;
	char (*list)[ROT_PATH];
	size_t count, size;
};

enum queue_folder rot_file_place(uint64_t index)
{
	static const enum queue_folder folders[ROT_PLACES] = {TODO,  MESS,   INFO,  INTD,
							      LOCAL, REMOTE, BOUNCE};

	return folders[index];
}

static void add_path(struct paths *paths, const char *path)
{
	if (paths->count == paths->size) {
		paths->size = 2 * paths->size + 64;
		paths->list = realloc(paths->list, paths->size * sizeof *paths->list);
		if (paths->list == NULL)
			err(1, "no memory");
	}
	snprintf(paths->list[paths->count++], ROT_PATH, "%s", path);
}

/* Those with a number for a name, in FOLDER and up to DEPTH folders below it. */
static void add_paths(struct paths *paths, const char *folder, unsigned depth)
{
	size_t size = 0;
	char *names = files_names(paths->node, folder, &size);

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		char path[ROT_PATH];

		if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, names + i) >= sizeof path)
			continue;
		if (files_is_folder(paths->node, path)) {
			if (depth > 0)
				add_paths(paths, path, depth - 1);
		} else if (isdigit((unsigned char)names[i])) {
			add_path(paths, path);
		}
	}
	if (names != NULL)
		disk_list_free(names);
}

/* The line "id: NUMBER-BIRTH" of TEXT, which a letter does not have. */
static bool find_id(const char *text, size_t size, uint64_t number, char id[48])
{
	char word[32];
	const char *found;
	const int length = snprintf(word, sizeof word, "\nid: %llu-", (unsigned long long)number);

	found = memmem(text, size, word, (size_t)length);
	if (found == NULL)
		return false;
	found += 5;
	snprintf(id, 48, "%.*s", (int)strspn(found, "0123456789abcdef-"), found);
	return true;
}

/* What was damaged before may say anything, until another message has the number. */
static bool knows_damage(struct machine *node, struct rot_file *file)
{
	const struct damage *damage = damages_of_number(node, file->number);

	if (damage == NULL || states_begun_us(node, file->number) > damage->since_us)
		return false;
	snprintf(file->id, sizeof file->id, "%llu-%s", (unsigned long long)file->number,
		 damage->birth);
	file->message = damage->message;
	return true;
}

static bool knows_message(struct machine *node, struct rot_file *file)
{
	char path[512];
	size_t size = 0;
	char *data;
	bool is_known;

	if (knows_damage(node, file))
		return true;
	if (!queue_file_find(node, file->number, path, sizeof path))
		return false;
	data = files_read(node, path, &size);
	is_known = data != NULL && find_id(data, size, file->number, file->id);
	free(data);
	file->message = queue_file_message(node, file->number);
	return is_known;
}

bool rot_file_choose(struct machine *node, enum queue_folder folder,
		     uint64_t (*below)(uint64_t bound), struct rot_file *file_out)
{
	struct paths paths = {.node = node};
	struct rot_file file = {.folder = folder};
	char path[ROT_PATH];

	snprintf(path, sizeof path, "/var/queue/%s", queue_folder_name(folder));
	add_paths(&paths, path, DEPTH);
	if (paths.count > 0) {
		snprintf(file.path, sizeof file.path, "%s", paths.list[below(paths.count)]);
		file.number = strtoull(strrchr(file.path, '/') + 1, NULL, 10);
		if (knows_message(node, &file))
			file.text = files_read(node, file.path, &file.size);
	}
	free(paths.list);
	if (file.text == NULL)
		return false;
	*file_out = file;
	return true;
}

void rot_file_clear(struct rot_file *file)
{
	free(file->text);
	file->text = NULL;
}
