// SPDX-License-Identifier: ISC
/* What a client of the queue sends when, and which of its messages hear what: each order of its own
 * calls and of the server's answers, without a loop and a connection. */
#include "fake_ipc_client.h"
#include "ipc/pack.h"
#include "queue/client/client.h"
#include "queue/client/protocol.h"
#include "queue/message.h"
#include "test.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { STOCK = 4 };

struct one {
	struct queue_client_message message;
	uint64_t number; /* that it had once */
	char name;
};

static struct queue_client *client;
static struct buffer lines;
static struct one a, b, c;
static struct os_task *deferred;

#define SAY(...) buffer_append_format(&lines, __VA_ARGS__)

void __wrap_os_loop_defer(struct os_loop *loop, struct os_task *task);
void __wrap_os_task_cancel(struct os_loop *loop, struct os_task *task);

static void say_length(size_t length)
{
	if (length < 100)
		SAY(" %zu", length);
	else
		SAY(" many");
}

static void say_entry(uint16_t type, struct unpack *body)
{
	struct str text;

	if (type == QUEUE_PROTOCOL_OPEN || type == QUEUE_PROTOCOL_OPEN_RESERVE) {
		SAY(" %" PRIu32, unpack_u32(body));
		return;
	}
	if (type == QUEUE_PROTOCOL_RELEASE) {
		text = unpack_str(body);
		SAY(" " STR_FORMAT, STR_ARGUMENTS(text));
		return;
	}
	SAY(" %" PRIu64, unpack_u64(body));
	if (type == QUEUE_PROTOCOL_SHARE || type == QUEUE_PROTOCOL_ABANDON)
		return;
	text = unpack_str(body);
	SAY(" %s", text.length > 0 ? "text" : "-");
	if (type == QUEUE_PROTOCOL_COMMIT)
		say_length(unpack_str(body).length);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *files, size_t count)
{
	static const struct {
		uint16_t type;
		const char *name;
	} names[] = {
		{QUEUE_PROTOCOL_OPEN, "OPEN"},      {QUEUE_PROTOCOL_OPEN_RESERVE, "OPEN_RESERVE"},
		{QUEUE_PROTOCOL_SHARE, "SHARE"},    {QUEUE_PROTOCOL_COMMIT, "COMMIT"},
		{QUEUE_PROTOCOL_DATA, "DATA"},      {QUEUE_PROTOCOL_ABANDON, "ABANDON"},
		{QUEUE_PROTOCOL_RELEASE, "RELEASE"}};
	struct unpack unpack = {body, false};
	const char *name = "?";

	assert_true(channel != NULL && tag == 0 && files == NULL && count == 0);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (names[i].type == type)
			name = names[i].name;
	SAY("%s", name);
	while (unpack.rest.length > 0)
		say_entry(type, &unpack);
	assert_false(unpack.failed);
	SAY("\n");
}

/* Of no use here. */
struct ipc_client *ipc_client_new_connected(struct os_loop *loop, int socket, const char *path,
					    const struct ipc_client_handler *handler, void *context)
{
	(void)socket;
	return ipc_client_new(loop, path, handler, context);
}

void ipc_client_when_connected(struct ipc_client *of, void (*call)(void *context), void *context)
{
	(void)of;
	call(context);
}

void __wrap_os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	assert_null(loop);
	deferred = task;
}

void __wrap_os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	assert_null(loop);
	if (deferred == task)
		deferred = NULL;
}

static void end_turn(void)
{
	struct os_task *task = deferred;

	deferred = NULL;
	if (task != NULL)
		task->call(task->context);
}

static void expect(const char *wanted)
{
	if (!str_equal(buffer_view(&lines), str_from(wanted)))
		fail_msg("\n--- wanted\n%s--- said\n" STR_FORMAT, wanted,
			 STR_ARGUMENTS(buffer_view(&lines)));
	buffer_reset(&lines);
}

static void on_done(void *context, int result)
{
	struct one *one = context;

	if (one->message.state == QUEUE_CLIENT_OPEN)
		one->number = one->message.number;
	SAY("%c: %d\n", one->name, result);
}

static void prepare(struct one *one, char name)
{
	*one = (struct one){.message = {.done = on_done, .context = one}, .name = name};
}

static int begin(void **state)
{
	(void)state;
	fake_ipc.is_connected = false;
	fake_ipc.refused = 0;
	client = queue_client_new(NULL, "the path", STOCK);
	prepare(&a, 'a');
	prepare(&b, 'b');
	prepare(&c, 'c');
	return 0;
}

static int end(void **state)
{
	(void)state;
	queue_client_abandon(&a.message);
	queue_client_abandon(&b.message);
	queue_client_abandon(&c.message);
	queue_client_free(client);
	buffer_clear(&lines);
	return 0;
}

