// SPDX-License-Identifier: ISC
/* Which message of a mailbox service is filed when, and what becomes of those that wait: with a
 * thread that ends when the test wants it, and with attempts to which it gives the outcome. */
#include "deliver/mailbox/open.h"
#include "deliver/mailbox/turns.h"
#include "deliver/mailbox/worker.h"
#include "filing/doubt.h"
#include "log/event.h"
#include "os/clock.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 8, CONCURRENCY = 4 };

struct mailbox_worker {
	struct filing_message *messages[MAILBOX_GROUP_MAX];
	size_t count;
	bool is_busy;
};

enum fate { OPEN, FINISHED, GIVEN_UP };

static struct config config;
static struct config_service service;
static struct config_transport transport;
static struct deliver_helper_job job;
static struct mailbox_turns *turns;
static struct mailbox_entry entries[ENTRIES];
static enum fate fates[ENTRIES];
static char why[ENTRIES][MAIL_STATUS_SIZE];
static struct mailbox_worker *worker;
static struct os_task *deferred;
static void (*on_wakeup)(void *context);
static void (*on_timer)(void *context);
static bool timer_runs;
static int64_t now_us;
static int store_error, worker_error; /* when they are made */

/* --- what it works with --- */

int64_t os_clock_monotonic_us(void)
{
	return now_us;
}

struct os_wakeup *os_wakeup_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	(void)loop;
	(void)context;
	on_wakeup = call;
	return NULL;
}

void os_wakeup_free(struct os_wakeup *wakeup)
{
	(void)wakeup;
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	(void)loop;
	(void)context;
	on_timer = call;
	return NULL;
}

void os_timer_free(struct os_timer *timer)
{
	(void)timer;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	(void)timer;
	assert_true(delay_us > 0);
	timer_runs = true;
}

bool os_timer_is_running(const struct os_timer *timer)
{
	(void)timer;
	return timer_runs;
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	deferred = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	(void)task;
	deferred = NULL;
}

const struct config_transport *config_transport_find(const struct config *of, struct str name)
{
	assert_ptr_equal(of, &config);
	assert_true(str_equal(name, STR("box")));
	return &transport;
}

struct record *mailbox_record_new(const struct config *of)
{
	(void)of;
	return NULL;
}

int mailbox_store_new(const struct config *of, const struct config_service *kind,
		      struct mailstore **store_out)
{
	(void)of;
	(void)kind;
	if (store_error == 0)
		*store_out = NULL;
	return store_error;
}

int mailbox_worker_new(struct os_wakeup *wakeup, struct record *record, struct mailstore *store,
		       struct mailbox_worker **hand_out)
{
	(void)wakeup;
	(void)record;
	(void)store;
	if (worker_error == 0)
		*hand_out = worker = calloc(1, sizeof *worker);
	return worker_error;
}

void mailbox_worker_free(struct mailbox_worker *of)
{
	free(of);
}

void mailbox_worker_give(struct mailbox_worker *of, struct filing_message **messages, size_t count)
{
	assert_false(of->is_busy);
	of->is_busy = true;
	of->count = count;
	memcpy(of->messages, messages, count * sizeof *messages);
}

bool mailbox_worker_is_busy(struct mailbox_worker *of)
{
	return of->is_busy;
}

void mailbox_worker_wait(struct mailbox_worker *of)
{
	of->is_busy = false;
}

void mailbox_worker_log(struct mailbox_worker *of)
{
	assert_false(of->is_busy);
}

void filing_doubt_add(struct filing_doubt *doubt, struct str message_id)
{
	(void)doubt;
	(void)message_id;
	fail();
}

bool filing_doubt_has(const struct filing_doubt *doubt, struct str message_id)
{
	(void)doubt;
	(void)message_id;
	return false;
}

void log_write(enum log_name name, const struct log_field *fields)
{
	(void)fields;
	assert_int_equal(name, EVENT_FILING_WAITS);
}

/* --- entries --- */

static size_t number_of(const struct mailbox_entry *entry)
{
	return (size_t)(entry - entries);
}

void mailbox_entry_settle(struct mailbox_entry *entry)
{
	(void)entry;
}

bool mailbox_entry_is_early(const struct mailbox_entry *entry)
{
	(void)entry;
	return false;
}

bool mailbox_entry_wants_sent(const struct mailbox_entry *entry)
{
	(void)entry;
	return false;
}

/* Its copies have verdicts only if it was filed. */
void mailbox_entry_finish(struct mailbox_entry *entry)
{
	assert_int_equal(fates[number_of(entry)], OPEN);
	if (entry->owner == NULL)
		fail_msg("message %zu is reported, and nothing was decided of it",
			 number_of(entry));
	fates[number_of(entry)] = FINISHED;
}

void mailbox_entry_give_up(struct mailbox_entry *entry, const struct mail_verdict *verdict)
{
	assert_int_equal(fates[number_of(entry)], OPEN);
	fates[number_of(entry)] = GIVEN_UP;
	snprintf(why[number_of(entry)], sizeof why[0], "%s",
		 verdict != NULL ? verdict->status : "");
}

/* --- a play --- */

