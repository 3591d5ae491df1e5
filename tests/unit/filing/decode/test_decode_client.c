// SPDX-License-Identifier: ISC
/* Both sides of filing/decode/protocol.h on a real loop, and what a client makes of a "decode" that
 * dies or was taken over. */
#include "base/timestamp.h"
#include "decode_text.h"
#include "filing/decode/apart.h"
#include "filing/decode/client.h"
#include "filing/decode/mime.h"
#include "filing/decode/protocol.h"
#include "filing/decode/server.h"
#include "filing/decode/wire.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 60, ASKS_MAX = 64, SILENT = 1000 };

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	char folder[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	int listening;
	struct ipc_tokens tokens;
	struct decode_server *server;
	struct decode_client *client;
	unsigned answered;
	unsigned expected; /* answers, or losses, until the loop stops */
	/* a "decode" of this test's */
	struct ipc_listener *listener;
	struct ipc_channel *channel;
	struct str says; /* at each question, in DECODE_END; no data: it hangs up */
	unsigned asked;
	unsigned listens; /* to so many questions before it says something or hangs up */
	bool stops_when_lost;
	bool stops_when_asked;
	uint32_t tags[ASKS_MAX]; /* of the questions */
	unsigned replaced;
	struct os_timer *slow;
	unsigned slowly;           /* answers */
	struct ipc_channel *other; /* to another one of this test's */
} world;

struct asked {
	struct ipc_content content;
	struct decode_question *question;
	unsigned done;
	unsigned place;                   /* in the order of the answers: 1, 2 */
	unsigned asked_before;            /* as world.asked at its answer */
	struct decode_question **cancels; /* when it is answered */
	struct buffer answer;             /* decode_text_append(), with a NUL */
};

static void one_less(void)
{
	if (--world.expected == 0)
		os_loop_stop(world.loop);
}

static void on_enough(void *context)
{
	(void)context;
	fail_msg("nothing happens");
}

static void run_within(unsigned expected, int64_t most_us)
{
	world.expected = expected;
	os_timer_start(world.enough, most_us);
	os_loop_run(world.loop);
	os_timer_stop(world.enough);
}

static void run(unsigned expected)
{
	run_within(expected, PATIENCE_SECONDS * SECOND_US);
}

static void on_replace(const char *socket)
{
	assert_string_equal(socket, "decode");
	world.replaced++;
}

static int begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(world.folder), 0);
	(void)snprintf(world.path, sizeof world.path, "%s/decode", world.folder);
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	world.listening = os_socket_listen_unix(world.path, SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
	assert_true(ipc_tokens_add(&world.tokens, STR("mailbox"), STR("secret")));
	world.client = decode_client_new(world.loop, world.folder, STR("secret"), on_replace);
	return 0;
}

static int end(void **state)
{
	(void)state;
	decode_client_free(world.client);
	decode_server_free(world.server);
	ipc_listener_free(world.listener);
	ipc_channel_close(world.channel);
	os_socket_close(world.listening);
	os_timer_free(world.enough);
	os_loop_free(world.loop);
	return scratch_remove(world.folder);
}

static void serve(void)
{
	assert_int_equal(
		decode_server_new(world.loop, world.listening, &world.tokens, &world.server), 0);
	decode_server_set_user(world.server, getuid());
}

static void on_done(void *context, const struct decode_message *message)
{
	struct asked *asked = context;

	asked->done++;
	asked->asked_before = world.asked;
	asked->place = ++world.answered;
	if (asked->cancels != NULL)
		decode_client_cancel(*asked->cancels);
	decode_text_append(&asked->answer, message);
	buffer_append_byte(&asked->answer, '\0');
	one_less();
}

static void ask_content(struct asked *asked)
{
	asked->question = decode_client_ask(world.client, &asked->content, on_done, asked);
	assert_int_equal(asked->done, 0);
}

static void ask(struct asked *asked, struct str text)
{
	*asked = (struct asked){.content = {.bytes = text, .file = -1, .size = text.length}};
	ask_content(asked);
}