static void connect_client(void)
{
	fake_ipc.is_connected = true;
	fake_ipc.client.handler.connected(fake_ipc.client.context);
}

static void lose_client(void)
{
	fake_ipc.is_connected = false;
	fake_ipc.client.handler.lost(fake_ipc.client.context);
}

static void hear(uint16_t type, struct str body)
{
	struct ipc_message message = {.type = type, .body = body};

	fake_ipc.client.handler.message(fake_ipc.client.context, &message);
}

/* COUNT numbers from FIRST. */
static void hear_numbers(uint64_t first, size_t count)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	for (size_t i = 0; i < count; i++)
		pack_u64(&body, first + i);
	hear(QUEUE_PROTOCOL_OPENED, buffer_view(&body));
}

static void hear_result(uint16_t type, uint64_t number, uint32_t error)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (type != QUEUE_PROTOCOL_REFUSED)
		pack_u64(&body, number);
	pack_u32(&body, error);
	hear(type, buffer_view(&body));
}

static void commit(struct one *one, size_t size)
{
	static char data[QUEUE_BY_VALUE_MAX + 1];
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->id = (struct mail_id){one->number, 1795163591482913};
	envelope->size = size;
	mail_envelope_add(envelope, STR("b@example.net"));
	queue_client_commit(&one->message, envelope, str_slice(data, size));
	mail_envelope_free(envelope);
}

/* --- numbers --- */

/* It asks when half of them are gone, and never twice at once. */
static void numbers_are_asked_for_ahead(void **state)
{
	(void)state;
	queue_client_open(client, &a.message);
	expect("a: -107\n");
	connect_client();
	expect("OPEN 4\n");
	queue_client_open(client, &a.message);
	queue_client_open(client, &b.message);
	expect("");
	hear_numbers(10, 4);
	expect("a: 0\nb: 0\nOPEN 4\n"); /* two are left, which is half */
	assert_int_equal(a.message.number, 10);
	assert_int_equal(b.message.number, 11);
	hear_numbers(20, 4);
	expect("");
	queue_client_open(client, &c.message);
	expect("c: 0\n");
	assert_int_equal(c.message.number, 12);
	for (uint64_t next = 13; next < 24;
	     next++) { /* the oldest first, 3 of 5 and below: asked */
		queue_client_abandon(&c.message);
		if (next < 22)
			queue_client_open(client, &c.message);
		else
			break;
		assert_int_equal(c.message.number, next < 14 ? next : next + 6);
		if (next == 15)
			break;
	}
	expect("ABANDON 12\nc: 0\nABANDON 13\nc: 0\nABANDON 20\nOPEN 4\nc: 0\n");
}

static void the_reserve_is_asked_for(void **state)
{
	(void)state;
	queue_client_use_reserve(client);
	connect_client();
	expect("OPEN_RESERVE 4\n");
}

/* Who waits fails, and who opens another one from inside is not failed at once. */
static void a_refusal_fails_those_that_wait(void **state)
{
	(void)state;
	connect_client();
	queue_client_open(client, &a.message);
	queue_client_open(client, &b.message);
	expect("OPEN 4\n");
	hear_result(QUEUE_PROTOCOL_REFUSED, 0, ENOSPC);
	expect("a: -28\nb: -28\n");
	assert_int_equal(a.message.state, QUEUE_CLIENT_IDLE);
	queue_client_open(client, &a.message);
	expect("OPEN 4\n");
	hear_numbers(1, 1);
	expect("a: 0\nOPEN 4\n");
	queue_client_open(client, &b.message);
	queue_client_open(client, &c.message);
	queue_client_abandon(&b.message); /* it has no number */
	hear_numbers(2, 3);
	expect("c: 0\nOPEN 4\n");
	assert_int_equal(c.message.number, 2);
}

/* --- the end of a message --- */

static void commits_of_a_turn_are_one_packet(void **state)
{
	(void)state;
	connect_client();
	hear_numbers(1, 4);
	queue_client_open(client, &a.message);
	queue_client_open(client, &b.message);
	expect("OPEN 4\na: 0\nOPEN 4\nb: 0\n");
	commit(&a, 3);
	commit(&b, 4);
	expect("");
	end_turn();
	expect("COMMIT 1 text 3 2 text 4\n");
	hear_result(QUEUE_PROTOCOL_COMMITTED, 2, EIO);
	hear_result(QUEUE_PROTOCOL_COMMITTED, 2, 0); /* nobody's any more */
	hear_result(QUEUE_PROTOCOL_COMMITTED, 1, 0);
	expect("b: -5\na: 0\n");
	assert_int_equal(a.message.state, QUEUE_CLIENT_IDLE);
	queue_client_abandon(&a.message);
	expect("");
	assert_int_equal(fake_ipc.refused, 0);
}

