// SPDX-License-Identifier: ISC
/* Which certificate sessions get while configuration and certificates change one after the other.
 * What "keys" says, and the timer, are this test's. */
#include "base/panic.h"
#include "intake/security/security.h"
#include "keys/client.h"
#include "os/loop.h"
#include "test.h"
#include "tls/connection.h"
#include "unit/tls/tls_scene.h"
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

static struct {
	void (*changed)(void *context);
	void *changed_context;
	struct keys_set *set; /* NULL: none has come */
	void (*call)(void *context);
	void *call_context;
	bool is_timed;
	unsigned told; /* how often it was told of certificates */
	struct buffer chain;
	struct config_certificate sections[2];
	struct config_listen listen;
	struct config configs[2];
	struct intake_tls *tls;
	struct intake_security *security;
} world;

/* --- "keys" --- */

static const struct tls_signer signer;

struct keys *keys_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
		      void *context)
{
	(void)loop;
	(void)path;
	world.changed = changed;
	world.changed_context = context;
	return NULL;
}

const struct keys_set *keys_set(const struct keys *keys)
{
	(void)keys;
	return world.set;
}

const struct tls_signer *keys_signer(const struct keys *keys)
{
	(void)keys;
	return &signer;
}

/* --- a client's certificate, played: it may have none --- */

static struct {
	bool has_one, is_verified;
	const char *name, *fingerprint, *key;
} client;

bool __wrap_tls_connection_is_verified(const struct tls_connection *connection);
bool __wrap_tls_connection_is_verified(const struct tls_connection *connection)
{
	(void)connection;
	return client.is_verified;
}

bool __wrap_tls_connection_has_name(const struct tls_connection *connection, const char *name);
bool __wrap_tls_connection_has_name(const struct tls_connection *connection, const char *name)
{
	(void)connection;
	return strcmp(name, client.name) == 0;
}

bool __wrap_tls_connection_fingerprints(const struct tls_connection *connection,
					char certificate_out[TLS_FINGERPRINT_SIZE],
					char key_out[TLS_FINGERPRINT_SIZE]);
bool __wrap_tls_connection_fingerprints(const struct tls_connection *connection,
					char certificate_out[TLS_FINGERPRINT_SIZE],
					char key_out[TLS_FINGERPRINT_SIZE])
{
	(void)connection;
	if (!client.has_one)
		return false;
	strcpy(certificate_out, client.fingerprint);
	strcpy(key_out, client.key);
	return true;
}

/* --- "keys", again --- */

/* It says that there is a certificate for each of NAMES. */
static void tell(const char *const *names, size_t count)
{
	memset(world.set, 0, sizeof *world.set);
	for (size_t i = 0; i < count; i++)
		world.set->certificates[i] =
			(struct keys_text){str_from(names[i]), buffer_view(&world.chain)};
	world.set->certificate_count = count;
	world.changed(world.changed_context);
}

static void tell_one(const char *name)
{
	tell(&name, 1);
}

/* --- the timer --- */

struct os_timer *__wrap_os_timer_new(struct os_loop *loop, void (*call)(void *context),
				     void *context);
struct os_timer *__wrap_os_timer_new(struct os_loop *loop, void (*call)(void *context),
				     void *context)
{
	(void)loop;
	world.call = call;
	world.call_context = context;
	return NULL;
}

void __wrap_os_timer_start(struct os_timer *timer, int64_t delay_us);
void __wrap_os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	(void)timer;
	assert_in_range(delay_us, 1, 5000000);
	world.is_timed = true;
}

void __wrap_os_timer_stop(struct os_timer *timer);
void __wrap_os_timer_stop(struct os_timer *timer)
{
	(void)timer;
	world.is_timed = false;
}

static void let_patience_end(void)
{
	assert_true(world.is_timed);
	world.is_timed = false;
	world.call(world.call_context);
}

/* --- the scene --- */

static void on_certificates(void *context)
{
	(void)context;
	world.told++;
}

static const struct tls_context *context_now(void)
{
	return intake_security_context(world.security);
}

/* A node with the section "first", before "keys" has said anything; configs[1] calls it "second".
 */
