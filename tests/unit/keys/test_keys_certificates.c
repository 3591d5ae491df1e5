// SPDX-License-Identifier: ISC
/* Certificates with their keys, and authorities, as the store has them: what cannot be used and
 * why, and all that others are told of the rest. */
#include "keys/certificate.h"
#include "keys/store.h"
#include "scratch.h"
#include "test.h"
#include "tls/identity.h"
#include "unit/tls/tls_scene.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = SCRATCH_SIZE + 32, SETTINGS = 4 };

static char folder[SCRATCH_SIZE];
static char paths[8][PATH_SIZE];
static size_t path_count;
static struct {
	struct buffer certificates[2], keys[2];
} world;

static const char *path_of(const char *name)
{
	char *path = paths[path_count++ % COUNT_OF(paths)];

	snprintf(path, PATH_SIZE, "%s/%s", folder, name);
	return path;
}

/* Its path; the file has A and B. */
static const char *write_pair(const char *name, struct str a, struct str b)
{
	const char *path = path_of(name);
	FILE *file;

	(void)unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(a.data, 1, a.length, file), a.length);
	assert_int_equal(fwrite(b.data, 1, b.length, file), b.length);
	assert_int_equal(fclose(file), 0);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(folder), 0);
	for (size_t i = 0; i < 2; i++) {
		EVP_PKEY *key = tls_scene_key("P-256", 0);
		X509 *certificate = tls_scene_certificate(&(struct tls_scene_certificate){
			.name = i == 0 ? "a.test" : "b.test", .is_authority = true, .key = key});

		tls_scene_write(certificate, &world.certificates[i]);
		tls_scene_write_key(key, &world.keys[i]);
		X509_free(certificate);
		EVP_PKEY_free(key);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		buffer_clear(&world.certificates[i]);
		buffer_clear(&world.keys[i]);
	}
	return scratch_remove(folder);
}

/* --- one certificate --- */

static void check_read(const struct config_certificate *wanted, int expected, const char *file,
		       const char *reason)
{
	static const struct keys_certificate empty;
	struct keys_certificate certificate = {0};
	struct buffer found CLEANUP(buffer_clear) = {0};
	const char *named;
	int error = keys_certificate_read(wanted, &certificate, &named, &found);

	if (error != expected)
		fail_msg("%d: " STR_FORMAT, error, STR_ARGUMENTS(buffer_view(&found)));
	assert_string_equal(named, file);
	if (reason != NULL && *reason != '\0')
		assert_non_null(memmem(buffer_data(&found), found.length, reason, strlen(reason)));
	else
		assert_int_equal(found.length > 0, reason == NULL);
	assert_true(error < 0 || (certificate.key != NULL && certificate.ends_us > 0));
	keys_certificate_clear(&certificate);
	assert_memory_equal(&certificate, &empty, sizeof empty);
}

static void a_pair_fits_or_does_not(void **state)
{
	const char *chain = write_pair("chain", buffer_view(&world.certificates[0]), STR(""));
	const char *key = write_pair("key", buffer_view(&world.keys[0]), STR(""));
	const char *other = write_pair("other", buffer_view(&world.keys[1]), STR(""));
	const char *both = write_pair("both", buffer_view(&world.certificates[0]),
				      buffer_view(&world.keys[0]));
	const char *none = path_of("none");
	const struct {
		const char *chain, *key, *file, *reason;
		int error;
	} rows[] = {
		{chain, key, chain, "", 0},
		{both, "", both, "", 0},
		{both, key, both, "", 0},
		{chain, other, chain, "the private key does not match the certificate", -EINVAL},
		{none, key, none, strerror(ENOENT), -ENOENT},
		{chain, none, none, strerror(ENOENT), -ENOENT},
		{chain, "", chain, NULL, -EINVAL},
		{key, key, key, NULL, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check_read(&(struct config_certificate){.chain = rows[i].chain, .key = rows[i].key},
			   rows[i].error, rows[i].file, rows[i].reason);
}

/* Bytes of the certificates alone, each with a line's end. */
static void chains_have_a_largest_size(void **state)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	static const char end[] = "-----END CERTIFICATE-----\n";
	char reason[60];

	(void)state;
	snprintf(reason, sizeof reason, "more than %d bytes of certificates", TLS_CHAIN_SIZE_MAX);
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		struct buffer filler CLEANUP(buffer_clear) = {0};
		size_t length = TLS_CHAIN_SIZE_MAX + beyond - world.certificates[0].length;
		const char *chain, *key;

		buffer_append_string(&filler, begin);
		while (filler.length + strlen(end) < length)
			buffer_append_byte(&filler, 'A');
		buffer_append_string(&filler, end);
		chain = write_pair("chain", buffer_view(&world.certificates[0]),
				   buffer_view(&filler));
		key = write_pair("key", buffer_view(&world.keys[0]), STR(""));
		/* what fills it is passed over when the chain is read */
		check_read(&(struct config_certificate){.chain = chain, .key = key},
			   beyond > 0 ? -EFBIG : 0, chain, beyond > 0 ? reason : "");
	}
}

/* --- the store --- */

static struct {
	struct config config;
	struct config_certificate sections[2];
	struct config_listen listens[SETTINGS];
	struct keys_store *store;
} shop;

static void open_store(void)
{
	memset(&shop, 0, sizeof shop);
	shop.store = keys_store_new();
	shop.config.certificates = shop.sections;
	shop.config.listens = shop.listens;
	shop.config.listen_count = SETTINGS;
	for (size_t i = 0; i < SETTINGS; i++)
		shop.listens[i].client_authority = "";
}

/* What others are told; to be freed, and its text in PACKED. */
static struct keys_set *told(struct buffer *whole)
{
	struct keys_set *set = calloc(1, sizeof *set);
	struct keys_packed packed = {0};

