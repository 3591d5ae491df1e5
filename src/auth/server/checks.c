// SPDX-License-Identifier: ISC
#include "auth/server/checks.h"
#include "base/panic.h"
#include "base/table.h"
#include "os/clock.h"
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
struct checks_key {
	struct in6_addr client;
	uint64_t trust;
};

struct queue {
	struct checks_key key;
	struct auth_check *first;
	unsigned count;
	struct queue *next, *previous; /* in the order of their turns */
	UT_hash_handle hh;
};

/* For whom it checks. */
enum duty {
	DUTY_KNOWN,
	DUTY_FEW,  /* those that are not known while they are few, politely */
	DUTY_MANY, /* them, on processors that nobody else uses */
};

struct thread {
	struct auth_checks *checks;
	struct os_worker *worker;
	enum duty duty;
	struct auth_check *check; /* NULL: idle */
	int64_t began_us;
	int64_t rests_until_us;
};

struct auth_checks {
	struct os_wakeup *wakeup;
	struct os_task start;
	struct os_timer *again; /* while a thread has to wait */
	struct os_loop *loop;
	struct thread threads[AUTH_THREADS_MAX + 1]; /* by their duties */
	unsigned thread_count;
	unsigned known_count;          /* of them, for the known */
	unsigned running[AUTH_TRUSTS]; /* threads */
	struct queue *table;
	struct queue *turns[AUTH_TRUSTS];
	unsigned waiting[AUTH_TRUSTS];
};

static void free_check(struct auth_check *check)
{
	check->kind->free(check->context);
	free(check);
}

/* --- the queue --- */

static void leave_check_queue(struct auth_check *check)
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

static struct queue *find_queue(struct auth_checks *checks, const struct checks_key *key)
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

static unsigned count_waiting_strangers(const struct auth_checks *checks)
{
	return checks->waiting[AUTH_NEW] + checks->waiting[AUTH_SUSPECT];
}

/* When the first of the threads for many will have had one check for too long, because others have
 * the processors. INT64_MAX: none has one. */
static int64_t starving_from_us(const struct auth_checks *checks)
{
	int64_t from_us = INT64_MAX;

	for (unsigned i = 0; i < checks->thread_count; i++) {
		const struct thread *thread = &checks->threads[i];

		if (thread->duty == DUTY_MANY && thread->check != NULL &&
		    thread->began_us + AUTH_STARVING_US < from_us)
			from_us = thread->began_us + AUTH_STARVING_US;
	}
	return from_us;
}

/* From when on THREAD may check: a flood is for the threads for many, as long as they get on. */
static int64_t free_from_us(const struct thread *thread)
{
	int64_t from_us = 0;

	if (thread->duty == DUTY_FEW && count_waiting_strangers(thread->checks) > AUTH_FEW)
		from_us = starving_from_us(thread->checks);
	return from_us > thread->rests_until_us ? from_us : thread->rests_until_us;
}

/* Whether THREAD may check for such a client. Hashes also compete for the processors: so it is half
 * of the threads that is kept for the known, not one, and the other half gives way. A known client
 * gets such a thread only if he takes it from nobody: he has not to wait long for one of his own.
 */
static bool may_begin(const struct thread *thread, enum auth_trust trust)
{
	const struct auth_checks *checks = thread->checks;
	unsigned quarter = checks->known_count >= 2 ? checks->known_count / 2 : 1;

	if (trust == AUTH_KNOWN)
		return thread->duty == DUTY_KNOWN || count_waiting_strangers(checks) == 0;
	if (thread->duty == DUTY_KNOWN)
		return false;
	return trust != AUTH_SUSPECT || checks->running[AUTH_SUSPECT] < quarter;
}

/* The next check that THREAD may begin, and its client goes to the end; NULL: none. */
static struct auth_check *take_next_check(const struct thread *thread)
{
	struct auth_checks *checks = thread->checks;

	if (free_from_us(thread) > os_clock_monotonic_us())
		return NULL;
	for (unsigned trust = 0; trust < AUTH_TRUSTS; trust++) {
		struct queue *queue = checks->turns[trust];
		struct auth_check *check;

		if (queue == NULL || !may_begin(thread, (enum auth_trust)trust))
			continue;
		DL_DELETE2(checks->turns[trust], queue, previous, next);
		DL_APPEND2(checks->turns[trust], queue, previous, next);
		check = queue->first;
		leave_check_queue(check);
		return check;
	}
	return NULL;
}

/* --- threads --- */

static void run_check(void *context)
{
	struct thread *thread = context;

	thread->check->kind->work(thread->check->context);
}

