// SPDX-License-Identifier: ISC
#include "manager/wait/scan/scan.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "manager/wait/scan/due_list.h"
#include "manager/wait/scan/message_file.h"
#include "manager/wait/scan/pull.h"
#include "manager/wait/schedule.h"
#include "os/clock.h"
#include "queue/number_table.h"
#include "queue/walk.h"
#include <stdlib.h>

enum {
	SCAN_KEPT_MAX = 500000,
	SCAN_SLICE_US = 2000,
	QUIET_SLICE_US = 4000,
	SCAN_PAUSE_US = 5000,
	SAME_TIME = 16, /* names between two readings of the clock */
};

static const int64_t RETRY_US = 2 * SECOND_US;

struct scan {
	struct os_loop *loop;
	struct queue_store *store;
	struct sleepers *sleepers;
	struct wake *wake;
	struct scan_times times;
	const struct scan_handler *handler;
	void *context;
	struct os_timer *slice_timer;
	struct os_timer *rescan_timer;
	struct pull *pull;
	struct queue_walk walk;
	unsigned place; /* the stages of todo/, then info/ */
	bool is_running;
	bool only_new;
	bool again; /* something was missed since it began */
	bool again_only_new;
	bool is_stopped;
	bool are_all_due; /* scan_keep_all() */
	bool has_failed;  /* to read something; of the last scan, until the next begins */
	bool is_retrying; /* the next one comes before its time, since one has failed */
	int64_t pause_us; /* before the next one, after those that failed; 0: the last did not */
	size_t found;
	size_t ahead;     /* whose times are of a clock that was ahead */
	int64_t ahead_us; /* of ours, when these were noted */
	struct due_list due;
	struct number_table asked; /* names in todo/ about which "queue" was asked */
};

static bool will_find(const struct scan *scan, int64_t due_us, int64_t now_us)
{
	return !scan->are_all_due && scan->sleepers->count >= SCAN_KEPT_MAX && due_us != INT64_MAX &&
	       due_us > now_us + 2 * scan->times.rescan_us;
}

void scan_keep_all(struct scan *scan, bool are_all_due)
{
	scan->are_all_due = are_all_due;
}

bool scan_will_find(const struct scan *scan, int64_t due_us)
{
	return will_find(scan, due_us, os_clock_wall_us());
}

/* --- one message --- */

static bool is_known_message_number(struct scan *scan, uint64_t number)
{
	return sleepers_find(scan->sleepers, number) != NULL ||
	       scan->handler->is_awake(scan->context, number);
}

static void add_queued(struct scan *scan, enum mail_stage stage, uint64_t number)
{
	struct sleeper *sleeper;
	bool is_settled;

	if (!message_file_is_at(scan->store, stage, number))
		return;
	is_settled = scan->handler->settle(scan->context, stage, number);
	sleeper = sleepers_add(scan->sleepers, number, INT64_MAX);
	sleeper->facts.place = is_settled ? MESSAGE_AT_S4 : MESSAGE_AT_S4_NAMED;
	sleeper->facts.is_found = true;
	sleeper->facts.stage = (unsigned)stage & 15U;
	wake_first(scan->wake, sleeper);
}

static struct sleeper *add_preprocessed(struct scan *scan, uint64_t number, int64_t due_us)
{
	struct sleeper *sleeper = sleepers_add(scan->sleepers, number, due_us);

	sleeper->facts.place = MESSAGE_AT_S5;
	wake_schedule(scan->wake);
	return sleeper;
}

/* The other clock was ahead by that at least. */
static void note_ahead(struct scan *scan, int64_t ahead_us)
{
	if (ahead_us > scan->ahead_us)
		scan->ahead_us = ahead_us;
}

/* When the file says it is due. WALK: the directory of its name; NULL: anywhere. */
static bool read_due(struct scan *scan, const struct queue_walk *walk, uint64_t number,
		     int64_t now_us, int64_t *due_us_out)
{
	int64_t noted_us;

	if (!message_file_due(scan->store, walk, number, due_us_out, &noted_us))
		return false;
	if (!schedule_is_by_other_clock(noted_us, *due_us_out, now_us,
					schedule_longest_us(scan->times.lifetime_us)))
		return true;
	scan->ahead++; /* the clock was set back since, and it may be late */
	note_ahead(scan, noted_us - now_us);
	note_ahead(scan, *due_us_out - now_us - schedule_longest_us(scan->times.lifetime_us));
	*due_us_out = 0;
	return true;
}

void scan_add(struct scan *scan, enum mail_stage stage, uint64_t number)
{
	if (!is_known_message_number(scan, number))
		add_queued(scan, stage, number);
}

struct sleeper *scan_find(struct scan *scan, uint64_t number)
{
	struct sleeper *sleeper = sleepers_find(scan->sleepers, number);
	int64_t due_us;

