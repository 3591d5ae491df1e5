// SPDX-License-Identifier: ISC
/*
 * What the threads of a mailbox service do: one removes old messages from the record, one files
 * groups, one reads large messages. They work when the test says so; time is played.
 */
#include "base/panic.h"
#include "chance.h"
#include "deliver/mailbox/log.h"
#include "deliver/mailbox/open.h"
#include "deliver/mailbox/prune.h"
#include "deliver/mailbox/reader.h"
#include "deliver/mailbox/worker.h"
#include "fake_loop.h"
#include "heard.h"
#include "os/clock.h"
#include "os/worker.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4000 };

/* --- os/worker.h, os/loop.h --- */

struct os_wakeup {
	void (*call)(void *context);
	void *context;
};

struct os_worker {
	void (*work)(void *context);
	void *context;
	struct os_wakeup *wakeup;
	bool is_busy;
};

static struct os_worker *worker; /* the only one; NULL: there is none */
static int worker_error;         /* none can be created now */

struct os_wakeup *os_wakeup_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_wakeup *wakeup = memory_alloc_zero(1, sizeof *wakeup);

	(void)loop;
	*wakeup = (struct os_wakeup){call, context};
	return wakeup;
}

void os_wakeup_free(struct os_wakeup *wakeup)
{
	assert_null(worker);
	free(wakeup);
}

int os_worker_new(void (*work)(void *context), void *context, struct os_wakeup *wakeup,
		  struct os_worker **worker_out)
{
	assert_null(worker);
	if (worker_error != 0)
		return worker_error;
	worker = memory_alloc_zero(1, sizeof *worker);
	*worker = (struct os_worker){work, context, wakeup, false};
	*worker_out = worker;
	return 0;
}

void os_worker_start(struct os_worker *of)
{
	assert_ptr_equal(of, worker);
	assert_false(of->is_busy);
	of->is_busy = true;
}

bool os_worker_is_busy(struct os_worker *of)
{
	assert_ptr_equal(of, worker);
	return of->is_busy;
}

bool os_worker_wait(struct os_worker *of, int64_t timeout_us)
{
	assert_int_equal(timeout_us, INT64_MAX);
	if (of->is_busy)
		of->work(of->context);
	of->is_busy = false;
	return true;
}

void os_worker_free(struct os_worker *of)
{
	if (of == NULL)
		return;
	(void)!os_worker_wait(of, INT64_MAX);
	worker = NULL;
	free(of);
}

/* What it was given is done, and the loop hears of it; before that it hears nothing that counts. */
static void work(void)
{
	struct os_wakeup *wakeup;

	if (worker == NULL || !worker->is_busy)
		return;
	wakeup = worker->wakeup;
	if (chance(2) == 0)
		wakeup->call(wakeup->context);
	(void)!os_worker_wait(worker, INT64_MAX);
	wakeup->call(wakeup->context);
}

/* --- the record --- */

static struct {
	const struct config *config;
	unsigned records, removed;
	int error;
	int64_t before_us;
	unsigned calls;
} base;

struct record *mailbox_record_new(const struct config *config)
{
	base.config = config;
	base.records++;
	return (struct record *)&base;
}

void record_free(struct record *record)
{
	if (record == NULL)
		return;
	assert_ptr_equal(record, &base);
	base.records--;
}

int record_prune(struct record *record, int64_t before_us, unsigned limit, unsigned *count_out)
{
	assert_ptr_equal(record, &base);
	assert_int_equal(base.records, 1);
	assert_int_equal(limit, 100);
	base.before_us = before_us;
	base.calls++;
	if (base.error == 0)
		*count_out = base.removed;
	return base.error;
}

const char *record_error(const struct record *record)
{
	assert_ptr_equal(record, &base);
	return "disk full";
}

/* --- removing what is old --- */

/* When the next step is due; INT64_MAX: never. */
static struct {
	int64_t due_us;
	int64_t total;
	bool is_busy;
	unsigned calls;
	const struct config *config;
} plain;

static void expect_log(const char *format, ...)
{
	char line[128] = "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	assert_string_equal(heard_take(), line);
}

static void end_step(void)
{
	static const int errors[] = {0, 0, 0, 0, 0, -EIO};

	base.error = errors[chance(COUNT_OF(errors))];
	base.removed = (unsigned)chance(3) * 50;
	work();
	assert_ptr_equal(base.config, plain.config);
	assert_int_equal(base.calls, ++plain.calls);
	plain.is_busy = false;
	if (base.error != 0) {
		expect_log("record_not_pruned removed=%d error=disk full\n", (int)plain.total);
		plain.due_us = os_clock_monotonic_us() + 3600 * SECOND_US;
		return;
	}
	plain.total += base.removed;
	plain.due_us = os_clock_monotonic_us() + (base.removed > 0 ? SECOND_US / 20 : DAY_US);
	if (base.removed == 0) {
		expect_log("record_pruned removed=%d\n", (int)plain.total);
		plain.total = 0;
	}
	expect_log("");
}

