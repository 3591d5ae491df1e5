// SPDX-License-Identifier: ISC
/*
 * tests/crash/moves.c - whole queues on the move: one that was copied is repaired, one of a
 * dead host is adopted. Every call is made to fail once, the power is cut after that and
 * before every sync, and what was left off is taken up again: each message is there
 * afterwards, under its true number, with its bytes and its recipients.
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "os/file/file.h"
#include "queue/adopt.h"
#include "queue/repair.h"
#include "queue/trigger.h"
#include "queue/update.h"
#include "recorder.h"
#include "scenario.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_TO "reports@example.org"

enum { SPLIT = 2, NAMES_MAX = 64, ITEMS_MAX = 4096, SAMPLES = 2 };

/* One way to move. */
struct move {
	const char *name;
	int (*once)(void);
	const char *to;   /* the queue where everything is afterwards */
	bool may_be_both; /* a message may come twice when it was interrupted */
};

static struct {
	const struct move *move;
	const struct disk *base;
	const char *what; /* was done to it */
	uint64_t cuts;
	uint64_t faults;
	unsigned failures;
	uint32_t random;
	bool owes_report[LEDGER_MESSAGES_MAX]; /* seen when it was not disturbed */
} run;

static void __attribute__((format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list arguments;

	printf("FAILED: %s, %s: ", run.move->name, run.what);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	run.failures++;
}

/* --- the judge --- */

struct judge {
	struct queue_store *store;
	const enum mail_stage *stage; /* NULL: info */
	unsigned seen[LEDGER_MESSAGES_MAX];
	unsigned reports[LEDGER_MESSAGES_MAX];
	bool is_moved; /* they must be as in the ledger, and with their true numbers */
};

static struct entry *find_entry(int64_t born_us)
{
	for (size_t i = 0; i < ledger.count; i++)
		if (ledger.messages[i].born_us == born_us)
			return &ledger.messages[i];
	return NULL;
}

static bool is_expected(const struct entry *entry)
{
	return entry->is_answered && !entry->is_ended;
}

static void check_recipients(const struct entry *entry, const struct mail_envelope *envelope)
{
	struct queue_control *control;

	if (queue_control_parse(buffer_view(&entry->control), &control, NULL) < 0)
		panic("the ledger's own envelope cannot be read");
	if (!str_equal(envelope->sender, control->envelope->sender) ||
	    envelope->recipient_count == 0 ||
	    (!run.move->may_be_both &&
	     envelope->recipient_count != control->envelope->recipient_count))
		fail("message %" PRId64 " has other recipients", entry->born_us);
	queue_control_free(control);
}

static void check_data(const struct judge *judge, const struct entry *entry, uint64_t number)
{
	char have[8192];
	struct os_file_info info;
	int file = queue_update_open_data(judge->store, judge->stage, number);
	ssize_t length = file >= 0 ? os_file_read(file, have, sizeof have, 0) : file;

	if (length < 0 ||
	    !str_starts_with(str_slice(have, (size_t)length), buffer_view(&entry->data)))
		fail("message %" PRId64 " has other bytes", entry->born_us);
	if (file >= 0 && (os_file_info(file, &info) < 0 || info.inode != number))
		fail("message %" PRId64 " has not its true number", entry->born_us);
	os_file_close(file);
}

/* A report is born just after the message that it is about. */
static bool is_report(struct judge *judge, const struct mail_envelope *envelope)
{
	struct entry *entry = find_entry(envelope->id.born_us - 1);

	if (entry == NULL || envelope->recipient_count != 1 ||
	    !str_equal(envelope->recipients[0].address, STR(REPORT_TO)))
		return false;
	judge->reports[entry - ledger.messages]++;
	return true;
}

static int on_message(void *context, uint64_t number)
{
	struct judge *judge = context;
	struct queue_control *control;
	struct entry *entry;
	int result = queue_update_load(judge->store, judge->stage, number, &control, NULL);

	if (result < 0) {
		if (judge->is_moved)
			fail("message %" PRIu64 " cannot be read: %d", number, result);
		return 0;
	}
	entry = find_entry(control->envelope->id.born_us);
	if (entry == NULL && is_report(judge, control->envelope)) {
		;
	} else if (entry == NULL || !is_expected(entry)) {
		fail("message %" PRIu64 " is nobody's", number);
	} else {
		judge->seen[entry - ledger.messages]++;
		if (judge->is_moved) {
			check_recipients(entry, control->envelope);
			check_data(judge, entry, number);
		}
	}
	queue_control_free(control);
	return 0;
}

static void judge_queue(const char *path, struct judge *judge)
{
	struct queue_options options = {.read_only = true};
	int result = queue_store_open(path, &options, &judge->store, NULL);

	if (result < 0)
		panic("%s cannot be opened: %d", path, result);
	for (enum mail_stage stage = 0; result == 0 && stage < MAIL_STAGE_COUNT; stage++) {
		judge->stage = &stage;
		result = queue_store_each(judge->store, QUEUE_TODO, mail_stage_name(stage),
					  on_message, NULL, judge);
	}
	judge->stage = NULL;
	if (result == 0)
		result = queue_store_each(judge->store, QUEUE_INFO, NULL, on_message, NULL, judge);
	if (result < 0 || queue_repair_is_pending(judge->store) != 0)
		fail("%s is not in order: %d", path, result);
	queue_store_close(judge->store);
}

/* Once it has been carried through. */
static void judge_moved(bool was_interrupted)
{
	struct judge judge = {.is_moved = true};

	judge_queue(run.move->to, &judge);
	for (size_t i = 0; i < ledger.count; i++) {
		bool is_right =
			is_expected(&ledger.messages[i])
				? judge.seen[i] == 1 || (judge.seen[i] > 1 && was_interrupted &&
							 run.move->may_be_both)
				: judge.seen[i] == 0;

		if (!is_right)
			fail("message %" PRId64 " is there %u times", ledger.messages[i].born_us,
			     judge.seen[i]);
		if (run.owes_report[i]
			    ? judge.reports[i] == 0 || (judge.reports[i] > 1 && !was_interrupted)
			    : judge.reports[i] > 0)
			fail("message %" PRId64 " is reported %u times", ledger.messages[i].born_us,
			     judge.reports[i]);
	}
}

/* --- one repair, one adoption --- */

static void on_renumbered(void *context, uint64_t old, uint64_t number)
{
	(void)context;
	if (old == number)
		fail("message %" PRIu64 " was given its own number", old);
}

static void on_set_aside(void *context, const char *path, const char *why)
{
	(void)context;
	(void)path;
	if (why[0] == '\0')
		fail("no reason is told");
}

static void on_progress(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

static const struct queue_repair repair_options = {
	.renumbered = on_renumbered, .set_aside = on_set_aside, .progress = on_progress};

static int repair_once(void)
{
	struct queue_options options = {.make_lacking = true, .sync = QUEUE_SYNC_FILES};
	struct queue_store *store;
	int result = queue_store_open("queue", &options, &store, NULL);

	if (result < 0)
		return result;
	result = queue_repair(store, &repair_options);
	queue_store_close(store);
	return result;
}

static int on_wait(void *context, struct str name)
{
	return queue_trigger_set(context, name, recorder.now_us, STR("adopted"));
}

static int on_hold(void *context, struct mail_id id, struct str until)
{
	char name[MAIL_ID_SIZE + 8] = "hold.";

	mail_id_format(id, name + 5);
	return queue_trigger_set_until(context, str_from(name), recorder.now_us, STR("held"),
				       until);
}

/* Of each message with bounce records something is said to be due. */
static int on_report(void *context, const struct queue_control *control, int data,
		     struct mail_envelope **envelope_out, struct buffer *content)
{
	const struct entry *entry = find_entry(control->envelope->id.born_us);
	struct mail_envelope *envelope = mail_envelope_new();

	(void)context;
	(void)data;
	if (entry == NULL)
		panic("a report on nobody's message");
	run.owes_report[entry - ledger.messages] = true;
	envelope->id.born_us = entry->born_us + 1;
	envelope->sender = STR("");
	mail_envelope_add(envelope, STR(REPORT_TO));
	buffer_append_string(content, "a report\r\n");
	*envelope_out = envelope;
	return 1;
}

static void on_adopted(void *context, struct mail_id there, struct mail_id here)
{
	(void)context;
	if (there.born_us != here.born_us)
		fail("an adopted message was born again");
}

static void on_left(void *context, const char *path, const char *why)
{
	on_set_aside(context, path, why);
}

static int adopt_once(void)
{
	struct queue_options options = {.sync = QUEUE_SYNC_FILES};
	struct queue_intake_options intake_options = {
		.spares = 4, .spare_size = 600, .is_daemon = true};
	struct queue_adopt adopt = {.wait = on_wait,
				    .hold = on_hold,
				    .report = on_report,
				    .adopted = on_adopted,
				    .left = on_left};
	struct queue_store *there = NULL;
	struct queue_store *here = NULL;
	struct queue_intake *intake = NULL;
	int result = queue_store_open("queue", &options, &there, NULL);

	if (result == 0)
		result = queue_store_open("other", &options, &here, NULL);
	if (result == 0)
		result = queue_intake_open(here, &intake_options, &intake);
	adopt.context = here;
	if (result == 0)
		result = queue_adopt(there, intake, &adopt);
	queue_intake_close(intake);
	queue_store_close(here);
	queue_store_close(there);
	return result;
}

static const struct move moves[] = {
	{"repair", repair_once, "queue", false},
	{"adopt", adopt_once, "other", true},
};

/* --- faults --- */

static uint32_t next_random(void)
{
	run.random = run.random * 1664525u + 1013904223u;
	return run.random >> 8;
}

/* Goes on with what is on the disk of this world, and judges. */
static void take_up(void)
{
	struct recorder outside = recorder;
	int result;

	recorder.before = NULL;
	recorder.fail_at = 0;
	result = run.move->once();
	if (result < 0)
		fail("taken up again: %s", strerror(-result));
	else
		judge_moved(true);
	recorder = outside;
}

static void cut_with(const struct disk *disk, const bool *keep)
{
	struct world *world = world_new(disk_crash(disk, keep, false));
	struct world *before = world_enter(world);

	run.cuts++;
	take_up();
	world_enter(before);
	world_free(world);
}

/* Nothing that was not synced reaches the disk, or all of it, or some. */
static void cut(void)
{
	static bool keep[ITEMS_MAX];
	struct world *world = world_enter(NULL);
	const struct disk *disk = world_disk(world);
	size_t count = disk_undecided(disk);

	if (count > ITEMS_MAX)
		panic("too much is undecided");
	for (unsigned sample = 0; sample < 2 + SAMPLES; sample++) {
		for (size_t i = 0; i < count; i++)
			keep[i] = sample < 2 ? sample : next_random() & 1;
		cut_with(disk, keep);
	}
	world_enter(world);
}

static void before_call(enum call call, const char *place)
{
	(void)place;
	if (call == CALL_SYNC || call == CALL_WRITE_OUT || call == CALL_SYNC_DIRECTORY ||
	    call == CALL_SYNC_FILESYSTEM)
		cut();
}

static void try_fault(uint64_t at, int error)
{
	struct world *world = world_new(disk_copy(run.base));

	world_enter(world);
	recorder = (struct recorder){.now_us = 1000 * DAY_US, .fail_at = at, .fail_with = error};
	(void)run.move->once();
	run.what = recorder.failed;
	run.faults++;
	cut();
	take_up();
	world_enter(NULL);
	world_free(world);
}

static uint64_t try_whole(void (*before)(enum call call, const char *place))
{
	struct world *world = world_new(disk_copy(run.base));
	uint64_t calls;

	world_enter(world);
	recorder = (struct recorder){.now_us = 1000 * DAY_US, .before = before};
	run.what = before != NULL ? "power cut" : "undisturbed";
	if (run.move->once() < 0)
		fail("it is not carried through");
	calls = recorder.calls;
	recorder.before = NULL;
	judge_moved(false);
	world_enter(NULL);
	world_free(world);
	return calls;
}

static void try_move(const struct move *move)
{
	uint64_t calls;

	run.move = move;
	memset(run.owes_report, 0, sizeof run.owes_report);
	run.random = 1;
	calls = try_whole(NULL);
	if (move->may_be_both && memchr(run.owes_report, true, sizeof run.owes_report) == NULL)
		fail("no message has anything to report");
	(void)try_whole(before_call);
	for (uint64_t at = 1; at <= calls && run.failures < 5; at++)
		try_fault(at, at % 2 == 0 ? -EIO : -ENOSPC);
}

/* --- the queue that is moved --- */

static void settle_disk(struct disk *disk)
{
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (disk->nodes[i] != NULL)
			disk_sync(disk->nodes[i], NULL);
}

struct names {
	char list[NAMES_MAX][64];
	size_t count;
};

static int on_name(void *context, const char *name)
{
	struct names *names = context;

	if (names->count == NAMES_MAX)
		panic("too many names");
	snprintf(names->list[names->count++], sizeof names->list[0], "%s", name);
	return 0;
}

static void write_file(const char *path, const void *data, size_t size)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);

	if (file < 0 || os_file_write(file, data, size, 0) < 0)
		panic("%s cannot be written", path);
	os_file_close(file);
}

