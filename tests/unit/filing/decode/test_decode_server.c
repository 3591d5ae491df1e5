// SPDX-License-Identifier: ISC
/* What "decode" answers and refuses: answers of each length, which come in as few packets as may
 * be; contents by value and by descriptor, in parts; each packet that breaks a rule. What is
 * decoded is played here. */
#include "base/buffer.h"
#include "filing/decode/mime.h"
#include "filing/decode/protocol.h"
#include "filing/decode/server.h"
#include "filing/decode/wire.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	struct ipc_tokens tokens;
	struct decode_server *server;
	struct ipc_channel *channel; /* of the client; NULL: it is closed */
	unsigned lost, ends, parts;
	uint32_t tag;
	struct buffer answer;
	/* what is decoded */
	size_t length; /* of the subject, which is the answer */
	unsigned decoded;
	struct buffer content; /* the last one */
} world;

static char subject[3 * IPC_BODY_MAX];

void decode_mime(const struct ipc_content *content, struct arena *arena,
		 struct decode_message *message_out)
{
	static char block[4096];

	(void)arena;
	world.decoded++;
	buffer_reset(&world.content);
	while (world.content.length < content->size) {
		struct str part;

		assert_int_equal(
			ipc_content_read(content, world.content.length, block, sizeof block, &part),
			0);
		assert_true(part.length > 0);
		buffer_append_str(&world.content, part);
	}
	*message_out = (struct decode_message){.subject = str_slice(subject, world.length)};
}

/* --- a client --- */

static void on_decode_answer(void *context, struct ipc_channel *channel,
			     struct ipc_message *message)
{
	(void)context;
	(void)channel;
	assert_int_equal(message->tag, world.tag);
	assert_true(message->type == DECODE_PART || message->type == DECODE_END);
	buffer_append_str(&world.answer, message->body);
	if (message->type == DECODE_PART) {
		assert_int_equal(message->body.length, IPC_BODY_MAX);
		world.parts++;
		return;
	}
	world.ends++;
	os_loop_stop(world.loop);
}

static void on_decode_refused(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
	world.lost++;
	os_loop_stop(world.loop);
}

