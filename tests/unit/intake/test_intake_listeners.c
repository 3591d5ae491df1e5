// SPDX-License-Identifier: ISC
/* With what the contexts of listeners are opened, and which listeners share one: listeners of all
 * settings that differ, against a plain description of what each is to have. */
#include "base/panic.h"
#include "intake/security/security.h"
#include "keys/client.h"
#include "tls/identity.h"
#include "unit/log_lines.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPENED_MAX = 64 };

static struct {
	struct keys_set set;
	bool has_set;
	bool is_refused; /* no context can be opened */
	void (*changed)(void *context);
	void *changed_context;
	struct buffer opened; /* lines: with what the last ones were opened */
	char contexts[OPENED_MAX];
	size_t opened_count, freed_count;
	unsigned told;
	struct config_certificate sections[3];
	struct config config;
	struct intake_tls *tls;
} world;

static const struct tls_signer signer;

/* --- what stands beside it --- */

struct keys *keys_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
		      void *context)
{
	assert_ptr_equal(loop, &world);
	assert_string_equal(path, "socket");
	world.changed = changed;
	world.changed_context = context;
	return (struct keys *)(void *)&world;
}

const struct keys_set *keys_set(const struct keys *keys)
{
	assert_ptr_equal(keys, &world);
	return world.has_set ? &world.set : NULL;
}

const struct tls_signer *keys_signer(const struct keys *keys)
{
	assert_ptr_equal(keys, &world);
	return &signer;
}

struct os_timer *__wrap_os_timer_new(struct os_loop *loop, void (*call)(void *context),
				     void *context);
struct os_timer *__wrap_os_timer_new(struct os_loop *loop, void (*call)(void *context),
				     void *context)
{
	(void)loop, (void)call, (void)context;
	return NULL;
}

void __wrap_os_timer_stop(struct os_timer *timer);
void __wrap_os_timer_stop(struct os_timer *timer)
{
	(void)timer;
}

int __wrap_tls_identity_open(const struct tls_identity_settings *settings,
			     struct tls_context **context_out, struct buffer *reason);
int __wrap_tls_identity_open(const struct tls_identity_settings *settings,
			     struct tls_context **context_out, struct buffer *reason)
{
	assert_ptr_equal(settings->signer, &signer);
	assert_ptr_equal(settings->ticket_keys, world.set.tickets);
	assert_int_equal(settings->ticket_key_count, world.set.ticket_count);
	for (size_t i = 0; i < settings->certificate_count; i++) {
		const struct tls_certificate *one = &settings->certificates[i];

		buffer_append_str(&world.opened, one->chain);
		for (size_t j = 0; j < one->name_count; j++)
			buffer_append_format(&world.opened, "/%s", one->names[j]);
		buffer_append_byte(&world.opened, ' ');
	}
	buffer_append_format(&world.opened, "asks=%d authorities=", settings->asks_clients);
	buffer_append_str(&world.opened, settings->client_authorities);
	buffer_append_format(&world.opened, " 1.3=%d ciphers=%s\n", settings->strength.is_1_3,
			     settings->strength.ciphers != NULL ? settings->strength.ciphers : "-");
	if (world.is_refused) {
		buffer_append_string(reason, "no such key");
		return -EINVAL;
	}
	assert_in_range(world.opened_count, 0, OPENED_MAX - 1);
	*context_out = (struct tls_context *)(void *)&world.contexts[world.opened_count++];
	return 0;
}

void __wrap_tls_context_free(struct tls_context *context);
void __wrap_tls_context_free(struct tls_context *context)
{
	world.freed_count += context != NULL;
}

static void on_changed(void *context)
{
	assert_ptr_equal(context, &world);
	world.told++;
}

/* --- the scene --- */

/* A process never frees these. */
static void *keep(void *made)
{
	static void *kept[256];
	static size_t count;

	assert_in_range(count, 0, COUNT_OF(kept) - 1);
	return kept[count++] = made;
}

