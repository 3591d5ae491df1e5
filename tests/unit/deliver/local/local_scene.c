// SPDX-License-Identifier: ISC
#include "local_scene.h"
#include "base/panic.h"
#include "config/text.h"
#include "deliver/owner.h"
#include "deliver/quotas.h"
#include "fake_loop.h"
#include "heard.h"
#include "mail/verdict.h"
#include "os/clock.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct local_scene scene;

struct local_writer {
	size_t configured;
};

static struct os_task *deferred;
static void (*woken)(void *context);
static void *woken_context;

/* --- the loop --- */

struct os_wakeup *os_wakeup_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	(void)loop;
	woken = call;
	woken_context = context;
	return (struct os_wakeup *)(void *)&woken;
}

void os_wakeup_free(struct os_wakeup *wakeup)
{
	assert_ptr_equal(wakeup, &woken);
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	deferred = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	if (deferred == task)
		deferred = NULL;
}

void os_process_private_mask(void)
{
}

void scene_turn(void)
{
	bool is_any_done = false;
	struct os_task *task = deferred;

	for (size_t i = 0; i < scene.worker_count; i++)
		is_any_done |= scene.workers[i]->is_busy && scene.workers[i]->is_done;
	if (is_any_done)
		woken(woken_context);
	deferred = NULL;
	if (task != NULL)
		task->call(task->context);
	deferred = deferred == task ? NULL : deferred;
}

/* --- mailboxes and their owners --- */

static size_t user_in(struct str address)
{
	return address.data[0] == 'u' ? strtoul(address.data + 1, NULL, 10) : 0;
}

int maildir_path_expand(const char *template, struct str address, struct buffer *out)
{
	assert_string_equal(template, "/m/%u");
	if (address.data[0] == '!')
		return -EINVAL;
	buffer_append_format(out, "/m/u%zu", user_in(address));
	return 0;
}

bool owner_find(const struct config *config, const struct config_service *service,
		struct str address, struct os_process_account *owner_out, struct mail_verdict *why)
{
	assert_ptr_equal(config, scene.config[scene.configured]);
	assert_ptr_equal(service, &config->services[0]);
	if (address.data[0] == '?') {
		mail_verdict_set(why, "5.1.1", "nobody");
		return false;
	}
	*owner_out = (struct os_process_account){
		.user = {.change = user_in(address) > 0, .uid = (uid_t)user_in(address), .gid = 1}};
	return true;
}

struct local_devices *local_devices_new(void)
{
	return NULL;
}

void local_devices_free(struct local_devices *devices)
{
	assert_null(devices);
}

void local_devices_learn(struct local_devices *devices, const struct local_group *group)
{
	assert_null(devices);
	assert_true(group->count > 0);
}

/* All but three are on one. */
struct local_disk local_devices_find(const struct local_devices *devices, uid_t uid,
				     struct str path)
{
	assert_null(devices);
	assert_int_equal(user_in(str_skip(path, strlen("/m/"))), uid);
	return (struct local_disk){.device = uid < 4 ? 1 : 2};
}

bool local_disk_is_same(const struct local_disk *a, const struct local_disk *b)
{
	return a->device == b->device && a->mount == b->mount;
}

/* --- threads --- */

struct local_writer *local_writer_new(const struct config *config,
				      const struct config_service *service)
{
	struct local_writer *writer = memory_alloc_zero(1, sizeof *writer);

	assert_ptr_equal(config, scene.config[scene.configured]);
	assert_ptr_equal(service, &config->services[0]);
	writer->configured = scene.configured;
	scene.writers++;
	return writer;
}

static void free_writer(struct local_writer *writer)
{
	scene.writers -= writer != NULL;
	free(writer);
}

int local_worker_new(struct os_wakeup *wakeup, struct local_worker **worker_out)
{
	assert_ptr_equal(wakeup, &woken);
	*worker_out = memory_alloc_zero(1, sizeof **worker_out);
	scene.workers[scene.worker_count++] = *worker_out;
	return 0;
}

void local_worker_free(struct local_worker *worker)
{
	while (worker->is_busy && !worker->is_done)
		scene_write(worker);
	free_writer(worker->writer);
	worker->writer = NULL;
	worker->is_busy = false;
}

struct local_worker *scene_busy(size_t number)
{
	for (size_t i = 0; i < scene.worker_count; i++)
		if (scene.workers[i]->is_busy && !scene.workers[i]->is_done && number-- == 0)
			return scene.workers[i];
	return NULL;
}

static bool is_same_user(const struct os_process_user *a, const struct os_process_user *b)
{
	return a->change == b->change && a->uid == b->uid;
}

