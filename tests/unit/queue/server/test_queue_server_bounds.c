// SPDX-License-Identifier: ISC
/* What a client of the process "queue" may have. */
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "queue/client/protocol.h"
#include "queue_server_scene.h"
#include "test.h"
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The directories' syncs wait while another holds it. */
static pthread_mutex_t syncs = PTHREAD_MUTEX_INITIALIZER;

void real_sync(const int *files, size_t count,
	       int *results) __asm__("__real_os_file_sync_directories");
void wrap_sync(const int *files, size_t count,
	       int *results) __asm__("__wrap_os_file_sync_directories");
void wrap_sync(const int *files, size_t count, int *results)
{
	pthread_mutex_lock(&syncs);
	real_sync(files, count, results);
	pthread_mutex_unlock(&syncs);
}

/* Posted when a client is not heard any more. */
static sem_t pauses;

void real_pause(struct ipc_channel *channel, bool paused) __asm__("__real_ipc_channel_pause");
void wrap_pause(struct ipc_channel *channel, bool paused) __asm__("__wrap_ipc_channel_pause");
void wrap_pause(struct ipc_channel *channel, bool paused)
{
	real_pause(channel, paused);
	if (paused)
		sem_post(&pauses);
}

/* Set while the server does nothing else. */
static bool disk_is_full;

int real_has_bytes(struct queue_store *store,
		   uint64_t bytes) __asm__("__real_queue_store_has_bytes");
int wrap_has_bytes(struct queue_store *store,
		   uint64_t bytes) __asm__("__wrap_queue_store_has_bytes");
int wrap_has_bytes(struct queue_store *store, uint64_t bytes)
{
	return disk_is_full ? -ENOSPC : real_has_bytes(store, bytes);
}

static const struct queue_server_peers *few(uint32_t all)
{
	static struct queue_server_peers peers;

	peers = (struct queue_server_peers){.manager = {geteuid() + 1, 1, 100, 1},
					    .intake = {geteuid(), 2, 20, 3},
					    .open = all,
					    .tokens = &scene_tokens};
	return &peers;
}

/* How many messages PEER opens before it is refused. */
static unsigned open_all(struct queue_peer *peer)
{
	unsigned count = 0;

	for (;;) {
		scene_say_u32(peer, QUEUE_PROTOCOL_OPEN, 1);
		if (queue_peer_hear(peer) == QUEUE_PROTOCOL_REFUSED)
			return count;
		count++;
	}
}

static void expect_refused(struct queue_peer *peer)
{
	struct unpack body = {buffer_view(&peer->body), false};

	assert_int_equal(unpack_u32(&body), EMFILE);
}

/* However many a client asks for, there is one answer. */
static void an_answer_has_so_many_numbers(void **state)
{
	static const uint32_t asked[] = {1, QUEUE_OPEN_MAX - 1, QUEUE_OPEN_MAX, QUEUE_OPEN_MAX + 1,
					 UINT32_MAX};

	(void)state;
	scene_begin();
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		size_t wanted = asked[i] < QUEUE_OPEN_MAX ? asked[i] : QUEUE_OPEN_MAX;

		scene_say_u32(&scene.client, QUEUE_PROTOCOL_OPEN, asked[i]);
		assert_int_equal(queue_peer_hear(&scene.client), QUEUE_PROTOCOL_OPENED);
		assert_int_equal(scene.client.body.length, wanted * sizeof(uint64_t));
	}
	scene_say_u32(&scene.client, QUEUE_PROTOCOL_OPEN, 0);
	assert_int_equal(queue_peer_hear(&scene.client), 0);
	scene_end();
}

static void say_release(struct queue_peer *peer, size_t length)
{
	static char domain[QUEUE_DOMAIN_MAX + 1];
	struct buffer body CLEANUP(buffer_clear) = {0};

	memset(domain, 'd', sizeof domain);
	pack_str(&body, str_slice(domain, length));
	queue_peer_say(peer, QUEUE_PROTOCOL_RELEASE, buffer_view(&body));
}

/* The manager is told of each that can be one, and the connection of who says another one is
 * closed. */
