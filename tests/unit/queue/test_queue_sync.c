// SPDX-License-Identifier: ISC
/* What could not begin, what failed, and what a power failure may bring back after that. */
#include "mail/envelope.h"
#include "os/file/file.h"
#include "queue/message.h"
#include "queue/update.h"
#include "queue_peer.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many of the next calls fail, and with what. */
static struct {
	unsigned opens, file_syncs, syncs, whole_syncs, renames, new_renames;
	int error;
	unsigned synced_whole;
	unsigned holds; /* how many times more order is said to hold; the watch is open */
	bool is_watched;
	int committing; /* what queue_store_is_committing() said when a directory was synced */
	bool has_group; /* a whole group comes just before the next rename */
	ino_t counted;  /* how often this directory was synced: */
	unsigned counts;
	unsigned spared_syncs; /* of files: these succeed before file_syncs fail */
	uint64_t moves; /* the message that moves to S5 while a directory is synced; 0: none */
} disk;

static void look_at_newest(void);
static void have_group(void);

#define FAILS(count) ((count) > 0 && (count)--)

int real_open_directory(int directory, const char *path) __asm__("__real_os_file_open_directory");
int wrap_open_directory(int directory, const char *path) __asm__("__wrap_os_file_open_directory");
int wrap_open_directory(int directory, const char *path)
{
	return strncmp(path, "todo/", 5) == 0 && FAILS(disk.opens)
		       ? disk.error
		       : real_open_directory(directory, path);
}

void real_sync_many(const int *files, size_t count,
		    int *results) __asm__("__real_os_file_sync_many");
void wrap_sync_many(const int *files, size_t count,
		    int *results) __asm__("__wrap_os_file_sync_many");
void wrap_sync_many(const int *files, size_t count, int *results)
{
	real_sync_many(files, count, results);
	for (size_t i = 0; i < count; i++)
		if (!FAILS(disk.spared_syncs) && FAILS(disk.file_syncs))
			results[i] = disk.error;
}

void real_sync(const int *files, size_t count,
	       int *results) __asm__("__real_os_file_sync_directories");
void wrap_sync(const int *files, size_t count,
	       int *results) __asm__("__wrap_os_file_sync_directories");
void wrap_sync(const int *files, size_t count, int *results)
{
	struct stat status;

	real_sync(files, count, results);
	look_at_newest();
	for (size_t i = 0; i < count; i++)
		disk.counts += fstat(files[i], &status) == 0 && status.st_ino == disk.counted;
	for (size_t i = 0; i < count; i++)
		if (FAILS(disk.syncs))
			results[i] = disk.error;
}

int real_sync_whole(int file) __asm__("__real_os_file_sync_filesystem");
int wrap_sync_whole(int file) __asm__("__wrap_os_file_sync_filesystem");
int wrap_sync_whole(int file)
{
	disk.synced_whole++;
	return FAILS(disk.whole_syncs) ? disk.error : real_sync_whole(file);
}

int real_rename(int directory, const char *from, const char *to) __asm__("__real_os_file_rename");
int wrap_rename(int directory, const char *from, const char *to) __asm__("__wrap_os_file_rename");
int wrap_rename(int directory, const char *from, const char *to)
{
	have_group();
	return FAILS(disk.renames) ? disk.error : real_rename(directory, from, to);
}

int real_rename_new(int directory, const char *from,
		    const char *to) __asm__("__real_os_file_rename_new");
int wrap_rename_new(int directory, const char *from,
		    const char *to) __asm__("__wrap_os_file_rename_new");
int wrap_rename_new(int directory, const char *from, const char *to)
{
	have_group();
	return FAILS(disk.new_renames) ? disk.error : real_rename_new(directory, from, to);
}

int wrap_order_watch(int file) __asm__("__wrap_os_file_order_watch");
int wrap_order_watch(int file)
{
	return disk.is_watched ? dup(file) : -ENOTSUP;
}

bool wrap_order_holds(int watch) __asm__("__wrap_os_file_order_holds");
bool wrap_order_holds(int watch)
{
	(void)watch;
	return FAILS(disk.holds);
}

static struct queue_store *store;
static struct queue_intake *intake;

static uint64_t newest; /* that is being committed */

static void look_at_newest(void)
{
	uint64_t number = disk.moves;

	disk.moves = 0;
	if (number != 0)
		assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, number), 0);
	if (newest != 0)
		disk.committing = queue_store_is_committing(store, MAIL_STAGE_ARRIVE, newest);
}

