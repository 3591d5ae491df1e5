// SPDX-License-Identifier: ISC
/* What a scan finds that is not, or not yet, a message. */
#include "ipc/pack.h"
#include "os/file/file.h"
#include "queue/client/protocol.h"
#include "queue_server_scene.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* The directories' syncs wait while another holds the mutex, and fail while FAIL is set. */
static struct {
	pthread_mutex_t mutex;
	sem_t begun; /* posted for each */
	int fail;
} syncs = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void real_sync(const int *files, size_t count,
	       int *results) __asm__("__real_os_file_sync_directories");
void wrap_sync(const int *files, size_t count,
	       int *results) __asm__("__wrap_os_file_sync_directories");
void wrap_sync(const int *files, size_t count, int *results)
{
	sem_post(&syncs.begun);
	pthread_mutex_lock(&syncs.mutex);
	real_sync(files, count, results);
	for (size_t i = 0; i < count && syncs.fail != 0; i++)
		results[i] = syncs.fail;
	syncs.fail = 0;
	pthread_mutex_unlock(&syncs.mutex);
}

/* Set while the server answers nothing else. */
static bool disk_is_full;

int real_has_room(struct queue_store *store, uint64_t size,
		  uint64_t reserve) __asm__("__real_queue_store_has_room");
int wrap_has_room(struct queue_store *store, uint64_t size,
		  uint64_t reserve) __asm__("__wrap_queue_store_has_room");
int wrap_has_room(struct queue_store *store, uint64_t size, uint64_t reserve)
{
	return disk_is_full ? -ENOSPC : real_has_room(store, size, reserve);
}

/* The errors of the next call of each. */
static int look_error, lock_error;

static int take(int *error)
{
	int taken = *error;

	*error = 0;
	return taken;
}

int real_look(const struct queue_store *store, const enum mail_stage *stage, uint64_t number,
	      uint64_t *inode_out) __asm__("__real_queue_store_look");
int wrap_look(const struct queue_store *store, const enum mail_stage *stage, uint64_t number,
	      uint64_t *inode_out) __asm__("__wrap_queue_store_look");
int wrap_look(const struct queue_store *store, const enum mail_stage *stage, uint64_t number,
	      uint64_t *inode_out)
{
	int error = take(&look_error);

	return error < 0 ? error : real_look(store, stage, number, inode_out);
}

int real_committing(const struct queue_store *store, enum mail_stage stage,
		    uint64_t number) __asm__("__real_queue_store_is_committing");
int wrap_committing(const struct queue_store *store, enum mail_stage stage,
		    uint64_t number) __asm__("__wrap_queue_store_is_committing");
int wrap_committing(const struct queue_store *store, enum mail_stage stage, uint64_t number)
{
	int error = take(&lock_error);

	return error < 0 ? error : real_committing(store, stage, number);
}

static void say_found(struct queue_peer *peer, uint64_t number)
{
	struct buffer body = {0};

	pack_u32(&body, MAIL_STAGE_ARRIVE);
	pack_u64(&body, number);
	queue_peer_say(peer, QUEUE_PROTOCOL_FOUND, buffer_view(&body));
	buffer_clear(&body);
}

static void expect_stands(struct queue_peer *manager, uint64_t number)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(manager), QUEUE_PROTOCOL_STANDS);
	body = (struct unpack){buffer_view(&manager->body), false};
	assert_int_equal(unpack_u32(&body), MAIL_STAGE_ARRIVE);
	assert_int_equal(unpack_u64(&body), number);
	assert_true(unpack_is_whole(&body));
}

static bool is_in_todo(uint64_t number)
{
	char path[256];

	snprintf(path, sizeof path, "%s/todo/arrive/0/%llu", queue_peer_path("queue"),
		 (unsigned long long)number);
	return access(path, F_OK) == 0;
}

