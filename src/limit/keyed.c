// SPDX-License-Identifier: ISC
#include "limit/keyed.h"
#include "base/panic.h"
#include <stdatomic.h>

enum {
	WAYS = 8,
	READS_MAX = 8, /* of a slot that changes meanwhile */
	CACHE_LINE = 64,
	SPARE_TENTHS = 2, /* more slots than keys, so that two full buckets are rare */
};

struct slot {
	_Atomic uint32_t changes; /* odd: it is being changed */
	_Atomic uint32_t used_s;  /* monotonic, when it was last added to */
	struct {
		_Atomic uint32_t number, now, before;
	} windows[LIMIT_COLUMNS];
};

struct bucket {
	_Atomic uint64_t keys[WAYS]; /* 0: the slot is free; one line of the processor's cache */
	struct slot slots[WAYS];
};

struct limit_keyed {
	_Atomic limit_rule_key rules[LIMIT_COLUMNS];
	_Atomic uint32_t used; /* slots; nobody looks at all: that would give them memory */
	_Alignas(CACHE_LINE) struct bucket buckets[];
};

_Static_assert(sizeof(struct bucket) % CACHE_LINE == 0, "buckets begin with a cache line");

size_t limit_keyed_size(size_t keys)
{
	size_t slots = keys + keys * SPARE_TENTHS / 10;
	size_t buckets = (slots + WAYS - 1) / WAYS;

	return sizeof(struct limit_keyed) + (buckets > 0 ? buckets : 1) * sizeof(struct bucket);
}

struct limit_keyed_view limit_keyed_view(void *memory, size_t size)
{
	struct limit_keyed_view view = {memory, 0};

	if (size < sizeof(struct limit_keyed) + sizeof(struct bucket))
		panic("a table of counters has %zu bytes", size);
	view.buckets = (size - sizeof(struct limit_keyed)) / sizeof(struct bucket);
	return view;
}

/* --- slots --- */

struct place {
	struct bucket *bucket;
	unsigned way;
};

/* The buckets that KEY, which is a hash, may be in: by its two halves. */
static struct bucket *bucket_of(struct limit_keyed_view view, uint64_t key, bool is_second)
{
	uint64_t half = is_second ? key >> 32 : key & UINT32_MAX;

	return &view.table->buckets[half * view.buckets >> 32];
}

static bool find(struct limit_keyed_view view, uint64_t key, struct place *place)
{
	for (unsigned i = 0; i < 2; i++) {
		place->bucket = bucket_of(view, key, i > 0);
		for (place->way = 0; place->way < WAYS; place->way++)
			if (atomic_load_explicit(&place->bucket->keys[place->way],
						 memory_order_acquire) == key)
				return true;
	}
	return false;
}

static struct slot *slot_at(const struct place *place)
{
	return &place->bucket->slots[place->way];
}

static uint32_t used_s(const struct place *place)
{
	return atomic_load_explicit(&slot_at(place)->used_s, memory_order_relaxed);
}

/* How many slots of BUCKET are free, and in *PLACE one of them or, if none is, the one that was
 * unused for longest. */
static unsigned look(struct bucket *bucket, struct place *place)
{
	unsigned free = 0;
	struct place best = {bucket, 0};

	for (struct place at = {bucket, 0}; at.way < WAYS; at.way++) {
		if (atomic_load_explicit(&bucket->keys[at.way], memory_order_relaxed) == 0) {
			if (free++ == 0)
				best = at;
		} else if (free == 0 && used_s(&at) < used_s(&best)) {
			best = at;
		}
	}
	*place = best;
	return free;
}

/* The slot that a new KEY is to have: a free one of the emptier bucket, or the one that was unused
 * for longest. */
static bool choose(struct limit_keyed_view view, uint64_t key, struct place *place)
{
	struct place second;
	unsigned free = look(bucket_of(view, key, false), place);
	unsigned free_second = look(bucket_of(view, key, true), &second);

	if (free_second > free ||
	    (free_second == 0 && free == 0 && used_s(&second) < used_s(place)))
		*place = second;
	return free + free_second > 0;
}

/* --- the writer --- */

/* Readers that meet an odd number, or another than before, read again. It is odd already where an
 * earlier process was killed amid a change. */
static void begin_change(struct slot *slot)
{
	uint32_t changes = atomic_load_explicit(&slot->changes, memory_order_relaxed);

	atomic_store_explicit(&slot->changes, (changes + 1) | 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_change(struct slot *slot)
{
	uint32_t changes = atomic_load_explicit(&slot->changes, memory_order_relaxed);

	atomic_store_explicit(&slot->changes, changes + 1, memory_order_release);
}

static struct limit_window load(const struct slot *slot, unsigned column)
{
	return (struct limit_window){
		atomic_load_explicit(&slot->windows[column].number, memory_order_relaxed),
		atomic_load_explicit(&slot->windows[column].now, memory_order_relaxed),
		atomic_load_explicit(&slot->windows[column].before, memory_order_relaxed),
	};
}

static void store(struct slot *slot, unsigned column, struct limit_window window)
{
	atomic_store_explicit(&slot->windows[column].number, window.number, memory_order_relaxed);
	atomic_store_explicit(&slot->windows[column].now, window.now, memory_order_relaxed);
	atomic_store_explicit(&slot->windows[column].before, window.before, memory_order_relaxed);
}

/* Nobody counts by COLUMN: what it has counted by an old rule must not count by a new one. */
static void clear_column(struct limit_keyed_view view, unsigned column)
{
	struct place at;

	for (size_t i = 0; i < view.buckets; i++) {
		at.bucket = &view.table->buckets[i];
		for (at.way = 0; at.way < WAYS; at.way++) {
			if (atomic_load_explicit(&at.bucket->keys[at.way], memory_order_relaxed) ==
			    0)
				continue;
			begin_change(slot_at(&at));
			store(slot_at(&at), column, (struct limit_window){0});
			end_change(slot_at(&at));
		}
	}
}

static bool has_rule(const limit_rule_key *rules, size_t count, limit_rule_key rule)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i] == rule)
			return true;
	return false;
}

