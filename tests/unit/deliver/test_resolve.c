// SPDX-License-Identifier: ISC
/*
 * The questions of "send" about recipients, which the directory answers at once or later, in any
 * order: each question has its answer, with all targets of all recipients. The directory, the
 * connection and the loop are this test's.
 */
#include "chance.h"
#include "deliver/resolve.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "resolve_answers.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { STEPS = 6000, QUESTIONS = 40, PENDING = 400 };

struct asked {
	uint64_t number; /* 0: not open */
	uint32_t name;
	uint32_t recipients;
	char addresses[5][32];
	/* of the answer so far: */
	uint32_t flags;
	uint64_t version;
	struct buffer targets; /* a line for each */
};

static struct {
	struct deliver_resolve *resolve;
	const struct ipc_client_handler *handler;
	void *context;
	bool is_connected;
	struct os_task *task;
	struct asked asked[QUESTIONS];
	struct directory_request *pending[PENDING];
	char addresses[PENDING][32];
	size_t pending_count;
	bool answers_at_once;
	unsigned refused, parts;
	void (*back)(void *context);
	unsigned backs, hellos;
} world;

/* --- os/, ipc/ --- */

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	assert_ptr_equal(loop, &world);
	world.task = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	assert_ptr_equal(loop, &world);
	if (world.task != NULL)
		assert_ptr_equal(world.task, task);
	world.task = NULL;
}

static void run_task(void)
{
	struct os_task *task = world.task;

	world.task = NULL;
	if (task != NULL)
		task->call(task->context);
}

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	assert_ptr_equal(loop, &world);
	assert_string_equal(path, "send");
	world.handler = handler;
	world.context = context;
	return (struct ipc_client *)&world;
}

void ipc_client_free(struct ipc_client *client)
{
	assert_ptr_equal(client, &world);
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	assert_ptr_equal(client, &world);
	return world.is_connected ? (struct ipc_channel *)&world : NULL;
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	assert_ptr_equal(channel, &world);
	(void)type;
	world.refused++;
}

/* --- directory/lookup/lookup.h --- */

void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request)
{
	char text[32];

	assert_ptr_equal(directory, &world.pending);
	snprintf(text, sizeof text, STR_FORMAT, STR_ARGUMENTS(address));
	if (world.answers_at_once || chance(3) == 0) {
		resolve_answer(found, context, text);
		return;
	}
	assert_true(world.pending_count < PENDING);
	request->found = found;
	request->context = context;
	request->directory = directory;
	memcpy(world.addresses[world.pending_count], text, sizeof text);
	world.pending[world.pending_count++] = request;
}

static void take_pending(size_t index)
{
	world.pending[index]->directory = NULL;
	world.pending[index] = world.pending[--world.pending_count];
	memcpy(world.addresses[index], world.addresses[world.pending_count], 32);
}

void directory_request_cancel(struct directory_request *request)
{
	size_t i = 0;

	if (request->directory == NULL)
		return;
	while (world.pending[i] != request)
		i++;
	take_pending(i);
}

void directory_await(struct directory *directory, void (*back)(void *context), void *context)
{
	assert_ptr_equal(directory, &world.pending);
	assert_ptr_equal(context, world.context);
	world.back = back;
}

/* --- "send" --- */

static struct asked *asked_by(uint64_t number, uint32_t name)
{
	for (size_t i = 0; i < QUESTIONS; i++)
		if (world.asked[i].number == number && world.asked[i].name == name)
			return &world.asked[i];
	fail();
	return NULL;
}

/* Recipients come in the order in which they were known, each with all of its targets. */
static void check_answer(struct asked *asked)
{
	uint64_t version = 0;
	uint32_t flags = 0;
	size_t length = 0;

	buffer_append_byte(&asked->targets, '\0');
	for (uint32_t i = 0; i < asked->recipients; i++) {
		struct buffer wanted CLEANUP(buffer_clear) = {0};

		resolve_add_wanted(&wanted, i + 7, asked->addresses[i]);
		length += wanted.length;
		buffer_append_byte(&wanted, '\0');
		assert_non_null(strstr(buffer_data(&asked->targets), buffer_data(&wanted)));
		if (resolve_version_of(asked->addresses[i]) > version)
			version = resolve_version_of(asked->addresses[i]);
		if (asked->addresses[i][0] == 'w')
			flags = IPC_JOB_RESOLVED_AWAY;
	}
	assert_int_equal(asked->targets.length, length + 1);
	assert_int_equal(asked->version, version);
	assert_int_equal(asked->flags, flags);
	asked->number = 0;
}

