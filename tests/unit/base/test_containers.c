// SPDX-License-Identifier: ISC
/*
 * Containers at every small size and just around their limits, in all orders, and in a second life
 * after the first: each against a reference that is too simple to be wrong.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/heap.h"
#include "base/panic.h"
#include "test.h"
#include <malloc.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HEAP_ITEMS_MAX = 6,
	HEAP_KEYS = 4,    /* fewer than items: some are equal */
	HEAP_FIRST = 64,  /* places of the first memory, one of which is never used */
	BUFFER_STEPS = 4, /* of each story */
	BUFFER_FIRST = 256,
	ARENA_BLOCK = 2048,
};

/* What is in the heap: every node that has a place, at that place; parents are not behind their
 * children. */
static void check_heap(const struct heap *heap, struct heap_node *nodes, const bool *is_in,
		       size_t count)
{
	size_t inside = 0;
	int64_t smallest = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(heap_has(&nodes[i]), is_in[i]);
		if (!is_in[i])
			continue;
		inside++;
		assert_in_range(nodes[i].position, 1, heap->count);
		assert_ptr_equal(heap->nodes[nodes[i].position], &nodes[i]);
		if (nodes[i].position > 1)
			assert_true(heap->nodes[nodes[i].position / 2]->key <= nodes[i].key);
		if (nodes[i].key < smallest)
			smallest = nodes[i].key;
	}
	assert_int_equal(heap->count, inside);
	if (inside == 0)
		assert_null(heap_first(heap));
	else
		assert_int_equal(heap_first(heap)->key, smallest);
}

static void put_all(struct heap *heap, struct heap_node *nodes, bool *is_in, size_t count,
		    size_t keys)
{
	for (size_t i = 0; i < count; i++, keys /= HEAP_KEYS) {
		heap_put(heap, &nodes[i], (int64_t)(keys % HEAP_KEYS));
		assert_int_equal(nodes[i].key, keys % HEAP_KEYS);
		is_in[i] = true;
		check_heap(heap, nodes, is_in, count);
	}
}

/* KEYS: the digits of a number, one for each item. Each item is moved to each key, and removed from
 * there. */
static void try_heap(size_t count, size_t keys)
{
	struct heap heap = {0};

	for (size_t item = 0; item < count; item++) {
		struct heap_node nodes[HEAP_ITEMS_MAX] = {0};
		bool is_in[HEAP_ITEMS_MAX] = {false};

		put_all(&heap, nodes, is_in, count, keys);
		for (int64_t key = -1; key <= HEAP_KEYS; key++) {
			for (int time = 0; time < 2; time++) { /* the second changes nothing */
				heap_remove(&heap, &nodes[item]);
				is_in[item] = false;
				check_heap(&heap, nodes, is_in, count);
			}
			heap_put(&heap, &nodes[item], HEAP_KEYS - key);
			heap_put(&heap, &nodes[item], key);
			assert_int_equal(nodes[item].key, key);
			is_in[item] = true;
			check_heap(&heap, nodes, is_in, count);
		}
		heap_clear(&heap);
		assert_memory_equal(&heap, &(struct heap){0}, sizeof heap);
		memset(is_in, 0, sizeof is_in);
		check_heap(&heap, nodes, is_in, count);
	}
}

static void heaps_of_every_small_size_are_right_in_all_orders(void **state)
{
	(void)state;
	for (size_t count = 0, orders = 1; count <= HEAP_ITEMS_MAX; count++, orders *= HEAP_KEYS)
		for (size_t keys = 0; keys < orders; keys++)
			try_heap(count, keys);
}

/* It grows when the last place is taken, and never to more than twice of what it needs. */
static void a_heap_grows_at_its_limit_and_no_sooner(void **state)
{
	struct heap heap = {0};
	struct heap_node nodes[4 * HEAP_FIRST] = {0};
	bool is_in[COUNT_OF(nodes)] = {false};
	size_t capacity = HEAP_FIRST;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(nodes); i++) {
		heap_put(&heap, &nodes[i], -(int64_t)i);
		is_in[i] = true;
		if (i + 2 > capacity)
			capacity *= 2;
		assert_int_equal(heap.capacity, capacity);
		check_heap(&heap, nodes, is_in, COUNT_OF(nodes));
	}
	heap_clear(&heap);
}

/* The reference of a buffer: what was appended, never moved. */
struct plain_bytes {
	char bytes[16384];
	size_t start;
	size_t end;
	unsigned char next;
};

enum step {
	APPEND_NOTHING,
	APPEND_ONE,
	APPEND_SOME,
	APPEND_MUCH,
	FILL_UP,
	APPEND_ONE_TOO_MANY,
	CONSUME_ONE,
	CONSUME_MOST,
	CONSUME_ALL,
	CONSUME_TOO_MANY,
	TRUNCATE,
	RESET,
	CLEAR,
	STEPS
};