static unsigned free_column(struct limit_keyed_view view)
{
	for (unsigned column = 0; column < LIMIT_COLUMNS; column++)
		if (atomic_load_explicit(&view.table->rules[column], memory_order_relaxed) == 0)
			return column;
	panic("a table of counters has more than %d rules", LIMIT_COLUMNS);
}

void limit_keyed_configure(struct limit_keyed_view view, const limit_rule_key *rules, size_t count,
			   unsigned *column_out)
{
	for (unsigned column = 0; column < LIMIT_COLUMNS; column++) {
		limit_rule_key rule = view.table->rules[column];

		/* an earlier process may have left anything, also one rule in all columns */
		if (rule == 0 ||
		    (has_rule(rules, count, rule) && limit_keyed_column(view, rule) == (int)column))
			continue;
		atomic_store(&view.table->rules[column], 0);
		clear_column(view, column);
	}
	for (size_t i = 0; i < count; i++) {
		int column = limit_keyed_column(view, rules[i]);

		column_out[i] = column < 0 ? free_column(view) : (unsigned)column;
		atomic_store(&view.table->rules[column_out[i]], rules[i]);
	}
}

/* Gives the slot to KEY. */
static void occupy(const struct place *place, uint64_t key)
{
	struct slot *slot = slot_at(place);

	atomic_store_explicit(&place->bucket->keys[place->way], 0, memory_order_relaxed);
	begin_change(slot);
	for (unsigned column = 0; column < LIMIT_COLUMNS; column++)
		store(slot, column, (struct limit_window){0});
	end_change(slot);
	atomic_store_explicit(&place->bucket->keys[place->way], key, memory_order_release);
}

void limit_keyed_add(struct limit_keyed_view view, uint64_t key, unsigned column,
		     int64_t interval_us, int64_t time_us, uint32_t amount)
{
	struct place place;
	struct limit_window window;

	if (!find(view, key, &place)) {
		if (choose(view, key, &place))
			atomic_fetch_add_explicit(&view.table->used, 1, memory_order_relaxed);
		occupy(&place, key);
	}
	window = load(slot_at(&place), column);
	limit_window_add(&window, interval_us, time_us, amount);
	begin_change(slot_at(&place));
	store(slot_at(&place), column, window);
	end_change(slot_at(&place));
	atomic_store_explicit(&slot_at(&place)->used_s, (uint32_t)(time_us / 1000000),
			      memory_order_relaxed);
}

bool limit_keyed_has_room(struct limit_keyed_view view, uint64_t key, int64_t idle_us,
			  int64_t time_us)
{
	struct place place;

	return find(view, key, &place) || choose(view, key, &place) ||
	       used_s(&place) + idle_us / 1000000 < time_us / 1000000;
}

/* --- readers --- */

int limit_keyed_column(struct limit_keyed_view view, limit_rule_key rule)
{
	for (int column = 0; column < LIMIT_COLUMNS; column++)
		if (atomic_load_explicit(&view.table->rules[column], memory_order_acquire) == rule)
			return column;
	return -1;
}

/* COLUMN of the slot at one instant, at which the slot was KEY's. */
static bool read_window(const struct place *place, uint64_t key, unsigned column,
			struct limit_window *window)
{
	struct slot *slot = slot_at(place);

	for (unsigned i = 0; i < READS_MAX; i++) {
		uint32_t changes = atomic_load_explicit(&slot->changes, memory_order_acquire);

		*window = load(slot, column);
		atomic_thread_fence(memory_order_acquire);
		if (changes % 2 == 0 &&
		    atomic_load_explicit(&slot->changes, memory_order_relaxed) == changes)
			return atomic_load_explicit(&place->bucket->keys[place->way],
						    memory_order_relaxed) == key;
	}
	return false;
}

void limit_keyed_sum(struct limit_keyed_view view, uint64_t key, unsigned column,
		     int64_t interval_us, int64_t time_us, struct limit_window_total *total)
{
	struct place place;
	struct limit_window window;

	if (find(view, key, &place) && read_window(&place, key, column, &window))
		limit_window_sum(window, interval_us, time_us, total);
}

size_t limit_keyed_count(struct limit_keyed_view view)
{
	return atomic_load_explicit(&view.table->used, memory_order_relaxed);
}
