// SPDX-License-Identifier: ISC
#include "turn_scene.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "test.h"
#include <stdlib.h>

static void has_room(void *context, struct waiters *waiters, size_t count, bool retries)
{
	struct turn_scene *scene = context;

	scene->roomy = waiters;
	scene->roomy_count = count;
	scene->roomy_retries = retries;
	scene->roomy_calls++;
	assert_in_range(count, 1, waiters->count);
	while (count-- > 0)
		sleepers_remove(&scene->sleepers,
				sleepers_waiting_first(&scene->sleepers, waiters));
}

static const struct transport_handler handler = {has_room};

void scene_configure(struct turn_scene *scene)
{
	const struct config config = {.transports = scene->configured,
				      .transport_count = SCENE_TRANSPORTS};

	transports_configure(scene->transports, &config);
}

struct turn_scene *scene_new(uint32_t places, uint32_t destination_places)
{
	struct turn_scene *scene = memory_alloc_zero(1, sizeof *scene);

	scene->now_us = 1000 * SECOND_US;
	scene->configured[0] =
		(struct config_transport){"remote", places, destination_places, false};
	scene->configured[1] = (struct config_transport){"local", 4, 2, false};
	scene->share.limit = SHARE_UNITS;
	scene->transports = transports_new(&scene->share, &handler, scene);
	scene_configure(scene);
	scene->remote = transports_find(scene->transports, STR("remote"));
	scene->local = transports_find(scene->transports, STR("local"));
	return scene;
}

void scene_free(struct turn_scene *scene)
{
	struct job *job;

	assert_null(transports_check(scene->transports));
	while ((job = transports_waiting(scene->transports)) != NULL)
		transport_job_ended(job, scene->now_us);
	assert_null(transports_check(scene->transports));
	transports_free(scene->transports);
	sleepers_clear(&scene->sleepers);
	free(scene);
}

struct message *scene_message(unsigned which)
{
	static char messages[1 << 16];

	return (struct message *)(void *)&messages[which];
}

static struct job *add(struct turn_scene *scene, const struct transport_delivery *delivery)
{
	struct waiters *waiters;
	struct job *job = NULL;

	assert_true(transport_add(scene->remote, delivery, &job, &waiters) >= 0);
	return job;
}

struct job *scene_add(struct turn_scene *scene, const char *destination, const char *sender,
		      unsigned which)
{
	const struct transport_delivery delivery = {.message = scene_message(which),
						    .destination = str_from(destination),
						    .sender = str_from(sender),
						    .size = 50};

	return add(scene, &delivery);
}

struct job *scene_add_retry(struct turn_scene *scene, const char *destination, unsigned which)
{
	const struct transport_delivery delivery = {.message = scene_message(which),
						    .destination = str_from(destination),
						    .sender = STR("s@s.example"),
						    .size = 50,
						    .is_retry = true};

	return add(scene, &delivery);
}

struct waiters *scene_crowd_out(struct turn_scene *scene, struct transport *transport,
				const struct transport_delivery *delivery)
{
	struct waiters *waiters = NULL;
	struct job *job = NULL;

	assert_int_equal(transport_add(transport, delivery, &job, &waiters), -1);
	assert_null(job);
	assert_non_null(waiters);
	sleepers_wait(&scene->sleepers,
		      sleepers_add(&scene->sleepers, ++scene->last_sleeper, INT64_MAX), waiters);
	return waiters;
}

size_t scene_take_woken(struct turn_scene *scene, const struct waiters *waiters)
{
	size_t count = scene->roomy == waiters ? scene->roomy_count : 0;

	scene->roomy = NULL;
	return count;
}

struct job *scene_start(struct turn_scene *scene, struct transport *transport)
{
	struct job *job;

	if (!transport_is_ready(transport, scene->now_us))
		return NULL;
	job = transport_start(transport, scene->now_us);
	assert_null(transports_check(scene->transports));
	return job;
}

size_t scene_start_all(struct turn_scene *scene, struct job **jobs, size_t size)
{
	size_t count = 0;

	while (count < size && (jobs[count] = scene_start(scene, scene->remote)) != NULL)
		count++;
	return count;
}

void scene_end(struct turn_scene *scene, struct job *job, int64_t after_us, bool reached)
{
	scene->now_us += after_us;
	job->is_unreached = !reached;
	transport_job_ended(job, scene->now_us);
	assert_null(transports_check(scene->transports));
}

void scene_deliver(struct turn_scene *scene, const char *destination, int64_t after_us,
		   bool reached)
{
	struct job *job = scene_add(scene, destination, "s@s.example", 9999);

	assert_ptr_equal(scene_start(scene, scene->remote), job);
	scene_end(scene, job, after_us, reached);
}