/* Another process has named it, and has not made it durable yet. */
static void what_another_process_commits(void **state)
{
	uint64_t other;
	uint64_t stands;
	char path[256];
	int file;

	(void)state;
	scene_begin();
	other = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, other, true);
	stands = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, stands, true);
	snprintf(path, sizeof path, "%s/todo/arrive/0/%llu", queue_peer_path("queue"),
		 (unsigned long long)other);
	file = open(path, O_RDWR | O_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(flock(file, LOCK_EX), 0);
	say_found(&scene.manager, other); /* no answer: so this is the first */
	say_found(&scene.manager, stands);
	expect_stands(&scene.manager, stands);
	assert_int_equal(close(file), 0);
	say_found(&scene.manager, other);
	expect_stands(&scene.manager, other);
	scene_end();
}

/* The manager hears that, and asks again later. */
static void what_cannot_be_looked_at(void **state)
{
	int *const errors[] = {&look_error, &lock_error};
	uint64_t number;

	(void)state;
	scene_begin();
	number = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, number, true);
	for (unsigned i = 0; i < COUNT_OF(errors); i++) {
		*errors[i] = -ENOMEM;
		say_found(&scene.manager, number);
		assert_int_equal(queue_peer_hear(&scene.manager), QUEUE_PROTOCOL_UNKNOWN);
		say_found(&scene.manager, number);
		expect_stands(&scene.manager, number);
		*errors[i] = -ENOENT; /* it is gone: no answer, so that of the next is the first */
		say_found(&scene.manager, number);
		say_found(&scene.manager, number);
		expect_stands(&scene.manager, number);
	}
	scene_end();
}

/* Its name can be seen before it is durable; then it is refused. */
static void what_a_scan_finds_on_its_way(void **state)
{
	struct buffer text = {0};
	struct unpack body;
	uint64_t stands;
	uint64_t number;

	(void)state;
	scene_begin();
	stands = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, stands, true);
	number = scene_open_one(&scene.client);
	scene_append_envelope(&text, number, 1);
	pthread_mutex_lock(&syncs.mutex);
	syncs.fail = -EIO;
	scene_say_commit(&scene.client, number, buffer_view(&text), STR("data\r\n"));
	while (!is_in_todo(number))
		usleep(1000);
	say_found(&scene.manager, number); /* no answer: so this is the first */
	say_found(&scene.manager, 1);
	say_found(&scene.manager, stands);
	expect_stands(&scene.manager, stands);
	pthread_mutex_unlock(&syncs.mutex);
	assert_int_equal(queue_peer_hear(&scene.client), QUEUE_PROTOCOL_COMMITTED);
	body = (struct unpack){buffer_view(&scene.client.body), false};
	assert_int_equal(unpack_u64(&body), number);
	assert_int_equal(unpack_u32(&body), EIO);
	assert_false(is_in_todo(number));
	/* nothing new until a sync succeeds, and then again */
	scene_say_u32(&scene.client, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(&scene.client), QUEUE_PROTOCOL_REFUSED);
	while (queue_intake_must_prove(scene.intake))
		usleep(1000);
	stands = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, stands, true); /* and nothing of the other */
	buffer_clear(&text);
	scene_end();
}

/* Not before it is durable: then the control file may go. */
static void when_a_removal_from_todo_is_answered(void **state)
{
	uint64_t moved;
	uint64_t ended;

	(void)state;
	scene_begin();
	moved = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, moved, true);
	ended = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, ended, true);
	pthread_mutex_lock(&syncs.mutex);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, moved);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, ended);
	scene_expect_removed(&scene.manager, ended);
	assert_false(is_in_todo(moved));
	pthread_mutex_unlock(&syncs.mutex);
	scene_expect_removed(&scene.manager, moved);
	/* the next manager hears nothing before that */
	moved = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, moved, true);
	pthread_mutex_lock(&syncs.mutex);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, moved);
	while (is_in_todo(moved))
		usleep(1000);
	queue_peer_close(&scene.manager);
	pthread_mutex_unlock(&syncs.mutex);
	scene.manager = scene_manage();
	assert_true(queue_intake_is_settled(scene.intake));
	scene_end();
}