/* Time passes, to just before it is due, or until then. */
static void pass_to_step(void)
{
	int64_t left_us = plain.due_us - os_clock_monotonic_us();

	if (plain.is_busy || plain.due_us == INT64_MAX) {
		fake_advance(chance(2) == 0 ? 1 : 2 * DAY_US);
		return;
	}
	fake_advance(left_us - 1);
	assert_int_equal(worker != NULL && worker->is_busy, false);
	worker_error = worker == NULL && chance(2) == 0 ? -EAGAIN : 0;
	fake_advance(1);
	plain.due_us = INT64_MAX;
	if (plain.config->record.keep_us == 0) {
		assert_false(worker != NULL && worker->is_busy);
	} else if (worker_error != 0) {
		expect_log("record_not_pruned removed=%d error=%s\n", (int)plain.total,
			   strerror(EAGAIN));
		plain.due_us = os_clock_monotonic_us() + 3600 * SECOND_US;
	} else {
		int64_t before_us = os_clock_wall_us() - plain.config->record.keep_us;

		assert_true(worker != NULL && worker->is_busy);
		plain.is_busy = true;
		if (chance(2) == 0)
			end_step();
		else
			return;
		assert_int_equal(base.before_us, before_us);
	}
}

static void old_messages_are_removed_a_few_at_a_time(void **state)
{
	static const struct config configs[] = {
		{.record.keep_us = 30 * DAY_US}, {.record.keep_us = DAY_US}, {.record.keep_us = 0}};
	struct mailbox_prune *prune;

	(void)state;
	fake_begin(1);
	(void)heard_take();
	prune = mailbox_prune_new(NULL, &configs[0]);
	plain.config = &configs[0];
	plain.due_us = os_clock_monotonic_us() + 5 * SECOND_US;
	for (unsigned i = 0; i < STEPS; i++) {
		if (plain.is_busy && chance(2) == 0) {
			/* what was begun with the old record ends with it */
			end_step();
		} else if (!plain.is_busy && chance(10) == 0) {
			plain.config = &configs[chance(COUNT_OF(configs))];
			mailbox_prune_configure(prune, plain.config);
			plain.due_us = os_clock_monotonic_us() + 5 * SECOND_US;
		} else {
			pass_to_step();
		}
	}
	mailbox_prune_configure(prune, &configs[0]); /* also while it is busy */
	mailbox_prune_free(prune);
	mailbox_prune_free(NULL);
	assert_int_equal(base.records, 0);
	assert_null(worker);
}

/* --- filing --- */

static void (*file_event)(void *context, const struct filing_event *event);
static void *file_context;
static unsigned filings;

struct filing *filing_new(struct record *record, struct mailstore *store,
			  void (*event)(void *context, const struct filing_event *event),
			  void *context)
{
	assert_ptr_equal(record, &base);
	assert_ptr_equal(store, &filings);
	file_event = event;
	file_context = context;
	filings++;
	return (struct filing *)&filings;
}

void filing_free(struct filing *filing)
{
	assert_ptr_equal(filing, &filings);
	filings--;
}

static unsigned stores;

void mailstore_free(struct mailstore *store)
{
	assert_ptr_equal(store, &filings);
	stores--;
}

/* Each is filed in its own way; what is said of it is gone afterwards. */
void filing_group(struct filing *filing, struct filing_message *messages, size_t count)
{
	assert_ptr_equal(filing, &filings);
	for (size_t i = 0; i < count; i++) {
		char text[3][24];
		struct filing_copy copy = {
			.mailbox = {.user = {text[0], 1}, .folder = {text[1], 1}}};
		const struct filing_event event = {(enum filing_event_kind)(i % FILING_EVENTS),
						   &messages[i], i % 2 == 0 ? &copy : NULL,
						   text[2]};

		snprintf(text[0], sizeof text[0], "u");
		snprintf(text[1], sizeof text[1], "f");
		snprintf(text[2], sizeof text[2], "text%zu", i);
		copy.decision.rule = STR("rule");
		messages[i].is_busy = i % 2 == 1;
		messages[i].is_lost = i % 3 == 1;
		messages[i].is_away = i % 5 == 1;
		file_event(file_context, &event);
		memset(text, 'z', sizeof text);
	}
}

