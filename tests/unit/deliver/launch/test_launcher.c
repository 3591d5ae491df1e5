// SPDX-License-Identifier: ISC
/* What "launch" does for a "pipe" that behaves, and for one that was taken over. */
#include "config/text.h"
#include "deliver/launch/launch.h"
#include "deliver/launch/launcher.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEARD_MAX = 16 };

struct heard {
	unsigned type; /* 0: the connection was ended */
	uint32_t tag;
	char status[16]; /* of REFUSED */
	char text[200];  /* the same */
	uint32_t exit;   /* of ENDED */
	bool is_late;
	int descriptors[LAUNCH_DESCRIPTORS];
};

static struct {
	char directory[SCRATCH_SIZE];
	struct os_loop *loop;
	struct config *config;
	int listening;
	struct ipc_tokens tokens;
	struct deliver_launcher *launcher;
	struct ipc_channel *channel;
	struct heard heard[HEARD_MAX];
	size_t heard_count;
} world;

static void add(const struct heard *heard)
{
	assert_true(world.heard_count < HEARD_MAX);
	world.heard[world.heard_count++] = *heard;
	os_loop_stop(world.loop);
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct heard heard = {.type = message->type, .tag = message->tag};
	struct unpack body = {message->body, false};

	(void)context;
	(void)channel;
	if (message->type == LAUNCH_REFUSED) {
		struct str status = unpack_str(&body);

		struct str text = unpack_str(&body);

		assert_true(unpack_is_whole(&body));
		snprintf(heard.status, sizeof heard.status, STR_FORMAT, STR_ARGUMENTS(status));
		snprintf(heard.text, sizeof heard.text, STR_FORMAT, STR_ARGUMENTS(text));
	} else if (message->type == LAUNCH_ENDED) {
		heard.exit = unpack_u32(&body);
		heard.is_late = unpack_u32(&body) != 0;
	} else {
		assert_int_equal(message->descriptor_count, LAUNCH_DESCRIPTORS);
		memcpy(heard.descriptors, message->descriptors, sizeof heard.descriptors);
		memset(message->descriptors, -1, sizeof heard.descriptors);
	}
	add(&heard);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	world.channel = NULL;
	add(&(struct heard){.type = 0});
}

static struct heard hear(void)
{
	struct heard first;

	while (world.heard_count == 0)
		os_loop_run(world.loop);
	first = world.heard[0];
	memmove(world.heard, world.heard + 1, --world.heard_count * sizeof first);
	return first;
}

static void call_launcher(void)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};
	char path[SCRATCH_SIZE + 16];

	ipc_channel_close(world.channel);
	snprintf(path, sizeof path, "%s/launch", world.directory);
	world.channel = ipc_channel_new(world.loop, os_socket_connect_unix(path, SOCK_SEQPACKET),
					&handler, NULL);
}

static void say(enum launch_message type, uint32_t tag, struct str body)
{
	ipc_channel_send(world.channel, (uint16_t)type, tag, body, NULL, 0);
}

static void say_hello(struct str token)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, token);
	say(LAUNCH_HELLO, 0, buffer_view(&body));
}

static void pack_order(struct buffer *body, const char *service, struct str sender,
		       struct str recipient)
{
	pack_str(body, str_from(service));
	pack_u64(body, 457);
	pack_u64(body, 1);
	pack_str(body, sender);
	pack_str(body, recipient);
}

static void say_run_from(uint32_t tag, const char *service, struct str sender, struct str recipient)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_order(&body, service, sender, recipient);
	say(LAUNCH_RUN, tag, buffer_view(&body));
}

static void say_run(uint32_t tag, const char *service, struct str recipient)
{
	say_run_from(tag, service, STR("s@a.test"), recipient);
}

static struct heard start(uint32_t tag, const char *service)
{
	struct heard heard;

	say_run(tag, service, STR("ann@b.test"));
	heard = hear();
	assert_int_equal(heard.type, LAUNCH_STARTED);
	assert_int_equal(heard.tag, tag);
	return heard;
}