static void say(size_t certificate_count)
{
	static const char *const names[] = {"third", "first", "other", "second"};
	static const char *const chains[] = {"THIRD", "FIRST", "OTHER", "SECOND"};

	for (size_t i = 0; i < certificate_count; i++)
		world.set.certificates[i] =
			(struct keys_text){str_from(names[i]), str_from(chains[i])};
	world.set.certificate_count = certificate_count;
	world.has_set = true;
	buffer_reset(&world.opened);
	world.changed(world.changed_context);
}

static int set_up(void **state)
{
	static const char *hosts[] = {"a.example", "*.example"};

	(void)state;
	memset(&world, 0, sizeof world);
	world.sections[0].name = "first";
	world.sections[0].names = hosts;
	world.sections[0].name_count = 2;
	world.sections[1].name = "second";
	world.sections[2].name = "third";
	world.sections[2].names = hosts + 1;
	world.sections[2].name_count = 1;
	world.config.certificates = world.sections;
	world.config.certificate_count = COUNT_OF(world.sections);
	world.set.authorities[0] = (struct keys_text){STR("one.pem"), STR("ONE")};
	world.set.authorities[1] = (struct keys_text){STR("two.pem"), STR("TWO")};
	world.set.authority_count = 2;
	world.set.ticket_count = 2;
	world.tls = keep(intake_tls_new((struct os_loop *)(void *)&world, "socket", &world.config,
					on_changed, &world));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buffer_clear(&world.opened);
	buffer_clear(&log_lines);
	return 0;
}

static void check_opened(const char *expected)
{
	buffer_append_byte(&world.opened, '\0');
	assert_string_equal(buffer_data(&world.opened), expected);
	buffer_reset(&world.opened);
}

/* --- tests --- */

/* Listeners of all settings, twice: the second ones open nothing. */
static void listeners_with_the_same_share_a_context(void **state)
{
	static const char *ciphers[] = {"AES", "CHACHA", "CAMELLIA"};
	static const char *const authorities[] = {"", "one.pem", "two.pem"};
	static const enum config_protocol protocols[] = {CONFIG_SMTP, CONFIG_SUBMISSION};
	struct {
		char text[200];
		const struct tls_context *context;
	} known[OPENED_MAX];
	size_t known_count = 0;
	unsigned shared = 0;

	(void)state;
	say(4);
	assert_int_equal(world.told, 1);
	for (unsigned i = 0; i < 2 * 3 * 3 * 2 * 2 * 2; i++) {
		unsigned own = i % 3, all = i / 3 % 2, protocol = i / 6 % 2;
		unsigned is_1_3 = i / 12 % 2, authority = i / 24 % 3, asks = i / 72 % 2;
		struct config_listen listen = {.protocol = protocols[protocol],
					       .tls = CONFIG_LISTEN_TLS_STARTTLS,
					       .client_authority = authorities[authority],
					       .client_certificates = asks > 0};
		const char *named = own == 1 ? "AES" : own == 2 ? "AES:CHACHA" : "-";
		struct intake_security *security;
		char text[200];
		size_t at = 0;

		listen.strength.ciphers = ciphers;
		listen.strength.cipher_count = own;
		listen.strength.min_version = is_1_3 > 0 ? CONFIG_TLS_1_3 : CONFIG_TLS_1_2;
		world.config.strength.ciphers = ciphers + 2;
		world.config.strength.cipher_count = all;
		if (own == 0 && all > 0)
			named = "CAMELLIA";
		else if (own == 0 && protocols[protocol] == CONFIG_SMTP)
			named = TLS_CIPHERS_WIDE;
		snprintf(text, sizeof text,
			 "FIRST/a.example/*.example SECOND THIRD/*.example "
			 "asks=%u authorities=%s 1.3=%u ciphers=%s\n",
			 asks,
			 authority == 1   ? "ONE"
			 : authority == 2 ? "TWO"
					  : "",
			 is_1_3, named);
		security = keep(intake_security_new(world.tls, &listen));
		while (at < known_count && strcmp(known[at].text, text) != 0)
			at++;
		if (at < known_count) {
			check_opened("");
			shared++;
		} else {
			assert_in_range(known_count, 0, OPENED_MAX - 1);
			check_opened(text);
			memcpy(known[at].text, text, sizeof text);
			known[known_count++].context = intake_security_context(security);
			assert_ptr_equal(known[at].context, &world.contexts[at]);
		}
		assert_ptr_equal(intake_security_context(security), known[at].context);
		assert_false(intake_security_lacks_tls(security));
		assert_false(intake_security_is_implicit(security));
		assert_string_equal(intake_security_protocol(security),
				    protocol == 0 ? "smtp" : "submission");
	}
	/* the three lists of ciphers of any protocol, that of smtp and none */
	assert_int_equal(known_count, 5 * 2 * 3 * 2);
	assert_int_equal(shared, 2 * 3 * 3 * 2 * 2 * 2 - known_count);
	assert_int_equal(world.freed_count, 0);
}