static size_t longer_of(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Memory stays where there is room, also if what is there must be moved; else it is twice of what
 * it was, or what is wanted if that is more. */
static void check_growth(const struct buffer *before, const struct buffer *after, size_t count)
{
	size_t wanted = before->start + before->length + count;

	if (count == 0 || wanted <= before->capacity)
		assert_ptr_equal(after->memory, before->memory);
	if (count == 0 || wanted <= before->capacity ||
	    (before->start > 0 && before->length + count <= before->capacity))
		assert_int_equal(after->capacity, before->capacity);
	else
		assert_int_equal(after->capacity,
				 longer_of(longer_of(wanted, 2 * before->capacity), BUFFER_FIRST));
}

static void append_bytes(struct buffer *buffer, struct plain_bytes *plain, size_t count)
{
	const struct buffer before = *buffer;
	char bytes[8192];

	for (size_t i = 0; i < count; i++)
		bytes[i] = plain->bytes[plain->end++] = (char)plain->next++;
	if (count == 1)
		buffer_append_byte(buffer, bytes[0]);
	else
		buffer_append_str(buffer, str_slice(bytes, count));
	check_growth(&before, buffer, count);
}

static void consume_bytes(struct buffer *buffer, struct plain_bytes *plain, size_t count)
{
	buffer_consume(buffer, count);
	plain->start += count < plain->end - plain->start ? count : plain->end - plain->start;
}

static size_t appended_by(const struct buffer *buffer, enum step step)
{
	size_t room = buffer->capacity - buffer->start - buffer->length;
	const size_t counts[] = {[APPEND_NOTHING] = 0, [APPEND_ONE] = 1,
				 [APPEND_SOME] = 3,    [APPEND_MUCH] = 2 * BUFFER_FIRST + 1,
				 [FILL_UP] = room,     [APPEND_ONE_TOO_MANY] = room + 1};

	return counts[step];
}

static void take_step(struct buffer *buffer, struct plain_bytes *plain, enum step step)
{
	if (step <= APPEND_ONE_TOO_MANY)
		append_bytes(buffer, plain, appended_by(buffer, step));
	else if (step == CONSUME_ONE)
		consume_bytes(buffer, plain, 1);
	else if (step == CONSUME_MOST)
		consume_bytes(buffer, plain, buffer->length - (buffer->length > 0));
	else if (step == CONSUME_ALL)
		consume_bytes(buffer, plain, buffer->length);
	else if (step == CONSUME_TOO_MANY)
		consume_bytes(buffer, plain, buffer->length + 1);
	else if (step == TRUNCATE) {
		buffer_truncate(buffer, 2);
		plain->end = plain->end - plain->start > 2 ? plain->start + 2 : plain->end;
	} else {
		(step == RESET ? buffer_reset : buffer_clear)(buffer);
		plain->start = plain->end;
	}
	if (step >= CONSUME_ONE && step != TRUNCATE && plain->start == plain->end)
		assert_int_equal(buffer->start, 0); /* all of its memory is for what comes next */
}

static void check_buffer(const struct buffer *buffer, const struct plain_bytes *plain)
{
	struct str view = buffer_view(buffer);

	assert_int_equal(view.length, plain->end - plain->start);
	assert_int_equal(buffer->length, view.length);
	assert_non_null(view.data);
	assert_memory_equal(view.data, plain->bytes + plain->start, view.length);
	if (buffer->memory == NULL)
		assert_null(buffer_data(buffer));
	else
		assert_ptr_equal(buffer_data(buffer), view.data);
	assert_true(buffer->start + buffer->length <= buffer->capacity);
}

static bool is_secret_now; /* memory that is freed must have nothing in it */

void __real_free(void *memory);
void __wrap_free(void *memory);
void *__real_memory_resize(void *memory, size_t size);
void *__wrap_memory_resize(void *memory, size_t size);

void __wrap_free(void *memory)
{
	if (is_secret_now && memory != NULL)
		for (size_t i = 0; i < malloc_usable_size(memory); i++)
			assert_int_equal(((char *)memory)[i], 0);
	__real_free(memory);
}

/* Fresh memory has nothing in it, so that what stays there is seen. */
void *__wrap_memory_resize(void *memory, size_t size)
{
	void *resized;

	if (is_secret_now)
		assert_null(memory);
	resized = __real_memory_resize(memory, size);
	return memory == NULL ? memset(resized, 0, malloc_usable_size(resized)) : resized;
}

static void play_story(size_t story, bool is_secret)
{
	struct buffer buffer = {.is_secret = is_secret};
	struct plain_bytes plain = {.next = 1};

	is_secret_now = is_secret;
	for (int step = 0; step < BUFFER_STEPS; step++, story /= STEPS) {
		take_step(&buffer, &plain, (enum step)(story % STEPS));
		check_buffer(&buffer, &plain);
		assert_int_equal(buffer.is_secret, is_secret);
	}
	buffer_clear(&buffer);
	is_secret_now = false;
	assert_memory_equal(&buffer, &(struct buffer){.is_secret = is_secret}, sizeof buffer);
}

static void buffers_keep_what_is_in_them_in_all_orders(void **state)
{
	size_t stories = 1;

	(void)state;
	for (int i = 0; i < BUFFER_STEPS; i++)
		stories *= STEPS;
	for (size_t story = 0; story < stories; story++) {
		play_story(story, false);
		play_story(story, true);
	}
}

static void memory_is_as_large_as_is_wanted(void **state)
{
	static const size_t counts[] = {1,
					BUFFER_FIRST - 2,
					BUFFER_FIRST - 1,
					BUFFER_FIRST,
					BUFFER_FIRST + 1,
					2 * BUFFER_FIRST - 1,
					2 * BUFFER_FIRST,
					3 * BUFFER_FIRST};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		for (size_t j = 0; j < COUNT_OF(counts); j++) {
			struct buffer buffer = {0};
			struct buffer before = buffer;

			memset(buffer_reserve(&buffer, counts[i]), 'x', counts[i]);
			check_growth(&before, &buffer, counts[i]);
			buffer_commit(&buffer, counts[i]);
			before = buffer;
			memset(buffer_reserve(&buffer, counts[j]), 'x', counts[j]);
			check_growth(&before, &buffer, counts[j]);
			buffer_clear(&buffer);
		}
	}
}

