// SPDX-License-Identifier: ISC
/* What helpers are told of messages, by every kind of envelope; and when a loaded machine holds
 * mail for other hosts back. */
#include "scene.h"
#include "unit/test.h"

/* --- every envelope --- */

/* The NUMBERth kind: model_told.c checks what is told. */
static struct model_message *mail_of_kind(unsigned number)
{
	static const uint64_t sizes[] = {1, 100, QUEUE_BY_VALUE_MAX, QUEUE_BY_VALUE_MAX + 1};
	static const char *const senders[] = {"s@sender.example", "", "#@[]",
					      "s-@sender.example-@[]"};
	struct mail_envelope *envelope = mail_envelope_new();
	uint64_t at = model_next_number();

	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = sizes[number % COUNT_OF(sizes)];
	envelope->sender = str_from(senders[number / 4 % COUNT_OF(senders)]);
	envelope->priority = (int)(number % 19) - 9;
	mail_envelope_add(envelope, STR("R@fast.example"))->notify =
		number % 2 == 0 ? 0 : MAIL_NOTIFY_FAILURE;
	mail_envelope_add(envelope, STR("t@fast.example"));
	if (number % 3 > 0 && number / 4 % 4 % 3 == 0) { /* who is nobody is not told of it */
		envelope->deadline.mode =
			number % 3 == 1 ? MAIL_DEADLINE_NOTIFY : MAIL_DEADLINE_RETURN;
		envelope->deadline.is_traced = number % 2 == 0;
		mail_deadline_set(&envelope->deadline, 3600, model_wall_us);
	}
	model_set_wishes(envelope, number);
	model_add_mail(envelope, false);
	mail_envelope_free(envelope);
	return model_find(at);
}

static void all_of_an_envelope_is_told(void **state)
{
	(void)state;
	scene_begin(true);
	for (unsigned number = 0; number < 400; number++) {
		struct model_message *m = mail_of_kind(number);

		model_resolve(MODEL_KNOWN);
		for (uint32_t i = 1; i <= 2; i++) {
			assert_true(scene_is_tried(m, i));
			model_say(m, i, "2.0.0", "");
		}
		scene_work();
		assert_false(m->is_present);
		model_resolve(MODEL_KNOWN); /* reports on it */
		model_helpers_finish_all();
		scene_work();
	}
	scene_end();
}

/* --- a loaded machine --- */

static void load_holds_mail_for_other_hosts_back(void **state)
{
	unsigned holds = model_logged(EVENT_LOAD_HOLDS);
	unsigned releases = model_logged(EVENT_LOAD_RELEASES);
	struct model_message *remote;
	struct model_message *local;

	(void)state;
	scene_begin(true);
	scene_config.load_queue = 5;
	scene_configure();
	for (unsigned round = 0; round < 2; round++) {
		model_load = 499;
		remote = scene_mail("r@fast.example");
		assert_true(scene_is_tried(remote, 1));
		scene_say(remote, 1, "2.0.0", "");
		model_load = 500;
		remote = scene_mail("r@fast.example");
		local = scene_mail("r@local.example");
		assert_false(scene_is_tried(remote, 1));
		assert_true(scene_is_tried(local, 1));
		scene_say(local, 1, "2.0.0", "");
		scene_pass(10 * SECOND_US);
		assert_false(scene_is_tried(remote, 1));
		assert_int_equal(model_logged(EVENT_LOAD_HOLDS), holds + round + 1);
		assert_int_equal(model_logged(EVENT_LOAD_RELEASES), releases + round);
		model_load = 499;
		scene_pass(SECOND_US);
		assert_true(scene_is_tried(remote, 1));
		assert_int_equal(model_logged(EVENT_LOAD_RELEASES), releases + round + 1);
		scene_say(remote, 1, "2.0.0", "");
	}
	model_load = 0;
	scene_end();
}

/* No load does, unless the setting says so. */
static void without_the_setting_no_load_counts(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	model_load = 100000;
	m = scene_mail("r@fast.example");
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	model_load = 0;
	scene_end();
}

/* What is held is not held any more when the setting goes. */
static void who_is_held_goes_when_the_setting_goes(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.load_queue = 1;
	scene_configure();
	model_load = 100;
	m = scene_mail("r@fast.example");
	assert_false(scene_is_tried(m, 1));
	scene_config.load_queue = 0;
	scene_configure();
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	model_load = 0;
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_an_envelope_is_told),
		cmocka_unit_test(load_holds_mail_for_other_hosts_back),
		cmocka_unit_test(without_the_setting_no_load_counts),
		cmocka_unit_test(who_is_held_goes_when_the_setting_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
