// SPDX-License-Identifier: ISC
/*
 * The local transport among threads that get stuck, mailboxes that are locked, reloads and lost
 * connections, by chance: each recipient is reported once and of his own mailbox, each job ends,
 * and one thread works at a time.
 */
#include "base/timestamp.h"
#include "fake_loop.h"
#include "local_scene.h"
#include "test.h"

enum { SEEDS = 120, STEPS = 500 };

/* Jobs that no thread has may end without reports, and do. */
static void give_up(bool is_lost)
{
	for (size_t i = 0; i < scene.started; i++) {
		scene.jobs[i].is_given_up = true;
		scene.jobs[i].is_mute |= is_lost;
	}
	if (is_lost)
		deliver_local_lost(scene.local);
	else
		deliver_local_drain(scene.local);
	for (size_t i = 0; i < scene.started; i++)
		if (scene.jobs[i].job != NULL)
			assert_true(scene_is_written(scene.jobs[i].job));
}

/* While a thread works, it is looked at each second. */
static void let_a_second_pass(void)
{
	size_t looked = scene.looked;
	bool is_working = false;

	for (size_t i = 0; scene_busy(i) != NULL; i++)
		is_working |= !scene_busy(i)->is_stuck;
	fake_advance(SECOND_US);
	if (is_working)
		assert_true(scene.looked > looked);
}

static void write_something(void)
{
	struct local_worker *worker = scene_busy(fake_random(3));

	if (worker != NULL)
		scene_write(worker);
}

static void play_one(void)
{
	uint32_t what = fake_random(100);

	if (what < 35)
		scene_start_job(1 + fake_random(fake_random(20) == 0 ? 300 : 4));
	else if (what < 50)
		scene_turn();
	else if (what < 65)
		write_something();
	else if (what < 75)
		let_a_second_pass();
	else if (what < 82)
		fake_advance(SECOND_US / 10);
	else if (what < 88)
		scene_answer_quota();
	else if (what < 92)
		scene.is_asking = !scene.is_asking;
	else if (what < 97)
		scene.is_locked[fake_random(SCENE_USERS)] ^= true;
	else if (what < 99)
		scene_configure();
	else if (fake_random(4) == 0)
		give_up(true);
	scene_check();
}

static void end_all(void)
{
	for (size_t i = 0; i < SCENE_USERS; i++)
		scene.is_locked[i] = false;
	while (scene.asked_count > 0)
		scene_answer_quota();
	for (size_t i = 0; i < 20000 && scene.finished < scene.started; i++) {
		write_something();
		scene_turn();
		if (fake_random(4) == 0)
			let_a_second_pass();
		if (scene_busy(0) == NULL)
			fake_advance(SECOND_US / 10);
		scene_check();
	}
	assert_int_equal(scene.finished, scene.started);
}

static struct {
	size_t stored, locked, refused, blocked, stuck;
} all;

static void play_seed(uint64_t seed)
{
	fake_begin(seed);
	scene_begin();
	for (size_t i = 0; i < STEPS; i++)
		play_one();
	if (seed % 3 == 0)
		give_up(false);
	if (seed % 3 < 2)
		end_all();
	if (seed % 3 == 1)
		assert_int_equal(scene.back, scene.stuck);
	scene_end();
	all.stored += scene.stored;
	all.locked += scene.locked;
	all.refused += scene.refused;
	all.blocked += scene.blocked;
	all.stuck += scene.stuck;
}

static void each_job_comes_to_its_end(void **state)
{
	(void)state;
	fake_seeds(SEEDS, play_seed);
	print_message("%zu stored, %zu locked, %zu refused, %zu blocked, %zu stuck\n", all.stored,
		      all.locked, all.refused, all.blocked, all.stuck);
	assert_true(all.stored > 0 && all.locked > 0 && all.refused > 0 && all.blocked > 0 &&
		    all.stuck > 0);
}

/* However many were refused before it in the same turn. */
static void mail_behind_refused_mail_is_written(void **state)
{
	(void)state;
	fake_begin(1);
	scene_begin();
	for (size_t i = 0; i < 3 * SCENE_GROUP_MAX; i++)
		scene_start_job_for(i % 2 == 0 ? "?@d" : "!@d");
	scene_start_job_for("u1@d");
	scene_turn();
	assert_non_null(scene_busy(0));
	assert_int_equal(scene.finished, 3 * SCENE_GROUP_MAX);
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mail_behind_refused_mail_is_written),
		cmocka_unit_test_teardown(each_job_comes_to_its_end, fake_tell_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
