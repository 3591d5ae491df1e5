// SPDX-License-Identifier: ISC
/* Passwords by hashes, of which as many count as may be, and by a server; and how many attempts a
 * client has open, against a model. Hashes are compared here, and the check is made at once. */
#include "auth/server/internal.h"
#include "auth/server/password.h"
#include "chance.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS = 5, TURNS = 5000 };

static struct {
	unsigned verified;
	struct str right; /* the hash that is the password's */
	unsigned ends;
	enum sasl_finding finding, server_says;
	char hash[40];
	bool has_room;
} world;

bool directory_password_verify(struct str hash, struct str password)
{
	assert_true(str_equal(password, STR("secret")));
	world.verified++;
	return str_equal(hash, world.right);
}

struct auth_check *auth_checks_add(struct auth_checks *checks, const struct auth_check_kind *kind,
				   void *context, const struct in6_addr *client,
				   enum auth_trust trust)
{
	assert_null(checks);
	assert_null(client);
	assert_int_equal(trust, AUTH_NEW);
	if (world.has_room) {
		kind->work(context);
		kind->done(context);
	}
	kind->free(context);
	return NULL;
}

static void on_judged(void *context, enum sasl_finding finding, struct str hash)
{
	assert_ptr_equal(context, &world);
	world.ends++;
	world.finding = finding;
	snprintf(world.hash, sizeof world.hash, STR_FORMAT, STR_ARGUMENTS(hash));
}

static enum sasl_finding ask_server(void *context, struct str user, struct str password)
{
	assert_ptr_equal(context, &world);
	assert_true(str_equal(user, STR("ann@a.test")) && str_equal(password, STR("secret")));
	return world.server_says;
}

static void judge(const struct auth_binder *binder, size_t hashes, bool is_spoilt)
{
	struct auth_password *password =
		auth_password_new(binder, STR("ann@a.test"), STR("secret"));

	for (size_t i = 0; i < hashes; i++) {
		char hash[20];

		snprintf(hash, sizeof hash, "hash %zu", i);
		auth_password_add_hash(password, str_from(hash));
	}
	if (is_spoilt)
		auth_password_spoil(password);
	world.ends = world.verified = 0;
	world.has_room = true;
	assert_null(auth_password_check(password, NULL, NULL, AUTH_NEW, on_judged, &world));
	assert_int_equal(world.ends, 1);
}

/* Whichever is the password's, of none to two more than count. */
static void each_hash_may_be_it(void **state)
{
	(void)state;
	for (size_t hashes = 0; hashes <= AUTH_PASSWORD_HASHES_MAX + 2; hashes++)
		for (size_t right = 0; right <= hashes; right++)
			for (int is_spoilt = 0; is_spoilt < 2; is_spoilt++) {
				size_t count = hashes < AUTH_PASSWORD_HASHES_MAX
						       ? hashes
						       : AUTH_PASSWORD_HASHES_MAX;
				bool is_right = right < count;
				char hash[20];

				snprintf(hash, sizeof hash, "hash %zu", right);
				world.right = str_from(hash);
				judge(NULL, hashes, is_spoilt);
				assert_int_equal(world.finding,
						 is_right && !is_spoilt ? SASL_RIGHT : SASL_WRONG);
				assert_string_equal(world.hash, is_right && !is_spoilt ? hash : "");
				/* one that is spoilt takes as long */
				assert_int_equal(world.verified, is_right ? right + 1 : count);
			}
}

static void a_server_says_it(void **state)
{
	const struct auth_binder binder = {ask_server, &world};
	static const enum sasl_finding findings[] = {SASL_RIGHT, SASL_WRONG, SASL_LATER};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(findings); i++)
		for (int is_spoilt = 0; is_spoilt < 2; is_spoilt++) {
			world.server_says = findings[i];
			judge(&binder, 0, is_spoilt);
			assert_int_equal(world.finding,
					 is_spoilt && i == 0 ? SASL_WRONG : findings[i]);
			assert_string_equal(world.hash, "");
		}
}

static void one_without_room_is_freed(void **state)
{
	struct auth_password *password = auth_password_new(NULL, STR("u"), STR("secret"));

	(void)state;
	world.has_room = false;
	world.ends = 0;
	auth_password_add_hash(password, STR("x"));
	assert_null(auth_password_check(password, NULL, NULL, AUTH_NEW, on_judged, &world));
	assert_int_equal(world.ends, 0);
}

static void attempts_of_clients_are_counted(void **state)
{
	struct auth_server *server = calloc(1, sizeof *server);
	unsigned model[CLIENTS] = {0};

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t which = chance(CLIENTS);
		struct in6_addr client = {.s6_addr = {[15] = (unsigned char)which}};

		if (model[which] > 0 && chance(2) == 0) {
			auth_tally_remove(server, &client);
			model[which]--;
		} else {
			auth_tally_add(server, &client);
			model[which]++;
		}
		for (size_t i = 0; i < CLIENTS; i++)
			assert_int_equal(
				auth_tally_count(
					server,
					&(struct in6_addr){.s6_addr = {[15] = (unsigned char)i}}),
				model[i]);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		while (model[i]-- > 0)
			auth_tally_remove(server,
					  &(struct in6_addr){.s6_addr = {[15] = (unsigned char)i}});
	assert_null(server->tallies);
	free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hash_may_be_it),
		cmocka_unit_test(a_server_says_it),
		cmocka_unit_test(one_without_room_is_freed),
		cmocka_unit_test(attempts_of_clients_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