static void a_domain_to_release_has_so_many_bytes(void **state)
{
	static const size_t right[] = {1, 2, QUEUE_DOMAIN_MAX - 1, QUEUE_DOMAIN_MAX};
	static const size_t wrong[] = {0, QUEUE_DOMAIN_MAX + 1};

	(void)state;
	scene_begin();
	for (size_t i = 0; i < COUNT_OF(right); i++) {
		struct unpack body;

		say_release(&scene.client, right[i]);
		assert_int_equal(queue_peer_hear(&scene.manager), QUEUE_PROTOCOL_RELEASE);
		body = (struct unpack){buffer_view(&scene.manager.body), false};
		assert_int_equal(unpack_str(&body).length, right[i]);
		assert_true(unpack_is_whole(&body));
	}
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct queue_peer client = scene_connect();

		say_release(&client, wrong[i]);
		assert_int_equal(queue_peer_hear(&client), 0);
		queue_peer_close(&client);
	}
	scene_queue_one(&scene.client, 1); /* and the manager of nothing else */
	assert_int_equal(queue_peer_hear(&scene.manager), QUEUE_PROTOCOL_QUEUED);
	scene_end();
}

/* And its user as many as two of them, and all together; what one gives up another may have. */
static void a_connection_has_so_many_messages(void **state)
{
	struct queue_peer one;
	struct queue_peer other;
	struct queue_peer third;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	scene_start_for(0, few(1000));
	one = scene_connect();
	other = scene_connect();
	third = scene_connect();
	number = scene_open_one(&one);
	assert_int_equal(open_all(&one), 19);
	expect_refused(&one);
	assert_int_equal(open_all(&other), 20);
	expect_refused(&other);
	assert_int_equal(open_all(&third), 0);
	expect_refused(&third);
	scene_append_envelope(&text, number, 1);
	assert_int_equal(scene_commit(&one, number, buffer_view(&text)), 0);
	assert_int_equal(open_all(&third), 1);
	queue_peer_close(&one);
	queue_peer_close(&other);
	queue_peer_close(&third);
	scene_stop();
	scene_start_for(0, few(7));
	one = scene_connect();
	assert_int_equal(open_all(&one), 7);
	queue_peer_close(&one);
	scene_stop();
	buffer_clear(&text);
}

static void a_user_has_so_many_connections(void **state)
{
	enum { CONNECTIONS = 2 * 8 }; /* he has two processes */
	struct queue_peer peers[CONNECTIONS];
	struct queue_peer more;

	(void)state;
	scene_start_for(0, few(1000));
	for (size_t i = 0; i < CONNECTIONS; i++) {
		peers[i] = scene_connect();
		scene_open_one(&peers[i]);
	}
	more = scene_connect();
	assert_int_equal(queue_peer_hear(&more), 0);
	queue_peer_close(&more);
	scene_open_one(&peers[0]); /* the others are not disturbed */
	for (size_t i = 0; i < CONNECTIONS; i++)
		queue_peer_close(&peers[i]);
	scene_stop();
}

/* An envelope that is not committed is one message's, however many are open. */
static void what_is_not_committed_is_bounded(void **state)
{
	static char text[QUEUE_ENVELOPE_PART];
	struct queue_peer peer;

	(void)state;
	scene_start_for(0, few(1000));
	peer = scene_connect();
	memset(text, 'x', sizeof text);
	scene_say_part(&peer, QUEUE_PROTOCOL_ENVELOPE, scene_open_one(&peer),
		       str_slice(text, 4000));
	scene_say_part(&peer, QUEUE_PROTOCOL_ENVELOPE, scene_open_one(&peer),
		       str_slice(text, 3000));
	scene_open_one(&peer); /* 4 KiB, and one for each of three recipients */
	scene_say_part(&peer, QUEUE_PROTOCOL_ENVELOPE, scene_open_one(&peer), str_slice(text, 200));
	assert_int_equal(queue_peer_hear(&peer), 0);
	queue_peer_close(&peer);
	scene_stop();
}

static void a_message_has_so_many_recipients(void **state)
{
	struct queue_peer peer;

	(void)state;
	scene_start_for(0, few(1000));
	peer = scene_connect();
	for (unsigned recipients = 3; recipients <= 4; recipients++) {
		uint64_t number = scene_open_one(&peer);
		struct buffer text = {0};

		scene_append_envelope(&text, number, recipients);
		assert_int_equal(scene_commit(&peer, number, buffer_view(&text)),
				 recipients == 3 ? 0 : E2BIG);
		buffer_clear(&text);
	}
	queue_peer_close(&peer);
	scene_stop();
}

