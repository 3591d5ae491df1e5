// SPDX-License-Identifier: ISC
/* Messages return from repair/ with their true numbers: steps 4 to 6. */
#include "os/file/file.h"
#include "queue/control/trailer.h"
#include "queue/repair/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void part_path(const struct repair_move *move, const char *part, char path[QUEUE_PATH_SIZE])
{
	snprintf(path, QUEUE_PATH_SIZE, "repair/%" PRIu64 ".%s", move->number, part);
}

/* Its inode number; 0: there is no such file. */
static int inode_of(const struct repair *repair, const char *path, uint64_t *inode_out)
{
	struct os_file_info info;
	int result = os_file_info_at(repair->store->directory, path, &info);

	*inode_out = result == 0 ? info.inode : 0;
	return result == -ENOENT ? 0 : result;
}

/* All messages with a wrong number have left the queue by now: another file that has the name TO
 * belongs to no message. -ENOENT: FROM does not exist. */
static int link_as(struct repair *repair, const char *from, const char *to)
{
	uint64_t have;
	uint64_t wanted;
	int result = os_file_link(repair->store->directory, from, to);

	if (result != -EEXIST)
		return result;
	result = inode_of(repair, from, &wanted);
	if (result == 0)
		result = inode_of(repair, to, &have);
	if (result < 0 || have == wanted)
		return result;
	result = repair_set_aside(repair, to, "there is no message of that number");
	return result == 0 ? os_file_link(repair->store->directory, from, to) : result;
}

static int place_part(struct repair *repair, const struct repair_move *move, const char *part,
		      enum queue_folder folder)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];

	part_path(move, part, from);
	queue_store_path(repair->store, folder, NULL, move->number, to);
	return link_as(repair, from, to);
}

static int link_to(struct repair *repair, const struct repair_move *move, enum queue_folder folder,
		   const char *name)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];

	repair_entry_path(move, from);
	queue_store_path(repair->store, folder, name, move->number, to);
	return link_as(repair, from, to);
}

static int read_repair_entry(struct repair *repair, const struct repair_move *move,
			     struct buffer *text, struct queue_control **control_out)
{
	char path[QUEUE_PATH_SIZE];
	struct os_file_info info;
	ssize_t length = 0;
	int result;
	int file;

	repair_entry_path(move, path);
	file = os_file_open(repair->store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	result = os_file_info(file, &info);
	if (result == 0)
		length = os_file_read(file, buffer_reserve(text, info.size), info.size, 0);
	os_file_close(file);
	if (result < 0 || length < 0)
		return result < 0 ? result : (int)length;
	buffer_commit(text, (size_t)length);
	return queue_control_parse(buffer_view(text), control_out, NULL);
}

/* At S5: makes the name in each local/SERVICE and remote in which something is not done. */
static int place_sides(struct repair *repair, const struct repair_move *move,
		       const struct queue_control *control)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		char service[QUEUE_SERVICE_MAX + 1];

		if (delivery->outcome == QUEUE_DONE || delivery->outcome == QUEUE_FAIL)
			continue;
		snprintf(service, sizeof service, STR_FORMAT, STR_ARGUMENTS(delivery->service));
		if (delivery->route == QUEUE_ROUTE_REMOTE)
			result = link_to(repair, move, QUEUE_REMOTE, NULL);
		else if (delivery->route == QUEUE_ROUTE_LOCAL)
			result = link_to(repair, move, QUEUE_LOCAL, service);
		if (result == -ENOENT)
			result = 0; /* a service that this queue never had */
	}
	return result;
}

/* At S4 the envelope follows the data. May be overwritten as often as this is interrupted, while
 * the envelope in repair/ exists. */
static int write_trailer(struct repair *repair, const struct repair_move *move, struct str text,
			 uint64_t size)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t end;
	int result;
	int file;

	part_path(move, "mess", path);
	file = os_file_open(repair->store->directory, path, OS_FILE_WRITE);
	if (file < 0)
		return file;
	result = queue_trailer_write(file, size, text, &end);
	if (result == 0)
		result = os_file_truncate(file, end);
	os_file_close(file);
	return result;
}

/* 1: the name in todo/ or info/ exists already; such names of another message are removed. */
static int check_controls(struct repair *repair, const struct repair_move *move)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t wanted = move->number;
	uint64_t have;
	int result = 0;

	repair_entry_path(move, path);
	if (move->place == REPAIR_INFO)
		result = inode_of(repair, path, &wanted);
	for (unsigned place = 0; result == 0 && place <= REPAIR_INFO; place++) {
		repair_control_path(repair, place, move->number, path);
		result = inode_of(repair, path, &have);
		if (result == 0 && have == wanted)
			return 1;
		if (result == 0 && have != 0)
			result = repair_set_aside(repair, path,
						  "there is no message of that number");
	}
	return result;
}