static int set_up(void **state)
{
	(void)state;
	config = (struct config){.record = {.connections = 1, .lock_timeout = 20}};
	service = (struct config_service){.name = "box"};
	transport = (struct config_transport){.concurrency = CONCURRENCY};
	memset(entries, 0, sizeof entries);
	memset(fates, 0, sizeof fates);
	memset(why, 0, sizeof why);
	worker = NULL;
	deferred = NULL;
	timer_runs = false;
	now_us = SECOND_US;
	turns = mailbox_turns_new(NULL);
	mailbox_turns_configure(turns, &config, &service);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	mailbox_turns_free(turns);
	return 0;
}

/* Message NUMBER, of the Message-ID ID, comes; other numbers are other messages. */
static void add(size_t number, const char *id)
{
	entries[number].job = &job;
	entries[number].identity.id = str_from(id);
	entries[number].identity.digest[0] = (unsigned char)number;
	mailbox_turns_add(turns, &entries[number]);
	if (deferred != NULL)
		deferred->call(deferred->context);
	deferred = NULL;
}

/* Those in the thread are MESSAGES, by their numbers. */
static void expect_in_thread(const char *messages)
{
	char found[ENTRIES + 1] = "";

	for (size_t i = 0; worker != NULL && worker->is_busy && i < worker->count; i++)
		for (size_t j = 0; j < ENTRIES; j++)
			if (worker->messages[i] == &entries[j].message)
				snprintf(found + i, 2, "%zu", j);
	assert_string_equal(found, messages);
}

/* The thread is done: another process has the lock, or all are filed. */
static void end_group(bool is_busy)
{
	assert_true(worker->is_busy);
	for (size_t i = 0; i < worker->count; i++)
		for (size_t j = 0; j < ENTRIES; j++)
			if (worker->messages[i] == &entries[j].message) {
				entries[j].message.is_busy = is_busy;
				entries[j].owner = is_busy ? NULL : worker;
			}
	worker->is_busy = false;
	on_wakeup(turns);
}

static void pass_time(void)
{
	assert_true(timer_runs);
	timer_runs = false;
	now_us += SECOND_US / 20;
	on_timer(turns);
}

/* While it is held, those of its Message-ID are held, too, as far as there are places; what comes
 * beyond that is deferred, with a reason, as nothing is decided of it. */
static void what_comes_beyond_the_places_is_deferred(void **state)
{
	(void)state;
	add(0, "x");
	expect_in_thread("0");
	end_group(true);
	add(1, "x");
	expect_in_thread("");
	assert_int_equal(fates[1], OPEN);
	add(2, "x");
	assert_int_equal(fates[2], GIVEN_UP);
	assert_string_equal(why[2], "4.4.5");
	add(3, "y"); /* has another lock */
	expect_in_thread("3");
	end_group(false);
	assert_int_equal(fates[3], FINISHED);
	pass_time();
	expect_in_thread("01");
	end_group(false);
	assert_int_equal(fates[0], FINISHED);
	assert_int_equal(fates[1], FINISHED);
}

/* One asks for all of a Message-ID; each for its own time only. */
static void who_waits_for_too_long_is_deferred(void **state)
{
	(void)state;
	add(0, "x");
	end_group(true);
	for (unsigned i = 0; fates[0] == OPEN; i++) {
		assert_true(i < 1000);
		pass_time();
		expect_in_thread("0");
		end_group(true);
	}
	assert_string_equal(why[0], "4.4.5");
	assert_true(now_us >= (1 + 20) * SECOND_US);
}

static void messages_of_one_id_go_together(void **state)
{
	(void)state;
	add(0, "x");
	add(1, "x");
	add(2, "x");
	expect_in_thread("0");
	end_group(false);
	expect_in_thread("12");
	end_group(false);
	assert_int_equal(fates[2], FINISHED);
}

/* A password that cannot be read, no thread: what waits is deferred, and the next message is tried
 * anew. */
static void what_cannot_be_made_is_tried_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		*(i == 0 ? &store_error : &worker_error) = -EACCES;
		add(i, "x");
		expect_in_thread("");
		assert_int_equal(fates[i], GIVEN_UP);
		assert_string_equal(why[i], "4.3.0");
		assert_true(entries[i].message.is_away);
		store_error = worker_error = 0;
	}
	add(2, "y");
	expect_in_thread("2");
	end_group(false);
	assert_int_equal(fates[2], FINISHED);
}

/* No reports: they come again. */
static void who_is_held_when_it_ends_is_not_reported(void **state)
{
	(void)state;
	add(0, "x");
	end_group(true);
	add(1, "x");
	mailbox_turns_drain(turns);
	assert_int_equal(fates[0], GIVEN_UP);
	assert_int_equal(fates[1], GIVEN_UP);
	assert_string_equal(why[0], "");
}

#define TURNS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TURNS_TEST(what_comes_beyond_the_places_is_deferred),
		TURNS_TEST(who_waits_for_too_long_is_deferred),
		TURNS_TEST(messages_of_one_id_go_together),
		TURNS_TEST(what_cannot_be_made_is_tried_again),
		TURNS_TEST(who_is_held_when_it_ends_is_not_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
