// SPDX-License-Identifier: ISC
/* The sessions that clients may resume. */
#include "base/panic.h"
#include "base/table.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "tls/client/internal.h"
#include <stdlib.h>
#include <string.h>

/* Of a server: those of TLS 1.3 send two, and may take each only once (RFC 8446 appendix C.4). With
 * so many as many connections resume at a time. */
enum { SERVERS_MAX = 500, EACH_MAX = 4 }; /* a few KiB each, with the server's certificates */

/* What was verified then counts for so long, whatever the server allows. */
static const int64_t AGE_MAX_US = HOUR_US;

struct kept {
	SSL_SESSION *session;
	enum tls_verified verified;
	int64_t until_us; /* monotonic */
	bool is_used;     /* a connection has tried to resume it */
};

struct server {
	uint8_t key[TLS_CLIENT_KEY_SIZE];
	struct kept kept[EACH_MAX]; /* those that were put or used last come last */
	size_t count;
	UT_hash_handle hh;
};

struct tls_sessions {
	struct server *table; /* the one that got a session last comes last */
};

struct tls_sessions *tls_sessions_new(void)
{
	return memory_alloc_zero(1, sizeof(struct tls_sessions));
}

static struct kept take_kept_session(struct server *server, size_t position)
{
	struct kept taken = server->kept[position];

	server->count--;
	memmove(&server->kept[position], &server->kept[position + 1],
		(server->count - position) * sizeof taken);
	return taken;
}

static void drop_kept_session(struct server *server, size_t position)
{
	SSL_SESSION_free(take_kept_session(server, position).session);
}

static void drop_server(struct tls_sessions *sessions, struct server *server)
{
	HASH_DEL(sessions->table, server);
	while (server->count > 0)
		drop_kept_session(server, 0);
	free(server);
}

void tls_sessions_clear(struct tls_sessions *sessions)
{
	while (sessions->table != NULL)
		drop_server(sessions, sessions->table);
}

void tls_sessions_free(struct tls_sessions *sessions)
{
	if (sessions == NULL)
		return;
	tls_sessions_clear(sessions);
	free(sessions);
}

static struct server *find_server_of_key(const struct tls_sessions *sessions,
					 const uint8_t key[TLS_CLIENT_KEY_SIZE])
{
	struct server *server;

	HASH_FIND(hh, sessions->table, key, TLS_CLIENT_KEY_SIZE, server);
	return server;
}

/* The first that is used, or unused; COUNT: there is none. */
static size_t find_kept_session(const struct server *server, bool is_used)
{
	size_t i = 0;

	while (i < server->count && server->kept[i].is_used != is_used)
		i++;
	return i;
}

static struct server *make_server(struct tls_sessions *sessions,
				  const uint8_t key[TLS_CLIENT_KEY_SIZE])
{
	struct server *server = find_server_of_key(sessions, key);

	if (server != NULL) {
		HASH_DEL(sessions->table, server);
	} else {
		if (HASH_COUNT(sessions->table) >= SERVERS_MAX)
			drop_server(sessions, sessions->table);
		server = memory_alloc_zero(1, sizeof *server);
		memcpy(server->key, key, TLS_CLIENT_KEY_SIZE);
	}
	HASH_ADD(hh, sessions->table, key, TLS_CLIENT_KEY_SIZE, server);
	return server;
}

void tls_sessions_put(struct tls_sessions *sessions, const uint8_t key[TLS_CLIENT_KEY_SIZE],
		      SSL_SESSION *session, enum tls_verified verified)
{
	struct server *server = make_server(sessions, key);
	int64_t age_us = (int64_t)SSL_SESSION_get_timeout(session) * SECOND_US;
	size_t used = find_kept_session(server, true);

	if (used < server->count)
		drop_kept_session(server, used);
	else if (server->count == EACH_MAX)
		drop_kept_session(server, 0);
	server->kept[server->count++] = (struct kept){
		.session = session,
		.verified = verified,
		.until_us = os_clock_monotonic_us() + (age_us < AGE_MAX_US ? age_us : AGE_MAX_US),
	};
}

static void drop_ended(struct server *server)
{
	for (size_t i = server->count; i > 0; i--)
		if (server->kept[i - 1].until_us <= os_clock_monotonic_us() ||
		    SSL_SESSION_is_resumable(server->kept[i - 1].session) != 1)
			drop_kept_session(server, i - 1);
}

SSL_SESSION *tls_sessions_find(struct tls_sessions *sessions,
			       const uint8_t key[TLS_CLIENT_KEY_SIZE],
			       enum tls_verified *verified_out)
{
	struct server *server = find_server_of_key(sessions, key);
	struct kept kept;
	size_t unused;

	if (server == NULL)
		return NULL;
	drop_ended(server);
	if (server->count == 0) {
		drop_server(sessions, server);
		return NULL;
	}
	unused = find_kept_session(server, false);
	kept = take_kept_session(server, unused < server->count ? unused : 0);
	kept.is_used = true;
	server->kept[server->count++] = kept;
	*verified_out = kept.verified;
	return kept.session;
}
