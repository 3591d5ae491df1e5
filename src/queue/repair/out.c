// SPDX-License-Identifier: ISC
/* Messages with a wrong number leave the queue for repair/: steps 1 to 3. */
#include "os/file/file.h"
#include "queue/control/checksum.h"
#include "queue/repair/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *place_name(unsigned place)
{
	return place == REPAIR_INFO ? "info" : mail_stage_name(place);
}

void repair_entry_path(const struct repair_move *move, char path[QUEUE_PATH_SIZE])
{
	snprintf(path, QUEUE_PATH_SIZE, "repair/%" PRIu64 ".%" PRIu64 ".%s", move->number,
		 move->old, place_name(move->place));
}

static bool parse_entry(const char *name, struct repair_move *move)
{
	struct str rest = str_from(name);
	struct str word;

	if (!str_split(&rest, '.', &word) || !str_to_u64(word, &move->number) ||
	    !str_split(&rest, '.', &word) || !str_to_u64(word, &move->old))
		return false;
	for (move->place = 0; move->place <= REPAIR_INFO; move->place++)
		if (str_equal(rest, str_from(place_name(move->place))))
			return true;
	return false;
}

struct out_walk {
	int (*each)(void *context, const struct repair_move *move);
	int (*stray)(void *context, const char *name);
	void *context;
};

static int on_repair_entry_name(void *context, const char *name)
{
	const struct out_walk *walk = context;
	struct repair_move move;

	if (parse_entry(name, &move))
		return walk->each(walk->context, &move);
	return walk->stray != NULL ? walk->stray(walk->context, name) : 0;
}

int repair_each_entry(struct repair *repair,
		      int (*each)(void *context, const struct repair_move *move),
		      int (*stray)(void *context, const char *name), void *context)
{
	struct out_walk walk = {each, stray, context};

	return os_file_list(repair->store->directory, "repair", on_repair_entry_name, &walk);
}

/* --- step 1 --- */

/* Copies the envelope of CONTROL with the id record replaced by "id: NUMBER-BIRTH", and the rest of
 * TEXT as it is: its checksums are those of the birth. */
static void append_renumbered(struct buffer *out, struct str text,
			      const struct queue_control *control, uint64_t number)
{
	char name[MAIL_ID_SIZE];
	struct str rest = str_skip(text, control->head.length);
	struct str head = control->head;
	struct str line;

	mail_id_format((struct mail_id){number, control->envelope->id.born_us}, name);
	if (control->has_checksum)
		head.length -= QUEUE_CHECKSUM_HEAD_SIZE;
	while (str_split(&head, '\n', &line) && line.data != NULL && line.length > 0) {
		if (str_starts_with(line, STR("id: ")))
			buffer_append_format(out, "id: %s", name);
		else
			buffer_append_str(out, line);
		buffer_append_byte(out, '\n');
	}
	if (control->has_checksum)
		queue_checksum_add_head(out, buffer_view(out), control->data_checksum);
	buffer_append_str(out, rest);
}

/* What an interrupted attempt left at PATH, drop_unfinished() has removed. */
static int write_renumbered_file(int directory, const char *path, struct str text,
				 int64_t modified_us)
{
	int file = os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_CREATE);
	int result;

	if (file < 0)
		return file;
	result = os_file_write(file, text.data, text.length, 0);
	os_file_close(file);
	return result == 0 ? os_file_set_modified(directory, path, modified_us) : result;
}

static void new_path(const struct repair_move *move, char path[QUEUE_PATH_SIZE + 8])
{
	repair_entry_path(move, path);
	strcat(path, ".new");
}

/* The modification time says when the message is due. */
static int write_control(struct repair *repair, const struct repair_move *move)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer changed CLEANUP(buffer_clear) = {0};
	char path[QUEUE_PATH_SIZE + 8];
	struct queue_control *control;
	struct os_file_info info;
	int result;

	repair_control_path(repair, move->place, move->old, path);
	result = os_file_info_at(repair->store->directory, path, &info);
	if (result == 0)
		result = repair_load(repair, move->place, move->old, &text, &control);
	if (result != 0)
		return result;
	append_renumbered(&changed, buffer_view(&text), control, move->number);
	queue_control_free(control);
	new_path(move, path);
	return write_renumbered_file(repair->store->directory, path, buffer_view(&changed),
				     info.modified_us);
}

static int write_renumbered_controls(struct repair *repair)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < repair->group_count; i++)
		result = write_control(repair, &repair->group[i]);
	if (result == 0)
		result = repair_barrier(repair);
	for (size_t i = 0; result == 0 && i < repair->group_count; i++) {
		char from[QUEUE_PATH_SIZE + 8];
		char to[QUEUE_PATH_SIZE];

		new_path(&repair->group[i], from);
		repair_entry_path(&repair->group[i], to);
		result = os_file_rename(repair->store->directory, from, to);
	}
	return result == 0 ? repair_barrier(repair) : result;
}

/* --- steps 2 and 3 --- */

static int rename_if_there(struct repair *repair, const char *from, const char *to)
{
	int result = os_file_rename(repair->store->directory, from, to);

	return result == -ENOENT ? 0 : result;
}