static void have_group(void)
{
	if (!disk.has_group)
		return;
	disk.has_group = false;
	queue_message_commit_group(intake, NULL, 0, NULL);
}

static void open_intake_as(bool is_daemon)
{
	const struct queue_intake_options options = {
		.spares = is_daemon ? 4 : 0, .spare_size = 4096, .is_daemon = is_daemon};

	assert_int_equal(queue_intake_open(store, &options, &intake), 0);
}

static void open_intake(void)
{
	open_intake_as(true);
}

static void open_as(enum queue_sync sync)
{
	struct queue_options options = {.create = true, .unsafe = true, .split = 1, .sync = sync};
	struct buffer reason = {0};

	memset(&disk, 0, sizeof disk);
	disk.is_watched = sync == QUEUE_SYNC_AUTO;
	disk.error = -EIO;
	assert_int_equal(queue_store_open(queue_peer_path("queue"), &options, &store, &reason), 0);
	buffer_clear(&reason);
	open_intake();
	queue_message_commit_group(intake, NULL, 0, NULL);
}

static void close_all(void)
{
	queue_intake_close(intake);
	queue_store_close(store);
}

static int enqueue(uint64_t *number_out)
{
	static const char data[] = "data\r\n";
	struct mail_envelope *envelope = mail_envelope_new();
	struct queue_message *message = NULL;
	struct buffer bytes = {0};
	struct buffer text = {0};
	int result = -1;

	assert_int_equal(queue_message_new(intake, &message), 0);
	*number_out = queue_message_number(message);
	buffer_append_string(&bytes, data);
	envelope->id = (struct mail_id){*number_out, SECOND_US};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = strlen(data);
	mail_envelope_add(envelope, STR("b@example.net"));
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(queue_message_write(message, MAIL_STAGE_ARRIVE, &bytes, &text), 0);
	newest = *number_out;
	queue_message_commit_group(intake, &message, 1, &result);
	if (result < 0)
		queue_message_abandon(message);
	newest = 0;
	buffer_clear(&bytes);
	buffer_clear(&text);
	mail_envelope_free(envelope);
	return result;
}

static bool count_name(const char *name, char first)
{
	return first == '\0' || name[0] == first;
}

struct names {
	char first;
	int count;
	char last[64];
};

static int on_name(void *context, const char *name)
{
	struct names *names = context;

	if (count_name(name, names->first)) {
		names->count++;
		snprintf(names->last, sizeof names->last, "%s", name);
	}
	return 0;
}

static int names_in(const char *directory, char first)
{
	struct names names = {.first = first};

	assert_int_equal(os_file_list(queue_store_directory(store), directory, on_name, &names), 0);
	return names.count;
}

static void what_cannot_be_opened_is_tried_again(void **state)
{
	static const enum queue_sync ways[] = {QUEUE_SYNC_FILES, QUEUE_SYNC_ORDERED};
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		open_as(ways[i]);
		disk.error = -EMFILE;
		disk.opens = 1; /* what only saves time gives its descriptors back */
		assert_int_equal(enqueue(&number), 0);
		disk.opens = 1000;
		assert_int_equal(enqueue(&number), -EMFILE);
		disk.opens = 0;
		assert_false(queue_intake_must_prove(intake));
		assert_int_equal(names_in("pid", 'x'), 0);
		assert_int_equal(names_in("todo/arrive/0", '\0'), (int)i + 1);
		assert_int_equal(enqueue(&number), 0);
		assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, number), 0);
		/* nothing is set aside, and what is held waits for the next group */
		disk.opens = 1000;
		queue_message_commit_group(intake, NULL, 0, NULL);
		disk.opens = 0;
		queue_message_commit_group(intake, NULL, 0, NULL);
		assert_int_equal(queue_intake_held(intake), 0);
		assert_int_equal(names_in("pid", 'x'), 0);
		close_all();
	}
}

