// SPDX-License-Identifier: ISC
/*
 * deliver/remote/session/pool.h - idle connections, kept for a short while for the next message.
 */
#ifndef DELIVER_REMOTE_SESSION_POOL_H
#define DELIVER_REMOTE_SESSION_POOL_H

#include "deliver/remote/session/session.h"

struct remote_pool;

struct remote_pool *remote_pool_new(void);
/* Closes all of its connections. */
void remote_pool_free(struct remote_pool *pool);
void remote_pool_clear(struct remote_pool *pool);

/* Keeps SESSION if it can be reused, and others need not have its place; otherwise closes it. */
void remote_pool_put(struct remote_pool *pool, struct remote_session *session);
/* The most recently used connection for KEY, now the caller's; or NULL: also if its class of hosts
 * has no place for it now. HAS_TURN: as remote_session_claim(). */
struct remote_session *remote_pool_take(struct remote_pool *pool, const char *key, bool has_turn);
/* Closes the connection that has been idle longest of those that are counted at PLACE; false: there
 * is none. */
MUST_CHECK bool remote_pool_close_one(struct remote_pool *pool, const struct shape_entry *place);
/* Closes the oldest connection that is counted in CLASS (count = all), so that another one has its
 * place. False: there is none. */
bool remote_pool_make_room(struct remote_pool *pool, const struct limit_class *class);

#endif
