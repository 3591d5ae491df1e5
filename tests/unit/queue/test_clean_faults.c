// SPDX-License-Identifier: ISC
/*
 * The cleaner, of whose calls each fails once: it goes on, is not sure if anything is left, and the
 * next one ends what it has left.
 */
#include "failing_calls.h"
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/trigger.h"
#include "queue_scene.h"
#include "test.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- a queue that needs to be cleaned --- */

enum { GONE = 1000001 };

static enum queue_sync sync_mode;
static struct queue_store *store;
static struct queue_intake *intake;
static unsigned findings, reports;
static uint64_t told[32]; /* rebuilt, or a report: nobody has scanned it */
static size_t told_count;
static uint64_t scanned, bare; /* that is sound; that has lost its data */

static void make_path(enum queue_folder place, const char *service, uint64_t number,
		      char path[QUEUE_PATH_SIZE])
{
	queue_store_path(store, place, service, number, path);
}

static void remove_name(enum queue_folder place, const char *service, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	make_path(place, service, number, path);
	assert_int_equal(os_file_unlink(queue_store_directory(store), path), 0);
}

static void add_name(enum queue_folder place, const char *service, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];

	make_path(place, service, number, path);
	assert_int_equal(os_file_link(queue_store_directory(store), "format", path), 0);
}

static uint64_t add_waiting(void)
{
	uint64_t number = queue_scene_enqueue(intake, NULL, "data\r\n");

	queue_scene_preprocess(store, intake, number,
			       "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n", "");
	return number;
}

/* Two that are sound, one that has lost its control file's name, one its data, names that have come
 * back, and the hold of one that is gone. */
static void make_queue(void)
{
	store = queue_scene_open("queue", sync_mode);
	intake = queue_scene_intake(store);
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	(void)queue_scene_enqueue(intake, NULL, "queued\r\n");
	scanned = add_waiting();
	remove_name(QUEUE_INFO, NULL, add_waiting());
	bare = add_waiting();
	remove_name(QUEUE_MESS, NULL, bare);
	add_name(QUEUE_INTD, NULL, GONE);
	add_name(QUEUE_REMOTE, NULL, GONE);
	add_name(QUEUE_BOUNCE, NULL, GONE);
	add_name(QUEUE_LOCAL, "mailbox", GONE);
	assert_int_equal(queue_trigger_set(store, STR("hold.1000001-3e8"), 0, STR("")), 0);
}

/* --- cleaning --- */

static bool is_busy(void *context, uint64_t number)
{
	(void)context;
	(void)number;
	return false;
}

static int remove_data(void *context, uint64_t number)
{
	(void)context;
	return queue_message_remove_data(intake, number);
}

static int end_hold(void *context, struct str name)
{
	(void)context;
	return queue_trigger_release(store, name);
}

static void found(void *context, const struct queue_cleaner_finding *finding)
{
	(void)context;
	findings |= 1U << finding->kind;
	reports += finding->report != 0;
	assert_true(told_count < COUNT_OF(told));
	if (finding->report != 0)
		told[told_count++] = finding->report;
	else if (finding->kind == QUEUE_CLEANER_REBUILT)
		told[told_count++] = finding->number;
}

static const struct queue_cleaner_handler handler = {is_busy, NULL,  remove_data,
						     NULL,    found, end_hold};

/* Whether it is sure; *ERRORS_OUT: how many of its steps have failed. */
static bool clean(unsigned *errors_out)
{
	static const char *const services[] = {"mailbox"};
	struct queue_cleaner *cleaner = queue_cleaner_new(store, services, 1, &handler, NULL);
	int result = 1;
	bool is_sure;

	*errors_out = 0;
	for (unsigned i = 0; i < 10000 && result != 0; i++) {
		result = queue_cleaner_step(cleaner);
		*errors_out += result < 0;
	}
	assert_int_equal(result, 0);
	is_sure = queue_cleaner_is_sure(cleaner);
	queue_cleaner_free(cleaner);
	return is_sure;
}

static int count_message(void *context, uint64_t number)
{
	unsigned *count = context;

	(void)number;
	(*count)++;
	return 0;
}

