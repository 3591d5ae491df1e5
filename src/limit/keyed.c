// SPDX-License-Identifier: ISC
#include "limit/keyed.h"
#include "base/panic.h"
#include <stdatomic.h>

enum {
	WAYS = 8,
	READS_MAX = 8, /* of a slot that changes meanwhile */
	CACHE_LINE = 64,
	SPARE_TENTHS = 2, /* more slots than keys, so that two full buckets are rare */
	FEW_BUCKETS = 16, /* they are in the cache in any case */
};

struct keyed_slot {
	_Atomic uint32_t changes; /* odd: it is being changed */
	_Atomic uint32_t used_s;  /* monotonic, when it was last added to */
	_Atomic uint64_t key;
	struct {
		_Atomic uint32_t number, now, before;
	} windows[LIMIT_COLUMNS];
};

/* A byte for each of a bucket's slots, from the lowest on: some bits of its key; 0: it is free. A
 * slot whose tag is not that of its key was left so by a process that was killed: nobody finds it,
 * until it is the one that was unused for longest. */
typedef _Atomic uint64_t tags;

/* Behind it are the tags of all buckets, and from the next line of the cache on, their slots. */
struct limit_keyed {
	_Atomic limit_rule_key rules[LIMIT_COLUMNS];
	_Alignas(CACHE_LINE) _Atomic uint32_t version; /* changes with any rule */
	_Atomic uint32_t used; /* slots; nobody looks at all: that would give them memory */
};

