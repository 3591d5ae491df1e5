// SPDX-License-Identifier: ISC
/* Which TLS is demanded, and which certificates there are, against a plain second form: all small
 * configurations of a few sections. */
#include "config_outcome.h"
#include <string.h>
#include <strings.h>

/* --- policies --- */

static const char *const destinations[] = {"a.test", ".a.test",     ".test",  "b.a.test",
					   "test",   "[192.0.2.1]", ".b.test"};
static const char *const names[] = {"a.test",      "A.Test",     "b.a.test",       "c.b.a.test",
				    "test",        "b.test",     "x.test",         "c.b.test",
				    "xa.test",     "a.testx",    ".a.test",        "",
				    "[192.0.2.1]", "[192.0.2.1", "[IPv6:::1.test]"};

static size_t policies_of(unsigned subset, struct config_tls_policy *policies)
{
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(destinations); i++)
		if ((subset >> i & 1) != 0)
			policies[count++].destination = destinations[i];
	return count;
}

/* The one of the same name; if there is none, the one of the longest end that begins with a dot. */
static const char *plain_policy(unsigned subset, const char *name)
{
	const char *best = NULL;
	size_t length = strlen(name);

	for (size_t i = 0; i < COUNT_OF(destinations); i++) {
		size_t end = strlen(destinations[i]);
		bool is_end = *destinations[i] == '.' && *name != '[' && end <= length &&
			      strcasecmp(name + length - end, destinations[i]) == 0;

		if ((subset >> i & 1) == 0)
			continue;
		if (strcasecmp(name, destinations[i]) == 0)
			return destinations[i];
		if (is_end && (best == NULL || end > strlen(best)))
			best = destinations[i];
	}
	return best;
}

static void a_policy_is_of_the_nearest_name(void **state)
{
	(void)state;
	for (unsigned subset = 0; subset < 1u << COUNT_OF(destinations); subset++) {
		struct config_tls_policy policies[COUNT_OF(destinations)] = {0};
		struct config config = {.tls_policies = policies};

		config.tls_policy_count = policies_of(subset, policies);
		for (size_t i = 0; i < COUNT_OF(names); i++) {
			const struct config_tls_policy *found =
				config_tls_policy_find(&config, str_from(names[i]));
			const char *plain = plain_policy(subset, names[i]);

			if ((found == NULL) != (plain == NULL) ||
			    (found != NULL && strcmp(found->destination, plain) != 0))
				fail_msg("\"%s\" has %s, not %s", names[i],
					 found != NULL ? found->destination : "none",
					 plain != NULL ? plain : "none");
		}
	}
}

/* --- certificates, and what they are for --- */

enum { SECTIONS_MAX = 3 };

static void a_certificate_is_found_by_its_name(void **state)
{
	struct config_certificate certificates[SECTIONS_MAX] = {
		{.name = "one"}, {.name = "two"}, {.name = "twofold"}};
	static const char *const wanted[] = {"one", "two", "twofold", "tw", "twos", "", "ONE"};

	(void)state;
	for (size_t count = 0; count <= SECTIONS_MAX; count++) {
		struct config config = {.certificates = certificates, .certificate_count = count};

		for (size_t i = 0; i < COUNT_OF(wanted); i++)
			assert_ptr_equal(config_certificate_find(&config, str_from(wanted[i])),
					 i < count ? &certificates[i] : NULL);
	}
}

/* Those of policies and of services; of others there are none. */
static void certificates_for_servers_are_counted_where_they_are(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 81; i++) {
		static const char *const texts[] = {"", "c", NULL};
		struct config_tls_policy policies[] = {{.certificate = texts[i % 2]},
						       {.certificate = texts[i / 3 % 2]}};
		struct config_service services[] = {{.certificate = texts[i / 9 % 3]},
						    {.certificate = texts[i / 27 % 3]}};
		struct config config = {.tls_policies = policies, .services = services};

		for (size_t count = 0; count <= 2; count++) {
			bool has_one = false;

			config.tls_policy_count = count;
			config.service_count = 2 - count;
			for (size_t k = 0; k < count; k++)
				has_one |= policies[k].certificate == texts[1];
			for (size_t k = 0; k < 2 - count; k++)
				has_one |= services[k].certificate == texts[1];
			assert_int_equal(config_has_tls_out_certificates(&config), has_one);
		}
	}
}

