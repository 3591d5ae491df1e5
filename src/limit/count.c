// SPDX-License-Identifier: ISC
#include "limit/count.h"
#include "base/panic.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { COUNT_TRIES = 4, SLOTS = 2 * CONFIG_CLASSES_MAX, NO_SLOT = -1 };

/* What a process counts for a class. */
struct count_slot {
	_Atomic uint64_t key; /* 0: never used, like all behind it */
	_Atomic uint32_t in;
	_Atomic uint32_t out;
	_Atomic uint32_t waiting;
	_Atomic uint32_t slowed; /* of those in */
	_Atomic uint64_t refused;
	_Atomic uint64_t held;
};

/* The area of a row. A slot keeps its key as long as there are others to use, so that who reads it
 * during a reload does not take the count of one class for that of another. */
struct sessions {
	_Atomic uint64_t version; /* changes with any key */
	struct count_slot slots[SLOTS];
};

/* Where the classes are in another row, as of VERSION. */
struct known_row {
	bool is_known;
	uint64_t version;
	int16_t slots[CONFIG_CLASSES_MAX];
};

struct counter_class {
	struct count_slot *slot; /* in the own row */
	uint32_t in;
	uint32_t out;
	uint32_t slowed;
};

struct limit_counter {
	const struct limit_memory *memory;
	const struct limit_classes *classes;
	struct sessions *own;
	size_t own_row;
	struct counter_class counts[CONFIG_CLASSES_MAX];
	struct known_row rows[LIMIT_ROWS_MAX];
};

uint32_t limit_count_area_size(void)
{
	return sizeof(struct sessions);
}

static struct sessions *sessions_at(const struct limit_memory *memory, size_t row)
{
	struct sessions *sessions =
		limit_memory_area(memory, row, LIMIT_AREA_SESSIONS, sizeof *sessions);

	if (sessions == NULL)
		panic("the rows of limits have no sessions");
	return sessions;
}

static int find_class_slot(const struct sessions *sessions, uint64_t key)
{
	for (int i = 0; i < SLOTS; i++) {
		uint64_t found =
			atomic_load_explicit(&sessions->slots[i].key, memory_order_relaxed);

		if (found == key)
			return i;
		if (found == 0)
			return NO_SLOT;
	}
	return NO_SLOT;
}

/* --- looking --- */

static void learn_row_slots(const struct limit_counter *counter, const struct sessions *sessions,
			    struct known_row *row, uint64_t version)
{
	size_t count = limit_classes_count(counter->classes);

	for (size_t i = 0; i < count; i++)
		row->slots[i] = (int16_t)find_class_slot(
			sessions, limit_classes_at(counter->classes, i)->key);
	row->version = version;
	row->is_known = true;
}

/* The sessions of CLASS in all rows. */
static uint64_t sum_class_sessions(struct limit_counter *counter, size_t class)
{
	size_t count = limit_memory_count(counter->memory);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sessions *sessions = sessions_at(counter->memory, i);
		struct known_row *row = &counter->rows[i];
		uint64_t version = atomic_load(&sessions->version);
		int slot;

		if (!row->is_known || row->version != version)
			learn_row_slots(counter, sessions, row, version);
		slot = row->slots[class];
		if (slot != NO_SLOT)
			sum += (uint64_t)atomic_load(&sessions->slots[slot].in) +
			       atomic_load(&sessions->slots[slot].out);
	}
	return sum;
}

/* Processes that have seen each other do not try again at the same moment. */
static void wait_a_little(const struct limit_counter *counter, unsigned tries)
{
	size_t turns = (counter->own_row + 1) * tries * 4;

	for (volatile size_t i = 0; i < turns; i++)
		continue;
}

static bool enter_counted_class(struct limit_counter *counter, size_t class, uint32_t *count,
				_Atomic uint32_t *shared, uint32_t limit)
{
	for (unsigned tries = 0; tries < COUNT_TRIES; tries++) {
		wait_a_little(counter, tries);
		if (sum_class_sessions(counter, class) >= limit)
			continue;
		atomic_store(shared, ++*count);
		if (sum_class_sessions(counter, class) <= limit)
			return true;
		atomic_store(shared, --*count);
	}
	return false;
}

