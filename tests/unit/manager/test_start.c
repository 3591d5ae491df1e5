// SPDX-License-Identifier: ISC
/* What a helper is told of a job: each field, and texts at their bounds and one beyond. */
#include "base/arena.h"
#include "ipc/job.h"
#include "mail/verp.h"
#include "manager/message.h"
#include "manager/start.h"
#include "queue/message.h"
#include "test.h"
#include "turn/turn_scene.h"
#include <string.h>

struct told {
	struct turn_scene *scene;
	struct mail_envelope *envelope;
	struct queue_control control;
	struct queue_delivery deliveries[2];
	struct message message;
	struct job *job;
};

/* A job of both deliveries of a message; the second is of the same recipient, at another place. */
static void set_up_told(struct told *told)
{
	struct transport_delivery delivery = {.message = &told->message,
					      .destination = STR("example.net"),
					      .sender = STR("a@example.org"),
					      .size = 50};
	struct waiters *waiters;

	*told = (struct told){.scene = scene_new(1, 1), .envelope = mail_envelope_new()};
	mail_envelope_add(told->envelope, STR("b@example.net"))->notify = MAIL_NOTIFY_SUCCESS;
	told->envelope->size = 12;
	told->envelope->sender = STR("a@example.org");
	told->deliveries[0] = (struct queue_delivery){
		.number = 4, .recipient = 1, .address = STR("b@example.net")};
	told->deliveries[1] = (struct queue_delivery){
		.number = 6, .recipient = 1, .address = STR("c@example.net")};
	told->control = (struct queue_control){.envelope = told->envelope,
					       .deliveries = told->deliveries,
					       .delivery_count = 2,
					       .data_checksum = 7};
	told->message = (struct message){.id = {42, 43}, .control = &told->control};
	assert_int_equal(transport_add(told->scene->remote, &delivery, &told->job, &waiters), 1);
	delivery.index = 1;
	assert_int_equal(transport_add(told->scene->remote, &delivery, &told->job, &waiters), 0);
}

static void tear_down_told(struct told *told)
{
	scene_free(told->scene);
	mail_envelope_free(told->envelope);
}

static struct str long_text(struct told *told, size_t length)
{
	char *text = arena_alloc(told->envelope->arena, length);

	memset(text, 'x', length);
	return str_slice(text, length);
}

static void expect_str(struct unpack *body, const char *wanted)
{
	struct str got = unpack_str(body);

	if (!str_equal(got, str_from(wanted)))
		fail_msg("\"" STR_FORMAT "\", not \"%s\"", STR_ARGUMENTS(got), wanted);
}

static void each_field_is_told(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct unpack body;
	struct told told;

	(void)state;
	set_up_told(&told);
	told.envelope->ret = MAIL_RET_HEADERS;
	told.envelope->envid = STR("id");
	told.envelope->received = STR("smtp");
	told.envelope->recipients[0].original = STR("rfc822;o");
	told.envelope->deadline = (struct mail_deadline){.mode = MAIL_DEADLINE_NOTIFY, .at_us = 99};
	start_pack(told.job, false, &text);
	body = (struct unpack){buffer_view(&text), false};
	assert_int_equal(unpack_u64(&body), 42);
	assert_int_equal(unpack_u64(&body), 43);
	expect_str(&body, "a@example.org");
	assert_int_equal(unpack_u64(&body), 12);
	assert_int_equal(unpack_u32(&body), 7);
	assert_int_equal(unpack_u32(&body), IPC_JOB_DEADLINE);
	assert_int_equal(unpack_u64(&body), 99);
	assert_int_equal(unpack_u32(&body), MAIL_RET_HEADERS);
	expect_str(&body, "id");
	expect_str(&body, "example.net");
	expect_str(&body, "smtp");
	assert_int_equal(unpack_u32(&body), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(unpack_u32(&body), i == 0 ? 4 : 6);
		assert_int_equal(unpack_u32(&body), MAIL_NOTIFY_SUCCESS);
		expect_str(&body, i == 0 ? "b@example.net" : "c@example.net");
		expect_str(&body, "rfc822;o");
		expect_str(&body, i == 0 ? "" : "b@example.net");
	}
	assert_true(unpack_is_whole(&body));
	tear_down_told(&told);
}

/* Of a body from its beginning. */
static uint32_t unpack_to_needs(struct unpack *body)
{
	(void)unpack_u64(body); /* number, birth, sender, size, checksum */
	(void)unpack_u64(body);
	(void)unpack_str(body);
	(void)unpack_u64(body);
	(void)unpack_u32(body);
	return unpack_u32(body);
}

/* --- texts --- */