static void on_decode_wait_end(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

static void connect_client(void)
{
	static const struct ipc_channel_handler handler = {on_decode_answer, on_decode_refused};
	int socket = os_socket_connect_unix("s", SOCK_SEQPACKET);

	assert_true(socket >= 0);
	ipc_channel_close(world.channel);
	world.channel = ipc_channel_new(world.loop, socket, &handler, NULL);
}

static void send_hello(const char *token)
{
	struct buffer body = {0};

	pack_str(&body, str_from(token));
	ipc_channel_send(world.channel, DECODE_HELLO, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void send_question(uint32_t tag, uint64_t size, const int *file)
{
	struct buffer body = {0};

	pack_u64(&body, size);
	ipc_channel_send(world.channel, DECODE_ASK, tag, buffer_view(&body), file, file != NULL);
	buffer_clear(&body);
	world.tag = tag;
}

/* Until an answer has ended, or the connection has: whether it is an answer. */
static bool await_end(void)
{
	world.lost = world.ends = world.parts = 0;
	buffer_reset(&world.answer);
	os_timer_start(world.enough, 30000000);
	os_loop_run(world.loop);
	os_timer_stop(world.enough);
	assert_int_equal(world.lost + world.ends, 1);
	return world.ends == 1;
}

static void begin_connection(void)
{
	connect_client();
	send_hello("secret");
}

/* --- answers --- */

static size_t wire_of(size_t length, struct buffer *out)
{
	const struct decode_message message = {.subject = str_slice(subject, length)};

	buffer_reset(out);
	decode_wire_append(out, &message);
	return out->length;
}

static void answers_of_each_length(void **state)
{
	struct buffer wire = {0};
	const size_t more = wire_of(0, &wire); /* than the subject */

	(void)state;
	begin_connection();
	for (size_t packets = 1; packets <= 2; packets++)
		for (int around = -2; around <= 2; around++) {
			size_t whole = (size_t)((long)(packets * IPC_BODY_MAX) + around);

			world.length = whole - more;
			assert_int_equal(wire_of(world.length, &wire), whole);
			send_question(7, 0, NULL);
			assert_true(await_end());
			assert_int_equal(world.parts, (whole - 1) / IPC_BODY_MAX);
			assert_true(str_equal(buffer_view(&world.answer), buffer_view(&wire)));
		}
	world.length = 0;
	send_question(8, 0, NULL);
	assert_true(await_end());
	assert_int_equal(world.parts, 0);
	buffer_clear(&wire);
}

/* --- contents --- */

/* In parts of PART bytes; which answer is whose is told by the tag. */
static void send_content(uint32_t tag, size_t length, size_t part)
{
	static char text[DECODE_BY_VALUE_MAX];

	for (size_t i = 0; i < length; i++)
		text[i] = (char)(i * 31 + length);
	send_question(tag, length, NULL);
	for (size_t sent = 0; sent < length; sent += part)
		ipc_channel_send(
			world.channel, DECODE_CONTENT, tag,
			str_slice(text + sent, length - sent < part ? length - sent : part), NULL,
			0);
	assert_true(await_end());
	assert_true(str_equal(buffer_view(&world.content), str_slice(text, length)));
}

static void contents_in_parts(void **state)
{
	static const size_t lengths[] = {
		0, 1, 2, 1000, IPC_BODY_MAX, IPC_BODY_MAX + 1, DECODE_BY_VALUE_MAX};

	(void)state;
	begin_connection();
	for (size_t i = 0; i < COUNT_OF(lengths); i++)
		for (size_t part = 1; part <= IPC_BODY_MAX; part = part * 40 - 1)
			if (lengths[i] / part < 1000)
				send_content((uint32_t)(i * 10 + part), lengths[i], part);
}

static void contents_by_descriptor(void **state)
{
	int file = memfd_create("content", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(file, "a content", 9), 9);
	begin_connection();
	for (uint64_t size = 0; size <= 9; size++) {
		send_question(3, size, &file);
		assert_true(await_end());
		assert_true(str_equal(buffer_view(&world.content),
				      str_slice("a content", (size_t)size)));
	}
	close(file);
}

/* --- what breaks a rule --- */

static void ask_before_hello(void)
{
	connect_client();
	send_question(1, 0, NULL);
}

static void hello_with_another_token(void)
{
	connect_client();
	send_hello("secreT");
}

static void hello_twice(void)
{
	begin_connection();
	send_hello("secret");
}

static void hello_with_more(void)
{
	struct buffer body = {0};

	connect_client();
	pack_str(&body, STR("secret"));
	buffer_append_byte(&body, '\0');
	ipc_channel_send(world.channel, DECODE_HELLO, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void hello_with_descriptor(void)
{
	const int file = STDERR_FILENO;
	struct buffer body = {0};

	connect_client();
	pack_str(&body, STR("secret"));
	ipc_channel_send(world.channel, DECODE_HELLO, 0, buffer_view(&body), &file, 1);
	buffer_clear(&body);
}

static void question_too_short(void)
{
	begin_connection();
	ipc_channel_send(world.channel, DECODE_ASK, 1, STR("1234567"), NULL, 0);
}

static void question_too_long(void)
{
	begin_connection();
	ipc_channel_send(world.channel, DECODE_ASK, 1, STR("\0\0\0\0\0\0\0\0\0"), NULL, 0);
}

static void question_twice(void)
{
	begin_connection();
	send_question(1, 1, NULL);
	send_question(2, 1, NULL);
}

static void content_too_large_by_value(void)
{
	begin_connection();
	send_question(1, DECODE_BY_VALUE_MAX + 1, NULL);
}

static void content_of_negative_size(void)
{
	const int file = STDERR_FILENO;

	begin_connection();
	send_question(1, (uint64_t)INT64_MAX + 1, &file);
}

static void two_descriptors(void)
{
	const int files[] = {STDERR_FILENO, STDERR_FILENO};
	struct buffer body = {0};

	begin_connection();
	pack_u64(&body, 0);
	ipc_channel_send(world.channel, DECODE_ASK, 1, buffer_view(&body), files, 2);
	buffer_clear(&body);
}

static void content_without_question(void)
{
	begin_connection();
	ipc_channel_send(world.channel, DECODE_CONTENT, 0, STR(""), NULL, 0);
}

static void content_of_another(void)
{
	begin_connection();
	send_question(1, 3, NULL);
	ipc_channel_send(world.channel, DECODE_CONTENT, 2, STR("abc"), NULL, 0);
}

static void more_content_than_said(void)
{
	begin_connection();
	send_question(1, 3, NULL);
	ipc_channel_send(world.channel, DECODE_CONTENT, 1, STR("ab"), NULL, 0);
	ipc_channel_send(world.channel, DECODE_CONTENT, 1, STR("cd"), NULL, 0);
}

static void content_with_descriptor(void)
{
	const int file = STDERR_FILENO;

	begin_connection();
	send_question(1, 3, NULL);
	ipc_channel_send(world.channel, DECODE_CONTENT, 1, STR("abc"), &file, 1);
}

static void packet_of_the_server(void)
{
	begin_connection();
	ipc_channel_send(world.channel, DECODE_PART, 1, STR(""), NULL, 0);
}

static void what_breaks_a_rule(void **state)
{
	static void (*const rows[])(void) = {
		ask_before_hello,         hello_with_another_token, hello_twice,
		hello_with_more,          hello_with_descriptor,    question_too_short,
		question_too_long,        question_twice,           content_too_large_by_value,
		content_of_negative_size, two_descriptors,          content_without_question,
		content_of_another,       more_content_than_said,   content_with_descriptor,
		packet_of_the_server,
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		world.decoded = 0;
		rows[i]();
		if (await_end() || world.decoded > 0)
			fail_msg("%zu", i);
	}
	begin_connection(); /* the server goes on */
	send_content(1, 10, 3);
}

static char directory[SCRATCH_SIZE];
static int listening = -1;

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	memset(&world, 0, sizeof world);
	memset(subject, 's', sizeof subject);
	if (scratch_make(directory) != 0 || chdir(directory) != 0)
		return -1;
	assert_true(ipc_tokens_add(&world.tokens, STR("mailbox"), STR("secret")));
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_decode_wait_end, NULL);
	listening = os_socket_listen_unix("s", SOCK_SEQPACKET, 0600);
	assert_int_equal(decode_server_new(world.loop, listening, &world.tokens, &world.server), 0);
	decode_server_set_user(world.server, getuid());
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ipc_channel_close(world.channel);
	decode_server_free(world.server);
	decode_server_free(NULL);
	os_timer_free(world.enough);
	os_loop_free(world.loop);
	buffer_clear(&world.answer);
	buffer_clear(&world.content);
	close(listening);
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(answers_of_each_length),
		CASE(contents_in_parts),
		CASE(contents_by_descriptor),
		CASE(what_breaks_a_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