static void assert_answer(struct asked *asked, const char *answer)
{
	assert_int_equal(asked->done, 1);
	assert_string_equal(buffer_data(&asked->answer), answer);
	buffer_clear(&asked->answer);
}

/* --- with the real one --- */

static void questions_are_answered_in_order(void **state)
{
	struct asked asked[3];

	(void)state;
	serve();
	ask(&asked[0], STR("Subject: a\n\nx"));
	ask(&asked[1], STR(""));
	ask(&asked[2], STR("Subject: c\n\nxyz"));
	run(3);
	for (unsigned i = 0; i < COUNT_OF(asked); i++)
		assert_int_equal(asked[i].place, i + 1);
	assert_answer(&asked[0], "subject a\npart 1 text/plain - - 1 -\n");
	assert_answer(&asked[1], "problem this is no message\n");
	assert_answer(&asked[2], "subject c\npart 1 text/plain - - 3 -\n");
}

static void large_contents_come_in_packets_or_as_files(void **state)
{
	struct buffer text = {0};
	struct asked by_value;
	struct asked by_file = {0};
	char path[SCRATCH_SIZE + 16];
	int file;

	(void)state;
	serve();
	buffer_append_string(&text, "Subject: large\r\n\r\n");
	while (text.length < DECODE_BY_VALUE_MAX)
		buffer_append_byte(&text, text.length % 64 == 0 ? '\n' : 'x');
	(void)snprintf(path, sizeof path, "%s/message", world.folder);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(file, buffer_data(&text), text.length), text.length);
	ask(&by_value, buffer_view(&text));
	by_file.content = (struct ipc_content){.file = file, .size = text.length};
	ask_content(&by_file);
	run(2);
	assert_string_equal(buffer_data(&by_value.answer), buffer_data(&by_file.answer));
	assert_answer(&by_value, "subject large\npart 1 text/plain - - 1064941 -\n");
	/* a file that is shorter than it should be */
	by_file.done = 0;
	buffer_reset(&by_file.answer);
	by_file.content.size += 10;
	ask_content(&by_file);
	run(1);
	assert_non_null(strstr(buffer_data(&by_file.answer), "problem the message cannot be read"));
	buffer_clear(&by_file.answer);
	(void)close(file);
	buffer_clear(&text);
}

