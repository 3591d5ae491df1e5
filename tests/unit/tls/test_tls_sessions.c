// SPDX-License-Identifier: ISC
/* The sessions that clients may resume, put and found at random, against a plain list of them. */
#include "../chance.h"
#include "base/timestamp.h"
#include "test.h"
#include "tls/client/internal.h"
#include <string.h>

/* As sessions.c has them. */
enum { SERVERS = 500, EACH = 4, ALL = 4 * SERVERS };

static int64_t clock_us = SECOND_US;

int64_t __wrap_os_clock_monotonic_us(void);

int64_t __wrap_os_clock_monotonic_us(void)
{
	return clock_us;
}

static struct plain_session {
	uint8_t server;
	uint8_t server_high;
	unsigned id;
	enum tls_verified verified;
	int64_t until_us;
	bool is_used, is_resumable;
	unsigned put;  /* when, of all that happened */
	unsigned seen; /* when it was put or found */
} plain[ALL];

static size_t count;
static unsigned now;
static struct tls_sessions *sessions;

static void make_key(unsigned server, uint8_t key[TLS_CLIENT_KEY_SIZE])
{
	memset(key, 7, TLS_CLIENT_KEY_SIZE);
	key[0] = (uint8_t)server;
	key[TLS_CLIENT_KEY_SIZE - 1] = (uint8_t)(server >> 8);
}

static bool is_of(const struct plain_session *session, unsigned server)
{
	return session->server + 256U * session->server_high == server;
}

static void forget(size_t at)
{
	plain[at] = plain[--count];
}

/* The one of SERVER that was seen first, of those that are used or not; COUNT: there is none. */
static size_t first_of(unsigned server, bool is_used)
{
	size_t first = count;

	for (size_t i = 0; i < count; i++)
		if (is_of(&plain[i], server) && plain[i].is_used == is_used &&
		    (first == count || plain[i].seen < plain[first].seen))
			first = i;
	return first;
}

static size_t count_of(unsigned server)
{
	size_t of_it = 0;

	for (size_t i = 0; i < count; i++)
		of_it += is_of(&plain[i], server);
	return of_it;
}

/* Of a new server, when there are as many as may be: the one goes to which nothing has been put for
 * the longest time. */
static void forget_the_oldest_server(void)
{
	unsigned servers = 0, oldest = 0, put_at = 0;

	for (unsigned server = 0; server <= SERVERS; server++) {
		unsigned last = 0;

		for (size_t i = 0; i < count; i++)
			if (is_of(&plain[i], server) && plain[i].put > last)
				last = plain[i].put;
		servers += last > 0;
		if (last > 0 && (put_at == 0 || last < put_at)) {
			put_at = last;
			oldest = server;
		}
	}
	if (servers < SERVERS)
		return;
	for (size_t i = count; i > 0; i--)
		if (is_of(&plain[i - 1], oldest))
			forget(i - 1);
}

static void put_session(unsigned server, long seconds, bool is_resumable)
{
	uint8_t key[TLS_CLIENT_KEY_SIZE];
	SSL_SESSION *session = SSL_SESSION_new();
	enum tls_verified verified = (enum tls_verified)chance(3);
	int64_t left_us = seconds < 3600 ? seconds * SECOND_US : HOUR_US;
	size_t replaced = first_of(server, true);

	now++;
	assert_non_null(session);
	SSL_SESSION_set_timeout(session, seconds);
	if (is_resumable)
		assert_int_equal(SSL_SESSION_set1_id(session, (unsigned char *)&now, sizeof now),
				 1);
	make_key(server, key);
	if (count_of(server) == 0)
		forget_the_oldest_server();
	if (replaced < count)
		forget(replaced);
	else if (count_of(server) == EACH)
		forget(first_of(server, false));
	for (size_t i = 0; i < count; i++) /* the server has got one */
		if (is_of(&plain[i], server))
			plain[i].put = now;
	plain[count++] = (struct plain_session){.server = (uint8_t)server,
						.server_high = (uint8_t)(server >> 8),
						.id = now,
						.verified = verified,
						.until_us = clock_us + left_us,
						.is_resumable = is_resumable,
						.put = now,
						.seen = now};
	tls_sessions_put(sessions, key, session, verified);
}

static void find_session(unsigned server)
{
	uint8_t key[TLS_CLIENT_KEY_SIZE];
	enum tls_verified verified = (enum tls_verified)77;
	SSL_SESSION *found;
	unsigned length = 0, id = 0;
	size_t wanted;

	now++;
	make_key(server, key);
	for (size_t i = count; i > 0; i--)
		if (is_of(&plain[i - 1], server) &&
		    (!plain[i - 1].is_resumable || plain[i - 1].until_us <= clock_us))
			forget(i - 1);
	wanted = first_of(server, false);
	if (wanted == count)
		wanted = first_of(server, true);
	found = tls_sessions_find(sessions, key, &verified);
	assert_int_equal(found != NULL, wanted < count);
	if (found == NULL) {
		assert_int_equal(verified, 77);
		return;
	}
	memcpy(&id, SSL_SESSION_get_id(found, &length), sizeof id);
	assert_int_equal(id, plain[wanted].id);
	assert_int_equal(verified, plain[wanted].verified);
	plain[wanted].is_used = true;
	plain[wanted].seen = now;
}

static void of_few_servers(void **state)
{
	(void)state;
	sessions = tls_sessions_new();
	for (unsigned step = 0; step < 20000; step++) {
		static const long ages[] = {0, 1, 2, 10, 3599, 3600, 3601, 100000};
		unsigned server = 250 + (unsigned)chance(9);

		if (chance(2) == 0)
			put_session(server, ages[chance(COUNT_OF(ages))], chance(5) > 0);
		else
			find_session(server);
		if (chance(10) == 0)
			clock_us += chance(20) == 0 ? HOUR_US - 1 : SECOND_US / 2;
		if (chance(3000) == 0) {
			tls_sessions_clear(sessions);
			count = 0;
		}
	}
	tls_sessions_free(sessions);
	count = 0;
}

static void of_as_many_servers_as_may_be(void **state)
{
	(void)state;
	sessions = tls_sessions_new();
	for (unsigned server = 0; server < SERVERS; server++)
		put_session(server, 3600, true);
	for (unsigned server = 0; server < SERVERS; server++)
		find_session(server);
	put_session(1, 3600, true);
	put_session(SERVERS, 3600, true);
	find_session(0);
	find_session(1);
	find_session(2);
	put_session(0, 3600, true);
	for (unsigned server = 0; server <= SERVERS; server++)
		find_session(server);
	assert_int_equal(count_of(2), 0);
	tls_sessions_free(sessions);
	tls_sessions_free(NULL);
	count = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_few_servers),
		cmocka_unit_test(of_as_many_servers_as_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