	if (sleeper != NULL || message_file_is_in_todo(scan->store, number))
		return sleeper; /* an unknown message at S4 comes by a notice or a scan */
	wake_check_clock(scan->wake);
	return read_due(scan, NULL, number, os_clock_wall_us(), &due_us)
		       ? add_preprocessed(scan, number, due_us)
		       : NULL;
}

bool scan_has_yet_to_find(const struct scan *scan, uint64_t number)
{
	return message_file_is_in_todo(scan->store, number);
}

/* --- all messages --- */

static void on_stray_in_scan(const char *path)
{
	log_event(EVENT_MESSAGE_DAMAGED, log_string(path, path));
}

static void enter_place(struct scan *scan)
{
	struct queue_store *store = scan->store;

	if (scan->place < MAIL_STAGE_COUNT)
		queue_walk_begin(&scan->walk, store, QUEUE_TODO,
				 mail_stage_name((enum mail_stage)scan->place));
	else
		queue_walk_begin(&scan->walk, store, QUEUE_INFO, NULL);
}

/* What could not be read is found soon, if it can be read then. */
static void plan_next(struct scan *scan)
{
	if (!scan->has_failed || scan->is_retrying)
		return;
	scan->is_retrying = true;
	scan->pause_us = scan->pause_us == 0 ? RETRY_US : 2 * scan->pause_us;
	if (scan->pause_us > scan->times.rescan_us)
		scan->pause_us = scan->times.rescan_us;
	os_timer_start(scan->rescan_timer, scan->pause_us);
}

static void log_ahead(struct scan *scan)
{
	if (scan->ahead > 0)
		log_event(EVENT_CLOCK_BEHIND, log_number(messages, (int64_t)scan->ahead),
			  log_number(seconds, scan->ahead_us / SECOND_US));
	scan->ahead = 0;
	scan->ahead_us = 0;
}

static void finish_scan(struct scan *scan)
{
	scan->is_running = false;
	plan_next(scan);
	log_event(EVENT_RESCAN, log_number(found, (int64_t)scan->found));
	log_ahead(scan);
	if (!scan->only_new) {
		if (due_list_end(&scan->due)) { /* another compares it with the files at once */
			scan->again = true;
			scan->again_only_new = false;
		}
		scan->handler->whole(scan->context);
	}
	if (scan->again)
		scan_begin(scan, scan->again_only_new);
}

void scan_repeat(struct scan *scan)
{
	if (scan->is_stopped)
		return;
	scan->has_failed = true;
	if (!scan->is_running)
		plan_next(scan);
}

/* Goes to the next place; false: that was the last. */
static bool next_place(struct scan *scan)
{
	scan->place++;
	if (scan->place > MAIL_STAGE_COUNT || (scan->only_new && scan->place == MAIL_STAGE_COUNT))
		return false;
	enter_place(scan);
	return true;
}

/* A name in todo/ may still be in the middle of its commit. */
static bool take_queued(struct scan *scan, uint64_t number)
{
	if (is_known_message_number(scan, number))
		return false;
	number_table_add(&scan->asked, number, 1);
	scan->handler->found(scan->context, (enum mail_stage)scan->place, number);
	return true;
}

/* Corrects a listed due time that is later than the file's. An earlier one does no harm. */
static void compare_with_file(struct scan *scan, struct sleeper *sleeper, int64_t now_us)
{
	int64_t due_us;

	sleeper->facts.is_listed = false;
	if (!read_due(scan, &scan->walk, sleeper->number, now_us, &due_us) ||
	    due_us >= sleeper->due_us)
		return;
	sleepers_set_due(scan->sleepers, sleeper, due_us);
	wake_schedule(scan->wake);
}

static bool take_sleeper(struct scan *scan, struct sleeper *sleeper, int64_t now_us)
{
	if (sleeper->facts.is_listed && !due_list_is_read(&scan->due))
		compare_with_file(scan, sleeper, now_us);
	if (sleeper->facts.place == MESSAGE_AT_S5 && sleeper->due_us != INT64_MAX)
		due_list_add(&scan->due, sleeper->number, sleeper->due_us);
	return false;
}

/* A message that is also in todo/ is at S4, and is taken there. */
static bool take_preprocessed(struct scan *scan, uint64_t number, int64_t now_us)
{
	struct sleeper *sleeper = sleepers_find(scan->sleepers, number);
	bool is_listed;
	int64_t due_us;

	if (sleeper != NULL)
		return take_sleeper(scan, sleeper, now_us);
	if (scan->handler->is_awake(scan->context, number) ||
	    number_table_flags(&scan->asked, number) != 0)
		return false;
	if (scan->has_failed && message_file_is_in_todo(scan->store, number))
		return false; /* it was not seen there, and is when that can be read again */
	is_listed = due_list_find(&scan->due, number, &due_us);
	if (!is_listed && !read_due(scan, &scan->walk, number, now_us, &due_us))
		return false;
	due_list_add(&scan->due, number, due_us);
	if (will_find(scan, due_us, now_us))
		return false;
	add_preprocessed(scan, number, scan->are_all_due ? now_us : due_us)->facts.is_listed =
		is_listed;
	return true;
}

