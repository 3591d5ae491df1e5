// SPDX-License-Identifier: ISC
/* Which files of the process "queue" are used again, and who sees what was in them. */
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "queue/client/protocol.h"
#include "queue_server_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the kernel says of others who have a file open, and of those who can write to it, where it
 * is not 0. */
static int openers;
static int writers;

int real_is_open(int file) __asm__("__real_os_file_is_open_elsewhere");
int wrap_is_open(int file) __asm__("__wrap_os_file_is_open_elsewhere");
int wrap_is_open(int file)
{
	return openers != 0 ? openers : real_is_open(file);
}

int real_has_writers(int file) __asm__("__real_os_file_has_writers");
int wrap_has_writers(int file) __asm__("__wrap_os_file_has_writers");
int wrap_has_writers(int file)
{
	return writers != 0 ? writers : real_has_writers(file);
}

/* Where the group's thread waits when it is done with the messages; -1: nowhere. */
static int done[2] = {-1, -1};
static int go_on[2] = {-1, -1};

void real_commit_group(struct queue_intake *intake, struct queue_message **messages, size_t count,
		       int *results) __asm__("__real_queue_message_commit_group");
void wrap_commit_group(struct queue_intake *intake, struct queue_message **messages, size_t count,
		       int *results) __asm__("__wrap_queue_message_commit_group");
void wrap_commit_group(struct queue_intake *intake, struct queue_message **messages, size_t count,
		       int *results)
{
	char byte = 'x';

	real_commit_group(intake, messages, count, results);
	if (done[1] >= 0 && write(done[1], &byte, 1) == 1)
		assert_int_equal(read(go_on[0], &byte, 1), 1);
}

/* A message comes and goes by value; by the next one's commit its file is a spare. */
static uint64_t make_spare(struct queue_peer *manager, struct queue_peer *client)
{
	uint64_t number = scene_queue_one(client, 1);

	scene_remove_message(manager, number);
	scene_remove_message(manager, scene_queue_one(client, 1));
	return number;
}

static void what_came_by_value_is_used_again(void **state)
{
	uint64_t number;

	(void)state;
	scene_begin();
	number = make_spare(&scene.manager, &scene.client);
	assert_int_equal(scene_open_one(&scene.client), number);
	/* no client ever saw the file */
	queue_peer_close(&scene.client);
	scene.client = scene_connect();
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_end();
}

static void old_bytes_do_not_leave(void **state)
{
	struct os_file_info info;
	uint64_t number;

	(void)state;
	scene_begin();
	number = make_spare(&scene.manager, &scene.client);
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_share(&scene.client, number);
	assert_int_equal(os_file_info(scene.client.files[0], &info), 0);
	assert_int_equal(info.inode, number);
	assert_int_equal(info.size, 0);
	scene_end();
}

static void expect_not_used_again(struct queue_peer *client, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++)
		assert_int_not_equal(scene_open_one(client), number);
}

/* Another descriptor of FILE, that cannot be written to. */
static int reader_of(int file)
{
	char path[64];
	int reader;

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	reader = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	assert_true(reader >= 0);
	return reader;
}

static void give_back(struct queue_peer *peer)
{
	while (peer->file_count > 0)
		os_file_close(peer->files[--peer->file_count]);
}

/* How somebody keeps a file that he was lent. */
enum kept { KEPT_NOT, KEPT, KEPT_COPY, KEPT_MAPPED, KEPT_ON_ITS_WAY, KEPT_KINDS };

struct keeper {
	int sockets[2];
	int copy;
	void *map;
};

static void keep_file(struct keeper *keeper, struct queue_peer *peer, enum kept kept)
{
	int file = peer->files[0];

	*keeper = (struct keeper){.sockets = {-1, -1}, .copy = -1, .map = MAP_FAILED};
	if (kept == KEPT_COPY) {
		keeper->copy = dup(file);
	} else if (kept == KEPT_MAPPED) {
		keeper->map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		assert_true(keeper->map != MAP_FAILED);
	} else if (kept == KEPT_ON_ITS_WAY) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, keeper->sockets), 0);
		assert_int_equal(os_socket_send(keeper->sockets[0], "x", 1, &file, 1), 1);
	}
	if (kept != KEPT)
		give_back(peer);
}

