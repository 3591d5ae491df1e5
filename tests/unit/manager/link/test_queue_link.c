// SPDX-License-Identifier: ISC
/* What "queue" says, whole and cut off anywhere; what it is told, in parts that a message can hold;
 * how busy its disk is. The connection, the loop and the clock are this test's. */
#include "base/timestamp.h"
#include "chance.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "manager/link/queue_link.h"
#include "os/clock.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { REFUSED_MAX = 8, LOG_MAX = 4096 };

static struct {
	struct queue_link *link;
	const struct ipc_client_handler *handler;
	void *context;
	bool is_connected, is_freed;
	struct os_task *task;
	char told[LOG_MAX]; /* what the manager hears, and what "queue" is sent */
	size_t length;
	unsigned refused;
	uint16_t refused_type;
	/* of REMOVE and FOUND: how many entries came, in messages of at most so many bytes */
	uint64_t removals, founds;
	size_t longest, messages;
	int64_t now_us;
} world;

static void tell(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	world.length += (size_t)vsnprintf(world.told + world.length, LOG_MAX - world.length, format,
					  arguments);
	va_end(arguments);
	assert_true(world.length < LOG_MAX);
}

static void expect_told(const char *wanted)
{
	assert_string_equal(world.told, wanted);
	world.told[0] = '\0';
	world.length = 0;
}

/* --- ipc/, os/ --- */

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	assert_ptr_equal(loop, &world);
	assert_string_equal(path, "a/path");
	world.handler = handler;
	world.context = context;
	return (struct ipc_client *)&world;
}

void ipc_client_free(struct ipc_client *client)
{
	assert_ptr_equal(client, &world);
	world.is_freed = true;
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	assert_ptr_equal(client, &world);
	return world.is_connected ? (struct ipc_channel *)&world : NULL;
}

void ipc_channel_refuse(struct ipc_channel *channel, uint16_t type)
{
	assert_ptr_equal(channel, &world);
	world.refused++;
	world.refused_type = type;
}

/* Each entry is the next one, whatever message it comes in. */
static void take_entries(uint16_t type, struct str body)
{
	struct unpack unpack = {body, false};

	world.messages++;
	if (body.length > world.longest)
		world.longest = body.length;
	while (unpack.rest.length > 0) {
		uint64_t next = type == QUEUE_PROTOCOL_REMOVE ? world.removals++ : world.founds++;

		if (type == QUEUE_PROTOCOL_REMOVE)
			assert_int_equal(unpack_u32(&unpack), next % 3);
		assert_int_equal(unpack_u32(&unpack), next % 2);
		assert_int_equal(unpack_u64(&unpack), next + ((uint64_t)1 << 40U));
	}
	assert_false(unpack.failed);
}

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct unpack unpack = {body, false};
	struct str token;

	assert_ptr_equal(channel, &world);
	assert_true(world.is_connected && body.length <= IPC_BODY_MAX);
	assert_int_equal(tag, 0);
	assert_null(descriptors);
	assert_int_equal(descriptor_count, 0);
	switch (type) {
	case QUEUE_PROTOCOL_MANAGE:
		token = unpack_str(&unpack);
		assert_true(unpack_is_whole(&unpack));
		tell("manage " STR_FORMAT "\n", STR_ARGUMENTS(token));
		break;
	case QUEUE_PROTOCOL_CLEANED:
		assert_int_equal(body.length, 0);
		tell("cleaned\n");
		break;
	default:
		assert_true(type == QUEUE_PROTOCOL_REMOVE || type == QUEUE_PROTOCOL_FOUND);
		assert_true(body.length > 0);
		take_entries(type, body);
	}
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	assert_ptr_equal(loop, &world);
	world.task = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	assert_ptr_equal(loop, &world);
	assert_true(world.task == NULL || world.task == task);
	world.task = NULL;
}

int64_t os_clock_monotonic_us(void)
{
	return world.now_us;
}

/* --- the manager --- */

static void on_managed(void *context)
{
	tell("managed%s\n", context == &world ? "" : " of another");
}

static void on_lost(void *context)
{
	tell("lost%s\n", context == &world ? "" : " of another");
}

static void on_queued(void *context, const struct queue_link_notice *notice)
{
	assert_ptr_equal(context, &world);
	tell("queued %d %llu " STR_FORMAT " " STR_FORMAT "\n", (int)notice->stage,
	     (unsigned long long)notice->number, STR_ARGUMENTS(notice->text),
	     STR_ARGUMENTS(notice->content));
}

static void on_stands(void *context, enum mail_stage stage, uint64_t number)
{
	assert_ptr_equal(context, &world);
	tell("stands %d %llu\n", (int)stage, (unsigned long long)number);
}

static void on_unknown(void *context)
{
	tell("unknown%s\n", context == &world ? "" : " of another");
}

static void on_missed(void *context)
{
	tell("missed%s\n", context == &world ? "" : " of another");
}

static void on_release(void *context, struct str domain)
{
	assert_ptr_equal(context, &world);
	tell("release " STR_FORMAT "\n", STR_ARGUMENTS(domain));
}