/* More than a packet holds. */
static void large_answers_come_whole(void **state)
{
	struct buffer text = {0};
	struct asked asked;
	size_t lines = 0;

	(void)state;
	serve();
	buffer_append_string(&text, "Content-Type: multipart/mixed; boundary=x\n\n");
	for (size_t i = 0; i < 700; i++) {
		buffer_append_string(&text, "--x\nContent-Type: text/plain; name=");
		for (size_t j = 0; j < 900; j++)
			buffer_append_byte(&text, 'n');
		buffer_append_string(&text, "\n\nx\n");
	}
	ask(&asked, buffer_view(&text));
	run(1);
	for (const char *at = buffer_data(&asked.answer); (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(lines, 702);
	assert_true(asked.answer.length > 10 * IPC_BODY_MAX);
	buffer_clear(&asked.answer);
	buffer_clear(&text);
}

static void cancelled_questions_are_not_answered(void **state)
{
	struct asked asked[4];

	(void)state;
	serve();
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		ask(&asked[i], STR("Subject: a\n\nx"));
	decode_client_cancel(asked[2].question);
	asked[0].cancels = &asked[1].question; /* which was asked */
	run(2);
	assert_answer(&asked[0], "subject a\npart 1 text/plain - - 1 -\n");
	assert_int_equal(asked[1].done, 0);
	assert_int_equal(asked[2].done, 0);
	assert_answer(&asked[3], "subject a\npart 1 text/plain - - 1 -\n");
}

/* --- strangers --- */

static void on_stranger(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context;
	(void)channel;
	fail_msg("a stranger got packet %d", message->type);
}

static void on_stranger_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	one_less();
}

struct words {
	uint16_t type;
	struct str body;
	bool has_file;
};

/* Says WORDS after the right token, if it IS_KNOWN, and must be disconnected without an answer. */
static void assert_refused(bool is_known, const struct words *words, size_t count)
{
	static const struct ipc_channel_handler handler = {on_stranger, on_stranger_lost};
	int socket = os_socket_connect_unix(world.path, SOCK_SEQPACKET);
	struct ipc_channel *channel;
	struct buffer token = {0};

	assert_true(socket >= 0);
	channel = ipc_channel_new(world.loop, socket, &handler, NULL);
	pack_str(&token, STR("secret"));
	if (is_known)
		ipc_channel_send(channel, DECODE_HELLO, 0, buffer_view(&token), NULL, 0);
	for (size_t i = 0; i < count; i++)
		ipc_channel_send(channel, words[i].type, 7, words[i].body, &(int){0},
				 words[i].has_file);
	run(1);
	buffer_clear(&token);
}

#define ASK(size) STR(size "\0\0\0\0\0\0\0")

static void strangers_are_refused(void **state)
{
	const struct words token = {DECODE_HELLO, STR("\6\0\0\0secret"), false};
	const struct words wrong = {DECODE_HELLO, STR("\6\0\0\0secreT"), false};
	const struct words file = {DECODE_HELLO, STR("\6\0\0\0secret"), true};
	const struct words other = {99, STR(""), false};
	const struct words part = {DECODE_CONTENT, STR("xx"), false};
	const struct words asks[] = {{DECODE_ASK, ASK("\5"), false},
				     {DECODE_ASK, ASK("\5"), false}};
	const struct words small[] = {{DECODE_ASK, ASK("\1"), false}, part};
	const struct words huge = {DECODE_ASK, STR("\0\0\0\1\0\0\0\0"), false};
	const struct words negative = {DECODE_ASK, STR("\0\0\0\0\0\0\0\xff"), true};

	(void)state;
	serve();
	assert_refused(false, &wrong, 1);
	assert_refused(false, &file, 1);
	assert_refused(false, asks, 1);
	assert_refused(false, &part, 1);
	assert_refused(true, &token, 1);
	assert_refused(true, &other, 1);
	assert_refused(true, &part, 1);
	assert_refused(true, asks, 2);
	assert_refused(true, small, 2);
	assert_refused(true, &huge, 1);
	assert_refused(true, &negative, 1);
	decode_server_set_user(world.server, getuid() + 1);
	assert_refused(true, NULL, 0);
}

/* --- with one that dies or lies --- */

static void fake_hang_up(void)
{
	ipc_channel_close(world.channel);
	world.channel = NULL;
}

/* To question NUMBER of all that were asked. */
static void fake_answer(unsigned number, uint16_t type)
{
	const struct decode_message none = {.subject = STR(""), .problem = STR("nothing")};
	struct buffer says = {0};

	decode_wire_append(&says, &none);
	ipc_channel_send(world.channel, type, world.tags[number], buffer_view(&says), NULL, 0);
	buffer_clear(&says);
}

static void on_fake_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context;
	if (message->type != DECODE_ASK)
		return;
	assert_true(world.asked < ASKS_MAX);
	world.tags[world.asked++] = message->tag;
	if (world.stops_when_asked)
		one_less();
	if (world.asked < world.listens)
		return;
	if (world.says.data != NULL) {
		ipc_channel_send(channel, DECODE_END, message->tag, world.says, NULL, 0);
		return;
	}
	fake_hang_up();
	if (world.stops_when_lost)
		one_less();
}

static void on_fake_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
}

static void on_fake_client(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_fake_message, on_fake_lost};

	(void)context;
	world.channel = ipc_channel_new(world.loop, socket, &handler, NULL);
}

static void fake_listen(unsigned listens)
{
	world.listener = ipc_listener_new(world.loop, world.listening, on_fake_client, NULL);
	world.listens = listens;
}

/* The second time behind the others, which are asked first. */
static void a_message_over_which_it_dies_is_a_problem(void **state)
{
	struct asked asked[2];

	(void)state;
	fake_listen(0);
	ask(&asked[0], STR("Subject: deadly\n\nx"));
	ask(&asked[1], STR("Subject: b\n\nx"));
	run(1);
	assert_int_equal(world.asked, 3);
	assert_answer(&asked[0], "problem the decoder crashed on it\n");
	assert_int_equal(asked[1].done, 0);
	/* the next one is asked as usual */
	ipc_listener_free(world.listener);
	world.listener = NULL;
	serve();
	run(1);
	assert_answer(&asked[1], "subject b\npart 1 text/plain - - 1 -\n");
}