/* Both messages' numbers stay taken, and their room is free. */
static void a_sync_that_fails(void **state)
{
	uint64_t ended;
	uint64_t refused;
	uint64_t bytes = 1;
	uint64_t count = 0;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	queue_intake_close(intake);
	open_intake();
	assert_int_equal(enqueue(&ended), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, ended), 0);
	disk.whole_syncs = 1; /* of what a process before us may have removed */
	assert_int_equal(enqueue(&refused), -EIO);
	assert_true(queue_intake_must_prove(intake));
	assert_int_equal(queue_intake_held(intake), 0);
	assert_int_equal(queue_store_aside(store, &count, &bytes), 0);
	assert_int_equal(count, 2);
	assert_int_equal(bytes, 0);
	disk.whole_syncs = 1;
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_true(queue_intake_must_prove(intake));
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_false(queue_intake_must_prove(intake));
	/* later removals are sure again */
	assert_int_equal(enqueue(&refused), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, refused), 0);
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_int_equal(names_in("pid", 'x'), 2);
	close_all();
}

/* With nothing to commit or to settle, the sync of a change that was made for it tells whether the
 * disk is well. */
static void a_sync_for_no_message_proves(void **state)
{
	static const enum queue_sync ways[] = {QUEUE_SYNC_FILES, QUEUE_SYNC_FILESYSTEM};
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		unsigned *failures = ways[i] == QUEUE_SYNC_FILES ? &disk.syncs : &disk.whole_syncs;

		open_as(ways[i]);
		assert_int_equal(enqueue(&number), 0);
		*failures = 1;
		assert_int_equal(enqueue(&number), -EIO);
		assert_true(queue_intake_must_prove(intake));
		*failures = 1;
		queue_message_commit_group(intake, NULL, 0, NULL);
		assert_int_equal(*failures, 0);
		assert_true(queue_intake_must_prove(intake));
		queue_message_commit_group(intake, NULL, 0, NULL);
		assert_false(queue_intake_must_prove(intake));
		close_all();
	}
}

/* A process after it keeps them while the machine runs, and removes them after that. */
static void what_was_set_aside_ends_with_the_boot(void **state)
{
	struct names names = {.first = 'x'};
	uint64_t number;
	char from[128];
	char to[128];

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	disk.syncs = 1;
	assert_int_equal(enqueue(&number), -EIO);
	queue_intake_close(intake);
	open_intake();
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_int_equal(os_file_list(queue_store_directory(store), "pid", on_name, &names), 0);
	assert_int_equal(names.count, 1);
	queue_intake_close(intake);
	snprintf(from, sizeof from, "pid/%s", names.last);
	snprintf(to, sizeof to, "pid/x%llu.0123456789abcdef", (unsigned long long)number);
	assert_int_equal(real_rename(queue_store_directory(store), from, to), 0);
	open_intake();
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_int_equal(names_in("pid", '\0'), 0);
	close_all();
}

/* Nobody may begin it, and it goes as soon as the disk lets it. */
static void a_refused_name_that_stays(void **state)
{
	uint64_t number;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	disk.syncs = 1;
	disk.renames = 1;
	assert_int_equal(enqueue(&number), -EIO);
	assert_int_equal(names_in("todo/arrive/0", '\0'), 1);
	assert_true(queue_intake_has_refused(intake, number));
	disk.renames = 1;
	queue_intake_remove_stuck(intake);
	assert_true(queue_intake_has_refused(intake, number));
	queue_intake_remove_stuck(intake);
	assert_false(queue_intake_has_refused(intake, number));
	assert_int_equal(names_in("todo/arrive/0", '\0'), 0);
	assert_int_equal(names_in("pid", 'x'), 1);
	close_all();
}

/* The file is not left in pid/, whether it was a spare or new. */
static void a_name_that_cannot_be_made(void **state)
{
	uint64_t number;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	disk.error = -ENOSPC;
	disk.new_renames = 1;
	assert_int_equal(enqueue(&number), -ENOSPC);
	assert_int_equal(names_in("pid", '\0'), 0);
	assert_false(queue_intake_has_refused(intake, number));
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, number), 0);
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_int_equal(names_in("pid", 'm'), 1);
	disk.new_renames = 1;
	assert_int_equal(enqueue(&number), -ENOSPC);
	assert_int_equal(names_in("pid", '\0'), 0);
	assert_int_equal(names_in("todo/arrive/0", '\0'), 0);
	close_all();
}

/* As where a rename is a link and an unlink. A plain rename to the file's other name does nothing.
 */