static void who_is_given_up_hears_nothing(void **state)
{
	(void)state;
	connect_client();
	hear_numbers(1, 4);
	queue_client_open(client, &a.message);
	queue_client_open(client, &b.message);
	queue_client_open(client, &c.message);
	expect("OPEN 4\na: 0\nOPEN 4\nb: 0\nc: 0\n");
	commit(&a, 3);
	end_turn();
	queue_client_abandon(&a.message); /* it may be queued */
	queue_client_abandon(&b.message);
	queue_client_share(&c.message);
	queue_client_abandon(&c.message);
	expect("COMMIT 1 text 3\nABANDON 2\nSHARE 3\nABANDON 3\n");
	hear_result(QUEUE_PROTOCOL_COMMITTED, 1, 0);
	hear_result(QUEUE_PROTOCOL_SHARED, 3, EIO);
	expect("");
	assert_int_equal(fake_ipc.refused, 0);
}

/* What is open fails when it is committed, all others at once. */
static void a_lost_connection_fails_what_waits_for_it(void **state)
{
	(void)state;
	connect_client();
	hear_numbers(1, 4);
	queue_client_open(client, &a.message);
	queue_client_open(client, &b.message);
	queue_client_open(client, &c.message);
	commit(&a, 3);
	queue_client_share(&b.message);
	expect("OPEN 4\na: 0\nOPEN 4\nb: 0\nc: 0\nSHARE 2\n");
	lose_client();
	expect("b: -107\na: -107\n");
	end_turn();
	expect("");
	connect_client();
	expect("OPEN 4\n");
	commit(&c, 3);
	expect("c: -107\n");
	queue_client_open(client, &c.message);
	lose_client();
	expect("c: -107\n");
}

static void a_large_one_waits_for_its_file(void **state)
{
	(void)state;
	connect_client();
	hear_numbers(1, 4);
	queue_client_open(client, &a.message);
	queue_client_open(client, &b.message);
	expect("OPEN 4\na: 0\nOPEN 4\nb: 0\n");
	commit(&a, QUEUE_BY_VALUE_MAX);
	commit(&b, QUEUE_BY_VALUE_MAX + 1);
	expect("DATA 1 text\nSHARE 2\n"); /* no packet has room for all of the first */
	hear_result(QUEUE_PROTOCOL_SHARED, 2, EMFILE);
	expect("ABANDON 2\nb: -24\n");
	end_turn();
	expect("COMMIT 1 text many\n");
}

/* --- what no server says --- */

static void what_breaks_the_rules_is_refused(void **state)
{
	static const struct {
		uint16_t type;
		struct str body;
	} wrong[] = {
		{QUEUE_PROTOCOL_OPENED, {"", 0}},
		{QUEUE_PROTOCOL_OPENED, {"1234567", 7}},
		{QUEUE_PROTOCOL_REFUSED, {"\0\0\0\0", 4}},
		{QUEUE_PROTOCOL_REFUSED, {"\1\0\0\0x", 5}},
		{QUEUE_PROTOCOL_REFUSED, {"\0\x10\0\0", 4}},
		{QUEUE_PROTOCOL_SHARED, {"\1\0\0\0\0\0\0\0\0\0\0\0", 12}}, /* without a file */
		{QUEUE_PROTOCOL_COMMITTED, {"\1\0\0\0\0\0\0\0\0\0\0", 11}},
		{QUEUE_PROTOCOL_QUEUED, {"", 0}},
	};

	(void)state;
	connect_client();
	expect("OPEN 4\n");
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		hear(wrong[i].type, wrong[i].body);
		assert_int_equal(fake_ipc.refused, i + 1);
	}
	expect("");
	hear(QUEUE_PROTOCOL_REFUSED, str_slice("\xff\x0f\0\0", 4)); /* the largest errno */
	assert_int_equal(fake_ipc.refused, COUNT_OF(wrong));
}

static void a_release_is_asked_for(void **state)
{
	(void)state;
	assert_false(queue_client_release(client, STR("a.test")));
	connect_client();
	assert_true(queue_client_release(client, STR("a.test")));
	expect("OPEN 4\nRELEASE a.test\n");
}

#define PLAYED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED(numbers_are_asked_for_ahead),
		PLAYED(the_reserve_is_asked_for),
		PLAYED(a_refusal_fails_those_that_wait),
		PLAYED(commits_of_a_turn_are_one_packet),
		PLAYED(who_is_given_up_hears_nothing),
		PLAYED(a_lost_connection_fails_what_waits_for_it),
		PLAYED(a_large_one_waits_for_its_file),
		PLAYED(what_breaks_the_rules_is_refused),
		PLAYED(a_release_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
