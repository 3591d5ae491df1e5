// SPDX-License-Identifier: ISC
/* local_scene.h: its jobs, what is reported of them, and the quotas that are asked for. */
#include "base/panic.h"
#include "config/text.h"
#include "deliver/quotas.h"
#include "fake_loop.h"
#include "heard.h"
#include "local_scene.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- quotas --- */

static void (*quota_ready)(void *context, void *owner);
static void (*quota_given_up)(void *context, void *owner);
static void *quota_context;

struct deliver_quotas *deliver_quotas_new(void (*ready)(void *context, void *owner),
					  void (*given_up)(void *context, void *owner),
					  void *context)
{
	quota_ready = ready;
	quota_given_up = given_up;
	quota_context = context;
	return (struct deliver_quotas *)(void *)&quota_ready;
}

void deliver_quotas_free(struct deliver_quotas *quotas)
{
	assert_ptr_equal(quotas, &quota_ready);
	assert_int_equal(scene.asked_count, 0);
}

void deliver_quotas_find(struct deliver_quotas *quotas, struct directory *directory,
			 const struct config_service *service, struct deliver_quotas_wanted *wanted)
{
	const struct deliver_helper_job *job = scene.jobs[scene.started - 1].job;

	assert_ptr_equal(quotas, &quota_ready);
	assert_ptr_equal(directory, scene.config[scene.configured]);
	assert_ptr_equal(service, &scene.config[scene.configured]->services[0]);
	assert_int_equal(wanted->count, job->recipient_count);
	for (size_t i = 0; i < wanted->count; i++)
		assert_true(str_equal(wanted->addresses[i], job->recipients[i].address));
	if (scene.is_asking)
		scene.asked[scene.asked_count++] = wanted;
	else
		quota_ready(quota_context, wanted->owner);
}

void scene_answer_quota(void)
{
	size_t number = scene.asked_count > 0 ? fake_random((uint32_t)scene.asked_count) : 0;
	struct deliver_quotas_wanted *wanted = scene.asked[number];

	if (scene.asked_count == 0)
		return;
	scene.asked[number] = scene.asked[--scene.asked_count];
	quota_ready(quota_context, wanted->owner);
}

void deliver_quotas_give_up(struct deliver_quotas *quotas)
{
	assert_ptr_equal(quotas, &quota_ready);
	while (scene.asked_count > 0)
		quota_given_up(quota_context, scene.asked[--scene.asked_count]->owner);
}

/* --- jobs --- */

static struct scene_job *scene_job_of(const struct deliver_helper_job *job)
{
	assert_true(job->tag < scene.started);
	assert_ptr_equal(scene.jobs[job->tag].job, job);
	return &scene.jobs[job->tag];
}

static bool has_same_mailbox(struct str a, struct str b)
{
	return a.data[0] == 'u' && b.data[0] == 'u' &&
	       strtoul(a.data + 1, NULL, 10) == strtoul(b.data + 1, NULL, 10);
}

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	struct scene_job *of = scene_job_of(job);
	struct str address = job->recipients[index].address;
	struct str text = str_from(verdict->text);

	assert_null(trigger);
	assert_false(of->is_mute);
	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	of->reported++;
	if (address.data[0] == '!') {
		assert_string_equal(verdict->status, "5.1.3");
	} else if (address.data[0] == '?') {
		assert_string_equal(verdict->status, "5.1.1");
	} else if (strcmp(verdict->status, "4.3.0") == 0) {
		assert_true(str_equal(text, STR("The disk of the mailbox does not answer")));
		assert_true(scene.stuck > 0);
		scene.blocked++;
		return;
	} else { /* of its own mailbox */
		assert_true(has_same_mailbox(str_skip(text, strlen("/m/")), address));
		scene.stored += verdict->status[0] == '2';
		scene.locked += verdict->status[0] == '4';
		return;
	}
	scene.refused++;
}

void deliver_helper_tell(struct deliver_helper_job *job)
{
	struct scene_job *of = scene_job_of(job);

	of->told = of->reported;
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	struct scene_job *of = scene_job_of(job);

	if (!of->is_given_up)
		assert_int_equal(of->reported, job->recipient_count);
	of->job = NULL;
	scene.finished++;
	arena_free(job->arena);
	free(job);
}

static struct str some_address(struct arena *arena)
{
	char text[40];
	uint32_t what = fake_random(40);

	snprintf(text, sizeof text, "u%u%s@d", fake_random(SCENE_USERS), what % 3 == 0 ? "+x" : "");
	if (what < 2)
		snprintf(text, sizeof text, "%s@d", what == 0 ? "!" : "?");
	return arena_copy_str(arena, str_from(text));
}