static int place_info(struct repair *repair, const struct repair_move *move,
		      const struct queue_control *control)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t have;
	int result;

	queue_store_path(repair->store, QUEUE_MESS, NULL, move->number, path);
	result = inode_of(repair, path, &have);
	if (result < 0)
		return result;
	if (have != 0 && have != move->number)
		return -EEXIST;
	result = place_part(repair, move, "mess", QUEUE_MESS);
	if (result == -ENOENT && have == move->number)
		result = 0;
	return result == 0 ? place_sides(repair, move, control) : result;
}

/* Step 4. 1: step 5 is done already; -ENODATA: there is no data file. */
static int place_repaired_message(struct repair *repair, const struct repair_move *move)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;
	int result = check_controls(repair, move);

	if (result == 0)
		result = read_repair_entry(repair, move, &text, &control);
	if (result != 0)
		return result;
	result = move->place == REPAIR_INFO
			 ? place_info(repair, move, control)
			 : write_trailer(repair, move, buffer_view(&text), control->envelope->size);
	queue_control_free(control);
	if (result < 0)
		return result == -ENOENT ? -ENODATA : result;
	result = place_part(repair, move, "bounce", QUEUE_BOUNCE);
	return result == -ENOENT ? 0 : result;
}

static int link_control(struct repair *repair, const struct repair_move *move)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];

	if (move->place == REPAIR_INFO)
		return link_to(repair, move, QUEUE_INFO, NULL);
	part_path(move, "mess", from);
	queue_store_path(repair->store, QUEUE_TODO, mail_stage_name(move->place), move->number, to);
	return link_as(repair, from, to);
}

/* The control file's name is removed last: without it the others mean nothing. */
static int drop_repair_entry(struct repair *repair, const struct repair_move *move)
{
	static const char *const parts[] = {"mess", "bounce"};
	char path[QUEUE_PATH_SIZE];

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		int result;

		part_path(move, parts[i], path);
		result = os_file_unlink(repair->store->directory, path);
		if (result < 0 && result != -ENOENT)
			return result;
	}
	repair_entry_path(move, path);
	return os_file_unlink(repair->store->directory, path);
}

/* Steps 5 and 6 for the group. */
static int finish_repaired_group(struct repair *repair)
{
	int result = repair_barrier(repair);

	for (size_t i = 0; result == 0 && i < repair->group_count; i++)
		result = link_control(repair, &repair->group[i]);
	if (result == 0)
		result = repair_barrier(repair);
	for (size_t i = 0; result == 0 && i < repair->group_count; i++) {
		const struct repair_move *move = &repair->group[i];

		result = drop_repair_entry(repair, move);
		if (result == 0) {
			repair->options->renumbered(repair->options->context, move->old,
						    move->number);
			result = repair_tell_kept(repair, move->old, move->number);
		}
	}
	repair->group_count = 0;
	return result;
}

static int on_entry(void *context, const struct repair_move *move)
{
	struct repair *repair = context;
	char path[QUEUE_PATH_SIZE];
	int result = place_repaired_message(repair, move);

	if (result > 0)
		return drop_repair_entry(repair, move);
	if (result == -ENODATA) {
		repair_entry_path(move, path);
		return repair_set_aside(repair, path, "its data file is gone");
	}
	if (result < 0)
		return result;
	repair->group[repair->group_count++] = *move;
	return repair->group_count == REPAIR_GROUP ? finish_repaired_group(repair) : 0;
}

static int skip_repair_move(void *context, const struct repair_move *move)
{
	(void)context;
	(void)move;
	return 0;
}

/* A part without its control file: step 6 was nearly finished. */
static int on_part_left_in_repair(void *context, const char *name)
{
	struct repair *repair = context;
	char path[REPAIR_PATH_SIZE];
	struct os_file_info info;
	int result;

	snprintf(path, sizeof path, "repair/%s", name);
	result = os_file_info_at(repair->store->directory, path, &info);
	if (result == 0 && info.links > 1)
		return os_file_unlink(repair->store->directory, path);
	return result < 0 ? result : repair_set_aside(repair, path, "that is no message's name");
}

int repair_in(struct repair *repair)
{
	int result = repair_each_entry(repair, on_entry, NULL, repair);

	if (result == 0 && repair->group_count > 0)
		result = finish_repaired_group(repair);
	return result == 0
		       ? repair_each_entry(repair, skip_repair_move, on_part_left_in_repair, repair)
		       : result;
}