	assert_non_null(set);
	keys_store_pack(shop.store, &packed);
	buffer_reset(whole);
	buffer_append_str(whole, buffer_view(&packed.texts));
	buffer_append_str(whole, buffer_view(&packed.no_tickets));
	assert_true(keys_set_unpack(buffer_view(whole), set));
	assert_int_equal(set->ticket_count, 0);
	keys_packed_clear(&packed);
	return set;
}

static void all_that_can_be_used_is_told(void **state)
{
	struct buffer whole = {0};
	struct keys_set *set;

	(void)state;
	open_store();
	shop.sections[0] = (struct config_certificate){
		.name = "one",
		.chain = write_pair("one", buffer_view(&world.certificates[0]),
				    buffer_view(&world.keys[0])),
		.key = ""};
	shop.sections[1] =
		(struct config_certificate){.name = "two", .chain = path_of("two"), .key = ""};
	shop.config.certificate_count = 2;
	assert_true(keys_store_refresh(shop.store, &shop.config));
	set = told(&whole);
	assert_int_equal(set->certificate_count, 1);
	assert_true(str_equal(set->certificates[0].name, STR("one")));
	assert_true(str_equal(set->certificates[0].pem, buffer_view(&world.certificates[0])));
	free(set);
	(void)write_pair("two", buffer_view(&world.certificates[1]), buffer_view(&world.keys[1]));
	assert_true(keys_store_refresh(shop.store, &shop.config));
	set = told(&whole);
	assert_int_equal(set->certificate_count, 2);
	assert_true(str_equal(set->certificates[1].name, STR("two")));
	assert_true(str_equal(set->certificates[1].pem, buffer_view(&world.certificates[1])));
	free(set);
	assert_false(keys_store_refresh(shop.store, &shop.config));
	/* another order is another set, and the first that can be used is the first */
	shop.sections[1].name = "one";
	shop.sections[0].name = "two";
	assert_true(keys_store_refresh(shop.store, &shop.config));
	shop.config.certificate_count = 1;
	assert_true(keys_store_refresh(shop.store, &shop.config));
	assert_false(keys_store_refresh(shop.store, &shop.config));
	set = told(&whole);
	assert_int_equal(set->certificate_count, 1);
	free(set);
	buffer_clear(&whole);
	keys_store_free(shop.store);
	keys_store_free(NULL);
}

static void all_problems_are_named(void **state)
{
	struct buffer problems = {0}, expected = {0};
	const char *first = path_of("first"), *second = path_of("second");

	(void)state;
	open_store();
	shop.sections[0] = (struct config_certificate){.name = "a", .chain = first, .key = ""};
	shop.sections[1] = (struct config_certificate){.name = "b", .chain = second, .key = ""};
	shop.config.certificate_count = 2;
	(void)keys_store_refresh(shop.store, &shop.config);
	keys_store_append_problems(shop.store, &problems);
	buffer_append_format(&expected, "certificate a: %s: %s; certificate b: %s: %s", first,
			     strerror(ENOENT), second, strerror(ENOENT));
	assert_true(str_equal(buffer_view(&problems), buffer_view(&expected)));
	(void)write_pair("first", buffer_view(&world.certificates[0]), buffer_view(&world.keys[0]));
	(void)keys_store_refresh(shop.store, &shop.config);
	buffer_clear(&problems);
	buffer_clear(&expected);
	keys_store_append_problems(shop.store, &problems);
	buffer_append_format(&expected, "certificate b: %s: %s", second, strerror(ENOENT));
	assert_true(str_equal(buffer_view(&problems), buffer_view(&expected)));
	buffer_clear(&problems);
	buffer_clear(&expected);
	keys_store_free(shop.store);
}

/* Each file once, whoever names it, as long as somebody does. */
static void authorities_are_told_once(void **state)
{
	const char *a = write_pair("a", buffer_view(&world.certificates[0]), STR(""));
	const char *b = write_pair("b", buffer_view(&world.certificates[1]), STR("more"));
	const char *c = path_of("c");
	const char *const settings[][SETTINGS] = {{"", a, "", b}, {a, a, "", b},    {b, a, a, b},
						  {b, c, b, c},   {"", "", "", ""}, {"", a, "", b}};
	/* in another order they are the same, by their names */
	static const bool changes[] = {true, false, false, true, true, true};
	struct buffer whole = {0};

	(void)state;
	open_store();
	assert_true(keys_store_refresh(shop.store, &shop.config)); /* the first ticket */
	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		struct keys_set *set;
		size_t count = 0;

		for (size_t k = 0; k < SETTINGS; k++)
			shop.listens[k].client_authority = settings[i][k];
		if (keys_store_refresh(shop.store, &shop.config) != changes[i])
			fail_msg("settings %zu", i);
		assert_false(keys_store_refresh(shop.store, &shop.config));
		set = told(&whole);
		for (size_t k = 0; k < SETTINGS; k++) {
			bool is_first = *settings[i][k] != '\0' && settings[i][k] != c;

			for (size_t before = 0; before < k; before++)
				is_first &= settings[i][before] != settings[i][k];
			if (!is_first)
				continue;
			assert_true(
				str_equal(set->authorities[count].name, str_from(settings[i][k])));
			assert_true(str_equal(
				set->authorities[count++].pem,
				buffer_view(&world.certificates[settings[i][k] == a ? 0 : 1])));
		}
		assert_int_equal(set->authority_count, count);
		free(set);
	}
	buffer_clear(&whole);
	keys_store_free(shop.store);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_pair_fits_or_does_not),      CASE(chains_have_a_largest_size),
		CASE(all_that_can_be_used_is_told), CASE(all_problems_are_named),
		CASE(authorities_are_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