static void several_questions_are_asked_at_once(void **state)
{
	struct asked asked[3];
	const char *answers[] = {"subject a\npart 1 text/plain - - 1 -\n",
				 "subject b\npart 1 text/plain - - 1 -\n",
				 "subject c\npart 1 text/plain - - 1 -\n"};

	(void)state;
	world.listener = ipc_listener_new(world.loop, world.listening, on_fake_client, NULL);
	world.listens = 3;
	ask(&asked[0], STR("Subject: a\n\nx"));
	ask(&asked[1], STR("Subject: b\n\nx"));
	ask(&asked[2], STR("Subject: c\n\nx"));
	world.stops_when_lost = true;
	run(1);
	assert_int_equal(world.asked, 3);
	/* after the loss they are asked again */
	ipc_listener_free(world.listener);
	world.listener = NULL;
	serve();
	run(3);
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		assert_answer(&asked[i], answers[i]);
}

/* Those behind it are not blamed, are asked together, and before it. */
static void after_a_loss_the_first_one_is_asked_alone(void **state)
{
	struct asked asked[4];

	(void)state;
	fake_listen(4);
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		ask(&asked[i], STR("Subject: a\n\nx"));
	world.stops_when_lost = true;
	run(1);
	world.listens = SILENT;
	world.stops_when_asked = true;
	run(3);
	fake_answer(4, DECODE_END);
	fake_answer(5, DECODE_END);
	run(2);
	assert_answer(&asked[1], "problem nothing\n");
	assert_answer(&asked[2], "problem nothing\n");
	assert_int_equal(world.asked, 7);
	fake_answer(6, DECODE_END);
	run(2); /* that answer, and the first one is asked */
	assert_answer(&asked[3], "problem nothing\n");
	assert_int_equal(world.asked, 8);
	fake_answer(7, DECODE_END);
	run(1);
	assert_answer(&asked[0], "problem nothing\n");
}

/* What was asked before it, and cancelled, may have been the one. */
static void who_is_asked_behind_a_cancelled_one_is_not_blamed(void **state)
{
	struct asked asked[2];

	(void)state;
	fake_listen(SILENT);
	world.stops_when_asked = true;
	ask(&asked[0], STR("Subject: deadly\n\nx"));
	ask(&asked[1], STR("Subject: innocent\n\nx"));
	run(2);
	decode_client_cancel(asked[0].question);
	for (unsigned i = 0; i < 2; i++) {
		fake_hang_up();
		run(1); /* it is asked again */
		assert_int_equal(asked[1].done, 0);
	}
	fake_answer(3, DECODE_END);
	run(1);
	assert_answer(&asked[1], "problem nothing\n");
	assert_int_equal(asked[0].done, 0);
}

/* So those behind it are asked together, by whoever comes next. */
static void who_says_that_it_takes_too_long_blames_one(void **state)
{
	struct asked asked[3];

	(void)state;
	fake_listen(SILENT);
	world.stops_when_asked = true;
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		ask(&asked[i], STR("Subject: long\n\nx"));
	run(3);
	fake_answer(0, DECODE_LAST);
	run(1);
	assert_answer(&asked[0], "problem nothing\n");
	assert_int_equal(world.asked, 3);
	fake_hang_up();
	run(2);
	fake_answer(3, DECODE_END);
	fake_answer(4, DECODE_END);
	run(2);
	assert_answer(&asked[1], "problem nothing\n");
	assert_answer(&asked[2], "problem nothing\n");
	assert_int_equal(world.replaced, 0);
}

