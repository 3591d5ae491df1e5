// SPDX-License-Identifier: ISC
/* A helper, and what it is told: by "send" as it is, and by one that says anything. */
#include "deliver/helper.h"
#include "ipc/job.h"
#include "log/event.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/queue/queue_peer.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

static struct {
	struct os_loop *loop;
	int listening;
	const struct play *play;
	size_t jobs;
	bool is_lost;
} world;

/* What "send" says, and whether the helper makes a job of it. */
struct play {
	uint64_t size;
	size_t inside;   /* bytes of content in START */
	size_t parts[4]; /* of CONTENT that follow; 0: no more */
	bool has_file;
	bool is_started;
};

static char content_byte(size_t i)
{
	return (char)('a' + i % 23);
}

static struct str content(size_t offset, size_t length)
{
	static char bytes[2 * IPC_JOB_CONTENT_MAX];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = content_byte(i);
	return str_slice(bytes + offset, length);
}

static void say_start(struct queue_peer *peer, const struct play *play)
{
	struct buffer body = {0};
	int file = os_process_share_text(STR("all of it"));

	assert_true(file >= 0);
	pack_u64(&body, 457);
	pack_u64(&body, 1);
	pack_str(&body, STR("s@a.test"));
	pack_u64(&body, play->size);
	pack_u32(&body, 0); /* checksum */
	pack_u32(&body, 0);
	pack_u64(&body, 0);
	pack_u32(&body, 0);
	pack_str(&body, STR(""));
	pack_str(&body, STR("b.test"));
	pack_str(&body, STR("smtp 192.0.2.7:53112 helo=c.test"));
	pack_u32(&body, 1);
	pack_u32(&body, 1);
	pack_u32(&body, 0);
	pack_str(&body, STR("u@b.test"));
	pack_str(&body, STR(""));
	pack_str(&body, STR("via@b.test"));
	pack_str(&body, content(0, play->inside));
	queue_peer_give(peer, IPC_JOB_START, buffer_view(&body), &file, play->has_file);
	os_socket_close(file);
	buffer_clear(&body);
}

static void *serve(void *context)
{
	union os_socket_address address;
	struct queue_peer peer = {.socket = -EAGAIN};
	size_t said = world.play->inside;

	while (peer.socket == -EAGAIN &&
	       os_socket_wait(world.listening, false, 10 * SECOND_US) == 0)
		peer.socket = os_socket_accept(world.listening, &address);
	assert_true(peer.socket >= 0);
	assert_int_equal(queue_peer_hear(&peer), IPC_JOB_HELLO);
	say_start(&peer, world.play);
	for (size_t i = 0; i < COUNT_OF(world.play->parts) && world.play->parts[i] > 0; i++) {
		queue_peer_say(&peer, IPC_JOB_CONTENT, content(said, world.play->parts[i]));
		said += world.play->parts[i];
	}
	assert_int_equal(queue_peer_hear(&peer), world.play->is_started ? IPC_JOB_FINISH : 0);
	queue_peer_close(&peer);
	return context;
}

static void on_job(void *context, struct deliver_helper_job *job)
{
	static char block[2 * IPC_JOB_CONTENT_MAX];
	struct str part;

	(void)context;
	world.jobs++;
	assert_true(str_equal(job->recipients[0].via, STR("via@b.test")));
	assert_int_equal(job->content.size, world.play->size);
	assert_int_equal(job->content.file >= 0, world.play->has_file);
	assert_int_equal(ipc_content_read(&job->content, 0, block, sizeof block, &part), 0);
	assert_true(str_equal(part, world.play->has_file ? STR("all of it")
							 : content(0, world.play->size)));
	deliver_helper_finish(job);
	os_loop_stop(world.loop);
}

static void on_lost(void *context)
{
	(void)context;
	world.is_lost = true;
	os_loop_stop(world.loop);
}

static void run(const struct play *play)
{
	static const struct deliver_helper_handler handler = {.job = on_job, .lost = on_lost};
	struct deliver_helper *helper;
	pthread_t thread;

	log_open("test", LOG_ERROR_LEVEL);
	world.play = play;
	world.jobs = 0;
	world.is_lost = false;
	world.loop = os_loop_new();
	world.listening = os_socket_listen_unix(queue_peer_path("send"), SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
	helper = deliver_helper_new(world.loop,
				    &(struct deliver_helper_call){queue_peer_path("send"),
								  STR("remote-1"), "remote", 1},
				    &handler, NULL);
	os_loop_run(world.loop);
	pthread_join(thread, NULL);
	assert_int_equal(world.jobs, play->is_started);
	assert_true(world.is_lost || play->is_started);
	deliver_helper_free(helper);
	os_socket_close(world.listening);
	os_loop_free(world.loop);
}

static void content_comes_by_value_or_in_a_file(void **state)
{
	enum { MAX = IPC_JOB_CONTENT_MAX };
	static const struct play plays[] = {
		{.size = 0, .is_started = true},
		{.size = 100, .inside = 100, .is_started = true},
		{.size = 59000, .inside = 59000, .is_started = true},
		{.size = MAX, .parts = {60000, MAX - 60000}, .is_started = true},
		{.size = MAX, .parts = {1, 60000, MAX - 60001}, .is_started = true},
		{.size = 9, .has_file = true, .is_started = true},
		/* what "send" never says */
		{.size = 100, .inside = 99},
		{.size = 100, .inside = 101},
		{.size = 100, .parts = {101}},
		{.size = 100, .parts = {60, 41}},
		{.size = MAX + 1},
		{.size = 9, .inside = 9, .has_file = true},
		{.size = 9, .inside = 8, .has_file = true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(plays); i++)
		run(&plays[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(content_comes_by_value_or_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