static void a_file_that_a_crash_left_under_two_names(void **state)
{
	uint64_t number;
	char from[64];
	char to[32];

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	assert_int_equal(enqueue(&number), 0);
	snprintf(from, sizeof from, "todo/arrive/0/%" PRIu64, number);
	snprintf(to, sizeof to, "pid/m%" PRIu64, number);
	assert_int_equal(os_file_link(queue_store_directory(store), from, to), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, number), 0);
	assert_int_equal(names_in("todo/arrive/0", '\0'), 0);
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_int_equal(names_in("pid", 'm'), 1);
	close_all();
}

/* To S5, with the fewest of names. */
static void preprocess(uint64_t number)
{
	struct queue_update update = {.number = number,
				      .is_queued = true,
				      .stage = MAIL_STAGE_ARRIVE,
				      .preprocess = true,
				      .link_remote = true,
				      .control = STR("map: 1 remote <b@c>\n"
						     "mapped: directory=1 count=1\n")};
	struct queue_update *one = &update;

	queue_update_commit_group(store, &one, 1);
	assert_int_equal(update.result, 0);
	assert_int_equal(queue_message_remove_todo(intake, MAIL_STAGE_ARRIVE, number), 0);
}

/* Its birth is when its data were written. */
static void end(uint64_t number)
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];

	queue_store_path(store, QUEUE_MESS, NULL, number, path);
	assert_int_equal(os_file_info_at(queue_store_directory(store), path, &info), 0);
	assert_int_equal(
		queue_update_finish(store, (struct mail_id){number, info.modified_us}, NULL, 0), 0);
	assert_int_equal(queue_message_remove_data(intake, number), 0);
	queue_message_commit_group(intake, NULL, 0, NULL);
}

/* Its name in todo/ may be what the sync was to remove: so its number stays taken. */
static void who_waits_when_a_sync_fails(void **state)
{
	uint64_t waits;
	uint64_t refused;
	struct stat status;
	char path[256];

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	assert_int_equal(enqueue(&waits), 0);
	preprocess(waits);
	disk.syncs = 1;
	assert_int_equal(enqueue(&refused), -EIO);
	queue_message_commit_group(intake, NULL, 0, NULL);
	end(waits);
	assert_int_equal(names_in("pid", 'x'), 2);
	/* one that came later is free of doubt: once the clock of the disk has gone on */
	snprintf(path, sizeof path, "%s/pid", queue_peer_path("queue"));
	do {
		assert_int_equal(enqueue(&waits), 0);
		preprocess(waits);
		snprintf(path, sizeof path, "%s/mess/0/%llu", queue_peer_path("queue"),
			 (unsigned long long)waits);
		assert_int_equal(stat(path, &status), 0);
		end(waits);
	} while (names_in("pid", 'x') > 2 && names_in("pid", 'x') < 1000);
	assert_in_range(names_in("pid", 'x'), 2, 999);
	close_all();
}

static ino_t inode_of(const char *path)
{
	struct stat status;
	char whole[256];

	snprintf(whole, sizeof whole, "%s/%s", queue_peer_path("queue"), path);
	assert_int_equal(stat(whole, &status), 0);
	return status.st_ino;
}

/* Until then its control file must stay. */
static void what_has_moved_settles_with_the_next_group(void **state)
{
	uint64_t number;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	assert_true(queue_intake_is_settled(intake));
	assert_int_equal(enqueue(&number), 0);
	preprocess(number);
	assert_false(queue_intake_is_settled(intake));
	disk.error = -EMFILE;
	disk.opens = 1000;
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_int_equal(queue_intake_settled(intake), 0);
	disk.opens = 0;
	disk.counted = inode_of("todo/arrive/0"); /* from which its name went */
	disk.counts = 0;
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_true(disk.counts > 0);
	disk.counted = 0;
	assert_int_equal(queue_intake_settled(intake), queue_intake_moved(intake));
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(queue_intake_settled(intake), queue_intake_moved(intake));
	/* what was before this process is not known: it has its own sync */
	preprocess(number);
	queue_intake_close(intake);
	open_intake();
	assert_false(queue_intake_is_settled(intake));
	assert_int_equal(enqueue(&number), 0);
	assert_false(queue_intake_is_settled(intake));
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_true(queue_intake_is_settled(intake));
	close_all();
	open_as(QUEUE_SYNC_ORDERED);
	assert_int_equal(enqueue(&number), 0);
	preprocess(number);
	assert_true(queue_intake_is_settled(intake));
	close_all();
}