/* A hold is a trigger with the message's id in its name. */
static int rename_hold(struct repair *repair, const struct repair_move *move)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_id id = {0, 0};
	char path[QUEUE_PATH_SIZE];
	char name[MAIL_ID_SIZE];
	char from[QUEUE_PATH_SIZE];
	struct str rest;
	struct str line;
	ssize_t length;
	int file;

	repair_entry_path(move, path);
	file = os_file_open(repair->store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	length = os_file_read(file, buffer_reserve(&text, QUEUE_PATH_SIZE), QUEUE_PATH_SIZE, 0);
	os_file_close(file);
	if (length < 0)
		return (int)length;
	rest = str_slice(buffer_data(&text), (size_t)length);
	if (!str_split(&rest, '\n', &line) || !str_split(&rest, '\n', &line) ||
	    !mail_id_parse(str_skip(line, 4), &id))
		return -EBADMSG;
	mail_id_format(id, name);
	snprintf(path, sizeof path, "trigger/hold.%s", name);
	id.number = move->old;
	mail_id_format(id, name);
	snprintf(from, sizeof from, "trigger/hold.%s", name);
	return rename_if_there(repair, from, path);
}

/* Makes a second name in repair/, beside the one in the queue. */
static int link_part(struct repair *repair, const struct repair_move *move,
		     enum queue_folder folder, const char *part)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result;

	if (folder == QUEUE_MESS)
		repair_data_path(repair, move->place, move->old, from);
	else
		queue_store_path(repair->store, folder, NULL, move->old, from);
	snprintf(to, sizeof to, "repair/%" PRIu64 ".%s", move->number, part);
	result = os_file_link(repair->store->directory, from, to);
	return result == -EEXIST || result == -ENOENT ? 0 : result;
}

static int link_parts(struct repair *repair)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < repair->group_count; i++) {
		result = link_part(repair, &repair->group[i], QUEUE_MESS, "mess");
		if (result == 0)
			result = link_part(repair, &repair->group[i], QUEUE_BOUNCE, "bounce");
		if (result == 0)
			result = rename_hold(repair, &repair->group[i]);
	}
	return result == 0 ? repair_barrier(repair) : result;
}

static int drop_names(struct repair *repair, const struct repair_move *move)
{
	const struct queue_store *store = repair->store;
	int result = queue_store_drop(store, QUEUE_BOUNCE, NULL, move->old);

	for (unsigned stage = 0; result >= 0 && stage < MAIL_STAGE_COUNT; stage++)
		if (stage != move->place)
			result = queue_store_drop(store, QUEUE_TODO, mail_stage_name(stage),
						  move->old);
	if (result >= 0 && move->place != REPAIR_INFO)
		result = queue_store_drop(store, QUEUE_MESS, NULL, move->old);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_INFO, NULL, move->old);
	if (result >= 0)
		result = queue_store_drop(store, QUEUE_INTD, NULL, move->old);
	return result < 0 ? result : repair_drop_sides(repair, move->old);
}

static int drop_data(const struct repair *repair, const struct repair_move *move)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	repair_data_path(repair, move->place, move->old, path);
	result = os_file_unlink(repair->store->directory, path);
	return result == -ENOENT ? 0 : result;
}

/* The data file's old name is removed last: it keeps the old number from being reused. */
static int leave_old_numbers(struct repair *repair)
{
	int result = link_parts(repair);

	for (size_t i = 0; result == 0 && i < repair->group_count; i++)
		result = drop_names(repair, &repair->group[i]);
	if (result == 0)
		result = repair_barrier(repair);
	for (size_t i = 0; result == 0 && i < repair->group_count; i++)
		result = drop_data(repair, &repair->group[i]);
	if (result == 0)
		result = repair_barrier(repair);
	repair->group_count = 0;
	return result;
}

int repair_out(struct repair *repair)
{
	int result = repair->group_count > 0 ? write_renumbered_controls(repair) : 0;

	return result == 0 && repair->group_count > 0 ? leave_old_numbers(repair) : result;
}

/* --- resuming --- */

/* While the data file has its old name, no other message can get the old number. */
static int resume_renumbering(void *context, const struct repair_move *move)
{
	struct repair *repair = context;
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	int result;

	repair_data_path(repair, move->place, move->old, path);
	result = os_file_info_at(repair->store->directory, path, &info);
	if (result < 0 || info.inode != move->number)
		return result == -ENOENT ? 0 : result;
	repair->group[repair->group_count++] = *move;
	return repair->group_count == REPAIR_GROUP ? leave_old_numbers(repair) : 0;
}

static int drop_unfinished(void *context, const char *name)
{
	struct repair *repair = context;
	size_t length = strlen(name);
	char path[REPAIR_PATH_SIZE];

	if (length < 4 || strcmp(name + length - 4, ".new") != 0)
		return 0;
	snprintf(path, sizeof path, "repair/%s", name);
	return os_file_unlink(repair->store->directory, path);
}

int repair_resume_out(struct repair *repair)
{
	int result = repair_each_entry(repair, resume_renumbering, drop_unfinished, repair);

	return result == 0 ? leave_old_numbers(repair) : result;
}
