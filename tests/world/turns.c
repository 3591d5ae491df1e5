// SPDX-License-Identifier: ISC
/* Who waits, and whose turn it is. */
#include "turns.h"
#include "base/heap.h"
#include "base/panic.h"
#include "files.h"
#include "judge.h"
#include "turns_internal.h"
#include <stdlib.h>
#include <string.h>

/* Of manager/turn/transport.h, with time for the way here. */
static const int64_t SLOW_US = 1900000;
static const int64_t FAST_US = 900000;

/* What a message has for a host. */
struct turn {
	struct turn *next; /* of the message */
	struct account *account;
	struct turns_place *place;
	bool is_tried;
	int64_t due_us;        /* of one that was tried; 0: it waits for nothing */
	struct heap_node wait; /* among the retries or the newcomers of the place */
};

/* A host: a destination of remote deliveries. */
struct turns_place {
	struct turns_place *next;
	char name[64];
	struct heap retries;   /* by the time when they are due */
	struct heap newcomers; /* that have not been tried, by the time when they were mapped */
	size_t flights;
	bool is_fast;            /* it has answered in time, and was not slow since */
	int64_t shut_until_us;   /* it may have too many jobs, or a pause, until then */
	unsigned first_attempts; /* in a row, while a retry is ready */
	unsigned passed;         /* jobs elsewhere, while a newcomer is ready and none is here */
};

/* A job that a helper has. */
struct flight {
	struct flight *next;
	struct turns_job job;
	struct account *account;   /* NULL: the log has not named it yet */
	struct turns_place *place; /* NULL: a service */
	struct wait_place *where;  /* waits.h; or NULL */
	int64_t since_us;
	bool is_answered;
};

struct turns {
	struct turns_place *places;
	unsigned place_count;
	struct flight *flights;
	int64_t moved_us;       /* as the books said */
	int64_t wall_offset_us; /* likewise its machine */
};

/* NULL: a service, or a name that is too long. */
static struct turns_place *place_of(struct turns *turns, struct str name)
{
	struct turns_place *place = turns->places;

	if (name.length == 0 || str_find(name, ':') >= 0)
		return NULL;
	while (place != NULL && !str_equal(str_from(place->name), name))
		place = place->next;
	if (place != NULL || name.length >= sizeof place->name)
		return place;
	place = memory_alloc_zero(1, sizeof *place);
	memcpy(place->name, name.data, name.length);
	place->next = turns->places;
	turns->places = place;
	turns->place_count++;
	return place;
}

static struct turn *turn_of(struct account *account, struct turns_place *place)
{
	struct turn *turn = account->turns;

	while (turn != NULL && turn->place != place)
		turn = turn->next;
	if (turn != NULL)
		return turn;
	turn = memory_alloc_zero(1, sizeof *turn);
	*turn = (struct turn){.next = account->turns, .account = account, .place = place};
	account->turns = turn;
	return turn;
}

/* --- who waits --- */

static void stop_waiting(struct turn *turn)
{
	heap_remove(turn->is_tried ? &turn->place->retries : &turn->place->newcomers, &turn->wait);
	turn->due_us = 0;
}

/* Its message is awake, and does not wait for what is due. */
static void pause_retries(struct account *account)
{
	for (struct turn *turn = account->turns; turn != NULL; turn = turn->next)
		if (turn->is_tried)
			heap_remove(&turn->place->retries, &turn->wait);
}

/* Once a message has no job it looks for what is due. */
static void resume_retries(struct account *account, int64_t from_us)
{
	if (account_is_damaged(account))
		return;
	for (struct turn *turn = account->turns; turn != NULL; turn = turn->next)
		if (turn->due_us > 0)
			heap_put(&turn->place->retries, &turn->wait,
				 turn->due_us > from_us ? turn->due_us : from_us);
}

void turns_deferred(struct account *account, const char *to, int64_t due_us)
{
	const char *at = strrchr(to, '@');
	struct turns_place *place =
		at != NULL ? place_of(account->books->turns, str_from(at + 1)) : NULL;
	struct turn *turn;

	if (place == NULL)
		return;
	turn = turn_of(account, place);
	if (!turn->is_tried)
		stop_waiting(turn);
	turn->is_tried = true;
	if (turn->due_us < due_us)
		turn->due_us = due_us;
	if (account->flights == 0)
		resume_retries(account, 0);
}

