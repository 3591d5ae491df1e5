// SPDX-License-Identifier: ISC
#include "auth/server/checks.h"
#include "base/panic.h"
#include "base/table.h"
#include "os/worker.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct queue;

struct auth_check {
	struct auth_checks *checks;
	const struct auth_check_kind *kind;
	void *context;
	struct queue *queue; /* NULL: it was begun */
	enum auth_trust trust;
	bool is_cancelled;
	struct auth_check *next, *previous;
};

/* The checks of a client that wait. */
struct key {
	struct in6_addr client;
	uint64_t trust;
};

struct queue {
	struct key key;
	struct auth_check *first;
	unsigned count;
	struct queue *next, *previous; /* in the order of their turns */
	UT_hash_handle hh;
};

struct thread {
	struct auth_checks *checks;
	struct os_worker *worker;
	bool gives_way;           /* to the others, and takes what they do not */
	struct auth_check *check; /* NULL: idle */
};

struct auth_checks {
	struct os_wakeup *wakeup;
	struct os_task start;
	struct os_loop *loop;
	struct thread threads[AUTH_THREADS_MAX];
	unsigned thread_count;
	unsigned running[AUTH_TRUSTS]; /* threads */
	struct queue *table;
	struct queue *turns[AUTH_TRUSTS];
	unsigned waiting[AUTH_TRUSTS];
};

static void finish(struct auth_check *check)
{
	check->kind->free(check->context);
	free(check);
}

/* --- the queue --- */

static void leave_queue(struct auth_check *check)
{
	struct auth_checks *checks = check->checks;
	struct queue *queue = check->queue;

	DL_DELETE2(queue->first, check, previous, next);
	checks->waiting[check->trust]--;
	check->queue = NULL;
	if (--queue->count > 0)
		return;
	DL_DELETE2(checks->turns[queue->key.trust], queue, previous, next);
	HASH_DEL(checks->table, queue);
	free(queue);
}

static struct queue *find_queue(struct auth_checks *checks, const struct key *key)
{
	struct queue *queue;

	HASH_FIND(hh, checks->table, key, sizeof *key, queue);
	if (queue != NULL)
		return queue;
	queue = memory_alloc_zero(1, sizeof *queue);
	queue->key = *key;
	HASH_ADD(hh, checks->table, key, sizeof queue->key, queue);
	DL_APPEND2(checks->turns[key->trust], queue, previous, next);
	return queue;
}

/* Whether THREAD may check for such a client. Hashes also compete for the processors: so it is half
 * of the threads that is kept for the known, not one, and the other half gives way. */
static bool may_begin(const struct thread *thread, enum auth_trust trust)
{
	const struct auth_checks *checks = thread->checks;
	unsigned quarter = checks->thread_count >= 4 ? checks->thread_count / 4 : 1;

	if (trust != AUTH_KNOWN && !thread->gives_way)
		return false;
	return trust != AUTH_SUSPECT || checks->running[AUTH_SUSPECT] < quarter;
}

/* The next check that THREAD may begin, and its client goes to the end; NULL: none. */
static struct auth_check *take_next(const struct thread *thread)
{
	struct auth_checks *checks = thread->checks;

	for (unsigned trust = 0; trust < AUTH_TRUSTS; trust++) {
		struct queue *queue = checks->turns[trust];
		struct auth_check *check;

		if (queue == NULL || !may_begin(thread, (enum auth_trust)trust))
			continue;
		DL_DELETE2(checks->turns[trust], queue, previous, next);
		DL_APPEND2(checks->turns[trust], queue, previous, next);
		check = queue->first;
		leave_queue(check);
		return check;
	}
	return NULL;
}

/* --- threads --- */

static void work(void *context)
{
	struct thread *thread = context;

	thread->check->kind->work(thread->check->context);
}