static void groups_are_filed_and_logged(void **state)
{
	static const char *const names[FILING_EVENTS] = {
		"message_recorded",     "message_id_shared", "message_filed",
		"message_filed_before", "filing_found",      "filing_missing",
		"filing_surplus",       "folder_refused",    "filing_failed"};
	static const size_t counts[] = {0, 1, 2, MAILBOX_GROUP_MAX, 3};
	struct filing_message messages[MAILBOX_GROUP_MAX];
	struct filing_message *group[MAILBOX_GROUP_MAX];
	const struct decode_identity identity = {.id = STR("id@a.test")};
	struct mailbox_worker *filer;

	(void)state;
	base.records = stores = 1;
	worker_error = -EPERM;
	assert_int_equal(mailbox_worker_new(NULL, (struct record *)&base,
					    (struct mailstore *)&filings, &filer),
			 -EPERM);
	assert_int_equal(base.records + stores + filings, 0);
	base.records = stores = 1;
	worker_error = 0;
	assert_int_equal(mailbox_worker_new(NULL, (struct record *)&base,
					    (struct mailstore *)&filings, &filer),
			 0);
	(void)heard_take();
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		struct buffer wanted CLEANUP(buffer_clear) = {0};

		for (size_t m = 0; m < counts[i]; m++) {
			group[m] = &messages[m];
			messages[m] = (struct filing_message){.identity = &identity,
							      .queue_id = {m + 1, 1}};
			buffer_append_format(&wanted,
					     "%s id=%zu-1 message_id=id@a.test%s text=text%zu\n",
					     names[m % FILING_EVENTS], m + 1,
					     m % 2 == 0 ? " mailbox=u folder=f rule=rule" : "", m);
		}
		buffer_append_byte(&wanted, '\0');
		mailbox_worker_give(filer, group, counts[i]);
		assert_true(mailbox_worker_is_busy(filer));
		mailbox_worker_wait(filer);
		assert_false(mailbox_worker_is_busy(filer));
		assert_string_equal(heard_take(), "");
		mailbox_worker_log(filer);
		assert_string_equal(heard_take(), buffer_data(&wanted));
		for (size_t m = 0; m < counts[i]; m++) {
			assert_int_equal(messages[m].is_busy, m % 2 == 1);
			assert_int_equal(messages[m].is_lost, m % 3 == 1);
			assert_int_equal(messages[m].is_away, m % 5 == 1);
		}
		mailbox_worker_log(filer); /* each once */
		assert_string_equal(heard_take(), "");
	}
	mailbox_worker_free(filer);
	mailbox_worker_free(NULL);
	assert_int_equal(base.records + stores + filings, 0);
}

/* --- reading --- */

enum { ENTRIES = 8 };

static struct mailbox_entry entries[ENTRIES];
static unsigned given[ENTRIES]; /* 0: ours; else when it was given */
static unsigned gives, identified, dropped;

int mailbox_entry_identify(struct mailbox_entry *entry)
{
	assert_int_equal(given[entry - entries], identified + 1); /* in order */
	return entry->generation == 1 ? -EIO : 0;
}

void mailbox_entry_give_up(struct mailbox_entry *entry, const struct mail_verdict *why)
{
	assert_null(why);
	assert_true(given[entry - entries] > 0);
	given[entry - entries] = 0;
	dropped++;
}

static void on_read(struct mailbox_entry *entry, int error)
{
	assert_int_equal(given[entry - entries], ++identified);
	assert_int_equal(error, entry->generation == 1 ? -EIO : 0);
	given[entry - entries] = 0;
}

static void large_messages_are_read_one_after_the_other(void **state)
{
	struct mailbox_reader *reader = mailbox_reader_new(NULL, on_read);

	(void)state;
	worker_error = -EAGAIN;
	assert_int_equal(mailbox_reader_give(reader, &entries[0]), -EAGAIN);
	worker_error = 0;
	for (unsigned i = 0; i < STEPS; i++) {
		size_t number = chance(ENTRIES);

		if (chance(2) == 0) {
			work();
		} else if (chance(50) == 0) {
			mailbox_reader_drop(reader);
			assert_int_equal(dropped, gives - identified);
			gives = identified = dropped = 0;
		} else if (given[number] == 0) {
			entries[number].generation = (unsigned)chance(2);
			given[number] = ++gives;
			assert_int_equal(mailbox_reader_give(reader, &entries[number]), 0);
		}
		assert_int_equal(worker != NULL && worker->is_busy, gives > identified);
	}
	mailbox_reader_free(reader);
	mailbox_reader_free(NULL);
	assert_int_equal(dropped, gives - identified);
	assert_null(worker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_messages_are_removed_a_few_at_a_time),
		cmocka_unit_test(groups_are_filed_and_logged),
		cmocka_unit_test(large_messages_are_read_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
