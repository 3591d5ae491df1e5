// SPDX-License-Identifier: ISC
/* A client of the process "queue", which is played by a thread that need not be honest. */
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "queue/client/client.h"
#include "queue/client/protocol.h"
#include "queue/message.h"
#include "test.h"
#include "unit/queue/queue_peer.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* What "queue" does on one connection; then it is closed. */
typedef void script(struct queue_peer *peer);

enum { NUMBER = 457 };

static struct {
	struct os_loop *loop;
	struct queue_client *client;
	struct queue_client_message message, other;
	int listening;
	script *script;
	pthread_t thread;
	int results[4];
	size_t result_count;
	uint64_t second_number; /* of OTHER */
	bool commits;           /* once it is open */
	bool commits_two;       /* together with OTHER */
	unsigned recipients;
	struct str data;
	bool abandons;    /* instead, once it is open */
	bool opens_again; /* OTHER, in another connection, when the first was lost */
} play;

static struct queue_peer accept_client(void)
{
	union os_socket_address address;
	struct queue_peer peer = {.socket = -EAGAIN};

	while (peer.socket == -EAGAIN && os_socket_wait(play.listening, false, 10 * SECOND_US) == 0)
		peer.socket = os_socket_accept(play.listening, &address);
	assert_true(peer.socket >= 0);
	return peer;
}

static void *serve(void *context)
{
	struct queue_peer peer = accept_client();

	play.script(&peer);
	queue_peer_close(&peer);
	return context;
}

static void commit(struct queue_client_message *message)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->id = (struct mail_id){message->number, 1795163591482913};
	envelope->size = play.data.length;
	for (unsigned i = 0; i < play.recipients; i++)
		mail_envelope_add(envelope, STR("somebody@a-domain-with-a-long-name.example.org"));
	queue_client_commit(message, envelope, play.data);
	mail_envelope_free(envelope);
}

/* It has its number, and both are committed in one turn; or it is committed, after the first. */
static void on_other_done(void *context, int result)
{
	(void)context;
	if (play.other.state == QUEUE_CLIENT_OPEN && !play.opens_again) {
		commit(&play.message);
		commit(&play.other);
		return;
	}
	play.second_number = play.other.number;
	play.results[play.result_count++] = result;
	os_loop_stop(play.loop);
}

static void on_connected_again(void *context)
{
	(void)context;
	queue_client_open(play.client, &play.other);
}

static void on_done(void *context, int result)
{
	(void)context;
	play.results[play.result_count++] = result;
	if (play.message.state == QUEUE_CLIENT_OPEN && play.commits) {
		commit(&play.message);
		return;
	}
	if (play.commits_two) {
		if (play.message.state == QUEUE_CLIENT_OPEN)
			queue_client_open(play.client, &play.other);
		return;
	}
	if (play.opens_again) {
		queue_client_when_connected(play.client, on_connected_again, NULL);
		return;
	}
	if (play.message.state == QUEUE_CLIENT_OPEN && play.abandons)
		queue_client_abandon(&play.message);
	os_loop_stop(play.loop);
}

static void on_connected(void *context)
{
	(void)context;
	queue_client_open(play.client, &play.message);
}

/* Opens a message, goes on as PLAY says, and leaves the results there. */
static void run(script *what)
{
	log_open("test", LOG_ERROR_LEVEL);
	play.script = what;
	play.result_count = 0;
	play.message = (struct queue_client_message){.done = on_done};
	play.other = (struct queue_client_message){.done = on_other_done};
	play.listening = os_socket_listen_unix(queue_peer_path("socket"), SOCK_SEQPACKET, 0600);
	assert_true(play.listening >= 0);
	play.loop = os_loop_new();
	play.client = queue_client_new(play.loop, queue_peer_path("socket"), 1);
	assert_int_equal(pthread_create(&play.thread, NULL, serve, NULL), 0);
	queue_client_when_connected(play.client, on_connected, NULL);
	os_loop_run(play.loop);
	queue_client_abandon(&play.message);
	queue_client_abandon(&play.other);
	queue_client_free(play.client);
	pthread_join(play.thread, NULL);
	os_socket_close(play.listening);
	os_loop_free(play.loop);
}

