// SPDX-License-Identifier: ISC
/* Which of the connections that wait is used again, and which is closed. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/session/pool.h"
#include "test.h"
#include <string.h>

enum { SESSIONS = 51, WAITING_MAX = 50 };

struct remote_session {
	const char *key;
	bool is_used_up, is_free;
	bool is_full, is_spare, is_in_the_way; /* of its class */
	struct shape_hold hold;
	int64_t waits_us;
	void (*ended)(void *context, struct remote_session *session);
	void *context;
};

static struct remote_session sessions[SESSIONS];

void remote_session_free(struct remote_session *session)
{
	assert_false(session->is_free);
	session->is_free = true;
}

bool remote_session_is_reusable(const struct remote_session *session)
{
	return !session->is_used_up;
}

struct shape_hold *remote_session_hold(struct remote_session *session)
{
	return &session->hold;
}

const char *remote_session_key(const struct remote_session *session)
{
	return session->key;
}

void remote_session_wait(struct remote_session *session, int64_t delay_us,
			 void (*ended)(void *context, struct remote_session *session),
			 void *context)
{
	session->waits_us = delay_us;
	session->ended = ended;
	session->context = context;
}

bool remote_session_claim(struct remote_session *session, bool has_turn)
{
	return has_turn || !session->is_full;
}

bool remote_session_is_spare(const struct remote_session *session, const struct limit_class *class)
{
	(void)class;
	return session->is_spare;
}

bool remote_session_is_in_the_way(const struct remote_session *session)
{
	return session->is_in_the_way;
}

/* The first COUNT of them wait, in their order. */
static struct remote_pool *pool_of(size_t count)
{
	struct remote_pool *pool = remote_pool_new();

	memset(sessions, 0, sizeof sessions);
	for (size_t i = 0; i < count; i++) {
		sessions[i].key = i % 2 == 0 ? "even" : "odd";
		remote_pool_put(pool, &sessions[i]);
	}
	return pool;
}

static void the_last_of_its_key_is_used_again(void **state)
{
	struct remote_pool *pool = pool_of(5);

	(void)state;
	assert_null(remote_pool_take(pool, "eve", false));
	assert_ptr_equal(remote_pool_take(pool, "odd", false), &sessions[3]);
	assert_ptr_equal(remote_pool_take(pool, "even", false), &sessions[4]);
	assert_ptr_equal(remote_pool_take(pool, "even", false), &sessions[2]);
	assert_ptr_equal(remote_pool_take(pool, "even", false), &sessions[0]);
	assert_null(remote_pool_take(pool, "even", false));
	assert_ptr_equal(remote_pool_take(pool, "odd", false), &sessions[1]);
	assert_null(remote_pool_take(pool, "odd", false));
	for (size_t i = 0; i < 5; i++) {
		assert_false(sessions[i].is_free);
		assert_true(sessions[i].waits_us == 5 * SECOND_US);
	}
	remote_pool_free(pool);
	remote_pool_free(NULL);
}

static void one_too_many_ends_the_oldest(void **state)
{
	struct remote_pool *pool = pool_of(SESSIONS);

	(void)state;
	for (size_t i = 0; i < SESSIONS; i++)
		assert_int_equal(sessions[i].is_free, i < SESSIONS - WAITING_MAX);
	remote_pool_free(pool);
	for (size_t i = 0; i < SESSIONS; i++)
		assert_true(sessions[i].is_free);
}

static void one_that_ends_is_closed_alone(void **state)
{
	struct remote_pool *pool = pool_of(5);

	(void)state;
	sessions[2].ended(sessions[2].context, &sessions[2]);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(sessions[i].is_free, i == 2);
	assert_ptr_equal(remote_pool_take(pool, "even", false), &sessions[4]);
	assert_ptr_equal(remote_pool_take(pool, "even", false), &sessions[0]);
	remote_pool_clear(pool);
	assert_true(sessions[1].is_free && sessions[3].is_free);
	assert_null(remote_pool_take(pool, "odd", false));
	remote_pool_free(pool);
}

static void one_that_is_used_up_is_closed(void **state)
{
	struct remote_pool *pool = pool_of(0);

	(void)state;
	sessions[0] = (struct remote_session){.key = "even", .is_used_up = true};
	remote_pool_put(pool, &sessions[0]);
	assert_true(sessions[0].is_free && sessions[0].ended == NULL);
	assert_null(remote_pool_take(pool, "even", false));
	remote_pool_free(pool);
}

static void one_whose_class_is_full_waits_on(void **state)
{
	struct remote_pool *pool = pool_of(4);

	(void)state;
	sessions[2].is_full = true;
	assert_ptr_equal(remote_pool_take(pool, "even", false), &sessions[0]);
	assert_null(remote_pool_take(pool, "even", false));
	assert_false(sessions[2].is_free);
	assert_ptr_equal(remote_pool_take(pool, "even", true), &sessions[2]);
	remote_pool_free(pool);
}

static void the_oldest_makes_room(void **state)
{
	struct remote_pool *pool = pool_of(4);

	(void)state;
	assert_false(remote_pool_make_room(pool, NULL));
	sessions[1].is_spare = sessions[3].is_spare = true;
	assert_true(remote_pool_make_room(pool, NULL));
	assert_true(sessions[1].is_free && !sessions[3].is_free);
	assert_true(remote_pool_make_room(pool, NULL));
	assert_true(sessions[3].is_free);
	assert_false(remote_pool_make_room(pool, NULL));
	assert_false(sessions[0].is_free || sessions[2].is_free);
	sessions[5] = (struct remote_session){.key = "odd", .is_in_the_way = true};
	remote_pool_put(pool, &sessions[5]);
	assert_true(sessions[5].is_free);
	remote_pool_free(pool);
}

/* Of those that are counted at the place that others need. */
static void the_oldest_at_a_place_is_closed(void **state)
{
	struct remote_pool *pool = pool_of(4);
	int places[2];
	struct shape_entry *place = (struct shape_entry *)(void *)&places[0];
	struct shape_entry *other = (struct shape_entry *)(void *)&places[1];

	(void)state;
	sessions[0].hold.place = other;
	sessions[1].hold.place = sessions[3].hold.place = place;
	assert_true(remote_pool_close_one(pool, place));
	assert_true(sessions[1].is_free);
	assert_true(remote_pool_close_one(pool, place));
	assert_true(sessions[3].is_free);
	assert_false(remote_pool_close_one(pool, place));
	assert_false(sessions[0].is_free || sessions[2].is_free);
	remote_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_of_its_key_is_used_again),
		cmocka_unit_test(one_too_many_ends_the_oldest),
		cmocka_unit_test(one_that_ends_is_closed_alone),
		cmocka_unit_test(one_that_is_used_up_is_closed),
		cmocka_unit_test(one_whose_class_is_full_waits_on),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(the_oldest_at_a_place_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
