// SPDX-License-Identifier: ISC
/* The sessions that clients may resume. */
#include "base/panic.h"
#include "base/table.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include "tls/client_internal.h"
#include <stdlib.h>
#include <string.h>

enum { SESSIONS_MAX = 500 }; /* a few KiB each, with the server's certificates */

/* What was verified then counts for so long, whatever the server allows. */
static const int64_t AGE_MAX_US = HOUR_US;

struct kept {
	uint8_t key[TLS_CLIENT_KEY_SIZE];
	SSL_SESSION *session;
	enum tls_verified verified;
	int64_t until_us; /* monotonic */
	UT_hash_handle hh;
};

struct tls_sessions {
	struct kept *table; /* oldest first */
};

struct tls_sessions *tls_sessions_new(void)
{
	return memory_alloc_zero(1, sizeof(struct tls_sessions));
}

static void drop(struct tls_sessions *sessions, struct kept *kept)
{
	HASH_DEL(sessions->table, kept);
	SSL_SESSION_free(kept->session);
	free(kept);
}

void tls_sessions_clear(struct tls_sessions *sessions)
{
	while (sessions->table != NULL)
		drop(sessions, sessions->table);
}

void tls_sessions_free(struct tls_sessions *sessions)
{
	if (sessions == NULL)
		return;
	tls_sessions_clear(sessions);
	free(sessions);
}

static struct kept *find(const struct tls_sessions *sessions,
			 const uint8_t key[TLS_CLIENT_KEY_SIZE])
{
	struct kept *kept;

	HASH_FIND(hh, sessions->table, key, TLS_CLIENT_KEY_SIZE, kept);
	return kept;
}

void tls_sessions_put(struct tls_sessions *sessions, const uint8_t key[TLS_CLIENT_KEY_SIZE],
		      SSL_SESSION *session, enum tls_verified verified)
{
	struct kept *kept = find(sessions, key);
	int64_t age_us = (int64_t)SSL_SESSION_get_timeout(session) * SECOND_US;

	if (kept != NULL)
		drop(sessions, kept);
	if (HASH_COUNT(sessions->table) >= SESSIONS_MAX)
		drop(sessions, sessions->table);
	kept = memory_alloc_zero(1, sizeof *kept);
	memcpy(kept->key, key, TLS_CLIENT_KEY_SIZE);
	kept->session = session;
	kept->verified = verified;
	kept->until_us = os_clock_monotonic_us() + (age_us < AGE_MAX_US ? age_us : AGE_MAX_US);
	HASH_ADD(hh, sessions->table, key, TLS_CLIENT_KEY_SIZE, kept);
}

SSL_SESSION *tls_sessions_find(struct tls_sessions *sessions,
			       const uint8_t key[TLS_CLIENT_KEY_SIZE],
			       enum tls_verified *verified_out)
{
	struct kept *kept = find(sessions, key);

	if (kept == NULL)
		return NULL;
	if (kept->until_us <= os_clock_monotonic_us() ||
	    SSL_SESSION_is_resumable(kept->session) != 1) {
		drop(sessions, kept);
		return NULL;
	}
	*verified_out = kept->verified;
	return kept->session;
}
