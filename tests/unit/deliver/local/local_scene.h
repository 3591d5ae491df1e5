// SPDX-License-Identifier: ISC
/*
 * tests/unit/deliver/local/local_scene.h - what is around deliver/local/local.c: jobs, quotas that
 * are asked for, threads that write as far as the test lets them, and mailboxes by their names.
 *
 * Addresses are "uN@d", also spelled "uN+x@d"; u0 is the process's own user. "!@d" can be no
 * mailbox, "?@d" has no user.
 */
#ifndef TESTS_UNIT_LOCAL_SCENE_H
#define TESTS_UNIT_LOCAL_SCENE_H

#include "deliver/local/local.h"
#include "deliver/local/threads.h"

enum { SCENE_USERS = 12, SCENE_JOBS_MAX = 4000, SCENE_GROUP_MAX = 256 };

struct local_worker {
	struct local_group group;
	struct local_writer *writer;
	size_t first, end, limit; /* as in worker.c */
	int64_t since_us;
	bool is_busy, is_done;
	bool is_stuck; /* what follows its owner was taken back */
	uid_t stuck_at;
};

struct scene_job {
	struct deliver_helper_job *job; /* NULL: finished */
	size_t configured;              /* when it began */
	size_t reported, told;
	bool is_given_up; /* it may end without a report */
	bool is_mute;     /* and must */
};

struct local_scene {
	struct config *config[2];
	size_t configured; /* which of the two */
	struct deliver_local *local;
	struct local_worker *workers[LOCAL_THREADS_MAX];
	size_t worker_count;
	size_t writers; /* that are not freed */
	bool is_locked[SCENE_USERS];
	struct scene_job jobs[SCENE_JOBS_MAX];
	size_t started, finished;
	bool is_asking; /* quotas are found later */
	struct deliver_quotas_wanted *asked[SCENE_JOBS_MAX];
	size_t asked_count;
	size_t looked; /* how often a worker was asked where it is */
	size_t stored, locked, refused, blocked, stuck, back;
};

extern struct local_scene scene;

void scene_begin(void);
void scene_end(void);
/* A job for COUNT recipients by chance. */
void scene_start_job(size_t count);
void scene_start_job_for(const char *address);
void scene_answer_quota(void);
/* What was deferred, and the wakeups of threads that are done. */
void scene_turn(void);
/* A worker that is busy, the NUMBERth; NULL: there are no more. */
struct local_worker *scene_busy(size_t number);
/* It ends its owner's deliveries. */
void scene_write(struct local_worker *worker);
void scene_configure(void);
/* Whether a thread has one of JOB's deliveries. */
bool scene_is_written(const struct deliver_helper_job *job);
/* What must always be. */
void scene_check(void);

#endif
