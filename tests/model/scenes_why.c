// SPDX-License-Identifier: ISC
/* Nothing waits without a reason: each way to wait, and what is said of it to who asks. */
#include "queue/trigger.h"
#include "scene.h"
#include "unit/test.h"
#include <stdio.h>

static struct model_message *unmapped_mail(void)
{
	static const char *const addresses[] = {"r@fast.example", NULL};

	return model_mail_to("s@sender.example", addresses, MODEL_SIZE);
}

static struct model_message *wait_for_answer(void)
{
	struct model_message *m = unmapped_mail();

	scene_work();
	return m;
}

static struct model_message *wait_for_directory(void)
{
	struct model_message *m = unmapped_mail();

	model_resolve(MODEL_AWAY);
	return m;
}

static struct model_message *wait_for_knowledge(void)
{
	struct model_message *m = unmapped_mail();

	model_resolve(MODEL_LATER);
	return m;
}

static struct model_message *be_delivered(void)
{
	return scene_mail("r@fast.example");
}

static struct model_message *wait_for_turn(void)
{
	(void)scene_mail("r@new.example");
	(void)scene_mail("r@new.example");
	return scene_mail("r@new.example");
}

static struct model_message *wait_for_host(void)
{
	scene_say(scene_mail("r@dead.example"), 1, "4.4.1", "host.dead");
	return scene_mail("r@dead.example");
}

static struct model_message *wait_for_busy(void)
{
	struct model_message *m = scene_mail("r@fast.example");

	model_say_busy(m, 1, 5000);
	scene_work();
	return m;
}

static void set_paused(bool paused)
{
	for (size_t i = 0; i < scene_config.transport_count; i++)
		scene_config.transports[i].paused = paused;
	scene_configure();
}

static struct model_message *wait_for_setting(void)
{
	set_paused(true);
	return scene_mail("r@fast.example");
}

static struct model_message *wait_for_setting_again(void)
{
	struct model_message *m = scene_mail("r@fast.example");

	scene_say(m, 1, "4.2.0", "");
	set_paused(true);
	scene_pass(DAY_US); /* it is due */
	return m;
}

static struct model_message *wait_for_event(void)
{
	struct model_message *m;

	while (queue_trigger_set_until(model_store, STR("the.moon"), 0, STR(""), STR("")) < 0)
		continue; /* the disk fails now and then */
	m = model_mail_that_waits("r@fast.example", "the.moon");
	model_resolve(MODEL_KNOWN);
	return m;
}

static struct model_message *wait_for_time(void)
{
	struct model_message *m = scene_mail("r@fast.example");

	scene_say(m, 1, "4.2.0", "");
	assert_true(m->is_at_s5); /* where it says so */
	return m;
}

static struct model_message *wait_for_disk(void)
{
	struct model_message *m = scene_mail("r@fast.example");

	model_disk.fails = true;
	scene_say(m, 1, "5.1.1", "");
	return m;
}

static struct model_message *wait_for_queue(void)
{
	struct model_message *m = scene_mail("r@fast.example");

	model_queue_lost();
	return m;
}

static const struct {
	const char *name;
	struct model_message *(*arrange)(void);
	const char *answer;
} kinds[] = {
	{"answer", wait_for_answer, "ok (directory: it is being asked where its recipients go)"},
	{"directory", wait_for_directory, "ok directory"},
	{"knowledge", wait_for_knowledge,
	 "ok (directory: it could not tell where its recipients go, and is asked again)"},
	{"delivery", be_delivered, "ok (fast.example: a delivery is under way)"},
	{"turn", wait_for_turn,
	 "ok (new.example: it waits for its turn; 2 deliveries there are under way, and 1 wait)"},
	{"host", wait_for_host, "ok host.dead"},
	{"busy", wait_for_busy, "ok (fast.example: enough for now)"},
	{"setting", wait_for_setting, "ok (remote: the transport is paused by its setting)"},
	{"setting again", wait_for_setting_again,
	 "ok (remote: the transport is paused by its setting)"},
	{"event", wait_for_event, "ok the.moon"},
	{"time", wait_for_time, "ok"},
	{"disk", wait_for_disk,
	 "ok (disk: what became of it could not be recorded, which is tried again; see "
	 "queue_error in the log)"},
	{"queue", wait_for_queue,
	 "ok (send: the queue, or what its mail waits for, is not read yet)"},
};

static void whatever_waits_has_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct model_message *m;

		printf("%s\n", kinds[i].name);
		scene_begin(true);
		m = kinds[i].arrange();
		assert_string_equal(scene_order("why", m), kinds[i].answer);
		model_disk.fails = false;
		model_queue_connects();
		set_paused(false);
		scene_end();
	}
}

/* Also where an operator holds it. */
static void a_hold_is_a_reason(void **state)
{
	struct model_message *m;
	char id[MAIL_ID_SIZE];
	char answer[MAIL_ID_SIZE + 16];

	(void)state;
	scene_begin(true);
	m = scene_mail("r@fast.example");
	scene_say(m, 1, "4.2.0", "");
	assert_string_equal(scene_order("hold", m), "ok");
	scene_pass(DAY_US);
	mail_id_format(m->id, id);
	snprintf(answer, sizeof answer, "ok hold.%s", id);
	assert_string_equal(scene_order("why", m), answer);
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_waits_has_a_reason),
		cmocka_unit_test(a_hold_is_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