static void expect(size_t count, int first, int second)
{
	assert_int_equal(play.result_count, count);
	assert_int_equal(play.results[0], first);
	if (count > 1)
		assert_int_equal(play.results[1], second);
}

static void give_number(struct queue_peer *peer)
{
	struct buffer body = {0};

	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	pack_u64(&body, NUMBER);
	queue_peer_say(peer, QUEUE_PROTOCOL_OPENED, buffer_view(&body));
	buffer_clear(&body);
}

/* Hears a commit, after all its parts, and the OPEN that is said meanwhile. */
static size_t hear_commit(struct queue_peer *peer)
{
	size_t parts = 0;
	unsigned type;

	do {
		type = queue_peer_hear(peer);
		parts += type == QUEUE_PROTOCOL_ENVELOPE;
	} while (type == QUEUE_PROTOCOL_ENVELOPE || type == QUEUE_PROTOCOL_OPEN);
	assert_int_equal(type, QUEUE_PROTOCOL_COMMIT);
	return parts;
}

static void say_result(struct queue_peer *peer, uint64_t number, uint32_t result)
{
	struct buffer body = {0};

	pack_u64(&body, number);
	pack_u32(&body, result);
	queue_peer_say(peer, QUEUE_PROTOCOL_COMMITTED, buffer_view(&body));
	buffer_clear(&body);
}

static void commit_well(struct queue_peer *peer)
{
	give_number(peer);
	(void)hear_commit(peer);
	say_result(peer, NUMBER + 1, EIO); /* of somebody else */
	say_result(peer, NUMBER, 0);
	(void)queue_peer_hear(peer);
}

static void take_one(struct unpack *body, uint64_t number)
{
	assert_int_equal(unpack_u64(body), number);
	assert_true(unpack_str(body).length > 0);
	assert_true(str_equal(unpack_str(body), play.data));
}

/* Those of a turn come in one packet if they fit in it. */
static void commit_two(struct queue_peer *peer)
{
	struct buffer numbers = {0};
	struct unpack body;

	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	pack_u64(&numbers, NUMBER);
	pack_u64(&numbers, NUMBER + 1);
	queue_peer_say(peer, QUEUE_PROTOCOL_OPENED, buffer_view(&numbers));
	buffer_clear(&numbers);
	assert_int_equal(hear_commit(peer), 0);
	body = (struct unpack){buffer_view(&peer->body), false};
	take_one(&body, NUMBER);
	if (body.rest.length == 0) {
		assert_true(2 * play.data.length > IPC_BODY_MAX - 1000);
		assert_int_equal(hear_commit(peer), 0);
		body = (struct unpack){buffer_view(&peer->body), false};
	} else {
		assert_true(2 * play.data.length < IPC_BODY_MAX);
	}
	take_one(&body, NUMBER + 1);
	assert_true(unpack_is_whole(&body));
	say_result(peer, NUMBER, 0);
	say_result(peer, NUMBER + 1, 0);
	(void)queue_peer_hear(peer);
}

/* The first was told, too. */
static void lose_two(struct queue_peer *peer)
{
	give_number(peer);
	give_number(peer);
	(void)hear_commit(peer);
}

static void commit_badly(struct queue_peer *peer)
{
	give_number(peer);
	(void)hear_commit(peer);
	say_result(peer, NUMBER, EIO);
	(void)queue_peer_hear(peer);
}

static void commit_in_parts(struct queue_peer *peer)
{
	give_number(peer);
	assert_int_equal(hear_commit(peer), 3);
	say_result(peer, NUMBER, 0);
	(void)queue_peer_hear(peer);
}

static void hear_of_nothing(struct queue_peer *peer)
{
	unsigned type;

	give_number(peer);
	do
		type = queue_peer_hear(peer);
	while (type == QUEUE_PROTOCOL_OPEN);
	assert_int_equal(type, QUEUE_PROTOCOL_ABANDON);
}

/* It could not be kept: the connection, on which others are committed, goes on. */
static void an_envelope_that_is_too_long_is_refused(void **state)
{
	(void)state;
	play.commits = true;
	play.recipients = 300000;
	run(hear_of_nothing);
	expect(2, 0, -E2BIG);
	play.commits = false;
}