/* Gives PATH another inode, as "cp" does, perhaps one that was a neighbour's. */
static void copy_file(struct disk *disk, const char *path)
{
	char data[16384];
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	ssize_t size = file >= 0 ? os_file_read(file, data, sizeof data, 0) : file;

	if (size < 0)
		panic("%s cannot be read", path);
	os_file_close(file);
	write_file("queue/copy", data, (size_t)size);
	if (os_file_rename(OS_FILE_HERE, "queue/copy", path) < 0)
		panic("%s cannot be copied", path);
	settle_disk(disk);
}

static void copy_queue(struct disk *disk)
{
	static const char *const places[] = {"mess", "intd",          "todo/arrive", "todo/submit",
					     "info", "local/mailbox", "remote",      "bounce"};

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		for (unsigned x = 0; x < SPLIT; x++) {
			struct names names = {.count = 0};
			char path[128];

			snprintf(path, sizeof path, "queue/%s/%u", places[i], x);
			if (os_file_list(OS_FILE_HERE, path, on_name, &names) < 0)
				panic("%s cannot be listed", path);
			for (size_t n = 0; n < names.count; n++) {
				char file[256];

				snprintf(file, sizeof file, "%s/%s", path, names.list[n]);
				copy_file(disk, file);
			}
		}
	}
}

