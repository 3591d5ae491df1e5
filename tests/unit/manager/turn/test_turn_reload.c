// SPDX-License-Identifier: ISC
/* Transports that come, change and go while jobs wait there and are in flight: at random, with the
 * rules of transports_check() after each step. */
#include "base/timestamp.h"
#include "chance.h"
#include "test.h"
#include "turn_scene.h"
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 300, STEPS = 200, NAMES = 6, JOBS_MAX = 400 };

static const char *const names[NAMES] = {"remote", "box", "list", "pipe", "hop", "mail"};

static struct {
	int64_t now_us;
	struct share share;
	struct transports *transports;
	struct sleepers sleepers;
	struct config_transport configured[NAMES];
	size_t configured_count;
	struct job *flying[JOBS_MAX]; /* jobs in flight */
	size_t flying_count;
	uint64_t last_sleeper;
	unsigned started, retired; /* in all rounds */
} world;

static void has_room(void *context, struct waiters *waiters, size_t count, bool retries)
{
	(void)context, (void)retries;
	assert_in_range(count, 1, waiters->count);
	while (count-- > 0)
		sleepers_remove(&world.sleepers, sleepers_waiting_first(&world.sleepers, waiters));
}

static const struct config_transport *configured(const char *name)
{
	for (size_t i = 0; i < world.configured_count; i++)
		if (strcmp(world.configured[i].name, name) == 0)
			return &world.configured[i];
	return NULL;
}

/* As the manager does it. */
static void reload(void)
{
	struct config config = {.transports = world.configured};
	struct job *job;

	world.configured_count = 0;
	for (size_t i = 0; i < NAMES; i++)
		if (i == 0 || chance(3) > 0)
			world.configured[world.configured_count++] = (struct config_transport){
				names[i], (uint32_t)chance(5), (uint32_t)chance(4), chance(5) == 0};
	config.transport_count = world.configured_count;
	transports_configure(world.transports, &config);
	while ((job = transports_retired_waiting(world.transports)) != NULL) {
		transport_job_ended(job, world.now_us);
		world.retired++;
	}
	while ((job = transports_paused_retry(world.transports)) != NULL)
		transport_job_ended(job, world.now_us);
	memset(world.configured + world.configured_count, 0xa5,
	       (NAMES - world.configured_count) * sizeof *world.configured);
}

static void add_job(void)
{
	static const char *const destinations[] = {"", "a.test", "b.test"};
	struct transport *transport =
		transports_find(world.transports, str_from(names[chance(NAMES)]));
	const struct transport_delivery delivery = {
		.message = scene_message((unsigned)chance(50)),
		.index = (uint32_t)chance(3),
		.destination = str_from(destinations[chance(3)]),
		.sender = chance(2) == 0 ? STR("a@a") : STR("b@b"),
		.size = 50,
		.is_retry = chance(3) == 0};
	struct waiters *waiters = NULL;
	struct job *job = NULL;

	if (transport != NULL && transport_add(transport, &delivery, &job, &waiters) < 0)
		sleepers_wait(&world.sleepers,
			      sleepers_add(&world.sleepers, ++world.last_sleeper, INT64_MAX),
			      waiters);
}

static void start_job(void)
{
	const char *name = names[chance(NAMES)];
	const struct config_transport *settings = configured(name);
	struct transport *transport = transports_find(world.transports, str_from(name));

	assert_int_equal(transport != NULL, settings != NULL);
	if (transport == NULL || world.flying_count == JOBS_MAX ||
	    !transport_is_ready(transport, world.now_us))
		return;
	assert_false(settings->paused);
	assert_true(transport_count(transport).in_flight < settings->concurrency);
	world.flying[world.flying_count++] = transport_start(transport, world.now_us);
	world.started++;
}

static void end_job(void)
{
	const struct transport_pause_terms terms = {.until_us = world.now_us + SECOND_US,
						    .is_last = chance(2) == 0,
						    .reason = STR("enough")};
	size_t i = world.flying_count > 0 ? chance(world.flying_count) : 0;
	struct job *job = world.flying[i];

	if (world.flying_count == 0)
		return;
	world.flying[i] = world.flying[--world.flying_count];
	job->is_unreached = chance(3) == 0;
	/* what is retired has nowhere to wait */
	if (chance(4) == 0 && configured(transport_name(job_transport(job))) != NULL)
		transport_pause(job, world.now_us, &terms);
	else
		transport_job_ended(job, world.now_us);
}

static void check_transports(void)
{
	const char *problem = transports_check(world.transports);
	size_t flying = 0;

	if (problem != NULL)
		fail_msg("%s", problem);
	for (struct transport *t = NULL; (t = transports_next(world.transports, t)) != NULL;) {
		flying += transport_count(t).in_flight;
		if (configured(transport_name(t)) == NULL)
			assert_int_equal(transport_count(t).waiting, 0);
	}
	assert_int_equal(flying, world.flying_count);
}

static void play_round(void)
{
	static const struct transport_handler handler = {has_room};
	struct job *job;

	world.now_us = 1000 * SECOND_US;
	world.share = (struct share){.limit = SHARE_UNITS};
	world.sleepers = (struct sleepers){0};
	world.flying_count = 0;
	world.transports = transports_new(&world.share, &handler, NULL);
	reload();
	for (unsigned step = 0; step < STEPS; step++) {
		void (*const steps[])(void) = {add_job,   add_job,   add_job,
					       start_job, start_job, end_job};

		if (chance(20) == 0)
			reload();
		else
			steps[chance(COUNT_OF(steps))]();
		world.now_us += (int64_t)chance(SECOND_US / 2);
		check_transports();
	}
	while (world.flying_count > 0)
		end_job();
	while ((job = transports_waiting(world.transports)) != NULL)
		transport_job_ended(job, world.now_us);
	check_transports();
	transports_free(world.transports);
	sleepers_clear(&world.sleepers);
}

static void any_reload(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++)
		play_round();
	assert_true(world.started > ROUNDS && world.retired > ROUNDS);
}

/* Their directories may have names of messages, however many there were. */
static void all_services_are_known(void **state)
{
	enum { SERVICES = 600 };
	static const struct transport_handler handler = {has_room};
	const char *const *listed;
	char name[20];

	(void)state;
	world.share = (struct share){.limit = SHARE_UNITS};
	world.transports = transports_new(&world.share, &handler, NULL);
	for (size_t i = 0; i < SERVICES; i++) {
		struct config_transport both[] = {{"remote", 1, 1, false}, {name, 1, 1, false}};
		const struct config config = {.transports = both,
					      .transport_count = COUNT_OF(both)};

		snprintf(name, sizeof name, "s%zu", i);
		transports_configure(world.transports, &config);
		assert_int_equal(transports_services(world.transports, &listed), i + 1);
		for (size_t k = 0; k <= i; k++) {
			snprintf(name, sizeof name, "s%zu", k);
			assert_string_equal(listed[k], name);
		}
	}
	transports_free(world.transports);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_reload),
		cmocka_unit_test(all_services_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
