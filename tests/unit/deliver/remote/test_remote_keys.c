// SPDX-License-Identifier: ISC
/* Our certificates for servers, over sets that come and change, and who waits for the first; "keys"
 * and TLS are this test's. */
#include "chance.h"
#include "deliver/remote/keys/keys.h"
#include "heard.h"
#include "keys/client.h"
#include "keys/set.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4000, WAITERS = 6 };

struct tls_client_certificate {
	char chain[16];
};

static struct {
	void (*changed)(void *context);
	void *context;
	const struct keys_set *set;
	unsigned opened, freed, asked, cancelled;
} world;

/* --- keys/ --- */

struct keys *keys_new(struct os_loop *loop, const char *path, void (*changed)(void *context),
		      void *context)
{
	assert_ptr_equal(loop, &world);
	assert_string_equal(path, "keys");
	world.changed = changed;
	world.context = context;
	return (struct keys *)&world;
}

const struct keys_set *keys_set(const struct keys *keys)
{
	assert_ptr_equal(keys, &world);
	return world.set;
}

const struct tls_signer *keys_signer(const struct keys *keys)
{
	assert_ptr_equal(keys, &world);
	return (const struct tls_signer *)&world.set;
}

/* Of three names: "one" is as it should be, "bad" cannot be opened, others are in no set. */
struct str keys_set_find(const struct keys_text *texts, size_t count, struct str name)
{
	assert_ptr_equal(texts, world.set->certificates);
	assert_int_equal(count, world.set->certificate_count);
	if (str_equal(name, STR("one")))
		return count == 1 ? STR("first") : STR("second");
	return str_equal(name, STR("bad")) ? STR("nonsense") : STR("");
}

int tls_client_certificate_open(struct str chain, const struct tls_signer *signer,
				struct tls_client_certificate **certificate_out,
				struct buffer *reason)
{
	assert_ptr_equal(signer, &world.set);
	if (str_equal(chain, STR("nonsense"))) {
		buffer_append_string(reason, "no PEM");
		return -EINVAL;
	}
	*certificate_out = calloc(1, sizeof **certificate_out);
	assert_non_null(*certificate_out);
	memcpy((*certificate_out)->chain, chain.data, chain.length);
	world.opened++;
	return 0;
}

void tls_client_certificate_free(struct tls_client_certificate *certificate)
{
	if (certificate == NULL)
		return;
	world.freed++;
	free(certificate);
}

struct keys_passwords *keys_passwords_new(struct os_loop *loop, const char *path)
{
	assert_ptr_equal(loop, &world);
	assert_string_equal(path, "keys");
	return (struct keys_passwords *)&world.asked;
}

void keys_passwords_ask(struct keys_passwords *passwords, struct keys_password_question *question)
{
	assert_ptr_equal(passwords, &world.asked);
	assert_ptr_equal(question, &world.opened);
	world.asked++;
}

void keys_password_cancel(struct keys_password_question *question)
{
	assert_ptr_equal(question, &world.opened);
	world.cancelled++;
}

/* --- what sessions see --- */

static void expect_certificate(struct remote_certificates *certificates, const char *name,
			       const char *chain)
{
	const struct tls_client_certificate *found = (const struct tls_client_certificate *)&world;

	assert_true(certificates->find(certificates, name, &found));
	if (chain == NULL)
		assert_null(found);
	else
		assert_string_equal(found->chain, chain);
}

/* Each is opened once for a set, and what is wrong with it is logged once. */
static void certificates_are_those_of_the_set(void **state)
{
	static struct keys_set sets[2];
	const struct tls_client_certificate *found = (const struct tls_client_certificate *)&world;
	struct remote_certificates *certificates;

	(void)state;
	memset(&world, 0, sizeof world);
	(void)heard_take();
	sets[0].certificate_count = 1;
	sets[1].certificate_count = 2;
	certificates = remote_keys_new((struct os_loop *)&world, "keys");
	assert_false(certificates->find(certificates, "one", &found));
	assert_ptr_equal(found, &world);
	for (unsigned round = 0; round < 4; round++) {
		world.set = &sets[round % 2];
		world.changed(world.context);
		assert_int_equal(world.opened, world.freed);
		for (unsigned i = 0; i < 3; i++) {
			expect_certificate(certificates, "one",
					   round % 2 == 0 ? "first" : "second");
			expect_certificate(certificates, "bad", NULL);
			expect_certificate(certificates, "none", NULL);
			assert_string_equal(
				heard_take(),
				i > 0 ? ""
				      : "certificate_error certificate=bad text=no PEM\n"
					"certificate_error certificate=none text=it cannot be used "
					"now\n");
		}
		assert_int_equal(world.opened, round + 1);
		assert_int_equal(world.freed, round);
	}
	world.set = NULL; /* so all are freed */
	world.changed(world.context);
	assert_int_equal(world.freed, 4);
	free(certificates); /* the first of what was allocated */
}

/* --- who waits --- */

static struct remote_certificates_waiter waiters[WAITERS];
static bool is_waiting[WAITERS];
static unsigned since[WAITERS], arrivals, told;
static struct remote_certificates plain;

/* In the order in which they came; one may wait again, or give up for another. */
static void on_known(void *context)
{
	size_t i = (size_t)((struct remote_certificates_waiter *)context - waiters);

	assert_true(is_waiting[i]);
	for (size_t j = 0; j < WAITERS; j++)
		assert_true(!is_waiting[j] || since[j] >= since[i]);
	is_waiting[i] = false;
	assert_null(waiters[i].certificates);
	told++;
	if (chance(3) == 0) {
		size_t other = chance(WAITERS);

		remote_certificates_give_up(&waiters[other]);
		is_waiting[other] = false;
	}
}

static void all_who_wait_are_told_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAITERS; i++)
		waiters[i] = (struct remote_certificates_waiter){.ready = on_known,
								 .context = &waiters[i]};
	for (unsigned step = 0; step < STEPS; step++) {
		size_t i = chance(WAITERS);

		if (chance(2) == 0) {
			remote_certificates_wait(&plain, &waiters[i]);
			since[i] = is_waiting[i] ? since[i] : ++arrivals;
			is_waiting[i] = true;
		} else if (chance(2) == 0) {
			remote_certificates_give_up(&waiters[i]);
			is_waiting[i] = false;
		} else if (chance(4) == 0) {
			remote_certificates_tell(&plain);
			for (size_t j = 0; j < WAITERS; j++)
				assert_false(is_waiting[j]);
			assert_null(plain.waiters);
		}
		assert_int_equal(waiters[i].certificates != NULL, is_waiting[i]);
	}
	assert_true(told > 100);
}

static void passwords_are_asked_for(void **state)
{
	struct remote_logins *logins = remote_keys_logins((struct os_loop *)&world, "keys");

	(void)state;
	logins->ask(logins, (struct keys_password_question *)&world.opened);
	assert_true(world.asked == 1 && world.cancelled == 0);
	logins->cancel((struct keys_password_question *)&world.opened);
	assert_true(world.asked == 1 && world.cancelled == 1);
	free(logins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificates_are_those_of_the_set),
		cmocka_unit_test(all_who_wait_are_told_once),
		cmocka_unit_test(passwords_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
