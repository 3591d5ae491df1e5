// SPDX-License-Identifier: ISC
#include "directory/store/guard/guard.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/store/guard/internal.h"
#include "log/event.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decrease over a longer time is not sudden. */
static const int64_t COUNT_US = 600 * SECOND_US;
static const int64_t RETRY_US = SECOND_US;

/* ---- held or not ---- */

static void tell_state(struct guard *guard, bool is_up)
{
	guard->base.is_up = is_up;
	if (guard->base.handler == NULL)
		return;
	guard->was_told = true;
	guard->base.handler->state(guard->base.context, is_up);
}

static void tell_reset(struct guard *guard)
{
	if (guard->base.handler != NULL)
		guard->base.handler->reset(guard->base.context);
}

static void hold_inner_data(struct guard *guard, const char *reason)
{
	bool was_up = guard->base.is_up;

	if (guard->is_held && strcmp(guard->reason, reason) == 0)
		return;
	guard_remember_durably(guard); /* after a power failure, the same data must be held again */
	snprintf(guard->reason, sizeof guard->reason, "%s", reason);
	guard->is_held = true;
	log_event(EVENT_STORE_HELD, log_string(reason, guard->reason),
		  log_string(identity, guard->inner->identity),
		  log_number(version, (int64_t)guard->inner->version));
	if (was_up)
		tell_state(guard, false);
}

/* Accepts the data of INNER. */
static void accept_inner_data(struct guard *guard)
{
	if (guard->is_held) {
		guard->is_held = false;
		log_event(EVENT_STORE_RELEASED, log_string(identity, guard->inner->identity),
			  log_number(version, (int64_t)guard->inner->version));
		tell_reset(guard); /* what was cached meanwhile is not certain */
	}
	if (!guard->base.is_up)
		tell_state(guard, true);
}

/* ---- whether the data are those that were seen ---- */

/* Sets REASON to why they are not; "": they are. */
static void compare_with_seen_data(const struct guard *guard, char reason[sizeof guard->reason])
{
	const struct directory_store *inner = guard->inner;
	const struct store_guard_memory *seen = &guard->seen;

	reason[0] = '\0';
	if (seen->count == 0)
		return;
	if (strcmp(inner->identity, seen->identity) != 0)
		snprintf(reason, sizeof guard->reason,
			 "these are other data, or were made anew: their identity was %.63s",
			 seen->identity);
	else if (inner->version < seen->version)
		snprintf(reason, sizeof guard->reason,
			 "an older copy is in their place: version %llu was seen",
			 (unsigned long long)seen->version);
}

/* The expected number: the maximum of the last ten minutes, without those removed here. */
static uint64_t expected_count(const struct guard *guard)
{
	uint64_t removed = guard->removed + guard->removing;

	return guard->seen.count > removed ? guard->seen.count - removed : 0;
}

static void compare_count(const struct guard *guard, uint64_t count,
			  char reason[sizeof guard->reason])
{
	uint64_t expected = expected_count(guard);

	if (count < expected && count < expected - count)
		snprintf(reason, sizeof guard->reason,
			 "they have %llu domains and addresses, and had %llu",
			 (unsigned long long)count, (unsigned long long)expected);
}

static void take_count_of_records(struct guard *guard, uint64_t count)
{
	char reason[sizeof guard->reason];

	compare_with_seen_data(guard, reason);
	if (reason[0] == '\0')
		compare_count(guard, count, reason);
	if (reason[0] != '\0') {
		hold_inner_data(guard, reason);
		return;
	}
	memcpy(guard->seen.identity, guard->inner->identity, sizeof guard->seen.identity);
	guard->seen.version = guard->inner->version;
	if (count < expected_count(guard) && !guard->may_lower)
		guard->seen.count = expected_count(guard);
	else
		guard->seen.count = count;
	guard->may_lower = false;
	guard->counted = count;
	guard->changed = 0;
	guard->removed = 0;
	guard->was_counted = true;
	guard->inner->is_known = guard->seen.count > 0;
	guard_remember(guard);
	guard_remember_durably(guard);
	accept_inner_data(guard);
}

static void begin_count(struct guard *guard);

/* The number is unknown: until it is known, "no such record" must not be answered. */
static void count_later(struct guard *guard)
{
	guard->was_counted = false;
	os_timer_start(guard->timer, RETRY_US);
}

static void on_records_counted(void *context, int error, uint64_t count)
{
	struct guard *guard = context;

	guard->is_counting = false;
	if (guard->is_freed || !guard->inner->is_up)
		guard->was_counted = false;
	else if (guard->must_recount)
		begin_count(guard);
	else if (error == 0)
		take_count_of_records(guard, count);
	else
		count_later(guard);
	guard_answered(guard);
}

static void begin_count(struct guard *guard)
{
	guard->must_recount = guard->is_counting;
	if (guard->is_counting)
		return;
	guard->is_counting = true;
	guard->under_way++;
	guard->inner->operations->count(guard->inner, on_records_counted, guard);
}