/* Envelopes on their way to a disk that is slow are counted, too: these are 12 MiB each. */
static void large_envelopes_wait_for_the_disk(void **state)
{
	enum { RECIPIENTS = 40000, MESSAGES = 3 };
	struct queue_peer client;
	struct timespec until;
	uint64_t numbers[MESSAGES];

	(void)state;
	sem_init(&pauses, 0, 0);
	scene_start(0);
	client = scene_connect();
	for (unsigned i = 0; i < MESSAGES; i++)
		numbers[i] = scene_open_one(&client);
	pthread_mutex_lock(&syncs);
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct buffer text = {0};

		scene_append_envelope(&text, numbers[i], RECIPIENTS);
		scene_say_envelope(&client, numbers[i], buffer_view(&text));
		buffer_clear(&text);
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	while (sem_timedwait(&pauses, &until) != 0)
		assert_int_equal(errno, EINTR);
	pthread_mutex_unlock(&syncs);
	assert_int_equal(scene_hear_result(&client, numbers[0]), 0);
	queue_peer_close(&client);
	scene_stop();
}

/* Answers to who does not read them are not gathered without end. */
static void who_does_not_read_is_not_heard(void **state)
{
	static const unsigned char open[] = {1, 0, QUEUE_PROTOCOL_OPEN, 0, 0, 0, 0, 0, 16, 0, 0, 0};
	struct queue_peer peer;
	unsigned said = 0;
	ssize_t sent = sizeof open;

	(void)state;
	scene_start_for(0, few(1000));
	peer = scene_connect();
	while (said < 100000 && sent == sizeof open &&
	       os_socket_wait(peer.socket, true, 10 * SECOND_US) == 0) {
		sent = os_socket_send(peer.socket, open, sizeof open, NULL, 0);
		said++;
	}
	assert_true(sent < 0);
	assert_in_range(said, 1000, 50000);
	queue_peer_close(&peer);
	scene_stop();
}

/* --- the reserve --- */

static uint64_t open_with_reserve(struct queue_peer *peer)
{
	struct unpack body;

	scene_say_u32(peer, QUEUE_PROTOCOL_OPEN_RESERVE, 1);
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPENED);
	body = (struct unpack){buffer_view(&peer->body), false};
	return unpack_u64(&body);
}

static uint32_t commit_short(struct queue_peer *peer, uint64_t number)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	scene_append_envelope(&text, number, 1);
	return scene_commit(peer, number, buffer_view(&text));
}

static void what_must_end_may_use_the_reserve(void **state)
{
	struct queue_peer client;

	(void)state;
	scene_start(UINT64_MAX);
	client = scene_connect();
	scene_say_u32(&client, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(&client), QUEUE_PROTOCOL_REFUSED);
	assert_int_equal(commit_short(&client, open_with_reserve(&client)), 0);
	queue_peer_close(&client);
	scene_stop();
}

/* Their connections are closed. */
static void others_may_not(void **state)
{
	struct queue_peer client;
	struct queue_peer user;

	(void)state;
	scene_start_for(0, few(1000));
	client = scene_connect();
	scene_say_u32(&client, QUEUE_PROTOCOL_OPEN_RESERVE, 1);
	assert_int_equal(queue_peer_hear(&client), 0);
	queue_peer_close(&client);
	user = scene_connect_user();
	scene_say_u32(&user, QUEUE_PROTOCOL_OPEN_RESERVE, 1);
	assert_int_equal(queue_peer_hear(&user), 0);
	queue_peer_close(&user);
	scene_stop();
}

static void who_delivers_lists_may(void **state)
{
	struct queue_server_peers peers = *few(1000);
	struct queue_peer client;

	(void)state;
	peers.list = (struct queue_server_part){geteuid(), 1, 20, 3};
	scene_start_for(UINT64_MAX, &peers);
	client = scene_connect();
	assert_int_equal(commit_short(&client, open_with_reserve(&client)), 0);
	queue_peer_close(&client);
	scene_stop();
}

/* The disk has become full since. */
static void a_number_from_before_is_no_room(void **state)
{
	uint64_t first;
	uint64_t second;
	uint64_t last;

	(void)state;
	scene_begin();
	first = scene_open_one(&scene.client);
	second = scene_open_one(&scene.client);
	last = open_with_reserve(&scene.client);
	disk_is_full = true;
	assert_int_equal(commit_short(&scene.client, first), ENOSPC);
	assert_int_equal(commit_short(&scene.client, last), 0);
	disk_is_full = false;
	assert_int_equal(commit_short(&scene.client, second), 0);
	scene_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_connection_has_so_many_messages),
		TEST(an_answer_has_so_many_numbers),
		TEST(a_domain_to_release_has_so_many_bytes),
		TEST(a_user_has_so_many_connections),
		TEST(what_is_not_committed_is_bounded),
		TEST(a_message_has_so_many_recipients),
		TEST(large_envelopes_wait_for_the_disk),
		TEST(who_does_not_read_is_not_heard),
		TEST(what_must_end_may_use_the_reserve),
		TEST(others_may_not),
		TEST(who_delivers_lists_may),
		TEST(a_number_from_before_is_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