static void take_resolved(struct str text)
{
	struct unpack body = {text, false};

	assert_true(text.length > 0 && text.length <= IPC_BODY_MAX);
	while (body.rest.length > 0) {
		struct ipc_job_resolved resolved;
		struct asked *asked;

		assert_true(ipc_job_take_resolved(&body, &resolved));
		asked = asked_by(resolved.number, resolved.question);
		world.parts += (resolved.flags & IPC_JOB_RESOLVED_MORE) != 0;
		for (uint32_t i = 0; i < resolved.count; i++) {
			struct ipc_job_target target;

			assert_true(ipc_job_take_target(&body, &target));
			buffer_append_format(
				&asked->targets,
				"%u %d " STR_FORMAT " " STR_FORMAT " " STR_FORMAT " " STR_FORMAT
				" " STR_FORMAT "\n",
				target.recipient, (int)target.route, STR_ARGUMENTS(target.service),
				STR_ARGUMENTS(target.server), STR_ARGUMENTS(target.address),
				STR_ARGUMENTS(target.status), STR_ARGUMENTS(target.text));
		}
		asked->flags = resolved.flags;
		asked->version = resolved.version;
		if (!(resolved.flags & IPC_JOB_RESOLVED_MORE))
			check_answer(asked);
	}
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct ipc_job_hello hello;

	assert_ptr_equal(channel, &world);
	assert_true(tag == 0 && descriptors == NULL && descriptor_count == 0);
	if (type == IPC_JOB_RESOLVED) {
		take_resolved(body);
	} else if (type == IPC_JOB_BACK) {
		assert_int_equal(body.length, 0);
		world.backs++;
	} else {
		assert_int_equal(type, IPC_JOB_HELLO);
		assert_true(ipc_job_read_hello(body, &hello));
		assert_true(str_equal(hello.service, STR("resolve")));
		assert_true(str_equal(hello.token, STR("a token")));
		assert_int_equal(hello.concurrency, UINT32_MAX);
		world.hellos++;
	}
}

static void say_to_resolve(uint16_t type, struct str body)
{
	struct ipc_message message = {.type = type, .body = body};

	world.handler->message(world.context, &message);
}

static void pack_question(struct asked *asked, struct buffer *body)
{
	static uint64_t next = 1;

	buffer_reset(&asked->targets);
	asked->number = next++;
	asked->name = (uint32_t)chance(1000);
	asked->recipients = (uint32_t)chance(6);
	pack_u64(body, asked->number);
	pack_u32(body, asked->name);
	pack_str(body, STR("s@x.test"));
	pack_u32(body, asked->recipients);
	for (uint32_t i = 0; i < asked->recipients; i++) {
		snprintf(asked->addresses[i], sizeof asked->addresses[i], "%c%u.%llu@a.test",
			 resolve_kinds[chance(chance(8) == 0 ? RESOLVE_KINDS : RESOLVE_KINDS - 1)],
			 i, (unsigned long long)asked->number);
		pack_u32(body, i + 7);
		pack_str(body, str_from(asked->addresses[i]));
	}
}

/* Several in one message. */
static void ask_some(void)
{
	struct buffer body CLEANUP(buffer_clear) = {0};
	size_t left = 1 + chance(3);

	for (size_t i = 0; i < QUESTIONS && left > 0; i++)
		if (world.asked[i].number == 0) {
			pack_question(&world.asked[i], &body);
			left--;
		}
	say_to_resolve(IPC_JOB_RESOLVE, buffer_view(&body));
	if (body.length > 0)
		memset((char *)(uintptr_t)buffer_data(&body), 'z',
		       body.length); /* nobody looks again */
}

