// SPDX-License-Identifier: ISC
#include "turns.h"
#include "base/heap.h"
#include "base/panic.h"
#include "files.h"
#include "ipc/job.h"
#include "judge.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* What a message has for a destination. */
struct turn {
	struct turn *next; /* of the message */
	struct account *account;
	struct turns_place *place;
	int64_t due_us; /* 0: it waits for nothing */
	struct heap_node wait;
};

/* A destination. */
struct turns_place {
	struct turns_place *next;
	char name[64];
	struct heap waiting;     /* retries by the time when they are due */
	unsigned first_attempts; /* in a row, while a retry is ready */
};

/* A job that a helper has. */
struct flight {
	struct flight *next;
	uint64_t helper; /* its end of the connection */
	uint32_t tag;
	struct account *account;
};

struct turns {
	struct turns_place *places;
	struct flight *flights;
	int64_t moved_us;       /* as the books said */
	int64_t wall_offset_us; /* likewise its machine */
};

static struct turns_place *place_of(struct turns *turns, struct str name)
{
	struct turns_place *place = turns->places;

	while (place != NULL && !str_equal(str_from(place->name), name))
		place = place->next;
	if (place != NULL || name.length >= sizeof place->name)
		return place;
	place = memory_alloc_zero(1, sizeof *place);
	memcpy(place->name, name.data, name.length);
	place->next = turns->places;
	turns->places = place;
	return place;
}

/* NULL: it has never had a job there, nor waited for one. */
static struct turn *find_turn(const struct account *account, const struct turns_place *place)
{
	struct turn *turn = account->turns;

	while (turn != NULL && turn->place != place)
		turn = turn->next;
	return turn;
}

static struct turn *add_turn(struct account *account, struct turns_place *place)
{
	struct turn *turn = memory_alloc_zero(1, sizeof *turn);

	*turn = (struct turn){.next = account->turns, .account = account, .place = place};
	account->turns = turn;
	return turn;
}

/* --- who waits --- */

static void stop_waiting(struct account *account)
{
	for (struct turn *turn = account->turns; turn != NULL; turn = turn->next)
		heap_remove(&turn->place->waiting, &turn->wait);
}