static void go_to_next_owner(struct local_worker *worker)
{
	worker->first = worker->end;
	worker->since_us = os_clock_monotonic_us();
	if (worker->first >= worker->limit) {
		worker->is_done = true;
		return;
	}
	while (++worker->end < worker->limit && is_same_user(&worker->group.owners[worker->end],
							     &worker->group.owners[worker->first]))
		continue;
}

static struct scene_job *job_of(struct str recipient, size_t *index_out)
{
	for (size_t i = scene.started; i-- > 0;) {
		struct deliver_helper_job *job = scene.jobs[i].job;

		for (size_t k = 0; job != NULL && k < job->recipient_count; k++)
			if (job->recipients[k].address.data == recipient.data) {
				*index_out = k;
				return &scene.jobs[i];
			}
	}
	fail();
	return NULL;
}

/* What is given is of jobs that are there, is theirs, and no stuck owner's. */
static void check_delivery(const struct local_group *group, size_t i)
{
	const struct maildir_delivery *delivery = &group->deliveries[i];
	size_t index;
	const struct scene_job *of = job_of(delivery->recipient, &index);
	const struct deliver_helper_job *job = of->job;

	assert_false(job->recipients[index].is_reported);
	assert_true(str_equal(delivery->sender, job->sender));
	assert_true(str_equal(delivery->via, job->recipients[index].via));
	assert_true(delivery->content.bytes.data == job->content.bytes.data);
	assert_int_equal(delivery->is_binary, job->binary);
	assert_int_equal(delivery->site_key.low & 0xf, of->configured == 0 ? 0 : 0xf);
	assert_int_equal(delivery->refuses_over_quota, of->configured == 1);
	assert_int_equal(user_in(delivery->recipient), group->owners[i].uid);
	assert_true(i == 0 || group->owners[i - 1].uid <= group->owners[i].uid);
	for (size_t k = 0; k < scene.worker_count; k++) {
		const struct local_worker *other = scene.workers[k];

		if (other->is_busy && other->is_stuck)
			assert_int_not_equal(other->stuck_at, group->owners[i].uid);
	}
}

void local_worker_give(struct local_worker *worker, struct local_writer *writer,
		       const struct local_group *group)
{
	size_t index;

	for (size_t i = 0; i < scene.worker_count; i++) /* one works at a time */
		assert_true(!scene.workers[i]->is_busy || scene.workers[i]->is_stuck);
	assert_int_equal(writer->configured, scene.configured);
	assert_true(group->count > 0);
	assert_true(group->count <= SCENE_GROUP_MAX ||
		    job_of(group->deliveries[0].recipient, &index) ==
			    job_of(group->deliveries[group->count - 1].recipient, &index));
	for (size_t i = 0; i < group->count; i++)
		check_delivery(group, i);
	if (worker->writer != writer)
		free_writer(worker->writer);
	*worker = (struct local_worker){
		.group = *group, .writer = writer, .limit = group->count, .is_busy = true};
	go_to_next_owner(worker);
}

void scene_write(struct local_worker *worker)
{
	for (size_t i = worker->first; i < worker->end; i++) {
		struct maildir_delivery *delivery = &worker->group.deliveries[i];

		delivery->is_locked = scene.is_locked[worker->group.owners[i].uid];
		mail_verdict_set(&delivery->verdict, delivery->is_locked ? "4.2.0" : "2.0.0",
				 STR_FORMAT, STR_ARGUMENTS(delivery->path));
	}
	go_to_next_owner(worker);
}

bool local_worker_is_done(struct local_worker *worker)
{
	bool is_done = worker->is_done;

	if (is_done)
		worker->is_busy = false;
	return is_done;
}

bool local_worker_owner(struct local_worker *worker, size_t *index_out)
{
	scene.looked++;
	*index_out = worker->first;
	return !worker->is_done && worker->group.owners[worker->first].change;
}

static size_t device_of(uid_t uid)
{
	return uid < 4 ? 1 : 2;
}

/* An owner has five seconds, or one if another one waits for the same disk. */
static int64_t patience_for(const struct local_worker *worker)
{
	uid_t uid = worker->group.owners[worker->first].uid;

	for (size_t i = 0; i < scene.worker_count; i++) {
		const struct local_worker *other = scene.workers[i];

		if (other->is_busy && other->is_stuck &&
		    device_of(other->stuck_at) == device_of(uid))
			return SECOND_US;
	}
	return 5 * SECOND_US;
}

bool local_worker_take_back(struct local_worker *worker, int64_t before_us, size_t *first_out,
			    size_t *end_out)
{
	assert_false(worker->is_stuck);
	assert_int_equal(before_us, os_clock_monotonic_us() - patience_for(worker));
	if (worker->since_us > before_us)
		return false;
	worker->is_stuck = true;
	worker->stuck_at = worker->group.owners[worker->first].uid;
	worker->limit = worker->end;
	*first_out = worker->first;
	*end_out = worker->end;
	scene.stuck++;
	return true;
}