static void drop(const struct heard *started)
{
	for (size_t i = 0; i < LAUNCH_DESCRIPTORS; i++)
		close(started->descriptors[i]);
}

static void expect_end(uint32_t tag, uint32_t status, bool is_late)
{
	struct heard heard = hear();

	assert_int_equal(heard.type, LAUNCH_ENDED);
	assert_int_equal(heard.tag, tag);
	assert_int_equal(heard.exit, status);
	assert_int_equal(heard.is_late, is_late);
}

static void expect_refusal(uint32_t tag, const char *status)
{
	struct heard heard = hear();

	assert_int_equal(heard.type, LAUNCH_REFUSED);
	assert_int_equal(heard.tag, tag);
	assert_string_equal(heard.status, status);
	assert_true(strlen(heard.text) > 10); /* a sentence for people */
}

/* Root's programs need a user; without root there is no other one. */
static struct config *configure(const char *service)
{
	struct config_problems problems = {0};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct config *config = NULL;
	const char *user = os_process_is_root() ? "nobody" : "";

	buffer_append_format(&text,
			     "hostname = \"mx.test\"\nuser = \"%s\"\nrun = \"%s\"\n"
			     "service %s { kind = pipe command = { \"/bin/cat\" } user = \"%s\" }\n"
			     "service late { kind = pipe command = { \"/bin/cat\" } timeout = 1 "
			     "user = \"%s\" }\n"
			     "service name { kind = pipe command = { \"/bin/echo\", \"%%u\" } "
			     "user = \"%s\" }\n"
			     "service mail { kind = maildir path = \"/nowhere/%%u\" }\n"
			     "transport %s { concurrency = 2 }\n",
			     os_process_is_root() ? "daemon" : "", world.directory, service, user,
			     user, user, service);
	if (config_parse("test", buffer_view(&text), &config, &problems) < 0)
		fail_msg("the configuration is refused");
	config_problems_clear(&problems);
	return config;
}

static int set_up(void **state)
{
	struct deliver_launcher_peer peer = {geteuid(), &world.tokens};
	char path[SCRATCH_SIZE + 16];

	(void)state;
	log_open("test", LOG_ERROR_LEVEL);
	assert_int_equal(scratch_make(world.directory), 0);
	snprintf(path, sizeof path, "%s/launch", world.directory);
	world.loop = os_loop_new();
	world.config = configure("box");
	world.listening = os_socket_listen_unix(path, SOCK_SEQPACKET, 0600);
	assert_true(world.listening >= 0);
	world.tokens.count = 0;
	assert_true(ipc_tokens_add(&world.tokens, STR("pipe"), STR("pipe-1")));
	assert_true(ipc_tokens_add(&world.tokens, STR("local"), STR("local-1")));
	world.launcher = deliver_launcher_new(world.loop, world.listening, world.config, &peer);
	world.heard_count = 0;
	call_launcher();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ipc_channel_close(world.channel);
	world.channel = NULL;
	deliver_launcher_free(world.launcher);
	os_socket_close(world.listening);
	config_free(world.config);
	os_loop_free(world.loop);
	(void)scratch_remove(world.directory);
	return 0;
}

static bool has_ended(const struct heard *started)
{
	struct pollfd process = {.fd = started->descriptors[LAUNCH_PROCESS], .events = POLLIN};

	return poll(&process, 1, 0) == 1;
}

static void a_program_gets_all_of_its_input(void **state)
{
	struct heard started;
	char text[16] = "";

	(void)state;
	say_hello(STR("pipe-1"));
	started = start(7, "box");
	assert_int_equal(write(started.descriptors[LAUNCH_INPUT], "hello", 5), 5);
	close(started.descriptors[LAUNCH_INPUT]);
	say(LAUNCH_WHOLE, 7, STR(""));
	expect_end(7, 0, false);
	assert_true(has_ended(&started));
	assert_int_equal(read(started.descriptors[LAUNCH_OUTPUT], text, sizeof text), 5);
	assert_string_equal(text, "hello");
	started.descriptors[LAUNCH_INPUT] = -1;
	drop(&started);
	say(LAUNCH_WHOLE, 7, STR("")); /* they crossed */
	say(LAUNCH_KILL, 7, STR(""));
	started = start(7, "box");
	say(LAUNCH_KILL, 7, STR(""));
	expect_end(7, 9, false);
	drop(&started);
}