/* There was nothing to sync, so what was before this process is as unknown as it was. */
static void a_group_of_failures_settles_nothing(void **state)
{
	static const enum queue_sync ways[] = {QUEUE_SYNC_FILES, QUEUE_SYNC_FILESYSTEM};
	struct queue_message *message;
	int result;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		open_as(ways[i]);
		queue_intake_close(intake);
		open_intake();
		assert_false(queue_intake_is_settled(intake));
		assert_int_equal(queue_message_new(intake, &message), 0);
		disk.synced_whole = 0;
		queue_message_commit_group(intake, &message, 1, &result); /* has no envelope */
		assert_int_equal(result, -EINVAL);
		assert_int_equal(disk.synced_whole, 0);
		assert_false(queue_intake_is_settled(intake));
		queue_message_commit_group(intake, NULL, 0, NULL);
		assert_true(disk.synced_whole > 0);
		assert_true(queue_intake_is_settled(intake));
		close_all();
	}
}

/* A group may begin between two steps of a removal: what it syncs does not have that yet. */
static void a_group_amid_a_removal_settles_nothing(void **state)
{
	struct stat status;
	uint64_t number;
	uint64_t first;
	char path[256];

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	snprintf(path, sizeof path, "%s/todo/arrive/0", queue_peer_path("queue"));
	assert_int_equal(stat(path, &status), 0);
	disk.counted = status.st_ino;
	assert_int_equal(enqueue(&first), 0);
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, first), 0);
	disk.has_group = true;
	assert_int_equal(queue_message_remove_queued(intake, MAIL_STAGE_ARRIVE, number), 0);
	assert_false(disk.has_group);
	disk.counts = 0;
	queue_message_commit_group(intake, NULL, 0, NULL);
	assert_int_equal(names_in("pid", 'm'), 2);
	assert_int_equal(disk.counts, 1);
	close_all();
}

/* What is gone stays gone: no later group syncs for it once more. */
static void what_moves_amid_a_group_keeps_its_order(void **state)
{
	uint64_t moves;
	uint64_t number;

	(void)state;
	open_as(QUEUE_SYNC_ORDERED);
	assert_int_equal(enqueue(&moves), 0);
	disk.moves = moves;
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(disk.moves, 0);
	assert_int_equal(queue_intake_moved(intake), 1);
	assert_true(queue_intake_is_settled(intake));
	close_all();
	open_as(QUEUE_SYNC_FILES);
	assert_int_equal(enqueue(&moves), 0);
	disk.moves = moves;
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(queue_intake_settled(intake), 0);
	close_all();
}

/* Who commits beside "queue" is seen to, until the name is durable or gone. */
static void a_one_shot_commit_can_be_seen(void **state)
{
	uint64_t number;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	assert_int_equal(enqueue(&number), 0); /* "queue" knows its own */
	assert_int_equal(disk.committing, 0);
	queue_intake_close(intake);
	open_intake_as(false);
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(disk.committing, 1);
	assert_int_equal(queue_store_is_committing(store, MAIL_STAGE_ARRIVE, number), 0);
	disk.committing = 0;
	disk.syncs = 1;
	assert_int_equal(enqueue(&number), -EIO);
	assert_int_equal(disk.committing, 1);
	assert_int_equal(queue_store_is_committing(store, MAIL_STAGE_ARRIVE, number), -ENOENT);
	close_all();
}

static uint64_t size_of(enum queue_folder folder, uint64_t number)
{
	struct os_file_info info;
	char path[QUEUE_PATH_SIZE];

	queue_store_path(store, folder, NULL, number, path);
	return os_file_info_at(queue_store_directory(store), path, &info) == 0 ? info.size : 0;
}

static bool was_bounced; /* what the last update said of its record in bounce/ */

/* As the manager does it: the news of the only delivery, appended or whole. */
static int record(struct queue_control *control, bool has_bounce)
{
	struct buffer news = {0};
	struct buffer whole = {0};
	struct queue_update update = {.number = control->envelope->id.number,
				      .born_us = control->envelope->id.born_us,
				      .link_remote = true};
	struct queue_update *one = &update;

	assert_int_equal(queue_control_write_outcome(&news, &control->deliveries[0]), 0);
	update.is_whole = queue_control_outgrown(control, news.length, &whole);
	update.control = buffer_view(update.is_whole ? &whole : &news);
	if (has_bounce)
		update.bounce = buffer_view(&news);
	queue_update_commit_group(store, &one, 1);
	queue_update_account(control, &update);
	was_bounced = update.is_bounced;
	buffer_clear(&news);
	buffer_clear(&whole);
	return update.result;
}

