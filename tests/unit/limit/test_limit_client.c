// SPDX-License-Identifier: ISC
/* Clients of several processes, each of which has its own mapping of all rows. */
#include "limit/client.h"
#include "os/file/file.h"
#include "os/shared.h"
#include "test.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROCESSES = 3, LIMIT = 4 };

static const struct config settings = {.maxsessions = 64, .maxsessions_client = LIMIT};
static const struct hash_key key = {1, 2};

static struct scene {
	int rows[PROCESSES];
	struct limit_memory *supervisor; /* may write to all */
	struct limit_memory *memories[PROCESSES];
	struct limit_clients *clients[PROCESSES];
} scene;

static struct limit_layout layout_of(const struct config *config)
{
	struct limit_layout layout = {.count = 0};

	limit_layout_add(&layout, LIMIT_AREA_CLIENTS, limit_clients_area_size(config), false);
	return layout;
}

static void name_of(size_t i, char name[LIMIT_NAME_SIZE])
{
	snprintf(name, LIMIT_NAME_SIZE, "smtpd.%zu", i);
}

/* Process I, by rows that are there. */
static struct limit_memory *map_rows(size_t i, const struct limit_layout *layout)
{
	struct limit_memory *memory = limit_memory_new(layout);
	char name[LIMIT_NAME_SIZE];

	for (size_t j = 0; j < PROCESSES; j++) {
		name_of(j, name);
		assert_int_equal(limit_memory_add(memory, name, scene.rows[j], j == i), 0);
	}
	return memory;
}

/* What an earlier one had is given back. */
static void begin_process(size_t i)
{
	struct limit_layout layout = layout_of(&settings);

	limit_clients_clear(scene.supervisor, i);
	limit_clients_prepare(scene.supervisor, i, key);
	scene.memories[i] = map_rows(i, &layout);
	scene.clients[i] = limit_clients_new();
	limit_clients_use(scene.clients[i], scene.memories[i]);
}

static void make_rows(const struct config *config)
{
	struct limit_layout layout = layout_of(config);
	char name[LIMIT_NAME_SIZE];

	scene.supervisor = limit_memory_new(&layout);
	for (size_t i = 0; i < PROCESSES; i++) {
		name_of(i, name);
		scene.rows[i] = limit_row_new(&layout, name);
		assert_true(scene.rows[i] >= 0);
		assert_int_equal(limit_memory_add(scene.supervisor, name, scene.rows[i], true), 0);
		limit_clients_prepare(scene.supervisor, i, key);
	}
}

/* What killed processes had, which nobody frees. */
static void *volatile dead[2];

static int begin_scene(void **state)
{
	(void)state;
	make_rows(&settings);
	for (size_t i = 0; i < PROCESSES; i++)
		begin_process(i);
	return 0;
}

static int end_scene(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROCESSES; i++) {
		limit_clients_free(scene.clients[i]);
		limit_memory_free(scene.memories[i]);
		os_file_close(scene.rows[i]);
	}
	limit_memory_free(scene.supervisor);
	return 0;
}