static void fill(struct buffer *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buffer_append_byte(data, (char)('a' + i % 23));
}

static void commits_of_a_turn_go_together(void **state)
{
	static const size_t sizes[] = {6, 10240, 29000, 40000};

	(void)state;
	play.commits_two = true;
	play.recipients = 2;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct buffer data = {0};

		fill(&data, sizes[i]);
		play.data = buffer_view(&data);
		run(commit_two);
		assert_int_equal(play.result_count, 3);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(play.results[k], 0);
		play.data = STR("");
		buffer_clear(&data);
	}
	run(lose_two);
	assert_int_equal(play.result_count, 3);
	assert_int_equal(play.results[1], -ENOTCONN);
	assert_int_equal(play.results[2], -ENOTCONN);
	play.commits_two = false;
}

static void commits_are_answered(void **state)
{
	(void)state;
	play.commits = true;
	play.recipients = 1;
	run(commit_well);
	expect(2, 0, 0);
	run(commit_badly);
	expect(2, 0, -EIO);
	play.recipients = 2000;
	run(commit_in_parts);
	expect(2, 0, 0);
	play.commits = false;
}

static void wait_for_end(struct queue_peer *peer)
{
	unsigned type;

	do
		type = queue_peer_hear(peer);
	while (type != 0);
}

static void answer_beyond_errno(struct queue_peer *peer)
{
	give_number(peer);
	(void)hear_commit(peer);
	say_result(peer, NUMBER, UINT32_MAX);
	wait_for_end(peer);
}

static void answer_half(struct queue_peer *peer)
{
	give_number(peer);
	(void)hear_commit(peer);
	queue_peer_say(peer, QUEUE_PROTOCOL_COMMITTED, STR("\1\0\0\0\0\0\0\0"));
	wait_for_end(peer);
}

static void hang_up(struct queue_peer *peer)
{
	give_number(peer);
	(void)hear_commit(peer);
}

/* Queued or not: the owner must take it for not. */
static void a_commit_without_an_answer_fails(void **state)
{
	static script *const scripts[] = {answer_beyond_errno, answer_half, hang_up};

	(void)state;
	play.commits = true;
	play.recipients = 1;
	for (size_t i = 0; i < COUNT_OF(scripts); i++) {
		run(scripts[i]);
		expect(2, 0, -ENOTCONN);
	}
	play.commits = false;
}

static void say_numbers(struct queue_peer *peer, uint64_t first, size_t count)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	for (size_t i = 0; i < count; i++)
		pack_u64(&body, first + i);
	queue_peer_say(peer, QUEUE_PROTOCOL_OPENED, buffer_view(&body));
}

/* More numbers than the client uses before it loses the connection. */
static void lose_numbers(struct queue_peer *peer)
{
	say_numbers(peer, NUMBER, 2);
	(void)hear_commit(peer);
	queue_peer_close(peer);
	*peer = accept_client();
	say_numbers(peer, NUMBER + 10, 1);
	wait_for_end(peer);
}

/* They are those of files that "queue" has closed. */
static void numbers_are_those_of_one_connection(void **state)
{
	(void)state;
	play.commits = true;
	play.opens_again = true;
	play.recipients = 1;
	run(lose_numbers);
	assert_int_equal(play.result_count, 3);
	assert_int_equal(play.results[0], 0);
	assert_int_equal(play.results[1], -ENOTCONN);
	assert_int_equal(play.results[2], 0);
	assert_int_equal(play.second_number, NUMBER + 10);
	play.commits = false;
	play.opens_again = false;
}

static void refuse(struct queue_peer *peer)
{
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	assert_int_equal(usleep(200000), 0); /* the message waits by then */
	queue_peer_say(peer, QUEUE_PROTOCOL_REFUSED, STR("\x1c\0\0\0"));
	(void)queue_peer_hear(peer);
}

static void refuse_without_reason(struct queue_peer *peer)
{
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	assert_int_equal(usleep(200000), 0);
	queue_peer_say(peer, QUEUE_PROTOCOL_REFUSED, STR("\0\0\0\0"));
	wait_for_end(peer);
}