static int set_up(void **state)
{
	static const char *const names[] = {"first", "second"};
	EVP_PKEY *key = tls_scene_key("P-256", 0);
	X509 *certificate = tls_scene_certificate(
		&(struct tls_scene_certificate){.name = "mx.example.org", .key = key});

	(void)state;
	memset(&world, 0, sizeof world);
	tls_scene_write(certificate, &world.chain);
	X509_free(certificate);
	EVP_PKEY_free(key);
	world.listen =
		(struct config_listen){.tls = CONFIG_LISTEN_TLS_STARTTLS, .client_authority = ""};
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		world.sections[i].name = names[i];
		world.configs[i].certificates = &world.sections[i];
		world.configs[i].certificate_count = 1;
	}
	world.tls = intake_tls_new(NULL, "keys", &world.configs[0], on_certificates, NULL);
	world.security = intake_security_new(world.tls, &world.listen);
	world.set = NULL;
	return 0;
}

static void begin(void)
{
	world.set = calloc(1, sizeof *world.set);
	tell_one("first");
	assert_int_equal(world.told, 1);
	assert_non_null(context_now());
}

/* A process never frees these. */
static void keep(void *made)
{
	static void *kept[64];
	static size_t count;

	assert_in_range(count, 0, COUNT_OF(kept) - 1);
	kept[count++] = made;
}

static int tear_down(void **state)
{
	(void)state;
	keep(world.tls);
	keep(world.security);
	free(world.set);
	buffer_clear(&world.chain);
	return 0;
}

/* --- tests --- */

static void the_first_certificates_count_at_once(void **state)
{
	(void)state;
	assert_null(context_now());
	assert_true(intake_security_lacks_tls(world.security));
	world.set = calloc(1, sizeof *world.set);
	tell(NULL, 0); /* none can be used */
	assert_int_equal(world.told, 1);
	assert_null(context_now());
	assert_true(intake_security_lacks_tls(world.security));
	assert_false(world.is_timed);
	tell_one("first");
	assert_non_null(context_now());
	assert_false(intake_security_lacks_tls(world.security));
	assert_int_equal(world.told, 2);
}

/* A listener without TLS; and one of a configuration that a reload has left without certificates.
 */
static void who_is_to_have_no_tls_lacks_none(void **state)
{
	const struct config_listen plain = {.tls = CONFIG_LISTEN_TLS_NONE, .client_authority = ""};
	struct intake_security *security = intake_security_new(world.tls, &plain);

	(void)state;
	assert_false(intake_security_lacks_tls(security));
	keep(security);
	begin();
	world.configs[1].certificate_count = 0;
	intake_tls_configure(world.tls, &world.configs[1]);
	security = intake_security_new(world.tls, &world.listen);
	assert_false(intake_security_lacks_tls(security));
	assert_null(intake_security_context(security));
	keep(security);
}

/* The only section gets another name: "keys" may hear of that first, or this process. */
static void there_is_a_context_at_any_time(void **state)
{
	(void)state;
	begin();
	tell_one("second");
	assert_non_null(context_now());
	intake_tls_configure(world.tls, &world.configs[1]);
	assert_non_null(context_now());
	assert_false(world.is_timed);
	intake_tls_configure(world.tls, &world.configs[0]);
	assert_non_null(context_now());
	tell_one("first");
	assert_non_null(context_now());
	assert_false(world.is_timed);
}

static void what_does_not_come_is_not_waited_for(void **state)
{
	(void)state;
	begin();
	tell(NULL, 0);
	assert_non_null(context_now());
	let_patience_end();
	assert_null(context_now());
	tell_one("first");
	assert_non_null(context_now());
}

/* A certificate that can never be used delays the others, no more. */
static void others_do_not_need_it(void **state)
{
	static const char *const both[] = {"first", "second"};

	(void)state;
	begin();
	world.configs[0].certificate_count = 2;
	intake_tls_configure(world.tls, &world.configs[0]);
	let_patience_end();
	assert_non_null(context_now());
	tell(both, COUNT_OF(both));
	assert_false(world.is_timed);
}

/* By a verified name that is listed, or by a fingerprint, verified or not; each place of a list
 * counts. */