static struct in6_addr address_of(const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

static struct limit_client *enter(size_t process, const char *text)
{
	struct in6_addr address = address_of(text);

	return limit_client_enter(scene.clients[process], &address, LIMIT);
}

static void each_client_has_its_own_count(void **state)
{
	static const struct {
		const char *one, *other;
		bool are_same;
	} cases[] = {
		{"::ffff:192.0.2.1", "::ffff:192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		{"2001:db8::1", "2001:db8::ffff:0:0:2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct limit_client *first[LIMIT];
		struct limit_client *more;

		for (size_t j = 0; j < LIMIT; j++)
			assert_non_null(first[j] = enter(0, cases[i].one));
		more = enter(0, cases[i].other);
		assert_int_equal(more == NULL, cases[i].are_same);
		limit_client_leave(first[0]);
		if (more == NULL)
			more = enter(0, cases[i].other);
		assert_non_null(more);
		limit_client_leave(more);
		for (size_t j = 1; j < LIMIT; j++)
			limit_client_leave(first[j]);
	}
}

static void the_number_is_that_of_all_processes(void **state)
{
	struct limit_client *in[LIMIT];

	(void)state;
	for (size_t i = 0; i < LIMIT; i++)
		assert_non_null(in[i] = enter(i % PROCESSES, "2001:db8::1"));
	for (size_t i = 0; i < PROCESSES; i++)
		assert_null(enter(i, "2001:db8::2"));
	limit_client_leave(in[0]); /* of process 0 */
	assert_non_null(in[0] = enter(2, "2001:db8::3"));
	assert_null(enter(0, "2001:db8::3"));
	for (size_t i = 0; i < LIMIT; i++)
		limit_client_leave(in[i]);
}

static void bytes_are_those_of_all_processes(void **state)
{
	struct limit_client *one = enter(0, "::ffff:192.0.2.1");
	struct limit_client *same = enter(1, "::ffff:192.0.2.1");
	struct limit_client *other = enter(1, "::ffff:192.0.2.9");

	(void)state;
	limit_client_change_bytes(one, 0, 700);
	limit_client_change_bytes(same, 0, 50);
	limit_client_change_bytes(other, 0, 3);
	assert_int_equal(limit_client_bytes(one), 750);
	assert_int_equal(limit_client_bytes(same), 750);
	assert_int_equal(limit_client_bytes(other), 3);
	limit_client_change_bytes(one, 700, 100);
	assert_int_equal(limit_client_bytes(same), 150);
	limit_client_change_bytes(one, 100, 0);
	limit_client_leave(one);
	assert_int_equal(limit_client_bytes(same), 50);
	limit_client_change_bytes(same, 50, 0);
	limit_client_change_bytes(other, 3, 0);
	limit_client_leave(same);
	limit_client_leave(other);
}

static void a_killed_process_gives_back_what_it_had(void **state)
{
	struct limit_client *mine = enter(1, "2001:db8::1");

	(void)state;
	for (size_t i = 1; i < LIMIT; i++)
		assert_non_null(enter(0, "2001:db8::1"));
	limit_client_change_bytes(enter(0, "::ffff:192.0.2.1"), 0, 5000);
	assert_null(enter(1, "2001:db8::1"));
	dead[0] = scene.memories[0]; /* it is gone without a word */
	dead[1] = scene.clients[0];
	assert_null(enter(1, "2001:db8::1"));
	begin_process(0); /* which the supervisor prepares */
	for (size_t i = 1; i < LIMIT; i++)
		assert_non_null(enter(1, "2001:db8::1"));
	assert_null(enter(1, "2001:db8::1"));
	for (size_t i = 0; i < LIMIT; i++)
		limit_client_leave(mine);
	mine = enter(1, "::ffff:192.0.2.1");
	assert_int_equal(limit_client_bytes(mine), 0);
	limit_client_leave(mine);
}

/* Another configuration, in new rows. */
static void who_is_there_counts_in_new_rows(void **state)
{
	const struct config larger = {.maxsessions = 500, .maxunfinished_client = 1};
	struct limit_layout layout = layout_of(&larger);
	struct limit_client *one = enter(0, "2001:db8::1");
	struct limit_client *two = enter(1, "2001:db8::1");
	struct limit_memory *old[PROCESSES];
	int old_rows[PROCESSES];

	(void)state;
	limit_client_change_bytes(one, 0, 7);
	limit_memory_free(scene.supervisor);
	for (size_t i = 0; i < PROCESSES; i++) {
		old[i] = scene.memories[i];
		old_rows[i] = scene.rows[i];
	}
	make_rows(&larger);
	for (size_t i = 0; i < PROCESSES; i++) {
		scene.memories[i] = map_rows(i, &layout);
		limit_clients_use(scene.clients[i], scene.memories[i]);
		limit_memory_free(old[i]);
		os_file_close(old_rows[i]);
	}
	assert_int_equal(limit_client_bytes(two), 7);
	assert_non_null(enter(1, "2001:db8::1"));
	assert_non_null(enter(2, "2001:db8::1"));
	assert_null(enter(0, "2001:db8::1"));
	limit_client_change_bytes(one, 7, 0);
	limit_client_leave(one);
	limit_client_leave(two);
	limit_client_leave(two);
	two = enter(2, "2001:db8::1");
	limit_client_leave(two);
	limit_client_leave(two);
}

static void alone_a_process_counts_for_itself(void **state)
{
	struct limit_clients *alone = limit_clients_new();
	struct in6_addr address = address_of("2001:db8::1");
	struct limit_client *client = NULL;

	(void)state;
	limit_clients_use(alone, NULL);
	for (size_t i = 0; i < LIMIT; i++)
		assert_non_null(client = limit_client_enter(alone, &address, LIMIT));
	assert_null(limit_client_enter(alone, &address, LIMIT));
	for (size_t i = 0; i < LIMIT; i++)
		limit_client_leave(client);
	limit_clients_free(alone);
}

/* As many clients as there may be sessions, and each again: none is forgotten, or mistaken for
 * another one. */
static void there_is_a_slot_for_everybody(void **state)
{
	struct limit_client *clients[64];
	char text[64];

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		snprintf(text, sizeof text, "2001:db8:0:%x::1", i);
		assert_non_null(clients[i] = enter(0, text));
		limit_client_change_bytes(clients[i], 0, i + 1);
	}
	for (unsigned i = 0; i < 64; i++) {
		struct limit_client *same;

		snprintf(text, sizeof text, "2001:db8:0:%x::2", i);
		assert_non_null(same = enter(1, text));
		assert_int_equal(limit_client_bytes(same), i + 1);
		limit_client_leave(same);
	}
	for (unsigned i = 0; i < 64; i++) {
		limit_client_change_bytes(clients[i], i + 1, 0);
		limit_client_leave(clients[i]);
	}
}

/* What a process that was taken over says of itself. */
static void a_row_can_lie_only_of_itself(void **state)
{
	uint32_t size = limit_clients_area_size(&settings);
	unsigned char *area = limit_memory_area(scene.memories[0], 0, LIMIT_AREA_CLIENTS, size);
	struct limit_client *client = enter(1, "2001:db8::1");

	(void)state;
	for (uint32_t i = sizeof(struct hash_key); i < size; i++)
		area[i] = 0xff;
	limit_client_change_bytes(client, 0, 10);
	assert_int_equal(limit_client_bytes(client), 10); /* not with its key */
	limit_client_change_bytes(client, 10, 0);
	limit_client_leave(client);
	limit_clients_free(scene.clients[0]);
	limit_memory_free(scene.memories[0]);
	begin_process(0);
	client = enter(0, "2001:db8::1"); /* its successor has slots again */
	limit_client_change_bytes(client, 0, 5);
	client = enter(1, "2001:db8::1");
	assert_int_equal(limit_client_bytes(client), 5);
	limit_client_leave(client);
	client = enter(0, "2001:db8::1");
	limit_client_change_bytes(client, 5, 0);
	limit_client_leave(client);
	limit_client_leave(client);
}

/* Who is refused where nobody of the client is leaves no trace there: neither a client, nor a slot.
 */
static void who_is_refused_is_forgotten(void **state)
{
	struct in6_addr address = address_of("2001:db8::1");
	struct limit_client *in[LIMIT];

	(void)state;
	for (size_t i = 0; i < LIMIT; i++)
		assert_non_null(in[i] = enter(0, "2001:db8::1"));
	for (size_t i = 0; i < 3; i++)
		assert_null(enter(1, "2001:db8::1"));
	assert_null(limit_client_enter(scene.clients[2], &address, 0));
	for (size_t i = 0; i < LIMIT; i++)
		limit_client_leave(in[i]);
	for (size_t i = 0; i < PROCESSES; i++) {
		limit_clients_free(scene.clients[i]); /* would panic */
		scene.clients[i] = limit_clients_new();
		limit_clients_use(scene.clients[i], scene.memories[i]);
	}
}

/* Rows of a configuration that does not count clients. */
static void without_clients_in_the_rows_there_is_nothing_to_clear(void **state)
{
	struct limit_layout layout = {.count = 0};
	struct limit_memory *memory;
	unsigned char *sessions;
	int row;

	(void)state;
	limit_layout_add(&layout, LIMIT_AREA_SESSIONS, 100, true);
	row = limit_row_new(&layout, "row");
	memory = limit_memory_new(&layout);
	assert_int_equal(limit_memory_add(memory, "row", row, true), 0);
	sessions = limit_memory_area(memory, 0, LIMIT_AREA_SESSIONS, 100);
	for (size_t i = 0; i < 100; i++)
		sessions[i] = 's';
	limit_clients_prepare(memory, 0, key);
	limit_clients_clear(memory, 0);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(sessions[i], 's');
	limit_memory_free(memory);
	os_file_close(row);
}

/* --- at the same time --- */

enum { TURNS = 20000 };

static int most;
static int inside;

static void *come_and_go(void *process)
{
	const size_t *i = process;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		struct limit_client *client = enter(*i, "2001:db8::1");
		int now;

		if (client == NULL)
			continue;
		now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		if (now > __atomic_load_n(&most, __ATOMIC_SEQ_CST))
			__atomic_store_n(&most, now, __ATOMIC_SEQ_CST);
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		limit_client_leave(client);
	}
	return NULL;
}