/* Then no new mail makes it durable, and its space may be needed. */
static void a_removal_from_todo_on_a_full_disk(void **state)
{
	uint64_t moved;

	(void)state;
	scene_begin();
	moved = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, moved, true);
	disk_is_full = true;
	scene_say_u32(&scene.client, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(&scene.client), QUEUE_PROTOCOL_REFUSED);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, moved);
	scene_expect_removed(&scene.manager, moved);
	disk_is_full = false;
	scene_end();
}

static void wait_until_none_is_held(void)
{
	for (unsigned i = 0; i < 5000 && queue_intake_held(scene.intake) > 0; i++)
		usleep(1000);
	assert_int_equal(queue_intake_held(scene.intake), 0);
}

/* That group makes its removal durable no more, and no other one follows by itself. */
static void a_message_that_ends_during_a_group(void **state)
{
	enum { SETTLE_US = 1500000 }; /* when nothing else comes, it would have been made durable */
	struct buffer text CLEANUP(buffer_clear) = {0};
	uint64_t ended;
	uint64_t number;

	(void)state;
	assert_int_equal(sem_init(&syncs.begun, 0, 0), 0);
	scene_begin();
	ended = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, ended, true);
	number = scene_open_one(&scene.client);
	scene_append_envelope(&text, number, 1);
	pthread_mutex_lock(&syncs.mutex);
	while (sem_trywait(&syncs.begun) == 0)
		continue;
	scene_say_envelope(&scene.client, number, buffer_view(&text));
	assert_int_equal(sem_wait(&syncs.begun), 0);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, ended);
	scene_expect_removed(&scene.manager, ended);
	usleep(SETTLE_US);
	pthread_mutex_unlock(&syncs.mutex);
	assert_int_equal(scene_hear_result(&scene.client, number), 0);
	wait_until_none_is_held();
	scene_end();
}

/* Its file is in pid/ when the process ends. */
static void what_an_earlier_process_left(void **state)
{
	(void)state;
	scene_begin();
	scene_remove_message(&scene.manager, scene_queue_one(&scene.client, 1));
	scene_end();
	scene_start(0); /* nobody manages it yet */
	assert_int_equal(queue_intake_held(scene.intake), 1);
	wait_until_none_is_held();
	scene_stop();
}

/* A file that was copied into the queue: it is not reported to the manager, and no more is
 * accepted. */
static void a_file_of_another_number(void **state)
{
	struct unpack body;
	uint64_t stands;
	char from[256];
	char to[256];

	(void)state;
	scene_begin();
	stands = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, stands, true);
	snprintf(from, sizeof from, "%s/todo/arrive/0/%llu", queue_peer_path("queue"),
		 (unsigned long long)stands);
	snprintf(to, sizeof to, "%s/todo/arrive/0/1", queue_peer_path("queue"));
	assert_int_equal(link(from, to), 0);
	say_found(&scene.manager, 1);
	say_found(&scene.manager, stands);
	expect_stands(&scene.manager, stands);
	scene_say_u32(&scene.client, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(&scene.client), QUEUE_PROTOCOL_REFUSED);
	body = (struct unpack){buffer_view(&scene.client.body), false};
	assert_int_equal(unpack_u32(&body), EUCLEAN);
	say_found(&scene.client, stands); /* it is not the manager */
	assert_int_equal(queue_peer_hear(&scene.client), 0);
	scene_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_another_process_commits),
		TEST(what_cannot_be_looked_at),
		TEST(what_a_scan_finds_on_its_way),
		TEST(when_a_removal_from_todo_is_answered),
		TEST(a_removal_from_todo_on_a_full_disk),
		TEST(a_message_that_ends_during_a_group),
		TEST(what_an_earlier_process_left),
		TEST(a_file_of_another_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
