// SPDX-License-Identifier: ISC
/*
 * Mail that waits for a place in a class of hosts: fairly released, never starved. The sessions of
 * "remote" and of clients are in the counts of other processes (unit/limit/limit_scene.h).
 */
#include "scene.h"
#include "unit/chance.h"
#include "unit/limit/limit_scene.h"
#include "unit/test.h"
#include <stdio.h>

enum { REMOTE, CLIENTS, OWN, PROCESSES };
enum { FULL, OTHER, CLASSES, PLACES = 2, MAIL = 30, EVENTS = 20000, PASSED_MAX = 4 * PLACES };

static const int64_t LOOK_US = SECOND_US / 50; /* how often the manager looks */
static const int64_t STEP_US = SECOND_US / 12;
static struct limit_scene limits;
static struct limit_classes *classes;

static void begin(void)
{
	static struct config_class configured[CLASSES] = {
		[FULL] = {.mask = "full.example",
			  .kind = CONFIG_CLASS_HOST,
			  .name = "full.example",
			  .queue = PLACES,
			  .refuse = PLACES},
		[OTHER] = {.mask = "*", .kind = CONFIG_CLASS_ALL, .queue = 9, .refuse = 9},
	};

	scene_begin(true);
	scene_config.classes = configured;
	scene_config.class_count = CLASSES;
	classes = limit_classes_new(&scene_config);
	limit_scene_init(&limits, PROCESSES);
	for (size_t i = 0; i < PROCESSES; i++)
		limit_scene_start(&limits, i, classes);
	scene_configure();
	manager_use_limits(scene_manager, limits.memories[OWN]);
}

static void end(void)
{
	scene_end();
	limit_scene_clear(&limits);
	limit_classes_free(classes);
}

static bool enter(void)
{
	return limit_enter_out(limits.counters[REMOTE], FULL);
}

static void leave(void)
{
	limit_leave_out(limits.counters[REMOTE], FULL);
}

/* One to a domain of its own, whose host is in the class of the others. */
static struct model_message *mail(unsigned number)
{
	char address[40];

	snprintf(address, sizeof address, "r@n%u.example", number);
	return scene_mail(address);
}

/* "remote" finds no place for it. */
static void wait_for_place(struct model_message *m)
{
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "4.4.5", "class.full.example");
	assert_true(scene_waits(m));
}

/* Those who have a turn begin a session, or find that there is no place: the manager takes a
 * session that stands for that of one who has a turn, so it may let one go too early. */
static unsigned begin_sessions(struct model_message *const m[], bool has_place[])
{
	unsigned begun = 0;

	for (unsigned i = 0; i < MAIL; i++) {
		if (m[i] == NULL || has_place[i] || !scene_is_tried(m[i], 1))
			continue;
		has_place[i] = enter();
		begun += has_place[i];
		if (!has_place[i])
			wait_for_place(m[i]);
	}
	return begun;
}

static void in_their_order_as_places_become_free(void **state)
{
	struct model_message *m[MAIL];
	bool has_place[MAIL] = {0};

	(void)state;
	begin();
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(enter());
	for (unsigned i = 0; i < MAIL; i++) {
		m[i] = mail(i);
		wait_for_place(m[i]);
	}
	for (unsigned i = 0; i < MAIL; i++) {
		scene_pass(3 * LOOK_US);
		assert_int_equal(begin_sessions(m, has_place), 0); /* while all are taken */
		leave();
		scene_pass(2 * LOOK_US);
		assert_int_equal(begin_sessions(m, has_place), 1);
		assert_true(has_place[i]);
		scene_say(m[i], 1, "2.0.0", "");
		assert_false(m[i]->is_present);
		m[i] = NULL;
	}
	for (unsigned i = 0; i < PLACES; i++)
		leave();
	scene_pass(SECOND_US);
	assert_false(model_has_trigger("class.full.example"));
	end();
}