static void answer_some(void)
{
	size_t index;
	char address[32];
	struct directory_request *request;

	if (world.pending_count == 0)
		return;
	index = chance(world.pending_count);
	request = world.pending[index];
	memcpy(address, world.addresses[index], sizeof address);
	take_pending(index);
	resolve_answer(request->found, request->context, address);
}

static void connect_to_send(void)
{
	world.is_connected = true;
	world.handler->connected(world.context);
}

/* Nothing is asked any more. */
static void lose_send(void)
{
	world.is_connected = false;
	world.handler->lost(world.context);
	assert_int_equal(world.pending_count, 0);
	for (size_t i = 0; i < QUESTIONS; i++)
		world.asked[i].number = 0;
	run_task();
}

static void begin(void)
{
	memset(&world, 0, sizeof world);
	world.resolve = deliver_resolve_new((struct os_loop *)&world, "send", STR("a token"),
					    (struct directory *)&world.pending);
	connect_to_send();
	assert_int_equal(world.hellos, 1);
}

static void end(void)
{
	deliver_resolve_free(world.resolve);
	assert_int_equal(world.pending_count, 0);
	assert_null(world.task);
	for (size_t i = 0; i < QUESTIONS; i++)
		buffer_clear(&world.asked[i].targets);
}

static void each_question_has_its_answer(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < STEPS; i++) {
		switch (chance(12)) {
		case 0:
		case 1:
			ask_some();
			break;
		case 2:
			run_task();
			break;
		case 3:
			if (chance(40) > 0)
				break;
			lose_send();
			connect_to_send();
			break;
		default:
			answer_some();
		}
	}
	while (world.pending_count > 0)
		answer_some();
	run_task();
	for (size_t i = 0; i < QUESTIONS; i++)
		assert_int_equal(world.asked[i].number, 0);
	assert_int_equal(world.refused, 0);
	assert_true(world.parts > 0 && world.hellos > 1);
	ask_some();
	end(); /* also with questions that are open */
}

/* Cut off anywhere, or with too many recipients, it is refused; what is whole before is answered.
 */
static void a_question_is_whole(void **state)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	(void)state;
	begin();
	world.answers_at_once = true;
	do {
		buffer_reset(&body);
		pack_question(&world.asked[0], &body);
	} while (world.asked[0].recipients < 2);
	world.asked[0].number = 0;
	for (size_t length = 1; length < body.length; length++) {
		say_to_resolve(IPC_JOB_RESOLVE, str_slice(buffer_data(&body), length));
		assert_int_equal(world.refused, length);
	}
	for (uint32_t count = IPC_JOB_RECIPIENTS_MAX; count <= IPC_JOB_RECIPIENTS_MAX + 1;
	     count++) {
		world.refused = 0;
		buffer_reset(&body);
		pack_u64(&body, 1);
		pack_u32(&body, 1);
		pack_str(&body, STR(""));
		pack_u32(&body, count);
		for (uint32_t i = 0; i < count; i++) {
			pack_u32(&body, i);
			pack_str(&body, STR("b"));
		}
		say_to_resolve(IPC_JOB_RESOLVE, buffer_view(&body));
		assert_int_equal(world.refused, count > IPC_JOB_RECIPIENTS_MAX);
		world.is_connected = false;
		run_task(); /* to nobody */
		world.is_connected = true;
	}
	say_to_resolve(IPC_JOB_DRAIN, STR(""));
	assert_int_equal(world.refused, 2);
	end();
}

/* What was answered before is said before. */
static void send_hears_that_the_directory_is_back(void **state)
{
	(void)state;
	begin();
	world.answers_at_once = true;
	say_to_resolve(IPC_JOB_AWAIT, STR(""));
	assert_non_null(world.back);
	ask_some();
	assert_int_equal(world.backs, 0);
	world.back(world.context);
	assert_int_equal(world.backs, 1);
	for (size_t i = 0; i < QUESTIONS; i++)
		assert_int_equal(world.asked[i].number, 0);
	lose_send();
	world.back(world.context);
	assert_int_equal(world.backs, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_question_has_its_answer),
		cmocka_unit_test(a_question_is_whole),
		cmocka_unit_test(send_hears_that_the_directory_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
