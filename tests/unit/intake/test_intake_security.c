// SPDX-License-Identifier: ISC
/* Which certificate sessions get while configuration and certificates change one after the other.
 * What "keys" says, and the timer, are this test's. */
#include "base/panic.h"
#include "intake/security/security.h"
#include "keys/client.h"
#include "os/loop.h"
#include "test.h"
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
	static void *kept[16];
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

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_certificates_count_at_once),
		TEST(who_is_to_have_no_tls_lacks_none),
		TEST(there_is_a_context_at_any_time),
		TEST(what_does_not_come_is_not_waited_for),
		TEST(others_do_not_need_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