/* A format needs its length and a NUL, which is not counted. */
static void formats_fit_to_the_last_byte(void **state)
{
	char text[64];

	(void)state;
	for (size_t room = 0; room <= 8; room++) {
		for (int length = 0; length <= 8; length++) {
			struct buffer buffer = {0};
			struct buffer before;

			memset(text, 'x', sizeof text);
			buffer_append_str(&buffer,
					  str_slice(memset(buffer_reserve(&buffer, 1), 'y', 1), 0));
			while (buffer.capacity - buffer.length > room)
				buffer_append_byte(&buffer, 'y');
			before = buffer;
			buffer_append_format(&buffer, "%.*s", length, text);
			check_growth(&before, &buffer, (size_t)length + 1);
			assert_int_equal(buffer.length, before.length + (size_t)length);
			assert_memory_equal(buffer_data(&buffer) + before.length, text,
					    (size_t)length);
			buffer_clear(&buffer);
		}
	}
}

/* BREAK_IT does not return. */
static void check_panic(void (*break_it)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		if (freopen("/dev/null", "w", stderr) != NULL)
			break_it();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void commit_too_much(void)
{
	struct buffer buffer = {0};

	buffer_append_string(&buffer, "abc");
	buffer_consume(&buffer, 1);
	buffer_reserve(&buffer, 1);
	buffer_commit(&buffer, buffer.capacity - buffer.start - buffer.length + 1);
}

static void reserve_too_much(void)
{
	struct buffer buffer = {0};

	buffer_append_byte(&buffer, 'x');
	buffer_reserve(&buffer, SIZE_MAX);
}

static void alloc_too_much(void)
{
	arena_alloc(arena_new(), SIZE_MAX);
}

static void what_cannot_be_ends_the_process(void **state)
{
	(void)state;
	check_panic(commit_too_much);
	check_panic(reserve_too_much);
	check_panic(alloc_too_much);
}

/* Bytes that were consumed make room for new ones, and are not grown around. */
static void a_buffer_is_moved_together_before_it_grows(void **state)
{
	for (size_t consumed = 0; consumed <= 3; consumed++) {
		for (size_t more = 0; more <= 4; more++) {
			struct buffer buffer = {0};
			char bytes[BUFFER_FIRST] = {0};

			(void)state;
			buffer_append(&buffer, bytes, sizeof bytes);
			buffer_consume(&buffer, consumed);
			buffer_append(&buffer, bytes, more);
			assert_int_equal(buffer.length, sizeof bytes - consumed + more);
			assert_int_equal(buffer.capacity,
					 more <= consumed ? BUFFER_FIRST : 2 * BUFFER_FIRST);
			buffer_clear(&buffer);
		}
	}
}

static void what_is_committed_fits(void **state)
{
	(void)state;
	for (size_t count = 0; count <= 8; count++) {
		struct buffer buffer = {0};

		memset(buffer_reserve(&buffer, count), 'x', count);
		buffer_commit(&buffer, count);
		assert_int_equal(buffer.length, count);
		buffer_commit(&buffer, buffer.capacity - count);
		assert_int_equal(buffer.length, buffer.capacity);
		buffer_clear(&buffer);
	}
}

static void numbers_have_their_digits(void **state)
{
	static const uint64_t numbers[] = {
		0, 1, 9, 10, 11, 99, 100, 101, 12345, UINT64_MAX - 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		struct buffer buffer = {0};
		char expected[32];

		snprintf(expected, sizeof expected, "<%llu>", (unsigned long long)numbers[i]);
		buffer_append_byte(&buffer, '<');
		buffer_append_number(&buffer, numbers[i]);
		buffer_append_string(&buffer, ">");
		assert_true(str_equal(buffer_view(&buffer), str_from(expected)));
		buffer_clear(&buffer);
	}
}

/* Blocks of arenas that are not freed yet. */
static size_t blocks;
static size_t block_bytes;

void *__real_memory_alloc(size_t size);
void *__wrap_memory_alloc(size_t size);

void *__wrap_memory_alloc(size_t size)
{
	blocks++;
	block_bytes = size;
	return __real_memory_alloc(size);
}

static void *alloc_checked(struct arena *arena, size_t size)
{
	char *memory = arena_alloc(arena, size);

	assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(memory[i], 0);
	return memset(memory, 0xff, size);
}

/* A block has the bytes that its header says; one byte more than is left is in a new one. */
static void arenas_fill_their_blocks(void **state)
{
	const size_t step = alignof(max_align_t);

	(void)state;
	for (size_t first = 0; first <= ARENA_BLOCK + 2 * step; first += step / 2) {
		struct arena *arena = arena_new();
		size_t rounded = (first + step - 1) / step * step;

		for (int life = 0; life < 3; life++) {
			size_t left = rounded < ARENA_BLOCK ? ARENA_BLOCK - rounded : 0;

			blocks = 0;
			alloc_checked(arena, first);
			assert_int_equal(blocks, life == 0);
			if (life == 0)
				assert_in_range(block_bytes,
						(rounded > ARENA_BLOCK ? rounded : ARENA_BLOCK),
						(rounded > ARENA_BLOCK ? rounded : ARENA_BLOCK) +
							4 * step);
			alloc_checked(arena, left);
			assert_int_equal(blocks, life == 0);
			alloc_checked(arena, 1);
			assert_int_equal(blocks, (life == 0) + 1);
			arena_reset(arena);
		}
		arena_free(arena);
	}
	arena_free(NULL);
}

static void an_arena_of_nothing_is_reset(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	arena_reset(arena);
	alloc_checked(arena, 1);
	arena_free(arena);
}

static void copies_end_with_a_nul(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	for (int life = 0; life < 2; life++) {
		for (size_t length = 0; length <= 8; length++) {
			struct str text = str_slice("abcdefgh", length);
			struct str copy = arena_copy_str(arena, text);

			assert_true(str_equal(copy, text));
			assert_ptr_not_equal(copy.data, text.data);
			assert_int_equal(strlen(arena_copy(arena, text)), length);
		}
		memset(arena_alloc(arena, ARENA_BLOCK), 0xff, ARENA_BLOCK);
		arena_reset(arena);
	}
	arena_free(arena);
}

/* Each item is where it was put, and room is made only when there is none: by doubling. */
static void an_array_grows(void **state)
{
	uint64_t *numbers = NULL;
	size_t capacity = 0;
	unsigned grown = 0;

	(void)state;
	for (uint64_t count = 0; count < 1000; count++) {
		size_t before = capacity;

		numbers = memory_grow(numbers, count, &capacity, sizeof *numbers);
		assert_true(capacity > count);
		assert_true(capacity == before || (count == before && capacity >= 2 * before));
		grown += capacity != before;
		numbers[count] = count * count;
		for (uint64_t i = 0; i <= count; i++)
			assert_int_equal(numbers[i], i * i);
	}
	assert_in_range(grown, 1, 10);
	free(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heaps_of_every_small_size_are_right_in_all_orders),
		cmocka_unit_test(a_heap_grows_at_its_limit_and_no_sooner),
		cmocka_unit_test(buffers_keep_what_is_in_them_in_all_orders),
		cmocka_unit_test(a_buffer_is_moved_together_before_it_grows),
		cmocka_unit_test(what_is_committed_fits),
		cmocka_unit_test(numbers_have_their_digits),
		cmocka_unit_test(arenas_fill_their_blocks),
		cmocka_unit_test(memory_is_as_large_as_is_wanted),
		cmocka_unit_test(formats_fit_to_the_last_byte),
		cmocka_unit_test(what_cannot_be_ends_the_process),
		cmocka_unit_test(an_arena_of_nothing_is_reset),
		cmocka_unit_test(copies_end_with_a_nul),
		cmocka_unit_test(an_array_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