/* Of each listener; one that cannot be opened leaves the former one in force, and says why. */
static void new_certificates_are_opened_or_logged(void **state)
{
	struct config_listen listens[] = {
		{.tls = CONFIG_LISTEN_TLS_IMPLICIT, .protocol = CONFIG_SUBMISSION},
		{.tls = CONFIG_LISTEN_TLS_STARTTLS, .protocol = CONFIG_SUBMISSION},
	};
	struct intake_security *securities[COUNT_OF(listens)];
	const struct tls_context *former[COUNT_OF(listens)];

	(void)state;
	listens[0].client_authority = "";
	listens[1].client_authority = "two.pem";
	for (size_t i = 0; i < COUNT_OF(listens); i++) {
		securities[i] = keep(intake_security_new(world.tls, &listens[i]));
		assert_null(intake_security_context(securities[i]));
		assert_true(intake_security_lacks_tls(securities[i]));
	}
	check_opened(""); /* nobody has said anything */
	assert_true(intake_security_is_implicit(securities[0]));
	say(4);
	check_opened("FIRST/a.example/*.example SECOND THIRD/*.example asks=0 authorities=TWO "
		     "1.3=0 ciphers=-\n"
		     "FIRST/a.example/*.example SECOND THIRD/*.example asks=0 authorities= "
		     "1.3=0 ciphers=-\n");
	assert_int_equal(world.freed_count, 0);
	for (size_t i = 0; i < COUNT_OF(listens); i++) {
		former[i] = intake_security_context(securities[i]);
		assert_ptr_equal(former[i], &world.contexts[1 - i]);
	}
	assert_int_equal(log_lines.length, 0);
	world.is_refused = true;
	say(4);
	check_log("CERTIFICATE_ERROR text=no such key\n"
		  "CERTIFICATE_ERROR text=no such key\n");
	assert_int_equal(world.freed_count, 0);
	for (size_t i = 0; i < COUNT_OF(listens); i++)
		assert_ptr_equal(intake_security_context(securities[i]), former[i]);
	world.is_refused = false;
	say(4);
	assert_int_equal(world.freed_count, 2);
	for (size_t i = 0; i < COUNT_OF(listens); i++)
		assert_ptr_equal(intake_security_context(securities[i]), &world.contexts[3 - i]);
	assert_int_equal(world.told, 3);
}

/* As many as there may be, and one more in the configuration, which would have been refused. */
static void as_many_certificates_as_there_may_be(void **state)
{
	static struct config_certificate sections[TLS_CERTIFICATES_MAX + 1];
	struct config_listen listen = {.tls = CONFIG_LISTEN_TLS_STARTTLS,
				       .protocol = CONFIG_SUBMISSION};
	size_t count = 0;

	(void)state;
	listen.client_authority = "";
	for (size_t i = 0; i < COUNT_OF(sections); i++)
		sections[i].name = "first";
	world.config.certificates = sections;
	world.config.certificate_count = COUNT_OF(sections);
	keep(intake_security_new(world.tls, &listen));
	say(2);
	for (struct str left = buffer_view(&world.opened), one; str_split(&left, ' ', &one);)
		count += str_equal(one, STR("FIRST"));
	assert_int_equal(count, TLS_CERTIFICATES_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(listeners_with_the_same_share_a_context),
		TEST(new_certificates_are_opened_or_logged),
		TEST(as_many_certificates_as_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