/* Times as long as it has worked: so it takes a part of a processor, whatever there is to do. */
static void rest_check_thread(struct thread *thread)
{
	static const int64_t times[] = {[DUTY_KNOWN] = 0, [DUTY_FEW] = 9, [DUTY_MANY] = 1};
	int64_t now_us = os_clock_monotonic_us();
	int64_t rest_us = times[thread->duty] * (now_us - thread->began_us);

	thread->rests_until_us = now_us + (rest_us < AUTH_REST_US ? rest_us : AUTH_REST_US);
}

static void collect_check(struct thread *thread)
{
	struct auth_check *check = thread->check;

	if (check == NULL || os_worker_is_busy(thread->worker))
		return;
	thread->check = NULL;
	rest_check_thread(thread);
	thread->checks->running[check->trust]--;
	if (!check->is_cancelled)
		check->kind->done(check->context);
	free_check(check);
}

/* When the first of the threads that rest may go on, if anybody waits. Others wait for the end of a
 * check. */
static void set_rest_timer(struct auth_checks *checks)
{
	int64_t now_us = os_clock_monotonic_us();
	int64_t first_us = INT64_MAX;

	for (unsigned i = checks->known_count; i < checks->thread_count; i++) {
		const struct thread *thread = &checks->threads[i];
		int64_t from_us = free_from_us(thread);

		if (thread->check == NULL && from_us > now_us && from_us < first_us)
			first_us = from_us;
	}
	if (count_waiting_strangers(checks) > 0 && first_us < INT64_MAX)
		os_timer_start(checks->again, first_us - now_us);
}

/* First those for whom a check is begun at once. */
static void start_idle(void *context)
{
	struct auth_checks *checks = context;

	for (unsigned i = 0; i < checks->thread_count; i++) {
		struct thread *thread = &checks->threads[i];

		if (thread->check != NULL)
			continue;
		thread->check = take_next_check(thread);
		if (thread->check == NULL)
			continue;
		thread->began_us = os_clock_monotonic_us();
		checks->running[thread->check->trust]++;
		os_worker_start(thread->worker);
	}
	set_rest_timer(checks);
}

static void on_checks_wakeup(void *context)
{
	struct auth_checks *checks = context;

	for (unsigned i = 0; i < checks->thread_count; i++)
		collect_check(&checks->threads[i]);
	start_idle(checks);
}

/* --- for the caller --- */

struct auth_check *auth_checks_add(struct auth_checks *checks, const struct auth_check_kind *kind,
				   void *context, const struct in6_addr *client,
				   enum auth_trust trust)
{
	const struct checks_key key = {*client, trust};
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
	leave_check_queue(check);
	free_check(check);
}

static int add_thread(struct auth_checks *checks, enum duty duty)
{
	struct thread *thread = &checks->threads[checks->thread_count];
	int error;

	*thread = (struct thread){.checks = checks, .duty = duty};
	error = os_worker_new(run_check, thread, checks->wakeup, &thread->worker);
	if (error < 0)
		return error;
	checks->thread_count++;
	if (duty != DUTY_KNOWN)
		os_worker_lower(thread->worker,
				duty == DUTY_FEW ? OS_WORKER_POLITE : OS_WORKER_IDLE);
	return 0;
}

static int add_threads(struct auth_checks *checks, unsigned count)
{
	int error = 0;

	checks->known_count = (count + 1) / 2;
	for (unsigned i = 0; i < checks->known_count && error == 0; i++)
		error = add_thread(checks, DUTY_KNOWN);
	if (error == 0)
		error = add_thread(checks, DUTY_FEW);
	for (unsigned i = checks->known_count; i < count && error == 0; i++)
		error = add_thread(checks, DUTY_MANY);
	return error;
}

int auth_checks_new(struct os_loop *loop, unsigned threads, struct auth_checks **checks_out)
{
	struct auth_checks *checks = memory_alloc_zero(1, sizeof *checks);
	int error;

	checks->loop = loop;
	checks->start = (struct os_task){.call = start_idle, .context = checks};
	checks->wakeup = os_wakeup_new(loop, on_checks_wakeup, checks);
	checks->again = os_timer_new(loop, start_idle, checks);
	error = add_threads(checks, threads < AUTH_THREADS_MAX ? threads : AUTH_THREADS_MAX);
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
			free_check(thread->check);
	}
	for (unsigned trust = 0; trust < AUTH_TRUSTS; trust++)
		while (checks->turns[trust] != NULL)
			auth_check_cancel(checks->turns[trust]->first);
	os_timer_free(checks->again);
	os_wakeup_free(checks->wakeup);
	free(checks);
}