static void drop_kept(struct keeper *keeper)
{
	os_socket_close(keeper->sockets[0]);
	os_socket_close(keeper->sockets[1]);
	os_file_close(keeper->copy);
	if (keeper->map != MAP_FAILED)
		munmap(keeper->map, 4096);
}

/* Envelope and data are in one file: whoever can write to it can change its recipients. */
static void nothing_is_queued_that_somebody_can_change(void **state)
{
	struct queue_peer client;

	(void)state;
	scene_start(0);
	client = scene_connect();
	for (unsigned kept = 0; kept < KEPT_KINDS; kept++) {
		uint64_t number = scene_open_one(&client);
		struct buffer text = {0};
		struct keeper keeper;

		scene_share(&client, number);
		assert_int_equal(os_file_write(client.files[0], "data\r\n", 6, 0), 0);
		scene_append_envelope(&text, number, 1);
		keep_file(&keeper, &client, kept);
		if (kept == KEPT) /* hear() closes what came before */
			client.file_count = 0;
		scene_say_commit(&client, number, buffer_view(&text), STR(""));
		assert_int_equal(scene_hear_result(&client, number),
				 kept == KEPT_NOT ? 0 : ETXTBSY);
		if (kept == KEPT)
			os_file_close(client.files[0]);
		drop_kept(&keeper);
		buffer_clear(&text);
	}
	scene_queue_one(&client, 1);
	queue_peer_close(&client);
	scene_stop();
}

/* Where the kernel cannot tell, large messages are taken all the same; another error is one. */
static void a_kernel_without_leases(void **state)
{
	static const struct {
		int openers, writers;
		uint32_t answer;
		bool is_blind;
	} cases[] = {{-EINVAL, 0, 0, true},       {-EACCES, 0, 0, true},
		     {-ENOMEM, 0, ENOMEM, false}, {1, 1, ETXTBSY, false},
		     {1, -ENOMEM, ENOMEM, false}, {1, 0, 0, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_peer client;
		struct buffer text = {0};
		uint64_t number;

		scene_start(0);
		client = scene_connect();
		number = scene_open_one(&client);
		scene_share(&client, number);
		assert_int_equal(os_file_write(client.files[0], "data\r\n", 6, 0), 0);
		give_back(&client);
		scene_append_envelope(&text, number, 1);
		openers = cases[i].openers;
		writers = cases[i].writers;
		scene_say_commit(&client, number, buffer_view(&text), STR(""));
		assert_int_equal(scene_hear_result(&client, number), cases[i].answer);
		assert_int_equal(queue_intake_is_blind(scene.intake), cases[i].is_blind);
		openers = 0;
		writers = 0;
		buffer_clear(&text);
		queue_peer_close(&client);
		scene_stop();
	}
}

/* Whoever has a descriptor may stand still until all of this is over. */
static void a_shared_file_is_not_used_again(void **state)
{
	struct buffer text = {0};
	uint64_t number;
	char data[8] = "";
	int file;

	(void)state;
	scene_begin();
	number = make_spare(&scene.manager, &scene.client);
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_share(&scene.client, number);
	file = reader_of(scene.client.files[0]);
	assert_int_equal(os_file_write(scene.client.files[0], "data\r\n", 6, 0), 0);
	give_back(&scene.client);
	scene_append_envelope(&text, number, 1);
	scene_say_commit(&scene.client, number, buffer_view(&text), STR(""));
	assert_int_equal(scene_hear_result(&scene.client, number), 0);
	scene_expect_queued_with(&scene.manager, number, true, STR(""));
	scene_say_remove(&scene.manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number);
	for (unsigned i = 0; i < 4; i++)
		assert_int_not_equal(scene_queue_one(&scene.client, 1), number);
	expect_not_used_again(&scene.client, number);
	assert_int_equal(os_file_read(file, data, sizeof data, 0) >= 6, 1);
	assert_memory_equal(data, "data\r\n", 6);
	os_file_close(file);
	buffer_clear(&text);
	scene_end();
}

static void a_shared_file_that_is_given_back_is_not_used_again(void **state)
{
	struct queue_peer client;
	uint64_t number;
	int file;

	(void)state;
	scene_start(0);
	client = scene_connect();
	number = scene_open_one(&client);
	scene_share(&client, number);
	file = dup(client.files[0]);
	scene_say_number(&client, QUEUE_PROTOCOL_ABANDON, number);
	expect_not_used_again(&client, number);
	os_file_close(file);
	queue_peer_close(&client);
	scene_stop();
}

/* S5: its name in mess/ is made, as "send" does. */
static void what_waited_is_used_again_only_when_it_came_by_value(void **state)
{
	uint64_t number;
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];

	(void)state;
	scene_begin();
	number = scene_queue_one(&scene.client, 1);
	scene_expect_queued(&scene.manager, number, true);
	queue_store_path(scene.store, QUEUE_TODO, "arrive", number, from);
	queue_store_path(scene.store, QUEUE_MESS, NULL, number, to);
	assert_int_equal(os_file_link(queue_store_directory(scene.store), from, to), 0);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number);
	scene_say_remove(&scene.manager, QUEUE_REMOVE_DATA, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(&scene.manager, number);
	(void)scene_queue_one(&scene.client, 1);
	assert_int_equal(scene_open_one(&scene.client), number);
	scene_end();
}