/* A message at S5 with records after its map, and its delivery has failed. */
static struct queue_control *make_failed(void)
{
	struct queue_control *control = NULL;
	uint64_t number;

	assert_int_equal(enqueue(&number), 0);
	preprocess(number);
	assert_int_equal(queue_update_load(store, NULL, number, &control, NULL), 0);
	control->deliveries[0].outcome = QUEUE_WAIT;
	control->deliveries[0].text = STR("not yet");
	assert_int_equal(record(control, true), 0);
	control->deliveries[0].outcome = QUEUE_FAIL;
	control->deliveries[0].text = STR("no such address");
	return control;
}

/* What a sync has failed for is in doubt for good: nothing is written after it or over it. */
static void a_record_whose_sync_fails_stands_once(void **state)
{
	struct queue_control *control;
	struct queue_control *again;
	uint64_t number;
	uint64_t size;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	control = make_failed();
	number = control->envelope->id.number;
	disk.file_syncs = 1;
	assert_int_equal(record(control, false), -EIO);
	size = size_of(QUEUE_INFO, number);
	disk.file_syncs = 5;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(record(control, false), -EIO);
		assert_int_equal(size_of(QUEUE_INFO, number), size);
	}
	assert_int_equal(names_in("intd/0", '\0'), 0);
	assert_int_equal(record(control, false), 0);
	assert_in_range(size_of(QUEUE_INFO, number), 1, size);
	assert_int_equal(queue_update_load(store, NULL, number, &again, NULL), 0);
	assert_int_equal(again->deliveries[0].outcome, QUEUE_FAIL);
	queue_control_free(again);
	queue_control_free(control);
	close_all();
}

/* The records in bounce/ are there once, whichever step of their update failed before. */
static void bounce_records_of_a_failed_update_go(void **state)
{
	struct queue_control *control;
	uint64_t number;
	uint64_t size;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	control = make_failed();
	number = control->envelope->id.number;
	size = size_of(QUEUE_BOUNCE, number);
	assert_true(size > 0);
	disk.file_syncs = 1;
	assert_int_equal(record(control, true), -EIO);
	assert_int_equal(size_of(QUEUE_BOUNCE, number), size);
	assert_false(was_bounced);
	disk.syncs = 1; /* of the directory, with the file's after it */
	assert_int_equal(record(control, true), -EIO);
	assert_int_equal(size_of(QUEUE_BOUNCE, number), size);
	assert_false(was_bounced);
	assert_int_equal(record(control, true), 0);
	assert_true(size_of(QUEUE_BOUNCE, number) > size);
	queue_control_free(control);
	close_all();
}

/* But once they are durable: the outcome may be in the control file, and must not be alone. */
static void bounce_records_of_an_outcome_in_doubt_stay(void **state)
{
	struct queue_control *control;
	struct queue_control *again;
	uint64_t number;
	uint64_t size;

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	control = make_failed();
	number = control->envelope->id.number;
	size = size_of(QUEUE_BOUNCE, number);
	disk.spared_syncs = 1; /* of the file in bounce/ */
	disk.file_syncs = 1;
	assert_int_equal(record(control, true), -EIO);
	assert_int_equal(queue_update_load(store, NULL, number, &again, NULL), 0);
	assert_int_equal(again->deliveries[0].outcome, QUEUE_FAIL);
	assert_true(was_bounced);
	assert_true(size_of(QUEUE_BOUNCE, number) > size);
	size = size_of(QUEUE_BOUNCE, number);
	disk.error = -ENOSPC;
	disk.renames = 1;
	assert_int_equal(record(control, false), -ENOSPC);
	assert_false(was_bounced);
	assert_int_equal(record(control, false), 0);
	assert_int_equal(size_of(QUEUE_BOUNCE, number), size);
	queue_control_free(again);
	queue_control_free(control);
	close_all();
}