static size_t tags_size(size_t buckets)
{
	return (buckets * sizeof(tags) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static size_t size_of_keyed_table(size_t buckets)
{
	return sizeof(struct limit_keyed) + tags_size(buckets) +
	       buckets * WAYS * sizeof(struct keyed_slot);
}

size_t limit_keyed_size(size_t keys)
{
	size_t slots = keys + keys * SPARE_TENTHS / 10;
	size_t buckets = (slots + WAYS - 1) / WAYS;

	return size_of_keyed_table(buckets > 0 ? buckets : 1);
}

struct limit_keyed_view limit_keyed_view(void *memory, size_t size)
{
	struct limit_keyed_view view = {.table = memory};

	if (size < size_of_keyed_table(1))
		panic("a table of counters has %zu bytes", size);
	view.buckets = (size - sizeof(struct limit_keyed)) /
		       (sizeof(tags) + WAYS * sizeof(struct keyed_slot));
	while (size_of_keyed_table(view.buckets) > size) /* its tags are rounded up */
		view.buckets--;
	view.tags = (char *)memory + sizeof(struct limit_keyed);
	view.slots = (char *)view.tags + tags_size(view.buckets);
	return view;
}

/* --- slots --- */

struct place {
	size_t bucket;
	unsigned way;
	struct keyed_slot *slot;
};

static tags *tags_of(struct limit_keyed_view view, size_t bucket)
{
	return (tags *)view.tags + bucket;
}

static struct place place_in_bucket(struct limit_keyed_view view, size_t bucket, unsigned way)
{
	struct keyed_slot *slots = view.slots;

	return (struct place){bucket, way, &slots[bucket * WAYS + way]};
}

/* The buckets that KEY, which is a hash, may be in: by its two halves. */
static size_t bucket_of_key(struct limit_keyed_view view, uint64_t key, bool is_second)
{
	uint64_t half = is_second ? key >> 32 : key & UINT32_MAX;

	return half * view.buckets >> 32;
}

static uint64_t tag_of_key(uint64_t key)
{
	uint64_t tag = key & UINT8_MAX;

	return tag != 0 ? tag : 1;
}

/* Bits that tell which slots of BUCKET may have KEY: all that do, and few others. */
static uint64_t candidate_slots_of(struct limit_keyed_view view, size_t bucket, uint64_t key)
{
	static const uint64_t ones = UINT64_MAX / UINT8_MAX;
	uint64_t different = atomic_load_explicit(tags_of(view, bucket), memory_order_acquire) ^
			     ones * tag_of_key(key);

	/* the highest bit of each byte that is 0, and perhaps of those above it */
	return (different - ones) & ~different & ones << 7;
}

static unsigned first_of(uint64_t bits)
{
	return (unsigned)__builtin_ctzll(bits) / 8;
}

static bool find_keyed_slot(struct limit_keyed_view view, uint64_t key, struct place *place)
{
	for (unsigned i = 0; i < 2; i++) {
		size_t bucket = bucket_of_key(view, key, i > 0);

		for (uint64_t bits = candidate_slots_of(view, bucket, key); bits != 0;
		     bits &= bits - 1) {
			*place = place_in_bucket(view, bucket, first_of(bits));
			if (atomic_load_explicit(&place->slot->key, memory_order_relaxed) == key)
				return true;
		}
	}
	return false;
}

static uint64_t tag_at(struct limit_keyed_view view, size_t bucket, unsigned way)
{
	uint64_t word = atomic_load_explicit(tags_of(view, bucket), memory_order_relaxed);

	return word >> 8 * way & UINT8_MAX;
}

static void set_tag(struct limit_keyed_view view, const struct place *place, uint64_t tag)
{
	tags *word = tags_of(view, place->bucket);
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
	uint64_t mask = (uint64_t)UINT8_MAX << 8 * place->way;

	atomic_store_explicit(word, (old & ~mask) | tag << 8 * place->way, memory_order_release);
}

static uint32_t used_s(const struct place *place)
{
	return atomic_load_explicit(&place->slot->used_s, memory_order_relaxed);
}

/* How many slots of BUCKET are free, and in *PLACE one of them or, if none is, the one that was
 * unused for longest. */
static unsigned look_for_free_slot(struct limit_keyed_view view, size_t bucket, struct place *place)
{
	unsigned free = 0;
	struct place best = place_in_bucket(view, bucket, 0);

	for (unsigned way = 0; way < WAYS; way++) {
		struct place at = place_in_bucket(view, bucket, way);

		if (tag_at(view, bucket, way) == 0) {
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
static bool choose_slot_of_key(struct limit_keyed_view view, uint64_t key, struct place *place)
{
	struct place second;
	unsigned free = look_for_free_slot(view, bucket_of_key(view, key, false), place);
	unsigned free_second = look_for_free_slot(view, bucket_of_key(view, key, true), &second);

	if (free_second > free ||
	    (free_second == 0 && free == 0 && used_s(&second) < used_s(place)))
		*place = second;
	return free + free_second > 0;
}

/* --- the writer --- */

/* Readers that meet an odd number, or another than before, read again. It is odd already where an
 * earlier process was killed amid a change. */
static void begin_slot_change(struct keyed_slot *slot)
{
	uint32_t changes = atomic_load_explicit(&slot->changes, memory_order_relaxed);

	atomic_store_explicit(&slot->changes, (changes + 1) | 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_change(struct keyed_slot *slot)
{
	uint32_t changes = atomic_load_explicit(&slot->changes, memory_order_relaxed);

	atomic_store_explicit(&slot->changes, changes + 1, memory_order_release);
}

static struct limit_window load_window(const struct keyed_slot *slot, unsigned column)
{
	return (struct limit_window){
		atomic_load_explicit(&slot->windows[column].number, memory_order_relaxed),
		atomic_load_explicit(&slot->windows[column].now, memory_order_relaxed),
		atomic_load_explicit(&slot->windows[column].before, memory_order_relaxed),
	};
}

static void store_window(struct keyed_slot *slot, unsigned column, struct limit_window window)
{
	atomic_store_explicit(&slot->windows[column].number, window.number, memory_order_relaxed);
	atomic_store_explicit(&slot->windows[column].now, window.now, memory_order_relaxed);
	atomic_store_explicit(&slot->windows[column].before, window.before, memory_order_relaxed);
}

/* Nobody counts by COLUMN: what it has counted by an old rule must not count by a new one. */
static void clear_column(struct limit_keyed_view view, unsigned column)
{
	for (size_t i = 0; i < view.buckets * WAYS; i++) {
		struct place at = place_in_bucket(view, i / WAYS, i % WAYS);

		if (tag_at(view, at.bucket, at.way) == 0)
			continue;
		begin_slot_change(at.slot);
		store_window(at.slot, column, (struct limit_window){0});
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

static void set_rule(struct limit_keyed_view view, unsigned column, limit_rule_key rule)
{
	atomic_store(&view.table->rules[column], rule);
	atomic_fetch_add(&view.table->version, 1);
}

void limit_keyed_configure(struct limit_keyed_view view, const limit_rule_key *rules, size_t count,
			   unsigned *column_out)
{
	for (unsigned column = 0; column < LIMIT_COLUMNS; column++) {
		limit_rule_key rule = atomic_load(&view.table->rules[column]);

		/* an earlier process may have left anything, also one rule in all columns */
		if (rule == 0 ||
		    (has_rule(rules, count, rule) && limit_keyed_column(view, rule) == (int)column))
			continue;
		set_rule(view, column, 0);
		clear_column(view, column);
	}
	for (size_t i = 0; i < count; i++) {
		int column = limit_keyed_column(view, rules[i]);

		column_out[i] = column < 0 ? free_column(view) : (unsigned)column;
		if (column < 0)
			set_rule(view, column_out[i], rules[i]);
	}
}

/* Gives the slot to KEY. */
static void occupy_slot(struct limit_keyed_view view, const struct place *place, uint64_t key)
{
	set_tag(view, place, 0);
	begin_slot_change(place->slot);
	atomic_store_explicit(&place->slot->key, key, memory_order_relaxed);
	for (unsigned column = 0; column < LIMIT_COLUMNS; column++)
		store_window(place->slot, column, (struct limit_window){0});
	end_change(place->slot);
	set_tag(view, place, tag_of_key(key));
}

static void add_keyed_count(struct keyed_slot *slot, const struct limit_keyed_count *count)
{
	struct limit_window window;

	if (count->column < 0)
		return;
	window = load_window(slot, (unsigned)count->column);
	limit_window_add(&window, count->time, count->amount);
	store_window(slot, (unsigned)count->column, window);
}

void limit_keyed_add(struct limit_keyed_view view, uint64_t key, int64_t time_us,
		     const struct limit_keyed_count *counts, size_t count)
{
	struct place place;

	if (!find_keyed_slot(view, key, &place)) {
		if (choose_slot_of_key(view, key, &place))
			atomic_fetch_add_explicit(&view.table->used, 1, memory_order_relaxed);
		occupy_slot(view, &place, key);
	}
	begin_slot_change(place.slot);
	for (size_t i = 0; i < count; i++)
		add_keyed_count(place.slot, &counts[i]);
	end_change(place.slot);
	atomic_store_explicit(&place.slot->used_s, (uint32_t)(time_us / 1000000),
			      memory_order_relaxed);
}

bool limit_keyed_has_room(struct limit_keyed_view view, uint64_t key, int64_t idle_us,
			  int64_t time_us)
{
	struct place place;

	return find_keyed_slot(view, key, &place) || choose_slot_of_key(view, key, &place) ||
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

uint32_t limit_keyed_version(struct limit_keyed_view view)
{
	return atomic_load_explicit(&view.table->version, memory_order_acquire);
}

void limit_keyed_expect(struct limit_keyed_view view, uint64_t key)
{
	for (unsigned i = 0; i < 2 && view.buckets > FEW_BUCKETS; i++) {
		size_t bucket = bucket_of_key(view, key, i > 0);
		uint64_t bits = candidate_slots_of(view, bucket, key);
		const char *slot;

		if (bits == 0)
			continue;
		slot = (const char *)place_in_bucket(view, bucket, first_of(bits)).slot;
		__builtin_prefetch(slot);
		__builtin_prefetch(slot + CACHE_LINE);
	}
}

/* The windows of COUNTS at one instant, at which the slot was KEY's. */
static bool read_windows(const struct place *place, uint64_t key,
			 const struct limit_keyed_count *counts, size_t count,
			 struct limit_window *windows)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		uint32_t changes =
			atomic_load_explicit(&place->slot->changes, memory_order_acquire);

		uint64_t found = atomic_load_explicit(&place->slot->key, memory_order_relaxed);

		for (size_t j = 0; j < count; j++)
			if (counts[j].column >= 0)
				windows[j] = load_window(place->slot, (unsigned)counts[j].column);
		atomic_thread_fence(memory_order_acquire);
		if (changes % 2 == 0 &&
		    atomic_load_explicit(&place->slot->changes, memory_order_relaxed) == changes)
			return found == key;
	}
	return false;
}

void limit_keyed_sum(struct limit_keyed_view view, uint64_t key, struct limit_keyed_count *counts,
		     size_t count)
{
	struct place place;
	struct limit_window windows[LIMIT_COLUMNS] = {0};

	if (count > LIMIT_COLUMNS)
		panic("%zu rules for one key", count);
	if (!find_keyed_slot(view, key, &place) ||
	    !read_windows(&place, key, counts, count, windows))
		return;
	for (size_t i = 0; i < count; i++)
		if (counts[i].column >= 0)
			limit_window_sum(windows[i], counts[i].time, &counts[i].total);
}

size_t limit_keyed_used(struct limit_keyed_view view)
{
	return atomic_load_explicit(&view.table->used, memory_order_relaxed);
}