static int count_name(void *context, const char *name)
{
	(void)name;
	++*(unsigned *)context;
	return 0;
}

static unsigned files_in_pid(void)
{
	unsigned count = 0;

	assert_int_equal(
		os_file_list(queue_store_directory(scene.store), "pid", count_name, &count), 0);
	return count;
}

static void set_gate(bool is_set)
{
	for (size_t i = 0; i < 2; i++) {
		if (!is_set) {
			close(done[i]);
			close(go_on[i]);
		}
		done[i] = go_on[i] = -1;
	}
	if (is_set) {
		assert_int_equal(pipe(go_on), 0);
		assert_int_equal(pipe(done), 0);
	}
}

/* Whoever had the number of a refused message before its client was told would get that answer, and
 * the client the other's: 250 for mail that is not queued. */
static void the_number_of_a_refused_message_is_taken_until_that_is_said(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_peer client;
	uint64_t number;
	char byte = 'x';

	(void)state;
	set_gate(true);
	scene_start(0);
	client = scene_connect();
	number = scene_open_one(&client);
	scene_append_envelope_of(&text, number, 1, 7);
	scene_say_envelope(&client, number, buffer_view(&text));
	assert_int_equal(read(done[0], &byte, 1), 1);
	assert_int_equal(files_in_pid(), 1);
	assert_int_not_equal(scene_open_one(&client), number);
	assert_int_equal(write(go_on[1], &byte, 1), 1);
	assert_int_equal(scene_hear_result(&client, number), EINVAL);
	assert_int_equal(files_in_pid(), 1); /* the other's */
	set_gate(false);
	queue_peer_close(&client);
	scene_stop();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_came_by_value_is_used_again),
		TEST(old_bytes_do_not_leave),
		TEST(nothing_is_queued_that_somebody_can_change),
		TEST(a_kernel_without_leases),
		TEST(a_shared_file_is_not_used_again),
		TEST(a_shared_file_that_is_given_back_is_not_used_again),
		TEST(what_waited_is_used_again_only_when_it_came_by_value),
		TEST(the_number_of_a_refused_message_is_taken_until_that_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
