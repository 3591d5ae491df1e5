// SPDX-License-Identifier: ISC
/* Who is a helper for which service: by its user, and by the token of its program. */
#include "manager/internal.h"
#include "test.h"
#include <stdio.h>

enum { FIRST_USER = 10 };

static const char *const programs[MANAGER_HELPERS] = {
	[MANAGER_RESOLVE] = "resolve", [MANAGER_REMOTE] = "remote",     [MANAGER_LIST] = "list",
	[MANAGER_LOCAL] = "local",     [MANAGER_LMTP] = "lmtp",         [MANAGER_PIPE] = "pipe",
	[MANAGER_MAILBOX] = "mailbox", [MANAGER_HANDOVER] = "handover", [MANAGER_NODED] = "noded",
};

static struct config_service services[] = {
	{.name = "a-maildir", .kind = CONFIG_SERVICE_MAILDIR},
	{.name = "a-mbox", .kind = CONFIG_SERVICE_MBOX},
	{.name = "a-server", .kind = CONFIG_SERVICE_LMTP},
	{.name = "a-program", .kind = CONFIG_SERVICE_PIPE},
	{.name = "a-mailbox", .kind = CONFIG_SERVICE_MAILBOX},
	{.name = "an-imap", .kind = CONFIG_SERVICE_IMAP},
	{.name = "not-used", .kind = CONFIG_SERVICE_PIPE}, /* it has no transport */
};

static struct config_transport transports[] = {
	{.name = "remote", .concurrency = 1},     {.name = CONFIG_LIST_SERVICE, .concurrency = 2},
	{.name = "a-maildir", .concurrency = 3},  {.name = "a-mbox", .concurrency = 4},
	{.name = "a-server", .concurrency = 5},   {.name = "a-program", .concurrency = 6},
	{.name = "a-mailbox", .concurrency = 7},  {.name = "an-imap", .concurrency = 8},
	{.name = "no-service", .concurrency = 9},
};

static const struct {
	const char *service;
	enum manager_helper helper; /* MANAGER_HELPERS: none */
	uint32_t places;
} cases[] = {
	{"resolve", MANAGER_RESOLVE, 0},
	{"remote", MANAGER_REMOTE, 1},
	{CONFIG_LIST_SERVICE, MANAGER_LIST, 2},
	{"a-maildir", MANAGER_LOCAL, 3},
	{"a-mbox", MANAGER_LOCAL, 4},
	{"a-server", MANAGER_LMTP, 5},
	{"a-program", MANAGER_PIPE, 6},
	{"a-mailbox", MANAGER_MAILBOX, 7},
	{"an-imap", MANAGER_MAILBOX, 8},
	{"not-used", MANAGER_HELPERS, 0},
	{"handover", MANAGER_HANDOVER, 4096},
	{IPC_JOB_STATUS_SERVICE, MANAGER_NODED, 0},
	{"noded", MANAGER_HELPERS, 0},
	{"no-service", MANAGER_HELPERS, 9},
	{"", MANAGER_HELPERS, 0},
	{"remotes", MANAGER_HELPERS, 0},
};

static struct config config = {.services = services,
			       .service_count = COUNT_OF(services),
			       .transports = transports,
			       .transport_count = COUNT_OF(transports)};
static struct ipc_tokens tokens;
static struct share share = {.limit = SHARE_UNITS};
static struct manager manager = {.config = &config, .peers = {.tokens = &tokens}};

static int open_manager(void **state)
{
	static const struct transport_handler handler = {NULL};

	(void)state;
	manager.transports = transports_new(&share, &handler, NULL);
	transports_configure(manager.transports, &config);
	for (size_t i = 0; i < MANAGER_HELPERS; i++) {
		char token[32];

		snprintf(token, sizeof token, "%s-token", programs[i]);
		manager.peers.helpers[i] =
			(struct manager_helper_peer){programs[i], (uid_t)(FIRST_USER + i)};
		if (!ipc_tokens_add(&tokens, str_from(programs[i]), str_from(token)))
			return -1;
	}
	return 0;
}

static int close_manager(void **state)
{
	(void)state;
	transports_free(manager.transports);
	return 0;
}

static void helpers_have_users_of_their_own(void **state)
{
	(void)state;
	for (uid_t user = 0; user < FIRST_USER + MANAGER_HELPERS + 2; user++)
		assert_int_equal(manager_hear_helpers.may_connect(&manager, user),
				 user >= FIRST_USER && user < FIRST_USER + MANAGER_HELPERS);
}

/* Each as each for each: the user and the program must both be the service's. */
static void a_service_has_one_kind_of_helper(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (size_t program = 0; program < MANAGER_HELPERS; program++)
			for (size_t user = 0; user < MANAGER_HELPERS; user++) {
				char token[32];
				bool may;

				snprintf(token, sizeof token, "%s-token", programs[program]);
				may = manager_hear_helpers.may_help(
					&manager, str_from(cases[i].service), str_from(token),
					(uid_t)(FIRST_USER + user));
				assert_int_equal(may, program == cases[i].helper &&
							      user == cases[i].helper);
			}
}

static void its_places_are_its_transports(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(manager_hear_helpers.places(&manager, cases[i].service),
				 cases[i].places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(helpers_have_users_of_their_own),
		cmocka_unit_test(a_service_has_one_kind_of_helper),
		cmocka_unit_test(its_places_are_its_transports),
	};

	return cmocka_run_group_tests(tests, open_manager, close_manager);
}