static void on_removed(void *context, uint64_t number)
{
	assert_ptr_equal(context, &world);
	tell("removed %llu\n", (unsigned long long)number);
}

static void begin(void)
{
	static const struct queue_link_handler handler = {on_managed, on_lost,    on_queued,
							  on_stands,  on_unknown, on_missed,
							  on_release, on_removed};

	memset(&world, 0, sizeof world);
	world.link = queue_link_new((struct os_loop *)&world, "a/path", STR("a token"), &handler,
				    &world);
	assert_false(queue_link_is_up(world.link));
}

static void say_to_manager(uint16_t type, struct str body)
{
	struct ipc_message message = {.type = type, .body = body};

	world.handler->message(world.context, &message);
}

/* Connects; it is up once "queue" has accepted it. */
static void connect(void)
{
	world.is_connected = true;
	world.handler->connected(world.context);
	expect_told("manage a token\n");
	assert_false(queue_link_is_up(world.link));
	say_to_manager(QUEUE_PROTOCOL_MANAGED, STR(""));
	expect_told("managed\n");
	assert_true(queue_link_is_up(world.link));
}

static void lose(void)
{
	world.is_connected = false;
	world.handler->lost(world.context);
	expect_told("lost\n");
	assert_false(queue_link_is_up(world.link));
}

static void end(void)
{
	queue_link_free(world.link);
	assert_true(world.is_freed);
	assert_null(world.task);
	assert_int_equal(world.refused, 0);
}

/* --- what it says --- */

/* The fields of a message, in the order of the protocol: U a number of 32 bits, W of 64, S text. */
static const struct notice {
	uint16_t type;
	const char *fields;
	const char *told[3]; /* after so many entries */
} notices[] = {
	{QUEUE_PROTOCOL_QUEUED,
	 "UWSS",
	 {"", "queued 1 7 text0 text1\n", "queued 1 7 text0 text1\nqueued 1 7 text0 text1\n"}},
	{QUEUE_PROTOCOL_STANDS, "UW", {"", "stands 1 7\n", "stands 1 7\nstands 1 7\n"}},
	{QUEUE_PROTOCOL_REMOVED, "W", {"", "removed 7\n", "removed 7\nremoved 7\n"}},
	{QUEUE_PROTOCOL_UNKNOWN, "", {"unknown\n"}},
	{QUEUE_PROTOCOL_MISSED, "", {"missed\n"}},
};

static void pack_entry(const char *fields, uint32_t stage, struct buffer *out)
{
	unsigned texts = 0;
	char text[16];

	for (; *fields != '\0'; fields++) {
		if (*fields == 'U')
			pack_u32(out, stage);
		else if (*fields == 'W')
			pack_u64(out, 7);
		else {
			snprintf(text, sizeof text, "text%u", texts++);
			pack_str(out, str_from(text));
		}
	}
}

static void expect_refusal(uint16_t type)
{
	assert_int_equal(world.refused, 1);
	assert_int_equal(world.refused_type, type);
	world.refused = 0;
}

static void notices_are_whole(void **state)
{
	(void)state;
	begin();
	connect();
	for (size_t i = 0; i < COUNT_OF(notices); i++) {
		const struct notice *notice = &notices[i];
		struct buffer body CLEANUP(buffer_clear) = {0};
		size_t entry;

		say_to_manager(notice->type, STR(""));
		expect_told(notice->told[0]);
		if (notice->fields[0] == '\0')
			continue;
		pack_entry(notice->fields, 1, &body);
		entry = body.length;
		pack_entry(notice->fields, 1, &body);
		for (size_t length = 1; length <= body.length; length++) {
			say_to_manager(notice->type, str_slice(buffer_data(&body), length));
			expect_told(notice->told[length / entry]);
			if (length % entry != 0)
				expect_refusal(notice->type);
			assert_int_equal(world.refused, 0);
		}
	}
	say_to_manager(QUEUE_PROTOCOL_MANAGE, STR(""));
	expect_refusal(QUEUE_PROTOCOL_MANAGE);
	end();
}

static void a_stage_is_one_of_ours(void **state)
{
	(void)state;
	begin();
	connect();
	for (size_t i = 0; i < 2; i++)
		for (uint32_t stage = MAIL_STAGE_COUNT - 1; stage <= MAIL_STAGE_COUNT; stage++) {
			struct buffer body CLEANUP(buffer_clear) = {0};

			pack_entry(notices[i].fields, stage, &body);
			say_to_manager(notices[i].type, buffer_view(&body));
			assert_int_equal(world.length > 0, stage < MAIL_STAGE_COUNT);
			if (stage == MAIL_STAGE_COUNT)
				expect_refusal(notices[i].type);
			expect_told(world.told);
		}
	end();
}