static void refuse_and_more(struct queue_peer *peer)
{
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	assert_int_equal(usleep(200000), 0);
	queue_peer_say(peer, QUEUE_PROTOCOL_REFUSED, STR("\x1c\0\0\0x"));
	wait_for_end(peer);
}

/* A file that nobody asked for. */
static void open_with_a_file(struct queue_peer *peer)
{
	int file = os_process_share_text(STR(""));

	assert_true(file >= 0);
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	assert_int_equal(usleep(200000), 0);
	queue_peer_give(peer, QUEUE_PROTOCOL_OPENED, STR("\1\0\0\0\0\0\0\0"), &file, 1);
	os_socket_close(file);
	wait_for_end(peer);
}

static void open_without_a_number(struct queue_peer *peer)
{
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	assert_int_equal(usleep(200000), 0);
	queue_peer_say(peer, QUEUE_PROTOCOL_OPENED, STR("\1\0"));
	wait_for_end(peer);
}

static void talk_nonsense(struct queue_peer *peer)
{
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	assert_int_equal(usleep(200000), 0);
	queue_peer_say(peer, QUEUE_PROTOCOL_QUEUED, STR(""));
	wait_for_end(peer);
}

static void refuse_with(struct queue_peer *peer, uint32_t number)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPEN);
	assert_int_equal(usleep(200000), 0);
	pack_u32(&body, number);
	queue_peer_say(peer, QUEUE_PROTOCOL_REFUSED, buffer_view(&body));
	(void)queue_peer_hear(peer);
}

static void refuse_with_the_largest(struct queue_peer *peer)
{
	refuse_with(peer, 4095);
}

static void refuse_with_more(struct queue_peer *peer)
{
	refuse_with(peer, 4096);
}

static void what_breaks_the_rules_ends_the_connection(void **state)
{
	static script *const scripts[] = {refuse_without_reason, refuse_and_more, open_with_a_file,
					  open_without_a_number, talk_nonsense,   refuse_with_more};

	(void)state;
	run(refuse);
	expect(1, -ENOSPC, 0);
	run(refuse_with_the_largest); /* of all numbers of errors */
	expect(1, -4095, 0);
	for (size_t i = 0; i < COUNT_OF(scripts); i++) {
		run(scripts[i]);
		expect(1, -ENOTCONN, 0);
	}
}

/* --- large messages --- */

/* What was committed by value; in so many packets of DATA before. */
static size_t hear_data(struct queue_peer *peer, struct buffer *data)
{
	size_t parts = 0;
	unsigned type;

	for (;;) {
		struct unpack body;

		type = queue_peer_hear(peer);
		body = (struct unpack){buffer_view(&peer->body), false};
		if (type == QUEUE_PROTOCOL_OPEN)
			continue;
		assert_int_equal(unpack_u64(&body), NUMBER);
		if (type == QUEUE_PROTOCOL_COMMIT)
			(void)unpack_str(&body);
		buffer_append_str(data, unpack_str(&body));
		assert_true(unpack_is_whole(&body));
		if (type == QUEUE_PROTOCOL_COMMIT)
			return parts;
		assert_int_equal(type, QUEUE_PROTOCOL_DATA);
		parts++;
	}
}

static size_t parts_heard;

static void commit_by_value(struct queue_peer *peer)
{
	struct buffer data = {0};

	give_number(peer);
	parts_heard = hear_data(peer, &data);
	assert_true(str_equal(buffer_view(&data), play.data));
	buffer_clear(&data);
	say_result(peer, NUMBER, 0);
	(void)queue_peer_hear(peer);
}

static void hear_share(struct queue_peer *peer)
{
	unsigned type;

	do
		type = queue_peer_hear(peer);
	while (type == QUEUE_PROTOCOL_OPEN);
	assert_int_equal(type, QUEUE_PROTOCOL_SHARE);
	assert_true(str_equal(buffer_view(&peer->body), STR("\xc9\1\0\0\0\0\0\0")));
}