static void collect(struct thread *thread)
{
	struct auth_check *check = thread->check;

	if (check == NULL || os_worker_is_busy(thread->worker))
		return;
	thread->check = NULL;
	thread->checks->running[check->trust]--;
	if (!check->is_cancelled)
		check->kind->done(check->context);
	finish(check);
}

/* The threads that give way are the last ones. */
static void start_idle(void *context)
{
	struct auth_checks *checks = context;

	for (unsigned i = 0; i < checks->thread_count; i++) {
		struct thread *thread = &checks->threads[i];

		if (thread->check != NULL)
			continue;
		thread->check = take_next(thread);
		if (thread->check == NULL)
			continue;
		checks->running[thread->check->trust]++;
		os_worker_start(thread->worker);
	}
}

static void on_wakeup(void *context)
{
	struct auth_checks *checks = context;

	for (unsigned i = 0; i < checks->thread_count; i++)
		collect(&checks->threads[i]);
	start_idle(checks);
}

/* --- for the caller --- */

struct auth_check *auth_checks_add(struct auth_checks *checks, const struct auth_check_kind *kind,
				   void *context, const struct in6_addr *client,
				   enum auth_trust trust)
{
	const struct key key = {*client, trust};
	struct auth_check *check;
	struct queue *queue;

	HASH_FIND(hh, checks->table, &key, sizeof key, queue);
	if (checks->waiting[trust] >= AUTH_CHECKS_MAX ||
	    (queue != NULL && queue->count >= AUTH_CHECKS_CLIENT_MAX)) {
		kind->free(context);
		return NULL;
	}
	queue = find_queue(checks, &key);
	check = memory_alloc_zero(1, sizeof *check);
	*check = (struct auth_check){
		.checks = checks, .kind = kind, .context = context, .queue = queue, .trust = trust};
	DL_APPEND2(queue->first, check, previous, next);
	queue->count++;
	checks->waiting[trust]++;
	os_loop_defer(checks->loop, &checks->start);
	return check;
}

void auth_check_cancel(struct auth_check *check)
{
	if (check == NULL)
		return;
	if (check->queue == NULL) {
		check->is_cancelled = true;
		return;
	}
	leave_queue(check);
	finish(check);
}

/* Half of the threads. */
static void give_way(struct auth_checks *checks)
{
	for (unsigned i = (checks->thread_count + 1) / 2; i < checks->thread_count; i++) {
		checks->threads[i].gives_way = true;
		os_worker_give_way(checks->threads[i].worker);
	}
}

int auth_checks_new(struct os_loop *loop, unsigned threads, struct auth_checks **checks_out)
{
	struct auth_checks *checks = memory_alloc_zero(1, sizeof *checks);
	int error = 0;

	checks->loop = loop;
	checks->start = (struct os_task){.call = start_idle, .context = checks};
	checks->wakeup = os_wakeup_new(loop, on_wakeup, checks);
	while (checks->thread_count < threads && checks->thread_count < AUTH_THREADS_MAX) {
		struct thread *thread = &checks->threads[checks->thread_count];

		thread->checks = checks;
		error = os_worker_new(work, thread, checks->wakeup, &thread->worker);
		if (error < 0)
			break;
		checks->thread_count++;
	}
	give_way(checks);
	if (error < 0)
		auth_checks_free(checks);
	else
		*checks_out = checks;
	return error;
}

void auth_checks_free(struct auth_checks *checks)
{
	if (checks == NULL)
		return;
	os_task_cancel(checks->loop, &checks->start);
	for (unsigned i = 0; i < checks->thread_count; i++) {
		struct thread *thread = &checks->threads[i];

		os_worker_free(thread->worker);
		if (thread->check != NULL)
			finish(thread->check);
	}
	for (unsigned trust = 0; trust < AUTH_TRUSTS; trust++)
		while (checks->turns[trust] != NULL)
			auth_check_cancel(checks->turns[trust]->first);
	os_wakeup_free(checks->wakeup);
	free(checks);
}