static void a_domain_is_asked_for(void **state)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	(void)state;
	begin();
	connect();
	pack_str(&body, STR("a.test"));
	buffer_append_byte(&body, 'x');
	for (size_t length = 0; length <= body.length; length++) {
		say_to_manager(QUEUE_PROTOCOL_RELEASE, str_slice(buffer_data(&body), length));
		if (length == body.length - 1)
			expect_told("release a.test\n");
		else
			expect_refusal(QUEUE_PROTOCOL_RELEASE);
		expect_told("");
	}
	end();
}

/* --- what it is told --- */

/* All of it, in order, in as few messages as can hold it; nothing while nobody is there. */
static void so_much_goes_into_a_message(void **state)
{
	static const size_t counts[] = {1, 2, 3839, 3840, 3841, 5119, 5120, 5121, 20000};

	(void)state;
	begin();
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		for (unsigned is_removal = 0; is_removal < 2; is_removal++) {
			size_t entry = is_removal ? 16 : 12;
			size_t fit = IPC_BODY_MAX / entry;

			connect();
			world.removals = world.founds = world.messages = world.longest = 0;
			for (uint64_t next = 0; next < counts[i]; next++) {
				uint64_t number = next + ((uint64_t)1 << 40U);

				if (is_removal)
					queue_link_remove(world.link, (enum queue_remove)(next % 3),
							  (enum mail_stage)(next % 2), number);
				else
					queue_link_found(world.link, (enum mail_stage)(next % 2),
							 number);
				assert_non_null(world.task);
			}
			world.task->call(world.task->context);
			world.task = NULL;
			assert_int_equal(world.removals + world.founds, counts[i]);
			assert_int_equal(world.messages, (counts[i] + fit - 1) / fit);
			assert_int_equal(world.longest,
					 (counts[i] < fit ? counts[i] : fit) * entry);
			queue_link_flush(world.link); /* there is no more */
			assert_int_equal(world.messages, (counts[i] + fit - 1) / fit);
			lose();
		}
	end();
}

/* What was not sent is lost with the connection, and what is said between two goes to neither. */
static void nothing_is_said_to_who_is_not_there(void **state)
{
	(void)state;
	begin();
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned when = 0; when < 3; when++) {
			if (when == 1) /* connected, and not accepted */
				world.is_connected = true;
			if (when == 2)
				connect();
			if (when == 2) {
				queue_link_cleaned(world.link);
				expect_told("cleaned\n");
			} else {
				queue_link_cleaned(world.link);
			}
			queue_link_remove(world.link, QUEUE_REMOVE_DATA, MAIL_STAGE_ARRIVE, 1);
			queue_link_found(world.link, MAIL_STAGE_ARRIVE, 1);
			if (when < 2)
				queue_link_flush(world.link);
		}
		lose();
		connect();
		queue_link_flush(world.link);
		assert_int_equal(world.messages, 0);
		lose();
	}
	end();
}

/* --- how busy its disk is --- */

static void say_load(uint64_t committing_us, bool is_more)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, committing_us);
	say_to_manager(QUEUE_PROTOCOL_LOAD, buffer_view(&body));
	if (!is_more)
		expect_refusal(QUEUE_PROTOCOL_LOAD);
	buffer_append_byte(&body, 'x');
	for (size_t length = 0; length <= body.length; length++) {
		if (length == body.length - 1)
			continue;
		say_to_manager(QUEUE_PROTOCOL_LOAD, str_slice(buffer_data(&body), length));
		expect_refusal(QUEUE_PROTOCOL_LOAD);
	}
}

/* By a plain account of both, over two connections: "queue" counts anew in each. */
static void the_load_is_that_since_the_last_look(void **state)
{
	int64_t looked_us = 0;

	(void)state;
	begin();
	world.now_us = looked_us = 5;
	assert_int_equal(queue_link_disk_load(world.link), 0);
	for (unsigned connection = 0; connection < 2; connection++) {
		uint64_t total_us = 0;
		uint64_t seen_us = 0;

		connect();
		for (unsigned i = 0; i < 2000; i++) {
			int64_t passed_us = (int64_t)chance(3) * (int64_t)chance(1000);
			uint64_t busy_us = chance(3) * chance(500);
			unsigned wanted = 1000;

			world.now_us += passed_us;
			total_us += busy_us;
			say_load(total_us, true);
			if (total_us > 0 && chance(4) == 0)
				say_load(total_us - 1, false);
			if (chance(2) == 0)
				continue;
			if ((int64_t)(total_us - seen_us) < world.now_us - looked_us)
				wanted = (unsigned)((total_us - seen_us) * 1000 /
						    (uint64_t)(world.now_us - looked_us));
			assert_int_equal(queue_link_disk_load(world.link), wanted);
			seen_us = total_us;
			looked_us = world.now_us;
		}
		lose();
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notices_are_whole),
		cmocka_unit_test(a_stage_is_one_of_ours),
		cmocka_unit_test(a_domain_is_asked_for),
		cmocka_unit_test(so_much_goes_into_a_message),
		cmocka_unit_test(nothing_is_said_to_who_is_not_there),
		cmocka_unit_test(the_load_is_that_since_the_last_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