static void add_one(_Atomic uint64_t *number)
{
	uint64_t old = atomic_load_explicit(number, memory_order_relaxed);

	atomic_store_explicit(number, old + 1, memory_order_relaxed);
}

bool limit_enter_in(struct limit_counter *counter, size_t class)
{
	struct counter_class *counts;

	if (counter == NULL)
		return true;
	counts = &counter->counts[class];
	if (enter_counted_class(counter, class, &counts->in, &counts->slot->in,
				limit_classes_at(counter->classes, class)->refuse))
		return true;
	add_one(&counts->slot->refused);
	return false;
}

bool limit_enter_out(struct limit_counter *counter, size_t class)
{
	struct counter_class *counts;

	if (counter == NULL)
		return true;
	counts = &counter->counts[class];
	if (enter_counted_class(counter, class, &counts->out, &counts->slot->out,
				limit_classes_at(counter->classes, class)->queue))
		return true;
	add_one(&counts->slot->held);
	return false;
}

static void leave_counted_class(uint32_t *count, _Atomic uint32_t *shared)
{
	if (*count == 0)
		panic("a session ends that was not counted");
	atomic_store(shared, --*count);
}

void limit_leave_in(struct limit_counter *counter, size_t class)
{
	if (counter != NULL)
		leave_counted_class(&counter->counts[class].in, &counter->counts[class].slot->in);
}

void limit_leave_out(struct limit_counter *counter, size_t class)
{
	if (counter != NULL)
		leave_counted_class(&counter->counts[class].out, &counter->counts[class].slot->out);
}

void limit_slow_in(struct limit_counter *counter, size_t class)
{
	struct counter_class *counts;

	if (counter == NULL)
		return;
	counts = &counter->counts[class];
	atomic_store(&counts->slot->slowed, ++counts->slowed);
}

void limit_hasten_in(struct limit_counter *counter, size_t class)
{
	if (counter != NULL)
		leave_counted_class(&counter->counts[class].slowed,
				    &counter->counts[class].slot->slowed);
}

void limit_hold_out(struct limit_counter *counter, size_t class)
{
	if (counter != NULL)
		add_one(&counter->counts[class].slot->held);
}

void limit_set_waiting(struct limit_counter *counter, size_t class, uint32_t messages)
{
	if (counter != NULL)
		atomic_store(&counter->counts[class].slot->waiting, messages);
}

/* --- counting all over --- */

void limit_recount_begin(struct limit_counter *counter, const struct limit_memory *memory,
			 const struct limit_classes *classes)
{
	ptrdiff_t own = limit_memory_own(memory);

	if (own < 0)
		panic("a process counts without a row of its own");
	for (size_t i = 0; i < CONFIG_CLASSES_MAX; i++)
		counter->counts[i] = (struct counter_class){0};
	for (size_t i = 0; i < LIMIT_ROWS_MAX; i++)
		counter->rows[i].is_known = false;
	counter->memory = memory;
	counter->classes = classes;
	counter->own_row = (size_t)own;
	counter->own = sessions_at(memory, counter->own_row);
}

void limit_recount_in(struct limit_counter *counter, size_t class)
{
	counter->counts[class].in++;
}

void limit_recount_slowed(struct limit_counter *counter, size_t class)
{
	counter->counts[class].slowed++;
}

void limit_recount_out(struct limit_counter *counter, size_t class)
{
	counter->counts[class].out++;
}

static bool is_key_of_class(const struct limit_counter *counter, uint64_t key)
{
	for (size_t i = 0; i < limit_classes_count(counter->classes); i++)
		if (limit_classes_at(counter->classes, i)->key == key)
			return true;
	return false;
}

static void clear_class_slot(struct count_slot *slot)
{
	atomic_store(&slot->slowed, 0);
	atomic_store(&slot->in, 0);
	atomic_store(&slot->out, 0);
	atomic_store(&slot->waiting, 0);
}