static void who_may_relay_is_listed(void **state)
{
	static const char *const any[] = {"a.test", "*"};
	static const char *const names[] = {"a.test", "b.test"};
	static const char *const fingerprints[] = {"11", "22"};
	static const struct {
		const char *const *names;
		size_t name_count, fingerprint_count;
		bool is_asked, has_one, is_verified;
		const char *name, *fingerprint, *key;
		bool may_relay;
	} cases[] = {
		{names, 2, 0, true, true, true, "a.test", "x", "y", true},
		{names, 2, 0, true, true, true, "b.test", "x", "y", true},
		{names, 1, 0, true, true, true, "b.test", "x", "y", false},
		{names, 2, 0, true, true, true, "c.test", "x", "y", false},
		{names, 2, 0, true, true, true, "*", "x", "y", false},
		{names, 2, 0, true, true, false, "a.test", "x", "y", false},
		{names, 2, 0, false, true, true, "a.test", "x", "y", false},
		{any, 2, 0, true, true, true, "c.test", "x", "y", true},
		{any, 1, 0, true, true, true, "c.test", "x", "y", false},
		{any, 2, 0, true, true, false, "c.test", "x", "y", false},
		{names, 0, 2, true, true, false, "a.test", "11", "y", true},
		{names, 0, 2, true, true, false, "a.test", "22", "y", true},
		{names, 0, 2, true, true, false, "a.test", "x", "11", true},
		{names, 0, 2, true, true, false, "a.test", "x", "22", true},
		{names, 0, 1, true, true, false, "a.test", "x", "22", false},
		{names, 0, 2, true, true, true, "a.test", "x", "33", false},
		{names, 0, 2, true, false, false, "a.test", "11", "22", false},
		{names, 0, 2, false, true, false, "a.test", "11", "22", false},
		{names, 2, 2, true, true, true, "c.test", "x", "22", true},
		{names, 0, 0, true, true, true, "a.test", "11", "22", false},
	};

	(void)state;
	begin();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct config_listen listen = world.listen;
		struct intake_security *security;

		listen.client_certificates = cases[i].is_asked;
		listen.client_names = (const char **)cases[i].names;
		listen.client_name_count = cases[i].name_count;
		listen.client_fingerprints = (const char **)fingerprints;
		listen.client_fingerprint_count = cases[i].fingerprint_count;
		security = intake_security_new(world.tls, &listen);
		client.has_one = cases[i].has_one;
		client.is_verified = cases[i].is_verified;
		client.name = cases[i].name;
		client.fingerprint = cases[i].fingerprint;
		client.key = cases[i].key;
		if (intake_security_may_relay(security, NULL) != cases[i].may_relay)
			fail_msg("case %zu", i);
		keep(security);
	}
}

/* What a listener says of itself. */
static void a_listener_is_as_it_is_configured(void **state)
{
	static const enum config_clear_auth clear[] = {
		CONFIG_CLEAR_AUTH_NO, CONFIG_CLEAR_AUTH_LOCAL, CONFIG_CLEAR_AUTH_YES};
	struct in6_addr nobody = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(clear); i++) {
		const struct config_listen listen = {
			.tls = i == 1 ? CONFIG_LISTEN_TLS_IMPLICIT : CONFIG_LISTEN_TLS_STARTTLS,
			.client_authority = "",
			.auth_without_tls = clear[i],
			.auth_binding = i == 2,
			.protocol = i == 0 ? CONFIG_QMQP : CONFIG_SUBMISSION,
		};
		struct intake_security *security = intake_security_new(world.tls, &listen);
		struct intake_security *plain = intake_security_new(NULL, &listen);

		assert_int_equal(intake_security_allows_clear_auth(security, false), i == 2);
		assert_int_equal(intake_security_allows_clear_auth(security, true), i >= 1);
		assert_int_equal(intake_security_offers_binding(security), i == 2);
		assert_int_equal(intake_security_is_implicit(security), i == 1);
		assert_false(intake_security_is_implicit(plain));
		assert_int_equal(intake_security_trusts_all(security), i == 0);
		assert_string_equal(intake_security_protocol(security),
				    config_protocol_name(listen.protocol));
		assert_true(intake_security_admits(security, &nobody));
		keep(security);
		keep(plain);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_certificates_count_at_once),
		TEST(who_is_to_have_no_tls_lacks_none),
		TEST(there_is_a_context_at_any_time),
		TEST(what_does_not_come_is_not_waited_for),
		TEST(others_do_not_need_it),
		TEST(who_may_relay_is_listed),
		TEST(a_listener_is_as_it_is_configured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
