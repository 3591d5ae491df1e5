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
	_Atomic uint64_t keys[WAYS]; /* 0: the slot is free */
};

struct limit_keyed {
	_Atomic limit_rule_key rules[LIMIT_COLUMNS];
	_Atomic uint32_t used; /* slots; nobody looks at all: that would give them memory */
	_Alignas(CACHE_LINE) struct bucket buckets[]; /* and behind them, WAYS slots for each */
};

enum { BUCKET_SIZE = sizeof(struct bucket) + WAYS * sizeof(struct slot) };
_Static_assert(sizeof(struct bucket) == CACHE_LINE, "a bucket's keys are in one cache line");

size_t limit_keyed_size(size_t keys)
{
	size_t slots = keys + keys * SPARE_TENTHS / 10;
	size_t buckets = (slots + WAYS - 1) / WAYS;

	return sizeof(struct limit_keyed) + (buckets > 0 ? buckets : 1) * BUCKET_SIZE;
}

struct limit_keyed_view limit_keyed_view(void *memory, size_t size)
{
	struct limit_keyed_view view = {memory, 0};

	if (size < sizeof(struct limit_keyed) + BUCKET_SIZE)
		panic("a table of counters has %zu bytes", size);
	view.buckets = (size - sizeof(struct limit_keyed)) / BUCKET_SIZE;
	return view;
}

/* --- slots --- */

struct place {
	_Atomic uint64_t *key;
	struct slot *slot;
};

static struct place place_of(struct limit_keyed_view view, const struct bucket *bucket,
			     unsigned way)
{
	size_t index = (size_t)(bucket - view.table->buckets);
	struct slot *slots = (void *)&view.table->buckets[view.buckets];

	return (struct place){&view.table->buckets[index].keys[way], &slots[index * WAYS + way]};
}

/* The buckets that KEY, which is a hash, may be in: by its two halves. */
static struct bucket *bucket_of(struct limit_keyed_view view, uint64_t key, bool is_second)
{
	uint64_t half = is_second ? key >> 32 : key & UINT32_MAX;

	return &view.table->buckets[half * view.buckets >> 32];
}

/* WAYS: none. Without a branch for each, which no processor could foresee. */
static unsigned way_of(const struct bucket *bucket, uint64_t key)
{
	unsigned found = WAYS;

	for (unsigned way = 0; way < WAYS; way++)
		found = atomic_load_explicit(&bucket->keys[way], memory_order_acquire) == key
				? way
				: found;
	return found;
}

static bool find(struct limit_keyed_view view, uint64_t key, struct place *place)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct bucket *bucket = bucket_of(view, key, i > 0);
		unsigned way = way_of(bucket, key);

		if (way == WAYS)
			continue;
		*place = place_of(view, bucket, way);
		return true;
	}
	return false;
}

static uint32_t used_s(const struct place *place)
{
	return atomic_load_explicit(&place->slot->used_s, memory_order_relaxed);
}

/* How many slots of BUCKET are free, and in *PLACE one of them or, if none is, the one that was
 * unused for longest. */
static unsigned look(struct limit_keyed_view view, const struct bucket *bucket, struct place *place)
{
	unsigned free = 0;
	struct place best = place_of(view, bucket, 0);

	for (unsigned way = 0; way < WAYS; way++) {
		struct place at = place_of(view, bucket, way);

		if (atomic_load_explicit(at.key, memory_order_relaxed) == 0) {
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
	unsigned free = look(view, bucket_of(view, key, false), place);
	unsigned free_second = look(view, bucket_of(view, key, true), &second);

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
	for (size_t i = 0; i < view.buckets * WAYS; i++) {
		struct place at = place_of(view, &view.table->buckets[i / WAYS], i % WAYS);

		if (atomic_load_explicit(at.key, memory_order_relaxed) == 0)
			continue;
		begin_change(at.slot);
		store(at.slot, column, (struct limit_window){0});
		end_change(at.slot);
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
	atomic_store_explicit(place->key, 0, memory_order_relaxed);
	begin_change(place->slot);
	for (unsigned column = 0; column < LIMIT_COLUMNS; column++)
		store(place->slot, column, (struct limit_window){0});
	end_change(place->slot);
	atomic_store_explicit(place->key, key, memory_order_release);
}

static void add(struct slot *slot, const struct limit_keyed_count *count)
{
	struct limit_window window;

	if (count->column < 0)
		return;
	window = load(slot, (unsigned)count->column);
	limit_window_add(&window, count->time, count->amount);
	store(slot, (unsigned)count->column, window);
}

void limit_keyed_add(struct limit_keyed_view view, uint64_t key, int64_t time_us,
		     const struct limit_keyed_count *counts, size_t count)
{
	struct place place;

	if (!find(view, key, &place)) {
		if (choose(view, key, &place))
			atomic_fetch_add_explicit(&view.table->used, 1, memory_order_relaxed);
		occupy(&place, key);
	}
	begin_change(place.slot);
	for (size_t i = 0; i < count; i++)
		add(place.slot, &counts[i]);
	end_change(place.slot);
	atomic_store_explicit(&place.slot->used_s, (uint32_t)(time_us / 1000000),
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

bool limit_keyed_is_column(struct limit_keyed_view view, int column, limit_rule_key rule)
{
	return column >= 0 &&
	       atomic_load_explicit(&view.table->rules[column], memory_order_acquire) == rule;
}

void limit_keyed_expect(struct limit_keyed_view view, uint64_t key)
{
	__builtin_prefetch(bucket_of(view, key, false));
	__builtin_prefetch(bucket_of(view, key, true));
}

/* The windows of COUNTS at one instant, at which the slot was KEY's. */
static bool read_windows(const struct place *place, uint64_t key,
			 const struct limit_keyed_count *counts, size_t count,
			 struct limit_window *windows)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		uint32_t changes =
			atomic_load_explicit(&place->slot->changes, memory_order_acquire);

		for (size_t j = 0; j < count; j++)
			if (counts[j].column >= 0)
				windows[j] = load(place->slot, (unsigned)counts[j].column);
		atomic_thread_fence(memory_order_acquire);
		if (changes % 2 == 0 &&
		    atomic_load_explicit(&place->slot->changes, memory_order_relaxed) == changes)
			return atomic_load_explicit(place->key, memory_order_relaxed) == key;
	}
	return false;
}

void limit_keyed_sum(struct limit_keyed_view view, uint64_t key, struct limit_keyed_count *counts,
		     size_t count)
{
	struct place place;
	struct limit_window windows[LIMIT_COLUMNS];

	if (count > LIMIT_COLUMNS)
		panic("%zu rules for one key", count);
	if (!find(view, key, &place) || !read_windows(&place, key, counts, count, windows))
		return;
	for (size_t i = 0; i < count; i++)
		if (counts[i].column >= 0)
			limit_window_sum(windows[i], counts[i].time, &counts[i].total);
}

size_t limit_keyed_used(struct limit_keyed_view view)
{
	return atomic_load_explicit(&view.table->used, memory_order_relaxed);
}