/* One message: the others have its successor. */
static void one_that_keeps_silent_is_replaced(void **state)
{
	struct asked asked[2];

	(void)state;
	fake_listen(SILENT);
	ask(&asked[0], STR("Subject: it was taken over by this one\n\nx"));
	ask(&asked[1], STR("Subject: b\n\nx"));
	run(1);
	assert_answer(&asked[0], "problem it was not decoded in time\n");
	assert_int_equal(world.replaced, 1);
	assert_int_equal(world.asked, 2); /* it is not trusted with another one */
	fake_answer(1, DECODE_END);       /* what it says now is not heard */
	fake_hang_up();
	world.stops_when_asked = true;
	run(1);
	assert_int_equal(asked[1].done, 0);
	fake_answer(2, DECODE_END);
	run(1);
	assert_answer(&asked[1], "problem nothing\n");
}

/* --- with two of them --- */

static void on_other_message(void *context, struct ipc_channel *channel,
			     struct ipc_message *message)
{
	const struct decode_message none = {.subject = STR(""), .problem = STR("by the other")};
	struct buffer says = {0};

	(void)context;
	if (message->type != DECODE_ASK)
		return;
	decode_wire_append(&says, &none);
	ipc_channel_send(channel, DECODE_END, message->tag, buffer_view(&says), NULL, 0);
	buffer_clear(&says);
}

static void on_other_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.other = NULL;
}

static void on_other_client(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_other_message, on_other_lost};

	(void)context;
	world.other = ipc_channel_new(world.loop, socket, &handler, NULL);
}

/* The first one may be as slow as it likes: what was asked behind it waits for a second. */
static void what_waits_behind_a_late_one_is_asked_elsewhere(void **state)
{
	struct asked asked[5];
	char path[SCRATCH_SIZE + 16];
	struct ipc_listener *listener;
	int listening;

	(void)state;
	fake_listen(SILENT);
	world.stops_when_asked = true;
	for (size_t i = 0; i < 4; i++)
		ask(&asked[i], STR("Subject: a\n\nx"));
	run(4);
	decode_client_cancel(asked[3].question);
	(void)snprintf(path, sizeof path, "%s/decode2", world.folder);
	listening = os_socket_listen_unix(path, SOCK_SEQPACKET, 0600);
	listener = ipc_listener_new(world.loop, listening, on_other_client, NULL);
	run_within(2, 5 * SECOND_US / 2);
	assert_answer(&asked[1], "problem by the other\n");
	assert_answer(&asked[2], "problem by the other\n");
	assert_true(asked[1].place < asked[2].place);
	ask(&asked[4], STR("Subject: new\n\nx"));
	run_within(1, SECOND_US);
	assert_answer(&asked[4], "problem by the other\n");
	assert_int_equal(world.asked, 4);
	assert_int_equal(asked[0].done, 0);
	assert_int_equal(world.replaced, 0);
	/* whoever was slow goes on where it is: what it says of others is not heard twice */
	for (unsigned i = 0; i < 4; i++)
		fake_answer(i, DECODE_END);
	run(1);
	assert_answer(&asked[0], "problem nothing\n");
	assert_int_equal(asked[1].done, 1);
	assert_int_equal(asked[3].done, 0);
	ipc_listener_free(listener);
	ipc_channel_close(world.other);
	os_socket_close(listening);
}

/* --- with none --- */

/* Whatever waits is filed without it, and what comes later waits no time. */
static void without_any_decoder_nothing_waits_long(void **state)
{
	struct asked asked[ASKS_MAX];

	(void)state;
	assert_int_equal(unlink(world.path), 0);
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		ask(&asked[i], STR("Subject: a\n\nx"));
	run(COUNT_OF(asked));
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		assert_answer(&asked[i], "problem no decoder was free in time\n");
	for (size_t i = 0; i < 4; i++) {
		ask(&asked[0], STR("Subject: a\n\nx"));
		run_within(1, SECOND_US);
		assert_answer(&asked[0], "problem no decoder was free in time\n");
	}
}

static void on_slow(void *context)
{
	(void)context;
	fake_answer(world.slowly++, DECODE_END);
	os_timer_start(world.slow, 5 * SECOND_US / 2);
}