/* Handles one name. False at the end. */
static bool scan_next_name(struct scan *scan, int64_t now_us)
{
	uint64_t number;
	int result = queue_walk_next(&scan->walk, &number, on_stray_in_scan);

	if (result == 0)
		return next_place(scan);
	scan->has_failed = scan->has_failed || result < 0;
	if (result < 0)
		log_event(EVENT_QUEUE_ERROR, log_string(operation, "scan"), log_error(result));
	else if (scan->place < MAIL_STAGE_COUNT ? take_queued(scan, number)
						: take_preprocessed(scan, number, now_us))
		scan->found++;
	return true;
}

static void on_scan_slice(void *context)
{
	struct scan *scan = context;
	bool is_quiet = wake_is_quiet(scan->wake);
	int64_t until_us = os_clock_monotonic_us() + (is_quiet ? QUIET_SLICE_US : SCAN_SLICE_US);
	int64_t now_us = 0;
	bool is_more = true;

	if (scan->is_stopped)
		return;
	for (unsigned steps = 0; is_more && os_clock_monotonic_us() < until_us; steps++) {
		if (steps % SAME_TIME == 0) {
			wake_check_clock(scan->wake);
			now_us = os_clock_wall_us();
		}
		is_more = scan_next_name(scan, now_us);
	}
	if (is_more)
		os_timer_start(scan->slice_timer, is_quiet ? 0 : SCAN_PAUSE_US);
	else
		finish_scan(scan);
}

void scan_begin(struct scan *scan, bool only_new)
{
	if (scan->is_stopped)
		return;
	if (scan->is_running) { /* new names may be in directories already scanned */
		scan->again_only_new = only_new && (!scan->again || scan->again_only_new);
		scan->again = true;
		return;
	}
	if (!scan->has_failed && !scan->only_new) /* of the last: "queue" has answered by now */
		scan->pause_us = 0;
	scan->is_running = true;
	scan->again = false;
	scan->only_new = only_new;
	scan->has_failed = false;
	scan->found = 0;
	number_table_clear(&scan->asked);
	if (!only_new)
		due_list_begin(&scan->due, scan->store);
	scan->place = 0;
	enter_place(scan);
	on_scan_slice(scan);
}

static void on_rescan(void *context)
{
	struct scan *scan = context;

	scan->is_retrying = false;
	/* first: a short scan is over when this returns, and may have planned the next one */
	os_timer_start(scan->rescan_timer, scan->times.rescan_us);
	scan->handler->wanted(scan->context, false);
}

static void on_pull_of_trigger(void *context)
{
	struct scan *scan = context;

	scan->handler->wanted(scan->context, true);
}

/* --- itself --- */

struct scan *scan_new(struct os_loop *loop, struct queue_store *store, struct sleepers *sleepers,
		      struct wake *wake, struct scan_times times,
		      const struct scan_handler *handler, void *context)
{
	struct scan *scan = memory_alloc_zero(1, sizeof *scan);

	scan->loop = loop;
	scan->store = store;
	scan->sleepers = sleepers;
	scan->wake = wake;
	scan->times = times;
	scan->handler = handler;
	scan->context = context;
	scan->slice_timer = os_timer_new(loop, on_scan_slice, scan);
	scan->rescan_timer = os_timer_new(loop, on_rescan, scan);
	scan->pull = pull_new(loop, store, on_pull_of_trigger, scan);
	os_timer_start(scan->rescan_timer, times.rescan_us);
	return scan;
}

void scan_configure(struct scan *scan, struct scan_times times)
{
	bool is_other_pace = scan->times.rescan_us != times.rescan_us;

	scan->times = times;
	if (is_other_pace) /* messages left to the next scan may be due before it */
		on_rescan(scan);
}

void scan_stop(struct scan *scan)
{
	scan->is_stopped = true;
	os_timer_stop(scan->slice_timer);
	os_timer_stop(scan->rescan_timer);
}

void scan_free(struct scan *scan)
{
	if (scan->is_running)
		queue_walk_end(&scan->walk);
	due_list_clear(&scan->due);
	number_table_clear(&scan->asked);
	os_timer_free(scan->slice_timer);
	os_timer_free(scan->rescan_timer);
	pull_free(scan->pull);
	free(scan);
}