/* Mail for others is tried at once, and what waits there does not wait for this. */
static void other_mail_does_not_wait(void **state)
{
	struct model_message *m;
	struct model_message *other;

	(void)state;
	begin();
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(enter());
	m = mail(1);
	wait_for_place(m);
	other = scene_mail("r@fast.example");
	scene_work();
	assert_true(scene_is_tried(other, 1));
	scene_say(other, 1, "4.4.5", "class.[any]");
	scene_pass(2 * LOOK_US); /* it has nine places */
	assert_true(scene_is_tried(other, 1));
	scene_say(other, 1, "2.0.0", "");
	assert_false(other->is_present || scene_is_tried(m, 1));
	for (unsigned i = 0; i < PLACES; i++)
		leave();
	scene_pass(2 * LOOK_US);
	scene_say(m, 1, "2.0.0", "");
	end();
}

/* --- orders --- */

static void take_all_by_clients(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(limit_enter_in(limits.counters[CLIENTS], FULL));
}

static void let_clients_leave(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		limit_leave_in(limits.counters[CLIENTS], FULL);
}

/* An order gives nobody a place that there is not, nor that of one who has waited longer. */
static void an_ordered_retry_keeps_its_place_in_the_line(void **state)
{
	struct model_message *m[3];

	(void)state;
	begin();
	take_all_by_clients();
	for (unsigned i = 0; i < 3; i++) {
		m[i] = mail(i);
		wait_for_place(m[i]);
	}
	assert_string_equal(scene_order("retry", m[1]), "ok");
	assert_string_equal(scene_order("retry", m[2]), "ok");
	scene_pass(3 * LOOK_US);
	for (unsigned i = 0; i < 3; i++)
		assert_true(!scene_is_tried(m[i], 1) && scene_waits(m[i]));
	let_clients_leave(1);
	for (unsigned i = 0; i < 3; i++) {
		scene_pass(2 * LOOK_US);
		for (unsigned j = i; j < 3; j++)
			assert_int_equal(scene_is_tried(m[j], 1), i == j);
		scene_say(m[i], 1, "2.0.0", "");
		assert_false(m[i]->is_present);
	}
	let_clients_leave(PLACES - 1);
	end();
}