/* Its end is said, and not only closed, as it is when "pipe" dies. */
static void a_part_of_the_input_does_not_end(void **state)
{
	struct pollfd output = {.events = POLLIN};
	struct heard started;
	char path[32];
	char byte;
	int reader;

	(void)state;
	say_hello(STR("pipe-1"));
	started = start(1, "box");
	snprintf(path, sizeof path, "/proc/self/fd/%d", started.descriptors[LAUNCH_INPUT]);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_int_equal(write(started.descriptors[LAUNCH_INPUT], "x", 1), 1);
	output.fd = started.descriptors[LAUNCH_OUTPUT];
	assert_int_equal(poll(&output, 1, -1), 1); /* it runs, and holds no end but its own */
	drop(&started);
	assert_int_equal(read(reader, &byte, 1), -1); /* somebody could still write */
	assert_int_equal(errno, EAGAIN);
	say(LAUNCH_WHOLE, 1, STR(""));
	expect_end(1, 0, false);
	assert_int_equal(read(reader, &byte, 1), 0);
	close(reader);
}

static void its_time_is_limited(void **state)
{
	enum { LATEST_US = 50 * 1000000 }; /* for a second, on a busy machine */
	int64_t begin = os_clock_monotonic_us();
	struct heard started;

	(void)state;
	say_hello(STR("pipe-1"));
	started = start(1, "late");
	expect_end(1, 9, true);
	assert_true(os_clock_monotonic_us() - begin < LATEST_US);
	drop(&started);
}

static void so_is_the_number_of_programs(void **state)
{
	struct heard one;
	struct heard two;

	(void)state;
	say_hello(STR("pipe-1"));
	one = start(1, "box");
	two = start(2, "box");
	say_run(3, "box", STR("ann@b.test"));
	expect_refusal(3, "4.3.0");
	drop(&one);
	call_launcher(); /* those of a lost connection are killed, and count until they are gone */
	say_hello(STR("pipe-1"));
	do {
		say_run(4, "box", STR("ann@b.test"));
		one = hear();
	} while (one.type == LAUNCH_REFUSED);
	assert_int_equal(one.type, LAUNCH_STARTED);
	assert_true(deliver_launcher_running(world.launcher) <= 2);
	drop(&one);
	drop(&two);
}

static void only_what_is_configured_is_run(void **state)
{
	static char long_text[LAUNCH_ADDRESS_MAX + 2];
	static const struct {
		const char *service, *recipient, *status;
	} cases[] = {
		{"none", "ann@b.test", "4.3.5"},      {"", "ann@b.test", "4.3.5"},
		{"mail", "ann@b.test", "4.3.5"},      {"/bin/sh", "ann@b.test", "4.3.5"},
		{"name", "-ann@b.test", "5.1.3"},     {"name", "../ann@b.test", "5.1.3"},
		{"name", "\"a\nb\"@b.test", "5.1.3"}, {"name", "", "5.1.3"},
		{"name", long_text, "5.1.3"},
	};
	struct config *other = configure("other");
	struct deliver_launcher_peer peer = {geteuid(), &world.tokens};

	(void)state;
	memset(long_text, 'a', sizeof long_text - 1);
	memcpy(long_text, "ann@", 4);
	say_hello(STR("pipe-1"));
	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		say_run(i, cases[i].service, str_from(cases[i].recipient));
		expect_refusal(i, cases[i].status);
	}
	say_run_from(1, "name", str_from(long_text), STR("ann@b.test"));
	expect_refusal(1, "5.1.3");
	deliver_launcher_configure(world.launcher, other, &peer);
	say_run(1, "box", STR("ann@b.test"));
	expect_refusal(1, "4.3.5");
	deliver_launcher_drain(world.launcher);
	say_run(2, "other", STR("ann@b.test"));
	expect_refusal(2, "4.3.0");
	deliver_launcher_configure(world.launcher, world.config, &peer);
	config_free(other);
}