/* When it is mapped again what has been deferred may not be due. */
void turns_mapped(struct account *account, struct str name)
{
	const bool is_new = account->due_us == 0 && account->delivery_count == 0 &&
			    !account_is_damaged(account);
	struct turns_place *place = is_new ? place_of(account->books->turns, name) : NULL;
	struct turn *turn = place != NULL ? turn_of(account, place) : NULL;

	if (turn != NULL && !turn->is_tried)
		heap_put(&place->newcomers, &turn->wait, kernel_now_us());
}

void turns_forget(struct account *account)
{
	for (struct turn *turn = account != NULL ? account->turns : NULL; turn != NULL;
	     turn = turn->next)
		stop_waiting(turn);
}

void turns_forget_all(struct books *books)
{
	for (struct account *account = books->first_open; account != NULL; account = account->after)
		turns_forget(account);
}

/* --- who has a job --- */

static struct flight *find_flight(const struct books *books, struct turns_job job)
{
	struct flight *flight = books->turns->flights;

	while (flight != NULL && (flight->job.helper != job.helper || flight->job.tag != job.tag))
		flight = flight->next;
	return flight;
}

struct account *turns_account(const struct books *books, struct turns_job job,
			      struct wait_place **place_out)
{
	const struct flight *flight = find_flight(books, job);

	*place_out = flight != NULL ? flight->where : NULL;
	return flight != NULL ? flight->account : NULL;
}

static void drop_flight(struct turns *turns, struct flight *flight)
{
	struct flight **place = &turns->flights;

	while (*place != flight)
		place = &(*place)->next;
	*place = flight->next;
	if (flight->place != NULL)
		flight->place->flights--;
	if (flight->account != NULL && --flight->account->flights == 0)
		resume_retries(flight->account, kernel_now_us());
	free(flight);
}

void turns_drop(struct account *account)
{
	struct turns *turns = account->books->turns;

	for (struct flight *flight = turns->flights, *next; account->flights > 0; flight = next) {
		next = flight->next;
		if (flight->account == account)
			drop_flight(turns, flight);
	}
	turns_forget(account);
	while (account->turns != NULL) {
		struct turn *turn = account->turns;

		account->turns = turn->next;
		free(turn);
	}
}

static void shut(struct turns_place *place, int64_t us)
{
	if (place->shut_until_us < kernel_now_us() + us)
		place->shut_until_us = kernel_now_us() + us;
}

/* Which jobs were lost is not known, and the manager may be a new one. */
static void lose_flights(struct turns *turns)
{
	while (turns->flights != NULL) {
		if (turns->flights->place != NULL)
			shut(turns->flights->place, TURNS_LOST_US);
		drop_flight(turns, turns->flights);
	}
	for (struct turns_place *place = turns->places; place != NULL; place = place->next)
		place->is_fast = false;
}

static void forget_newcomers(struct turns *turns)
{
	for (struct turns_place *place = turns->places; place != NULL; place = place->next)
		while (heap_first(&place->newcomers) != NULL)
			heap_remove(&place->newcomers, heap_first(&place->newcomers));
}

void turns_notice_moves(struct books *books)
{
	struct turns *turns = books->turns;
	const bool is_set = turns->wall_offset_us != books->machine->wall_offset_us;

	if (turns->moved_us == books->moved_us && !is_set)
		return;
	turns->moved_us = books->moved_us;
	turns->wall_offset_us = books->machine->wall_offset_us;
	lose_flights(turns);
	forget_newcomers(turns);
	if (is_set)
		turns_forget_all(books);
}

/* --- the judge --- */

static bool has_triggers(struct machine *machine)
{
	size_t size = 0;
	char *names;

	machine->is_looked_at = true;
	names = files_names(machine, "/var/queue/trigger", &size);
	machine->is_looked_at = false;
	if (names != NULL)
		disk_list_free(names);
	return size > 0;
}