/* A name that a power failure brings back leads to an empty file. */
static void an_empty_file_is_no_message(void **state)
{
	const enum mail_stage stage = MAIL_STAGE_ARRIVE;
	uint64_t number;
	uint64_t inode = 0;
	char path[256];
	char other[256];

	(void)state;
	open_as(QUEUE_SYNC_FILES);
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(queue_store_look(store, &stage, number, &inode), 0);
	assert_int_equal(inode, number);
	assert_int_equal(queue_store_look(store, NULL, number, &inode), -ENOENT);
	snprintf(path, sizeof path, "%s/todo/arrive/0/%llu", queue_peer_path("queue"),
		 (unsigned long long)number);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(queue_store_look(store, &stage, number, NULL), -ENODATA);
	assert_int_equal(queue_update_open_data(store, &stage, number), -ENODATA);
	assert_int_equal(queue_message_remove_void(intake, stage, number), 0);
	assert_int_equal(names_in("todo/arrive/0", '\0'), 0);
	/* a copy */
	assert_int_equal(enqueue(&number), 0);
	snprintf(path, sizeof path, "%s/todo/arrive/0/%llu", queue_peer_path("queue"),
		 (unsigned long long)number);
	snprintf(other, sizeof other, "%s/todo/arrive/0/1", queue_peer_path("queue"));
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(queue_store_look(store, &stage, 1, &inode), -EUCLEAN);
	assert_int_equal(inode, number);
	assert_int_equal(queue_update_open_data(store, &stage, 1), -EUCLEAN);
	close_all();
}

/* A remount between the beginning and the end of a group. */
static void order_that_ends(void **state)
{
	uint64_t number;
	unsigned before;

	(void)state;
	open_as(QUEUE_SYNC_AUTO);
	disk.holds = 1000;
	before = disk.synced_whole;
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(disk.synced_whole, before);
	disk.holds = 0;
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(disk.synced_whole, before + 1);
	assert_int_not_equal(queue_store_sync(store), QUEUE_SYNC_ORDERED);
	disk.holds = 1; /* back when the group begins, gone at its end */
	disk.whole_syncs = 1;
	assert_int_equal(enqueue(&number), -EIO);
	assert_int_not_equal(queue_store_sync(store), QUEUE_SYNC_ORDERED);
	disk.holds = 1000;
	disk.whole_syncs = 0;
	before = disk.synced_whole;
	assert_int_equal(enqueue(&number), 0);
	assert_int_equal(queue_store_sync(store), QUEUE_SYNC_ORDERED);
	assert_int_equal(disk.synced_whole, before);
	close_all();
}

/* Its outcomes may be lost with its bounce records: they are given again. */
static void order_that_ends_amid_an_update(void **state)
{
	struct queue_update update = {.is_queued = true,
				      .stage = MAIL_STAGE_ARRIVE,
				      .preprocess = true,
				      .link_remote = true,
				      .bounce = STR("a failure\n"),
				      .control = STR("map: 1 remote <b@c>\n"
						     "mapped: directory=1 count=1\n")};
	struct queue_update *one = &update;

	(void)state;
	open_as(QUEUE_SYNC_AUTO);
	disk.holds = 1000;
	assert_int_equal(enqueue(&update.number), 0);
	disk.holds = 0; /* gone at its end */
	queue_update_commit_group(store, &one, 1);
	assert_int_equal(update.result, 0);
	assert_true(update.is_bounced);
	disk.holds = 1000;
	assert_int_equal(enqueue(&update.number), 0);
	disk.holds = 0;
	disk.whole_syncs = 1;
	queue_update_commit_group(store, &one, 1);
	assert_int_equal(update.result, -EIO);
	assert_false(update.is_bounced);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_cannot_be_opened_is_tried_again,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_sync_for_no_message_proves, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_sync_that_fails, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(what_was_set_aside_ends_with_the_boot,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_refused_name_that_stays, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_a_crash_left_under_two_names,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_name_that_cannot_be_made, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(who_waits_when_a_sync_fails, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(what_moves_amid_a_group_keeps_its_order,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(what_has_moved_settles_with_the_next_group,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_group_of_failures_settles_nothing,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_group_amid_a_removal_settles_nothing,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(bounce_records_of_an_outcome_in_doubt_stay,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_one_shot_commit_can_be_seen, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(a_record_whose_sync_fails_stands_once,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(bounce_records_of_a_failed_update_go,
						queue_peer_set_up, queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(an_empty_file_is_no_message, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(order_that_ends, queue_peer_set_up,
						queue_peer_tear_down),
		cmocka_unit_test_setup_teardown(order_that_ends_amid_an_update, queue_peer_set_up,
						queue_peer_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