/* The length of the text that was told, with one of LENGTH in FIELD. */
static size_t told_length(const char *field, size_t length)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct unpack body;
	struct told told;
	struct str envid, received, original;

	set_up_told(&told);
	if (strcmp(field, "envid") == 0)
		told.envelope->envid = long_text(&told, length);
	else if (strcmp(field, "received") == 0)
		told.envelope->received = long_text(&told, length);
	else
		told.envelope->recipients[0].original = long_text(&told, length);
	start_pack(told.job, false, &text);
	body = (struct unpack){buffer_view(&text), false};
	(void)unpack_to_needs(&body);
	(void)unpack_u64(&body); /* the deadline, RET */
	(void)unpack_u32(&body);
	envid = unpack_str(&body);
	(void)unpack_str(&body);
	received = unpack_str(&body);
	for (unsigned i = 0; i < 3; i++) /* how many; the first one's number and NOTIFY */
		(void)unpack_u32(&body);
	(void)unpack_str(&body);
	original = unpack_str(&body);
	assert_false(body.failed);
	tear_down_told(&told);
	return strcmp(field, "envid") == 0      ? envid.length
	       : strcmp(field, "received") == 0 ? received.length
						: original.length;
}

static void a_longer_text_is_left_out(void **state)
{
	static const struct {
		const char *field;
		size_t bound;
	} texts[] = {{"received", IPC_JOB_RECEIVED_MAX},
		     {"envid", MAIL_ENVID_MAX},
		     {"original", MAIL_ORCPT_MAX}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		assert_int_equal(told_length(texts[i].field, texts[i].bound - 1),
				 texts[i].bound - 1);
		assert_int_equal(told_length(texts[i].field, texts[i].bound), texts[i].bound);
		assert_int_equal(told_length(texts[i].field, texts[i].bound + 1), 0);
	}
}

/* --- needs --- */

static uint32_t told_needs(struct told *told, bool has_turn)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct unpack body;

	start_pack(told->job, has_turn, &text);
	body = (struct unpack){buffer_view(&text), false};
	return unpack_to_needs(&body);
}

static void each_need_is_a_bit(void **state)
{
	struct told told;
	struct mail_envelope *envelope;

	(void)state;
	set_up_told(&told);
	envelope = told.envelope;
	assert_int_equal(told_needs(&told, false), 0);
	assert_int_equal(told_needs(&told, true), IPC_JOB_TURN);
	envelope->utf8 = true;
	assert_int_equal(told_needs(&told, false), IPC_JOB_UTF8);
	envelope->utf8 = false;
	envelope->binary = true;
	assert_int_equal(told_needs(&told, false), IPC_JOB_BINARY);
	envelope->binary = false;
	envelope->require_tls = true;
	assert_int_equal(told_needs(&told, false), IPC_JOB_REQUIRE_TLS);
	envelope->require_tls = false;
	envelope->deadline.mode = MAIL_DEADLINE_RETURN;
	assert_int_equal(told_needs(&told, false), IPC_JOB_DEADLINE | IPC_JOB_RETURN);
	envelope->deadline =
		(struct mail_deadline){.mode = MAIL_DEADLINE_NOTIFY, .is_traced = true};
	assert_int_equal(told_needs(&told, false), IPC_JOB_DEADLINE | IPC_JOB_TRACE);
	envelope->deadline.is_traced = false;
	envelope->deadline.is_told = true;
	assert_int_equal(told_needs(&told, false), IPC_JOB_DEADLINE | IPC_JOB_TOLD);
	envelope->deadline = (struct mail_deadline){0};
	envelope->priority = -2;
	assert_int_equal(told_needs(&told, false), 0xfeU << IPC_JOB_PRIORITY);
	envelope->priority = 0;
	told.control.has_checksum = true; /* by value: who passes it has compared it */
	envelope->size = QUEUE_BY_VALUE_MAX;
	assert_int_equal(told_needs(&told, false), 0);
	envelope->size++;
	assert_int_equal(told_needs(&told, false), IPC_JOB_CHECKSUM);
	told.control.has_checksum = false;
	assert_int_equal(told_needs(&told, false), 0);
	tear_down_told(&told);
}

/* The sender of VERP has the recipient of the envelope in it, whatever address that leads to. */
static void a_sender_of_verp_is_expanded(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct unpack body;
	struct told told;

	(void)state;
	set_up_told(&told);
	told.envelope->sender = STR("list-@example.org-@[]");
	told.deliveries[0].address = STR("elsewhere@example.com");
	start_pack(told.job, false, &text);
	body = (struct unpack){buffer_view(&text), false};
	(void)unpack_u64(&body);
	(void)unpack_u64(&body);
	expect_str(&body, "list-b=example.net@example.org");
	tear_down_told(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_is_told),
		cmocka_unit_test(a_longer_text_is_left_out),
		cmocka_unit_test(each_need_is_a_bit),
		cmocka_unit_test(a_sender_of_verp_is_expanded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