/* What waits for something else is tried at once, beside one that waits for a place. */
static void an_ordered_retry_tries_what_needs_no_place(void **state)
{
	struct model_message *m;

	(void)state;
	begin();
	take_all_by_clients();
	m = scene_mail_to("r@n1.example", "r@fast.example", NULL);
	scene_work();
	scene_say(m, 2, "4.7.1", "");
	wait_for_place(m);
	assert_string_equal(scene_order("retry", m), "ok");
	scene_work();
	assert_false(scene_is_tried(m, 1));
	assert_true(scene_is_tried(m, 2));
	scene_say(m, 2, "2.0.0", "");
	assert_true(scene_waits(m));
	assert_string_equal(scene_order("retry", m), "ok"); /* now it only waits for the place */
	scene_pass(3 * LOOK_US);
	assert_true(scene_waits(m));
	let_clients_leave(PLACES);
	scene_pass(2 * LOOK_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	end();
}

/* Where it leads there still, it waits again; where it leads elsewhere, it does not. */
static void what_is_mapped_anew_waits_for_its_turn(void **state)
{
	static const char *const same[] = {"r@n1.example", NULL};
	static const char *const other[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	begin();
	take_all_by_clients();
	m = mail(1);
	wait_for_place(m);
	assert_string_equal(scene_order("requeue", m), "ok");
	scene_work();
	model_resolve_to(same);
	scene_work();
	scene_pass(3 * LOOK_US);
	assert_false(scene_is_tried(m, 1));
	assert_true(scene_waits(m));
	assert_string_equal(scene_order("requeue", m), "ok");
	scene_work();
	model_resolve_to(other);
	scene_work();
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	let_clients_leave(PLACES);
	end();
}

/* --- by chance --- */

struct waiter {
	struct model_message *message; /* NULL: it was delivered */
	unsigned number;
	unsigned passed; /* by mail that came later */
	bool has_place;
};

static struct waiter waiters[MAIL];
static unsigned next_number;
static unsigned in; /* sessions of clients */
static unsigned most_passed, delivered, lost_turns;

static void come(struct waiter *waiter)
{
	*waiter = (struct waiter){mail(next_number), next_number, 0, false};
	next_number++;
	wait_for_place(waiter->message);
}

static void be_delivered(struct waiter *waiter)
{
	for (size_t i = 0; i < MAIL; i++)
		if (waiters[i].message != NULL && waiters[i].number < waiter->number &&
		    !waiters[i].has_place && ++waiters[i].passed > most_passed)
			most_passed = waiters[i].passed;
	scene_say(waiter->message, 1, "2.0.0", "");
	assert_false(waiter->message->is_present);
	leave();
	*waiter = (struct waiter){0};
	delivered++;
}

/* A client may have been faster. */
static void take_turn(struct waiter *waiter)
{
	if (enter()) {
		waiter->has_place = true;
		return;
	}
	lost_turns++;
	wait_for_place(waiter->message);
}

/* False: there is nothing for it to do. */
static bool go_on(struct waiter *waiter)
{
	if (waiter->message == NULL)
		come(waiter);
	else if (waiter->has_place)
		be_delivered(waiter);
	else if (scene_is_tried(waiter->message, 1))
		take_turn(waiter);
	else
		return false;
	return true;
}

static void one_goes_on(void)
{
	size_t first = chance(MAIL);

	for (size_t i = 0; i < MAIL; i++)
		if (go_on(&waiters[(first + i) % MAIL]))
			return;
}

static void happen(void)
{
	switch (chance(5)) {
	case 0:
		if (limit_enter_in(limits.counters[CLIENTS], FULL))
			in++;
		break;
	case 1:
		if (in > 0) {
			limit_leave_in(limits.counters[CLIENTS], FULL);
			in--;
		}
		break;
	case 2:
		scene_pass((int64_t)chance((size_t)STEP_US));
		break;
	default:
		one_goes_on();
	}
}

static void check(void)
{
	struct limit_total total;
	unsigned turns = 0;

	limit_total_of(limits.supervisor, limit_classes_at(classes, FULL)->key, &total);
	assert_true(total.in + total.out <= PLACES);
	for (size_t i = 0; i < MAIL; i++)
		turns += waiters[i].message != NULL && scene_is_tried(waiters[i].message, 1);
	assert_true(turns <= PLACES);
}

/* Clients take and leave the same places, mail comes and goes: never are more let go than there are
 * places, and nobody is passed by more than a few, who had their turn at the same time. */
static void nobody_is_starved(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(enter());
	for (size_t i = 0; i < MAIL; i++)
		come(&waiters[i]);
	for (unsigned i = 0; i < PLACES; i++)
		leave();
	for (unsigned event = 0; event < EVENTS; event++) {
		happen();
		check();
	}
	printf("%u delivered, %u turns lost to clients, passed by %u at most\n", delivered,
	       lost_turns, most_passed);
	assert_true(delivered > EVENTS / 100 && lost_turns > 10);
	assert_true(most_passed <= PASSED_MAX);
	for (; in > 0; in--)
		limit_leave_in(limits.counters[CLIENTS], FULL);
	for (unsigned i = 0; i < 100 * MAIL; i++) {
		struct waiter *waiter = &waiters[i % MAIL];

		if (i % MAIL == 0)
			scene_pass(2 * LOOK_US);
		if (waiter->message == NULL)
			continue;
		if (!waiter->has_place && scene_is_tried(waiter->message, 1))
			take_turn(waiter);
		if (waiter->has_place)
			be_delivered(waiter);
	}
	for (size_t i = 0; i < MAIL; i++)
		assert_null(waiters[i].message);
	scene_pass(SECOND_US);
	assert_false(model_has_trigger("class.full.example"));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_their_order_as_places_become_free),
		cmocka_unit_test(other_mail_does_not_wait),
		cmocka_unit_test(an_ordered_retry_keeps_its_place_in_the_line),
		cmocka_unit_test(an_ordered_retry_tries_what_needs_no_place),
		cmocka_unit_test(what_is_mapped_anew_waits_for_its_turn),
		cmocka_unit_test(nobody_is_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