static void tls_of_clients_is_that_of_a_listener(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		struct config_listen listens[] = {
			{.tls = i % 3 == 0   ? CONFIG_LISTEN_TLS_NONE
				: i % 3 == 1 ? CONFIG_LISTEN_TLS_STARTTLS
					     : CONFIG_LISTEN_TLS_IMPLICIT},
			{.tls = i / 3 == 0   ? CONFIG_LISTEN_TLS_NONE
				: i / 3 == 1 ? CONFIG_LISTEN_TLS_STARTTLS
					     : CONFIG_LISTEN_TLS_IMPLICIT}};

		for (size_t count = 0; count <= 2; count++) {
			struct config config = {.listens = listens, .listen_count = count};

			assert_int_equal(config_has_tls_in(&config),
					 (count > 0 && i % 3 > 0) || (count > 1 && i / 3 > 0));
		}
	}
}

/* --- the directory's --- */

/* A directory has TLS if others ask it, or if it asks others by TCP. */
static void check_directory(struct config *config, bool has_tls)
{
	size_t more = has_tls ? 1 : 0;

	assert_int_equal(config_directory_has_tls(&config->directory), has_tls);
	for (size_t count = 0; count <= 2; count++) {
		config->certificate_count = count;
		config->listen_count = count;
		assert_int_equal(config_key_count(config), count + more);
		assert_int_equal(config_authority_count(config), count + more);
		for (size_t i = 0; i < count + more; i++) {
			struct config_certificate key = config_key_at(config, i);

			assert_string_equal(key.name, i < count ? config->certificates[i].name
								: CONFIG_DIRECTORY_CERTIFICATE);
			assert_string_equal(key.chain,
					    i < count ? config->certificates[i].chain : "/chain");
			assert_string_equal(key.key,
					    i < count ? config->certificates[i].key : "/key");
			assert_string_equal(config_authority_at(config, i),
					    i < count ? config->listens[i].client_authority
						      : "/authority");
		}
	}
}

static void the_directory_has_its_own_certificate(void **state)
{
	static const enum config_backend backends[] = {CONFIG_BACKEND_NONE, CONFIG_BACKEND_SQLITE,
						       CONFIG_BACKEND_SERVERS};
	static const char *servers[][2] = {
		{"unix:/a", "unix:/b"}, {"unix:/a", "b.test:1"}, {"a.test:1", "unix:/b"}};
	struct config_listen listens[] = {{.client_authority = "/a0"}, {.client_authority = "/a1"}};
	struct config_certificate certificates[] = {{.name = "c0", .chain = "/c0", .key = "/k0"},
						    {.name = "c1", .chain = "/c1", .key = "/k1"}};

	(void)state;
	for (unsigned i = 0; i < 3 * 3 * 3 * 2; i++) {
		enum config_backend backend = backends[i % 3];
		const char **asked = servers[i / 3 % 3];
		size_t server_count = i / 9 % 3;
		size_t listen_count = i / 27;
		bool dials = false;
		struct config config = {.listens = listens,
					.certificates = certificates,
					.directory = {.backend = backend,
						      .servers = asked,
						      .server_count = server_count,
						      .listen_count = listen_count,
						      .certificate = "/chain",
						      .key = "/key",
						      .authority = "/authority"}};

		for (size_t k = 0; k < server_count; k++)
			dials |= backend == CONFIG_BACKEND_SERVERS && *asked[k] != 'u';
		assert_int_equal(config_directory_dials(&config.directory), dials);
		check_directory(&config,
				backend != CONFIG_BACKEND_NONE && (listen_count > 0 || dials));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_is_of_the_nearest_name),
		cmocka_unit_test(a_certificate_is_found_by_its_name),
		cmocka_unit_test(certificates_for_servers_are_counted_where_they_are),
		cmocka_unit_test(tls_of_clients_is_that_of_a_listener),
		cmocka_unit_test(the_directory_has_its_own_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