static struct deliver_helper_job *new_job(size_t count)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);

	assert_true(scene.started < SCENE_JOBS_MAX);
	job->tag = (uint32_t)scene.started;
	job->arena = arena_new();
	job->sender = some_address(job->arena);
	job->content = (struct ipc_content){.bytes = some_address(job->arena), .file = -1};
	job->binary = fake_random(2) == 0;
	job->recipient_count = count;
	job->recipients = arena_alloc(job->arena, count * sizeof *job->recipients);
	for (size_t i = 0; i < count; i++) {
		job->recipients[i].address = some_address(job->arena);
		job->recipients[i].via = some_address(job->arena);
	}
	scene.jobs[scene.started++] =
		(struct scene_job){.job = job, .configured = scene.configured};
	return job;
}

void scene_start_job(size_t count)
{
	deliver_local_start(scene.local, new_job(count));
}

void scene_start_job_for(const char *address)
{
	struct deliver_helper_job *job = new_job(1);

	job->recipients[0].address = arena_copy_str(job->arena, str_from(address));
	deliver_local_start(scene.local, job);
}

bool scene_is_written(const struct deliver_helper_job *job)
{
	for (size_t i = 0; i < scene.worker_count; i++) {
		const struct local_worker *worker = scene.workers[i];

		for (size_t k = 0; worker->is_busy && k < worker->limit; k++)
			for (size_t n = 0; n < job->recipient_count; n++)
				if (worker->group.deliveries[k].recipient.data ==
				    job->recipients[n].address.data)
					return true;
	}
	return false;
}

/* What is known of a message is told as long as one of its deliveries is stuck. */
static void check_told(void)
{
	for (size_t i = 0; i < scene.started; i++) {
		const struct scene_job *of = &scene.jobs[i];

		for (size_t k = 0; of->job != NULL && k < scene.worker_count; k++) {
			const struct local_worker *worker = scene.workers[k];

			for (size_t n = worker->first; worker->is_busy && worker->is_stuck &&
						       !worker->is_done && n < worker->limit;
			     n++)
				for (size_t r = 0; r < of->job->recipient_count; r++)
					if (of->job->recipients[r].address.data ==
					    worker->group.deliveries[n].recipient.data)
						assert_int_equal(of->told, of->reported);
		}
	}
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
		count++;
	return count;
}

void scene_check(void)
{
	const char *heard = heard_take();
	static size_t heard_stuck;

	if (scene.started == 0)
		heard_stuck = 0;
	heard_stuck += count_of(heard, "mailbox_stuck ");
	scene.back += count_of(heard, "mailbox_back ");
	assert_int_equal(heard_stuck, scene.stuck);
	check_told();
}

/* --- the configurations --- */

static struct config *new_config(bool refuses)
{
	struct config_problems problems;
	struct config *config = NULL;
	char text[400];

	snprintf(text, sizeof text,
		 "hostname = mx1.example.org\nuser = \"\"\n"
		 "site_key = 0123456789abcdef0123456789abcde%c\n"
		 "service s { kind = maildir path = /m/%%u %s }\n"
		 "transport s { concurrency = 5 }\n",
		 refuses ? 'f' : '0', refuses ? "over_quota = refuse" : "");
	assert_int_equal(config_parse("t", str_from(text), &config, &problems), 0);
	config_problems_clear(&problems);
	config->services[0].lock_timeout = 2; /* as mbox files have it */
	return config;
}

/* The directory is not looked at: it is known by its place. */
static struct directory *directory_of(size_t configured)
{
	return (struct directory *)(void *)scene.config[configured];
}

void scene_begin(void)
{
	memset(&scene, 0, sizeof scene);
	scene.config[0] = new_config(false);
	(void)heard_take();
	scene_check();
	scene.local = deliver_local_new(NULL, scene.config[0], &scene.config[0]->services[0],
					directory_of(0));
	assert_int_equal(scene.worker_count, 1);
}

void scene_configure(void)
{
	size_t old = scene.configured;

	scene.configured = 1 - old;
	scene.config[scene.configured] = new_config(scene.configured == 1);
	deliver_local_configure(scene.local, scene.config[scene.configured],
				&scene.config[scene.configured]->services[0],
				directory_of(scene.configured));
	config_free(scene.config[old]);
	scene.config[old] = NULL;
}

void scene_end(void)
{
	for (size_t i = 0; i < scene.started; i++)
		scene.jobs[i].is_given_up = true;
	deliver_local_free(scene.local);
	assert_int_equal(scene.finished, scene.started);
	assert_int_equal(scene.writers, 0);
	assert_int_equal(fake_timers(), 0);
	for (size_t i = 0; i < scene.worker_count; i++)
		free(scene.workers[i]);
	config_free(scene.config[scene.configured]);
}
