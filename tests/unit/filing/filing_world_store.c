// SPDX-License-Identifier: ISC
/* The mailboxes. */
#include "filing_world.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct world_worker *of(struct mailstore *store)
{
	return (struct world_worker *)(void *)((char *)store -
					       offsetof(struct world_worker, store));
}

static bool is_at(const struct world_copy *copy, const struct mailstore_location *location)
{
	return str_equal(str_from(copy->id), location->id) &&
	       str_equal(str_from(copy->user), location->user);
}

/* What is late appears. */
static void let_appear(struct world *world)
{
	for (size_t i = 0; i < world->copy_count; i++)
		if (world->copies[i].due != 0 && world->copies[i].due <= world->calls) {
			world->copies[i].due = 0;
			world->copies[i].is_there = true;
		}
}

static void append_one(struct world_worker *worker, struct mailstore_append *append)
{
	struct world *world = worker->world;
	enum world_fault fault = world_step(worker, WORLD_APPEND);
	struct world_copy *copy = &world->copies[world->copy_count];

	mail_verdict_set(&append->verdict, "4.3.0", "refused");
	if (worker->is_dead || fault == WORLD_REFUSED)
		return;
	world->copy_count++;
	snprintf(copy->name, sizeof copy->name, "copy%zu", world->copy_count);
	snprintf(copy->id, sizeof copy->id, STR_FORMAT, STR_ARGUMENTS(append->location.id));
	snprintf(copy->user, sizeof copy->user, STR_FORMAT, STR_ARGUMENTS(append->location.user));
	copy->is_there = fault != WORLD_LATE_ON;
	copy->due = fault == WORLD_LATE_ON ? world->calls + WORLD_LATE : 0;
	append->is_unknown = fault == WORLD_UNKNOWN || fault == WORLD_LATE_ON;
	if (append->is_unknown)
		return;
	mail_verdict_set(&append->verdict, "2.0.0", "stored");
	snprintf(append->copy, sizeof append->copy, "%s", copy->name);
}

static void append_all(struct mailstore *store, struct mailstore_append *appends, size_t count,
		       const struct mailstore_gate *gate)
{
	for (size_t i = 0; i < count; i++) {
		/* as those that append one after another do */
		if (gate != NULL && gate->pass(gate->context) != 0)
			mail_verdict_set(&appends[i].verdict, "4.3.0", "the lock was lost");
		else
			append_one(of(store), &appends[i]);
	}
}

static int find(struct mailstore *store, const struct mailstore_location *location,
		struct arena *arena, struct mailstore_found **found_out, size_t *count_out)
{
	struct world *world = of(store)->world;
	enum world_fault fault = world_step(of(store), WORLD_FIND);

	if (fault == WORLD_DEATH || fault == WORLD_REFUSED)
		return -EIO;
	let_appear(world);
	*found_out = arena_alloc(arena, WORLD_COPIES * sizeof **found_out);
	*count_out = 0;
	for (size_t i = 0; i < world->copy_count; i++)
		if (world->copies[i].is_there && is_at(&world->copies[i], location))
			(*found_out)[(*count_out)++].copy = world->copies[i].name;
	return 0;
}

static int remove_copy(struct mailstore *store, const struct mailstore_location *location,
		       const char *copy)
{
	struct world *world = of(store)->world;
	enum world_fault fault = world_step(of(store), WORLD_REMOVE);

	if (fault == WORLD_DEATH || fault == WORLD_REFUSED)
		return -EIO;
	for (size_t i = 0; i < world->copy_count; i++) {
		if (!world->copies[i].is_there || !is_at(&world->copies[i], location) ||
		    strcmp(world->copies[i].name, copy) != 0)
			continue;
		world->copies[i].is_there = false;
		return 0;
	}
	return -ENOENT;
}

size_t world_count(const struct world *world, const char *id, const char *user)
{
	size_t count = 0;

	for (size_t i = 0; i < world->copy_count; i++)
		count += (world->copies[i].is_there || world->copies[i].due != 0) &&
			 strcmp(world->copies[i].id, id) == 0 &&
			 strcmp(world->copies[i].user, user) == 0;
	return count;
}

/* Nothing can be taken from others: as on an IMAP server. */
static int fence(struct mailstore *store, const struct mailstore_location *location)
{
	(void)store;
	(void)location;
	return 0;
}

void world_set_store(struct world_worker *worker)
{
	static const struct mailstore_operations operations = {
		.append = append_all,
		.fence = fence,
		.find = find,
		.remove = remove_copy,
	};

	worker->store.operations = &operations;
	worker->store.append_max_us = worker->world->append_max_us;
}