/* It answers as late as it may. */
static void behind_a_slow_one_nothing_waits_long(void **state)
{
	struct asked asked[12];
	unsigned given_up = 0;

	(void)state;
	fake_listen(SILENT);
	world.slow = os_timer_new(world.loop, on_slow, NULL);
	os_timer_start(world.slow, 5 * SECOND_US / 2);
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		ask(&asked[i], STR("Subject: a\n\nx"));
	run(COUNT_OF(asked));
	os_timer_free(world.slow);
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		given_up += strstr(buffer_data(&asked[i].answer), "no decoder was free") != NULL;
		buffer_clear(&asked[i].answer);
	}
	assert_in_range(given_up, 5, 8); /* the others within fifteen seconds */
	assert_int_equal(world.replaced, 0);
}

static void an_answer_that_is_malformed_is_a_problem(void **state)
{
	struct asked asked;

	(void)state;
	world.listener = ipc_listener_new(world.loop, world.listening, on_fake_client, NULL);
	world.says = STR("\1\0\0\0\x01 and no more");
	ask(&asked, STR("Subject: a\n\nx"));
	run(1);
	assert_int_equal(world.asked, 2);
	assert_answer(&asked, "problem the decoder crashed on it\n");
	assert_int_equal(world.replaced, 2);
}

/* --- in a process of its own --- */

static void decode_alone(const char *program, struct str text, const char *expected)
{
	struct ipc_content content = {.bytes = text, .file = -1, .size = text.length};
	struct arena *arena = arena_new();
	struct buffer answer = {0};
	struct decode_message message;

	decode_apart(program, &content, arena, &message);
	decode_text_append(&answer, &message);
	buffer_append_byte(&answer, '\0');
	assert_string_equal(buffer_data(&answer), expected);
	buffer_clear(&answer);
	arena_free(arena);
}

static void a_command_has_a_process_of_its_own(void **state)
{
	const char *program = getenv("DECODE");
	char path[SCRATCH_SIZE + 16];
	struct buffer large = {0};
	int file;

	(void)state;
	assert_non_null(program);
	decode_alone(program, STR("Subject: =?gb18030?B?xOO6ww==?=\n\nx"),
		     "subject \xe4\xbd\xa0\xe5\xa5\xbd\npart 1 text/plain - - 1 -\n");
	decode_alone(program, STR(""), "problem this is no message\n");
	buffer_append_string(&large, "Subject: large\r\n\r\n");
	while (large.length < 3000000)
		buffer_append_string(&large, "0123456789012345678901234567890123456789012345678\n");
	decode_alone(program, buffer_view(&large),
		     "subject large\npart 1 text/plain - - 3060000 -\n");
	buffer_clear(&large);
	/* one that cannot be started, one that dies, one that says something else, and too much */
	decode_alone("/nowhere", STR("x"), "problem the decoder crashed on it\n");
	decode_alone("/bin/false", STR("x"), "problem the decoder crashed on it\n");
	decode_alone("/bin/echo", STR("x"), "problem the decoder crashed on it\n");
	(void)snprintf(path, sizeof path, "%s/endless", world.folder);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	assert_int_equal(write(file, "#!/bin/sh\nexec yes\n", 19), 19);
	assert_int_equal(close(file), 0);
	decode_alone(path, STR("x"), "problem the decoder's answer is too long\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(questions_are_answered_in_order),
		TEST(large_contents_come_in_packets_or_as_files),
		TEST(large_answers_come_whole),
		TEST(cancelled_questions_are_not_answered),
		TEST(strangers_are_refused),
		TEST(a_message_over_which_it_dies_is_a_problem),
		TEST(several_questions_are_asked_at_once),
		TEST(after_a_loss_the_first_one_is_asked_alone),
		TEST(who_is_asked_behind_a_cancelled_one_is_not_blamed),
		TEST(who_says_that_it_takes_too_long_blames_one),
		TEST(one_that_keeps_silent_is_replaced),
		TEST(what_waits_behind_a_late_one_is_asked_elsewhere),
		TEST(without_any_decoder_nothing_waits_long),
		TEST(behind_a_slow_one_nothing_waits_long),
		TEST(an_answer_that_is_malformed_is_a_problem),
		TEST(a_command_has_a_process_of_its_own),
	};

	os_process_ignore_pipe_signal();
	decode_mime_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
