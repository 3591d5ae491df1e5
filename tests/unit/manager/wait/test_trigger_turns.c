// SPDX-License-Identifier: ISC
/* Who has a turn at which trigger of a class of hosts: all short orders of beginnings and ends,
 * against a table. */
#include "manager/wait/trigger/internal.h"
#include "test.h"
#include <string.h>

enum { MESSAGES = 3, TRIGGERS = 2, STEPS = 5 };
enum { BEGINNINGS = MESSAGES * TRIGGERS, ENDS = BEGINNINGS + MESSAGES, WAYS = ENDS + TRIGGERS + 1 };

static const char messages[MESSAGES];
static struct trigger all[TRIGGERS];
static unsigned crowded;
static int model[MESSAGES]; /* the trigger where each has a turn; -1: it has none */

static void on_crowded(void *context)
{
	(void)context;
	crowded++;
}

static const struct trigger_handler handler = {.crowded = on_crowded};

static void end_in_model(unsigned trigger)
{
	for (unsigned i = 0; i < MESSAGES; i++)
		if (trigger == TRIGGERS || model[i] == (int)trigger)
			model[i] = -1;
}

/* One step; whoever has a turn already keeps it. */
static void make_step(struct triggers *triggers, unsigned way)
{
	unsigned before = crowded;
	bool has_ended = false;

	if (way < BEGINNINGS) {
		trigger_begin_turn(triggers, &all[way % TRIGGERS], &messages[way / TRIGGERS]);
		if (model[way / TRIGGERS] < 0)
			model[way / TRIGGERS] = (int)(way % TRIGGERS);
	} else if (way < ENDS) {
		trigger_end_turn(triggers, &messages[way - BEGINNINGS]);
		has_ended = model[way - BEGINNINGS] >= 0;
		model[way - BEGINNINGS] = -1;
	} else {
		trigger_end_turns(triggers, way - ENDS < TRIGGERS ? &all[way - ENDS] : NULL);
		end_in_model(way - ENDS);
	}
	assert_int_equal(crowded - before, has_ended);
}

static void check_all(const struct triggers *triggers)
{
	size_t counts[TRIGGERS] = {0};

	for (unsigned i = 0; i < MESSAGES; i++) {
		assert_ptr_equal(triggers_turn_of(triggers, &messages[i]),
				 model[i] < 0 ? NULL : &all[model[i]]);
		if (model[i] >= 0)
			counts[model[i]]++;
	}
	for (unsigned i = 0; i < TRIGGERS; i++)
		assert_int_equal(trigger_turns(&all[i]), counts[i]);
}

/* In one life, whose end is that of all turns. */
static void a_message_has_one_turn(void **state)
{
	struct triggers triggers = {.handler = &handler};
	unsigned orders = 1;

	(void)state;
	for (unsigned i = 0; i < STEPS; i++)
		orders *= WAYS;
	memset(model, -1, sizeof model);
	for (unsigned order = 0; order < orders; order++) {
		for (unsigned i = 0, rest = order; i < STEPS; i++, rest /= WAYS) {
			make_step(&triggers, rest % WAYS);
			check_all(&triggers);
		}
		make_step(&triggers, WAYS - 1);
		check_all(&triggers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_has_one_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