static bool is_class_slot_taken(const struct limit_counter *counter, const struct count_slot *slot)
{
	for (size_t i = 0; i < limit_classes_count(counter->classes); i++)
		if (counter->counts[i].slot == slot)
			return true;
	return false;
}

/* One that was never used; else one of a class that is not in the configuration; else any: who had
 * the row before may have written anything. */
static struct count_slot *find_room(const struct limit_counter *counter)
{
	struct count_slot *unwanted = NULL;
	struct count_slot *any = NULL;

	for (int i = 0; i < SLOTS; i++) {
		struct count_slot *slot = &counter->own->slots[i];
		uint64_t key = atomic_load(&slot->key);

		if (is_class_slot_taken(counter, slot))
			continue;
		if (key == 0)
			return slot;
		any = slot;
		if (!is_key_of_class(counter, key))
			unwanted = slot;
	}
	return unwanted != NULL ? unwanted : any;
}

static struct count_slot *take_class_slot(const struct limit_counter *counter, uint64_t key)
{
	struct count_slot *slot = find_room(counter);

	clear_class_slot(slot);
	atomic_store(&slot->refused, 0);
	atomic_store(&slot->held, 0);
	atomic_store(&slot->key, key);
	atomic_fetch_add(&counter->own->version, 1);
	return slot;
}

void limit_recount_end(struct limit_counter *counter)
{
	for (size_t i = 0; i < limit_classes_count(counter->classes); i++) {
		struct counter_class *counts = &counter->counts[i];
		uint64_t key = limit_classes_at(counter->classes, i)->key;
		int found = find_class_slot(counter->own, key);

		counts->slot = found != NO_SLOT ? &counter->own->slots[found]
						: take_class_slot(counter, key);
		atomic_store(&counts->slot->in, counts->in);
		atomic_store(&counts->slot->out, counts->out);
		atomic_store(&counts->slot->slowed, counts->slowed);
		atomic_store(&counts->slot->waiting, 0);
	}
	for (int i = 0; i < SLOTS; i++)
		if (!is_key_of_class(counter, atomic_load(&counter->own->slots[i].key)))
			clear_class_slot(&counter->own->slots[i]);
}

struct limit_counter *limit_counter_new(const struct limit_memory *memory,
					const struct limit_classes *classes)
{
	struct limit_counter *counter = memory_alloc_zero(1, sizeof *counter);

	limit_recount_begin(counter, memory, classes);
	limit_recount_end(counter);
	return counter;
}

void limit_counter_free(struct limit_counter *counter)
{
	if (counter == NULL)
		return;
	limit_clear_sessions(counter->memory, counter->own_row);
	free(counter);
}

/* --- for all --- */

void limit_total_of(const struct limit_memory *memory, uint64_t key, struct limit_total *total_out)
{
	*total_out = (struct limit_total){0};
	for (size_t i = 0; i < limit_memory_count(memory); i++) {
		const struct sessions *sessions = sessions_at(memory, i);
		int found = find_class_slot(sessions, key);
		const struct count_slot *slot;

		if (found == NO_SLOT)
			continue;
		slot = &sessions->slots[found];
		total_out->in += atomic_load(&slot->in);
		total_out->out += atomic_load(&slot->out);
		total_out->slowed += atomic_load(&slot->slowed);
		total_out->waiting += atomic_load(&slot->waiting);
		total_out->refused += atomic_load(&slot->refused);
		total_out->held += atomic_load(&slot->held);
	}
}

bool limit_is_all_full(const struct limit_memory *memory, const struct limit_classes *classes)
{
	for (size_t i = 0; i < limit_classes_count(classes); i++) {
		const struct limit_class *class = limit_classes_at(classes, i);
		struct limit_total total;

		limit_total_of(memory, class->key, &total);
		if (total.in + total.out < class->refuse + total.slowed)
			return false;
	}
	return true;
}

void limit_clear_sessions(const struct limit_memory *memory, size_t row)
{
	struct sessions *sessions;

	if (limit_memory_area_size(memory, LIMIT_AREA_SESSIONS) == 0)
		return;
	sessions = sessions_at(memory, row);
	for (int i = 0; i < SLOTS; i++)
		clear_class_slot(&sessions->slots[i]);
}