static bool is_any_ready(const struct books *books, const struct heap *waiting)
{
	const int64_t now_us = kernel_now_us();
	const struct heap_node *first = heap_first(waiting);

	return first != NULL && now_us - first->key >= TURNS_READY_US && !books->is_held &&
	       now_us - books->moved_us >= TURNS_MOVED_US;
}

static bool may_begin(const struct turns_place *place)
{
	return place->flights == 0 && place->is_fast && place->shut_until_us <= kernel_now_us();
}

/* One more of WHAT has begun while somebody is ready who is WAITING for PLACE; BEGUN: how many of
 * MOST have. */
static void count(const struct books *books, const struct turns_place *place,
		  const struct heap *waiting, unsigned *begun, unsigned most, const char *what)
{
	const struct turn *first = CONTAINER_OF(heap_first(waiting), struct turn, wait);

	if (++*begun < most)
		return;
	if (!has_triggers(books->machine) && !machine_is_frozen(books->machine))
		judge_object(JUDGE_TURNS, "%s: %u %s have begun while message %s waits for %s",
			     books->machine->name, most, what, first->account->id, place->name);
	*begun = 0;
}

static void count_first_attempts(const struct books *books, struct turns_place *place,
				 bool is_first)
{
	if (is_first && is_any_ready(books, &place->retries))
		count(books, place, &place->retries, &place->first_attempts, TURNS_MAX,
		      "first attempts there");
	else
		place->first_attempts = 0;
}

static void count_passed(const struct books *books, struct turns_place *place)
{
	if (may_begin(place) && is_any_ready(books, &place->newcomers))
		count(books, place, &place->newcomers, &place->passed,
		      TURNS_ROUNDS * books->turns->place_count, "jobs for others");
	else
		place->passed = 0;
}

/* --- what happens --- */

static void use_turn(struct account *account, struct turns_place *place)
{
	struct turn *turn = turn_of(account, place);

	stop_waiting(turn);
	count_first_attempts(account->books, place, !turn->is_tried);
	turn->is_tried = true;
}

void turns_begin(struct books *books, struct turns_job job, struct account *account,
		 struct str name, struct wait_place *where)
{
	struct turns_place *begun = place_of(books->turns, name);
	struct flight *flight = memory_alloc_zero(1, sizeof *flight);

	*flight = (struct flight){.next = books->turns->flights,
				  .job = job,
				  .account = account,
				  .place = begun,
				  .where = where,
				  .since_us = kernel_now_us()};
	books->turns->flights = flight;
	if (account != NULL) {
		account->flights++;
		pause_retries(account);
	}
	if (begun == NULL)
		return;
	begun->flights++;
	if (account != NULL)
		use_turn(account, begun);
	for (struct turns_place *place = books->turns->places; place != NULL; place = place->next)
		count_passed(books, place);
}

void turns_answer(struct books *books, struct turns_job job)
{
	struct flight *flight = find_flight(books, job);

	if (flight != NULL)
		flight->is_answered = true;
}

static void learn(struct turns_place *place, const struct flight *flight, int64_t took_us)
{
	if (took_us >= SLOW_US)
		place->is_fast = false;
	else if (flight->is_answered && took_us < FAST_US)
		place->is_fast = true;
}

int64_t turns_finish(struct books *books, struct turns_job job, int64_t busy_us)
{
	struct flight *flight = find_flight(books, job);
	int64_t took_us;

	if (flight == NULL)
		return 0;
	took_us = kernel_now_us() - flight->since_us;
	if (flight->place != NULL) {
		learn(flight->place, flight, took_us);
		shut(flight->place, busy_us);
	}
	drop_flight(books->turns, flight);
	return took_us;
}

/* --- all --- */

void turns_new(struct books *books)
{
	books->turns = memory_alloc_zero(1, sizeof *books->turns);
}

void turns_end(struct books *books)
{
	while (books->turns->flights != NULL)
		drop_flight(books->turns, books->turns->flights);
	while (books->turns->places != NULL) {
		struct turns_place *place = books->turns->places;

		books->turns->places = place->next;
		heap_clear(&place->retries);
		heap_clear(&place->newcomers);
		free(place);
	}
	free(books->turns);
}