/* Once a message has no job it looks for what is due. */
static void start_waiting(struct account *account, int64_t from_us)
{
	for (struct turn *turn = account->turns; turn != NULL; turn = turn->next)
		if (turn->due_us > 0)
			heap_put(&turn->place->waiting, &turn->wait,
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
	turn = find_turn(account, place);
	if (turn == NULL)
		turn = add_turn(account, place);
	if (turn->due_us < due_us)
		turn->due_us = due_us;
	if (account->flights == 0)
		start_waiting(account, 0);
}

static void drop_flight(struct turns *turns, struct flight *flight)
{
	struct flight **place = &turns->flights;

	while (*place != flight)
		place = &(*place)->next;
	*place = flight->next;
	flight->account->flights--;
	free(flight);
}

void turns_forget(struct account *account)
{
	stop_waiting(account);
	for (struct turn *turn = account->turns; turn != NULL; turn = turn->next)
		turn->due_us = 0;
}

void turns_forget_all(struct books *books)
{
	for (struct account *account = books->first_open; account != NULL; account = account->after)
		turns_forget(account);
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

/* After a fault nobody knows which jobs were lost, and where the manager is a new one. */
static void notice_moves(struct books *books)
{
	struct turns *turns = books->turns;
	const bool is_set = turns->wall_offset_us != books->machine->wall_offset_us;

	if (turns->moved_us == books->moved_us && !is_set)
		return;
	turns->moved_us = books->moved_us;
	turns->wall_offset_us = books->machine->wall_offset_us;
	while (turns->flights != NULL) {
		struct account *account = turns->flights->account;

		drop_flight(turns, turns->flights);
		if (account->flights == 0)
			start_waiting(account, kernel_now_us());
	}
	if (is_set)
		turns_forget_all(books);
}

static bool is_ready(const struct books *books, const struct turns_place *place)
{
	const int64_t now_us = kernel_now_us();
	const struct heap_node *first = heap_first(&place->waiting);

	return first != NULL && now_us - first->key >= TURNS_READY_US && !books->is_held &&
	       now_us - books->moved_us >= TURNS_MOVED_US;
}

/* --- who begins --- */

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

static void object(const struct books *books, const struct turns_place *place)
{
	const struct turn *first = CONTAINER_OF(heap_first(&place->waiting), struct turn, wait);

	if (!has_triggers(books->machine) && !machine_is_frozen(books->machine))
		judge_object(JUDGE_TURNS,
			     "%s: %d first attempts have begun at %s while message %s waits",
			     books->machine->name, TURNS_MAX, place->name, first->account->id);
}

static void count(const struct books *books, struct turns_place *place, bool is_first)
{
	if (!is_first || !is_ready(books, place))
		place->first_attempts = 0;
	else
		place->first_attempts++;
	if (place->first_attempts < TURNS_MAX)
		return;
	object(books, place);
	place->first_attempts = 0;
}

static void start(struct books *books, uint64_t helper, uint32_t tag, struct str body)
{
	struct unpack unpack = {body, false};
	unsigned long long number = unpack_u64(&unpack);
	unsigned long long born = unpack_u64(&unpack);
	struct account *account;
	struct turns_place *place;
	struct flight *flight;
	char id[40];
	bool is_first;

	snprintf(id, sizeof id, "%llu-%llx", number, born);
	account = account_find(books, id);
	(void)unpack_str(&unpack); /* sender */
	(void)unpack_u64(&unpack); /* size */
	(void)unpack_u32(&unpack); /* needs */
	(void)unpack_u64(&unpack); /* deadline */
	(void)unpack_u32(&unpack); /* ret */
	(void)unpack_str(&unpack); /* envid */
	place = place_of(books->turns, unpack_str(&unpack));
	if (unpack.failed || account == NULL || place == NULL)
		return;
	is_first = find_turn(account, place) == NULL;
	stop_waiting(account);
	(is_first ? add_turn(account, place) : find_turn(account, place))->due_us = 0;
	flight = memory_alloc_zero(1, sizeof *flight);
	*flight = (struct flight){
		.next = books->turns->flights, .helper = helper, .tag = tag, .account = account};
	books->turns->flights = flight;
	account->flights++;
	count(books, place, is_first);
}

/* --- who ends --- */

static void end(struct books *books, struct flight *flight)
{
	struct account *account = flight->account;

	drop_flight(books->turns, flight);
	if (account->flights == 0)
		start_waiting(account, kernel_now_us());
}

static struct flight *find_flight(const struct turns *turns, uint64_t helper, uint32_t tag)
{
	struct flight *flight = turns->flights;

	while (flight != NULL && (flight->helper != helper || flight->tag != tag))
		flight = flight->next;
	return flight;
}

/* --- what is said --- */

static void hear(const struct process *process, uint64_t from, uint64_t to, const void *data,
		 size_t size)
{
	struct {
		uint16_t version, type;
		uint32_t tag;
	} header;
	struct books *books = accounts_of(process->machine);
	const bool is_manager = strcmp(process->program->name, "send") == 0;
	struct flight *flight;

	if (size < sizeof header)
		return;
	memcpy(&header, data, sizeof header);
	notice_moves(books);
	if (is_manager && le16toh(header.type) == IPC_JOB_START)
		start(books, to, le32toh(header.tag),
		      str_slice((const char *)data + sizeof header, size - sizeof header));
	if (is_manager ||
	    (le16toh(header.type) != IPC_JOB_FINISH && le16toh(header.type) != IPC_JOB_BUSY))
		return;
	flight = find_flight(books->turns, from, le32toh(header.tag));
	if (flight != NULL)
		end(books, flight);
}

void turns_watch(struct books *books)
{
	books->turns = memory_alloc_zero(1, sizeof *books->turns);
	books->machine->packet = hear;
}

void turns_end(struct books *books)
{
	while (books->turns->places != NULL) {
		struct turns_place *place = books->turns->places;

		books->turns->places = place->next;
		heap_clear(&place->waiting);
		free(place);
	}
	books->machine->packet = NULL;
	free(books->turns);
}