/* What is no message, or none any more. */
static void add_rubbish(void)
{
	static const char *const paths[] = {"queue/mess/0/junk",       "queue/mess/1/253",
					    "queue/todo/arrive/1/251", "queue/todo/submit/0/7",
					    "queue/info/0/252",        "queue/intd/1/249",
					    "queue/local/mailbox/0/8", "queue/remote/1/9",
					    "queue/bounce/0/250",      "queue/pid/m99"};

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		write_file(paths[i], "stagepost 1\nid: 251-1\n", 22);
}

static void hold_one(void)
{
	for (size_t i = 0; i < ledger.count; i++) {
		char path[MAIL_ID_SIZE + 32] = "queue/trigger/hold.";

		if (!is_expected(&ledger.messages[i]))
			continue;
		mail_id_format(
			(struct mail_id){ledger.messages[i].number, ledger.messages[i].born_us},
			path + strlen(path));
		write_file(path, "since: x\n", 9);
		return;
	}
}

static void live(const char *name)
{
	for (size_t i = 0; i < scenario_count; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			scenarios[i].run();
}

static struct disk *prepare(bool is_copy)
{
	struct queue_options options = {.create = true, .split = SPLIT, .sync = QUEUE_SYNC_FILES};
	struct queue_store *other;
	struct world *world;
	struct disk *disk;

	recorder = (struct recorder){.now_us = 1000 * DAY_US};
	ledger_reset();
	ledger.sync = QUEUE_SYNC_FILES;
	ledger.spares = 4;
	world = world_new(scenario_prepare());
	world_enter(world);
	live("group");
	live("whole life");
	hold_one();
	if (is_copy)
		copy_queue(world_disk(world));
	add_rubbish();
	if (queue_store_open("other", &options, &other, NULL) < 0)
		panic("the other queue cannot be made");
	queue_store_close(other);
	settle_disk(world_disk(world));
	disk = disk_copy(world_disk(world));
	world_enter(NULL);
	world_free(world);
	return disk;
}

int main(void)
{
	for (size_t i = 0; i < COUNT_OF(moves); i++) {
		struct disk *base = prepare(moves[i].once == repair_once);

		run.base = base;
		try_move(&moves[i]);
		disk_free(base);
	}
	printf("power cuts: %" PRIu64 ", faults: %" PRIu64 ", failures: %u\n", run.cuts, run.faults,
	       run.failures);
	ledger_reset();
	return run.failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