/* ---- events of INNER ---- */

static void judge_inner_data(struct guard *guard)
{
	char reason[sizeof guard->reason];

	compare_with_seen_data(guard, reason);
	if (reason[0] != '\0')
		hold_inner_data(guard, reason);
	else if (guard->was_counted && guard->changed == 0 && !guard->is_held)
		accept_inner_data(guard);
	else
		begin_count(guard);
}

/* Whether to count: often enough for a good estimate, yet with a cost of few rows a change. */
static bool is_count_due(const struct guard *guard)
{
	return guard->changed > guard->counted / 8;
}

static void on_guarded_keys_changed(void *context, const struct directory_key *keys,
				    const uint64_t *versions, size_t count)
{
	struct guard *guard = context;

	guard_mirror(guard);
	for (size_t i = 0; i < count; i++)
		guard->changed +=
			keys[i].table == DIRECTORY_DOMAIN || keys[i].table == DIRECTORY_ADDRESS;
	if (guard->is_held) {
		judge_inner_data(guard);
	} else if (guard->was_counted) {
		guard->seen.version = guard->inner->version;
		guard_remember(guard);
		if (is_count_due(guard))
			begin_count(guard);
	}
	if (guard->base.handler != NULL)
		guard->base.handler->changed(guard->base.context, keys, versions, count);
}

static void on_guarded_store_reset(void *context)
{
	struct guard *guard = context;

	guard_mirror(guard);
	guard->was_counted = false;
	if (guard->inner->is_up)
		judge_inner_data(guard);
	tell_reset(guard);
}

static void on_guarded_store_state(void *context, bool is_up)
{
	struct guard *guard = context;

	guard_mirror(guard);
	if (!is_up) {
		tell_state(guard, false);
		return;
	}
	judge_inner_data(guard);
	/* this may have been decided before the handler was set */
	if (!guard->was_told && !guard->is_counting)
		tell_state(guard, guard->base.is_up);
}

static void on_count_time(void *context)
{
	struct guard *guard = context;

	os_timer_start(guard->timer, COUNT_US);
	if (!guard->inner->is_up || (guard->is_held && guard->was_counted))
		return;
	if (guard->changed > 0 || guard->counted != guard->seen.count || !guard->was_counted) {
		guard->may_lower = guard->was_counted;
		begin_count(guard);
	}
}

static const struct directory_store_handler guard_handler = {
	on_guarded_keys_changed, on_guarded_store_reset, on_guarded_store_state};

/* ---- life ---- */

static void guard_accept(struct directory_store *base)
{
	struct guard *guard = CONTAINER_OF(base, struct guard, base);

	guard->seen = (struct store_guard_memory){
		.epoch = guard->seen.epoch + 1, .turn = guard->seen.turn, .kept = guard->seen.kept};
	guard->was_counted = false;
	guard->counted = 0;
	guard_remember(guard);
	guard_remember_durably(guard);
	guard->inner->is_known = false;
	if (guard->inner->operations->accept != NULL)
		guard->inner->operations->accept(guard->inner);
	guard_mirror(guard);
	if (guard->inner->is_up)
		begin_count(guard);
	else {
		guard->is_held = false;
		tell_reset(guard);
	}
}

static const char *guard_held(struct directory_store *base)
{
	struct guard *guard = CONTAINER_OF(base, struct guard, base);

	return guard->is_held ? guard->reason : directory_store_held(guard->inner);
}

static void guard_free(struct directory_store *base)
{
	struct guard *guard = CONTAINER_OF(base, struct guard, base);

	os_timer_free(guard->timer);
	guard_remember_durably(guard);
	guard->is_freed = true;
	guard->under_way++;
	guard->inner->operations->free(guard->inner);
	guard_answered(guard);
}

static const struct directory_store_operations operations = {
	.get = guard_get,
	.list = guard_list,
	.change = guard_change,
	.missed = guard_missed,
	.begin = guard_begin,
	.end = guard_end,
	.free = guard_free,
	.accept = guard_accept,
	.followed = guard_followed,
	.held = guard_held,
};

struct directory_store *store_guard_new(struct os_loop *loop, struct directory_store *inner,
					int file, const char *place,
					const struct store_guard_memory *seen)
{
	struct guard *guard = memory_alloc_zero(1, sizeof *guard);

	guard->base.operations = &operations;
	guard->inner = inner;
	guard->loop = loop;
	guard->file = file;
	guard->place = memory_copy_string(place);
	guard->timer = os_timer_new(loop, on_count_time, guard);
	os_timer_start(guard->timer, COUNT_US);
	guard->seen = *seen;
	inner->is_known = guard->seen.count > 0;
	inner->handler = &guard_handler;
	inner->context = guard;
	guard_mirror(guard);
	if (inner->is_up)
		judge_inner_data(guard);
	return &guard->base;
}