/* The answer to SHARE: an errno, perhaps with a file, which is returned. */
static int share(struct queue_peer *peer, uint32_t error, bool with_file)
{
	struct buffer body = {0};
	int file = memfd_create("data", MFD_CLOEXEC);

	give_number(peer);
	hear_share(peer);
	pack_u64(&body, NUMBER);
	pack_u32(&body, error);
	queue_peer_give(peer, QUEUE_PROTOCOL_SHARED, buffer_view(&body), &file, with_file);
	buffer_clear(&body);
	return file;
}

static void commit_shared(struct queue_peer *peer)
{
	struct buffer data = {0};
	struct buffer found = {0};
	int file = share(peer, 0, true);

	assert_int_equal(hear_data(peer, &data), 0);
	assert_int_equal(data.length, 0);
	assert_int_equal(
		pread(file, buffer_reserve(&found, play.data.length + 1), play.data.length + 1, 0),
		play.data.length);
	buffer_commit(&found, play.data.length);
	assert_true(str_equal(buffer_view(&found), play.data));
	buffer_clear(&found);
	close(file);
	say_result(peer, NUMBER, 0);
	(void)queue_peer_hear(peer);
}

/* The client may ask for more numbers before. */
static unsigned hear_all_but_open(struct queue_peer *peer)
{
	unsigned type;

	do
		type = queue_peer_hear(peer);
	while (type == QUEUE_PROTOCOL_OPEN);
	return type;
}

static void share_in_vain(struct queue_peer *peer)
{
	os_socket_close(share(peer, EIO, false));
	assert_int_equal(hear_all_but_open(peer), QUEUE_PROTOCOL_ABANDON);
}

static void share_without_a_file(struct queue_peer *peer)
{
	os_socket_close(share(peer, 0, false));
	wait_for_end(peer);
}

static void share_in_vain_with_a_file(struct queue_peer *peer)
{
	os_socket_close(share(peer, EIO, true));
	wait_for_end(peer);
}

static void hang_up_on_share(struct queue_peer *peer)
{
	give_number(peer);
	hear_share(peer);
}

static void run_with(size_t size, script *what)
{
	struct buffer data = {0};

	fill(&data, size);
	play.commits = true;
	play.recipients = 1;
	play.data = buffer_view(&data);
	run(what);
	play.commits = false;
	play.data = STR("");
	buffer_clear(&data);
}

static void small_messages_go_by_value(void **state)
{
	static const struct {
		size_t size, parts;
	} cases[] = {{0, 0}, {6, 0}, {56000, 0}, {QUEUE_BY_VALUE_MAX, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		run_with(cases[i].size, commit_by_value);
		expect(2, 0, 0);
		assert_int_equal(parts_heard, cases[i].parts);
	}
}

static void large_messages_get_a_file(void **state)
{
	static const struct {
		script *script;
		int result;
	} cases[] = {{commit_shared, 0},
		     {share_in_vain, -EIO},
		     {share_without_a_file, -ENOTCONN},
		     {share_in_vain_with_a_file, -ENOTCONN},
		     {hang_up_on_share, -ENOTCONN}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		run_with(QUEUE_BY_VALUE_MAX + 1, cases[i].script);
		expect(2, 0, cases[i].result);
	}
}

static void take_back(struct queue_peer *peer)
{
	give_number(peer);
	assert_int_equal(hear_all_but_open(peer), QUEUE_PROTOCOL_ABANDON);
	assert_true(str_equal(buffer_view(&peer->body), STR("\xc9\1\0\0\0\0\0\0")));
}

static void a_message_is_given_up(void **state)
{
	(void)state;
	play.abandons = true;
	run(take_back);
	expect(1, 0, 0);
	play.abandons = false;
	play.commits = true;
	play.recipients = 0; /* that is no envelope */
	run(take_back);
	expect(2, 0, -EINVAL);
	play.commits = false;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(commits_are_answered),
		TEST(commits_of_a_turn_go_together),
		TEST(an_envelope_that_is_too_long_is_refused),
		TEST(a_commit_without_an_answer_fails),
		TEST(numbers_are_those_of_one_connection),
		TEST(what_breaks_the_rules_ends_the_connection),
		TEST(small_messages_go_by_value),
		TEST(large_messages_get_a_file),
		TEST(a_message_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