/* Whose the run directory is: he could be stopped by a program with his user. */
static void no_program_is_the_supervisors(void **state)
{
	const struct passwd *nobody = getpwnam("nobody");

	(void)state;
	if (!os_process_is_root())
		skip();
	assert_non_null(nobody);
	say_hello(STR("pipe-1"));
	assert_int_equal(chown(world.directory, nobody->pw_uid, (gid_t)-1), 0);
	say_run(1, "box", STR("ann@b.test"));
	expect_refusal(1, "4.3.5");
	assert_int_equal(chown(world.directory, 0, (gid_t)-1), 0);
}

static void say_trailing(void)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_order(&body, "box", STR(""), STR("ann@b.test"));
	pack_u32(&body, 1);
	say_hello(STR("pipe-1"));
	say(LAUNCH_RUN, 1, buffer_view(&body));
}

static void say_with_descriptor(void)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	int given = STDIN_FILENO;

	pack_order(&body, "box", STR(""), STR("ann@b.test"));
	say_hello(STR("pipe-1"));
	ipc_channel_send(world.channel, LAUNCH_RUN, 1, buffer_view(&body), &given, 1);
}

static void say_first(void)
{
	say_run(1, "box", STR("ann@b.test"));
}

static void say_as_another(void)
{
	say_hello(STR("local-1"));
}

static void say_nothing(void)
{
	say_hello(STR(""));
}

static void say_twice(void)
{
	say_hello(STR("pipe-1"));
	say_hello(STR("pipe-1"));
}

static void say_unknown(void)
{
	say_hello(STR("pipe-1"));
	say(LAUNCH_STARTED, 1, STR(""));
}

static void say_more(void)
{
	say_hello(STR("pipe-1"));
	say(LAUNCH_KILL, 1, STR("x"));
}

static void what_pipe_never_says_ends_the_connection(void **state)
{
	static void (*const said[])(void) = {
		say_trailing, say_with_descriptor, say_first,   say_as_another,
		say_nothing,  say_twice,           say_unknown, say_more};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(said); i++) {
		struct heard heard;

		call_launcher();
		said[i]();
		heard = hear();
		if (heard.type != 0)
			fail_msg("case %zu: %u", i, heard.type);
		assert_int_equal(deliver_launcher_running(world.launcher), 0);
	}
}

static void stop_loop(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

/* He was "pipe" when he connected, and a reload has made another user that. */
static void who_is_pipe_is_asked_again_at_hello(void **state)
{
	struct deliver_launcher_peer peer = {geteuid(), &world.tokens};
	struct deliver_launcher_peer other = {geteuid() + 1, &world.tokens};
	struct os_timer *timer = os_timer_new(world.loop, stop_loop, NULL);

	(void)state;
	say_hello(STR("pipe-1"));
	say_run(1, "none", STR("ann@b.test"));
	expect_refusal(1, "4.3.5");
	call_launcher();
	os_timer_start(timer, 0); /* after it has been accepted */
	os_loop_run(world.loop);
	os_timer_free(timer);
	deliver_launcher_configure(world.launcher, world.config, &other);
	say_hello(STR("pipe-1"));
	assert_int_equal(hear().type, 0);
	deliver_launcher_configure(world.launcher, world.config, &peer);
}

static void a_run_is_asked_for_once(void **state)
{
	struct heard started;

	(void)state;
	say_hello(STR("pipe-1"));
	started = start(1, "box");
	say_run(1, "box", STR("ann@b.test"));
	assert_int_equal(hear().type, 0);
	drop(&started);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_program_gets_all_of_its_input),
		TEST(a_part_of_the_input_does_not_end),
		TEST(its_time_is_limited),
		TEST(so_is_the_number_of_programs),
		TEST(only_what_is_configured_is_run),
		TEST(no_program_is_the_supervisors),
		TEST(what_pipe_never_says_ends_the_connection),
		TEST(who_is_pipe_is_asked_again_at_hello),
		TEST(a_run_is_asked_for_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
