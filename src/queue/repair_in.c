// SPDX-License-Identifier: ISC
/* Messages come back from repair/ with their true numbers: steps 4 to 6. */
#include "os/file.h"
#include "queue/repair_internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void part_path(const struct repair_move *move, const char *part, char path[QUEUE_PATH_SIZE])
{
	snprintf(path, QUEUE_PATH_SIZE, "repair/%" PRIu64 ".%s", move->number, part);
}

/* 1, 0 or -errno. */
static int exists(const struct repair *repair, const char *path)
{
	struct os_file_info info;
	int result = os_file_info_at(repair->store->directory, path, &info);

	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : 1;
}

/* All messages that had a wrong number are gone from the queue by now: what stands
 * under this one belongs to none. */
static int place_data(struct repair *repair, const struct repair_move *move)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result;

	part_path(move, "mess", from);
	queue_store_path(repair->store, QUEUE_MESS, NULL, move->number, to);
	result = exists(repair, to);
	if (result != 0)
		return result < 0 ? result : -EEXIST;
	result = repair_set_names_aside(repair, move->number, "there is no message of that number");
	return result == 0 ? os_file_rename(repair->store->directory, from, to) : result;
}

static int place_bounce(struct repair *repair, const struct repair_move *move)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result;

	part_path(move, "bounce", from);
	queue_store_path(repair->store, QUEUE_BOUNCE, NULL, move->number, to);
	result = os_file_rename(repair->store->directory, from, to);
	return result == -ENOENT ? 0 : result;
}

static int link_to(struct repair *repair, const struct repair_move *move, enum queue_place place,
		   const char *name)
{
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];
	int result;

	repair_entry_path(move, from);
	queue_store_path(repair->store, place, name, move->number, to);
	result = os_file_link(repair->store->directory, from, to);
	return result == -EEXIST ? 0 : result;
}

static int read_entry(struct repair *repair, const struct repair_move *move,
		      struct queue_control **control_out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
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
		length = os_file_read(file, buffer_reserve(&text, info.size), info.size, 0);
	os_file_close(file);
	if (result < 0 || length < 0)
		return result < 0 ? result : (int)length;
	buffer_commit(&text, (size_t)length);
	return queue_control_parse(buffer_view(&text), control_out, NULL);
}

/* Every place where something is not done gets its name: at S5 only. */
static int place_sides(struct repair *repair, const struct repair_move *move)
{
	struct queue_control *control;
	int result = move->place == REPAIR_INFO ? read_entry(repair, move, &control) : 1;

	if (result != 0)
		return result < 0 ? result : 0;
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
	queue_control_free(control);
	return result;
}

/* Step 4. 1: it is done with 5 already. */
static int place(struct repair *repair, const struct repair_move *move)
{
	char path[QUEUE_PATH_SIZE];
	unsigned found;
	int result;

	part_path(move, "mess", path);
	result = exists(repair, path);
	if (result > 0) {
		result = place_data(repair, move);
	} else if (result == 0) {
		result = repair_find(repair, move->number, &found);
		if (result != -ENOENT)
			return result < 0 ? result : 1;
		result = queue_store_has(repair->store, QUEUE_MESS, NULL, move->number);
		if (result == 0)
			return -ENODATA;
		result = result < 0 ? result : 0;
	}
	if (result == 0)
		result = place_bounce(repair, move);
	return result == 0 ? place_sides(repair, move) : result;
}

static int link_control(struct repair *repair, const struct repair_move *move)
{
	if (move->place == REPAIR_INFO)
		return link_to(repair, move, QUEUE_INFO, NULL);
	return link_to(repair, move, QUEUE_TODO, mail_stage_name(move->place));
}

static int drop_entry(struct repair *repair, const struct repair_move *move)
{
	char path[QUEUE_PATH_SIZE];

	repair_entry_path(move, path);
	return os_file_unlink(repair->store->directory, path);
}

/* Steps 5 and 6 for the group. */
static int finish(struct repair *repair)
{
	int result = repair_barrier(repair);

	for (size_t i = 0; result == 0 && i < repair->group_count; i++)
		result = link_control(repair, &repair->group[i]);
	if (result == 0)
		result = repair_barrier(repair);
	for (size_t i = 0; result == 0 && i < repair->group_count; i++) {
		result = drop_entry(repair, &repair->group[i]);
		if (result == 0)
			repair->options->renumbered(repair->options->context, repair->group[i].old,
						    repair->group[i].number);
	}
	repair->group_count = 0;
	return result;
}

static int on_entry(void *context, const struct repair_move *move)
{
	struct repair *repair = context;
	char path[QUEUE_PATH_SIZE];
	int result = place(repair, move);

	if (result > 0)
		return drop_entry(repair, move);
	if (result == -ENODATA) {
		repair_entry_path(move, path);
		return repair_set_aside(repair, path, "its data file is gone");
	}
	if (result < 0)
		return result;
	repair->group[repair->group_count++] = *move;
	return repair->group_count == REPAIR_GROUP ? finish(repair) : 0;
}

static int nothing(void *context, const struct repair_move *move)
{
	(void)context;
	(void)move;
	return 0;
}

static int on_left(void *context, const char *name)
{
	char path[REPAIR_PATH_SIZE];

	snprintf(path, sizeof path, "repair/%s", name);
	return repair_set_aside(context, path, "that is no message's name");
}

int repair_in(struct repair *repair)
{
	int result = repair_each_entry(repair, on_entry, NULL, repair);

	if (result == 0 && repair->group_count > 0)
		result = finish(repair);
	return result == 0 ? repair_each_entry(repair, nothing, on_left, repair) : result;
}
