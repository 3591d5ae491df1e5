// SPDX-License-Identifier: ISC
/* What the manager does with mail when it learns in which groups of nodes it is. */
#include "manager/internal.h"
#include "scene.h"
#include "unit/test.h"
#include <unistd.h>

enum { MANY = 20, SECONDS = 20 };

/* What waits for its turn is placed again, each job once, and none is lost. */
static void what_waits_is_placed_again_once(void **state)
{
	struct model_message *mail[MANY];
	size_t waiting = 0;

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < MANY; i++) {
		mail[i] = scene_mail_to("r@fast.example", "r@extra.example", "s@fast.example");
		waiting += !scene_is_tried(mail[i], 1);
	}
	assert_true(waiting > 2);
	alarm(SECONDS); /* or it goes on for ever */
	manager_hear_handed.groups_changed(scene_manager);
	alarm(0);
	scene_work();
	for (size_t done = 0; done < MANY;) {
		size_t before = done;

		for (size_t i = 0; i < MANY; i++) {
			for (uint32_t delivery = 1; mail[i] != NULL && delivery <= 3; delivery++)
				if (scene_is_tried(mail[i], delivery))
					scene_say(mail[i], delivery, "2.0.0", "");
			if (mail[i] != NULL && !mail[i]->is_present) {
				mail[i] = NULL;
				done++;
			}
		}
		assert_true(done > before);
	}
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_is_placed_again_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