/* Who is at S5 was there when the queue was scanned, or somebody is told. */
static int check_told(void *context, uint64_t number)
{
	const unsigned *call = context;
	bool is_known = number == scanned || number == bare;

	for (size_t i = 0; i < told_count; i++)
		is_known = is_known || told[i] == number;
	if (!is_known)
		fail_msg("call %u: nobody is told of %" PRIu64, *call, number);
	return 0;
}

static int count_trigger(void *context, struct str name)
{
	unsigned *count = context;

	(void)name;
	(*count)++;
	return 0;
}

struct census {
	unsigned counts[9];
};

static struct census count_names(void)
{
	static const struct {
		enum queue_folder place;
		const char *name;
	} places[] = {{QUEUE_TODO, "arrive"}, {QUEUE_INFO, NULL},   {QUEUE_INTD, NULL},
		      {QUEUE_REMOTE, NULL},   {QUEUE_BOUNCE, NULL}, {QUEUE_LOCAL, "mailbox"},
		      {QUEUE_MESS, NULL}};
	struct census census = {{0}};

	for (size_t i = 0; i < COUNT_OF(places); i++)
		assert_int_equal(queue_store_each(store, places[i].place, places[i].name,
						  count_message, NULL, &census.counts[i]),
				 0);
	assert_int_equal(queue_trigger_each(store, count_trigger, &census.counts[7]), 0);
	return census;
}

static void begin(void)
{
	void *state = NULL;

	assert_int_equal(queue_scene_set_up(&state), 0);
	findings = reports = 0;
	told_count = 0;
	make_queue();
}

static void end(void)
{
	void *state = NULL;

	queue_intake_close(intake);
	queue_store_close(store);
	assert_int_equal(queue_scene_tear_down(&state), 0);
}

/* EXTRA: so many reports may have been queued twice, as cleaner/judge.c says. */
static void check_census(const struct census *census, const struct census *wanted, unsigned extra,
			 unsigned call)
{
	for (size_t i = 0; i < COUNT_OF(census->counts); i++)
		if (census->counts[i] < wanted->counts[i] ||
		    census->counts[i] > wanted->counts[i] + extra)
			fail_msg("call %u: place %zu has %u names, not %u", call, i,
				 census->counts[i], wanted->counts[i]);
}

/* With each call in its turn. */
static void fail_each_call(unsigned wanted_kinds, unsigned wanted_reports)
{
	struct census wanted;
	unsigned wanted_findings;
	unsigned call = 0;
	unsigned errors;
	bool is_over = false;

	failing_calls_forget();
	begin();
	assert_true(clean(&errors));
	assert_int_equal(errors, 0);
	wanted = count_names();
	wanted_findings = findings;
	assert_int_equal(findings, wanted_kinds);
	assert_int_equal(reports, wanted_reports);
	end();
	while (!is_over) {
		struct census census;
		bool is_sure;

		begin();
		call++;
		failing_calls_begin();
		is_sure = clean(&errors);
		is_over = !failing_calls_end();
		census = count_names();
		assert_int_equal(queue_store_each(store, QUEUE_INFO, NULL, check_told, NULL, &call),
				 0);
		assert_int_equal(is_sure, errors == 0); /* each failure is told */
		if (is_sure)
			check_census(&census, &wanted, 0, call);
		assert_true(clean(&errors));
		assert_int_equal(errors, 0);
		census = count_names();
		check_census(&census, &wanted, wanted_reports, call);
		assert_int_equal(findings, wanted_findings);
		end();
	}
	assert_true(call > 50);
}

/* Where nobody can tell what a power failure has brought back, nothing is delivered again. */
static void whatever_fails_the_next_one_ends_it(void **state)
{
	(void)state;
	sync_mode = QUEUE_SYNC_FILES;
	fail_each_call(1U << QUEUE_CLEANER_LITTER, 0);
}

static void so_it_is_where_the_order_is_kept(void **state)
{
	(void)state;
	sync_mode = QUEUE_SYNC_ORDERED;
	fail_each_call(1U << QUEUE_CLEANER_REBUILT | 1U << QUEUE_CLEANER_DAMAGED, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_fails_the_next_one_ends_it),
		cmocka_unit_test(so_it_is_where_the_order_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