static void never_are_there_more_than_allowed(void **state)
{
	struct in6_addr address = address_of("2001:db8::1");
	struct limit_client *held[LIMIT - 1];
	static const size_t numbers[PROCESSES] = {0, 1, 2};
	pthread_t threads[PROCESSES];

	(void)state;
	for (size_t i = 0; i < LIMIT - 1; i++)
		held[i] = limit_client_enter(scene.clients[i % PROCESSES], &address, LIMIT);
	for (size_t i = 0; i < PROCESSES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go,
						(void *)(uintptr_t)&numbers[i]),
				 0);
	for (size_t i = 0; i < PROCESSES; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(most, 1);
	for (size_t i = 0; i < LIMIT - 1; i++)
		limit_client_leave(held[i]);
}

#define in_scene(function) cmocka_unit_test_setup_teardown(function, begin_scene, end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_scene(each_client_has_its_own_count),
		in_scene(the_number_is_that_of_all_processes),
		in_scene(bytes_are_those_of_all_processes),
		in_scene(a_killed_process_gives_back_what_it_had),
		in_scene(who_is_there_counts_in_new_rows),
		cmocka_unit_test(alone_a_process_counts_for_itself),
		in_scene(there_is_a_slot_for_everybody),
		in_scene(a_row_can_lie_only_of_itself),
		in_scene(who_is_refused_is_forgotten),
		cmocka_unit_test(without_clients_in_the_rows_there_is_nothing_to_clear),
		in_scene(never_are_there_more_than_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
