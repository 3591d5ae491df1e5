// SPDX-License-Identifier: ISC
#include "deliver/remote/session/pool.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include <stdlib.h>
#include <string.h>

enum { SESSIONS_MAX = 50 };

#define WAIT_US (5 * SECOND_US)

struct remote_pool {
	struct remote_session *sessions[SESSIONS_MAX]; /* oldest first */
	size_t count;
};

struct remote_pool *remote_pool_new(void)
{
	return memory_alloc_zero(1, sizeof(struct remote_pool));
}

void remote_pool_clear(struct remote_pool *pool)
{
	while (pool->count > 0)
		remote_session_free(pool->sessions[--pool->count]);
}

void remote_pool_free(struct remote_pool *pool)
{
	if (pool == NULL)
		return;
	remote_pool_clear(pool);
	free(pool);
}

static struct remote_session *remove_at(struct remote_pool *pool, size_t position)
{
	struct remote_session *session = pool->sessions[position];

	pool->count--;
	memmove(pool->sessions + position, pool->sessions + position + 1,
		(pool->count - position) * sizeof(struct remote_session *));
	return session;
}

static void on_idle_session_ended(void *context, struct remote_session *session)
{
	struct remote_pool *pool = context;

	for (size_t i = 0; i < pool->count; i++)
		if (pool->sessions[i] == session) {
			remote_session_free(remove_at(pool, i));
			return;
		}
}

void remote_pool_put(struct remote_pool *pool, struct remote_session *session)
{
	if (!remote_session_is_reusable(session) || remote_session_is_in_the_way(session)) {
		remote_session_free(session);
		return;
	}
	if (pool->count == SESSIONS_MAX)
		remote_session_free(remove_at(pool, 0));
	pool->sessions[pool->count++] = session;
	remote_session_wait(session, WAIT_US, on_idle_session_ended, pool);
}

struct remote_session *remote_pool_take(struct remote_pool *pool, const char *key, bool has_turn)
{
	for (size_t i = pool->count; i > 0; i--)
		if (strcmp(remote_session_key(pool->sessions[i - 1]), key) == 0 &&
		    remote_session_claim(pool->sessions[i - 1], has_turn))
			return remove_at(pool, i - 1);
	return NULL;
}

/* Closes the oldest that HAS what is wanted; false: there is none. */
static bool close_oldest(struct remote_pool *pool,
			 bool (*has)(struct remote_session *session, const void *wanted),
			 const void *wanted)
{
	for (size_t i = 0; i < pool->count; i++)
		if (has(pool->sessions[i], wanted)) {
			remote_session_free(remove_at(pool, i));
			return true;
		}
	return false;
}

static bool is_spare_session_of_class(struct remote_session *session, const void *class)
{
	return remote_session_is_spare(session, class);
}

bool remote_pool_make_room(struct remote_pool *pool, const struct limit_class *class)
{
	return close_oldest(pool, is_spare_session_of_class, class);
}

static bool is_session_at_place(struct remote_session *session, const void *place)
{
	const struct shape_hold *hold = remote_session_hold(session);

	return hold->place == place || hold->server == place;
}

bool remote_pool_close_one(struct remote_pool *pool, const struct shape_entry *place)
{
	return close_oldest(pool, is_session_at_place, place);
}
