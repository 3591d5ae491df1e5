// SPDX-License-Identifier: ISC
/* Which private keys "keys" has as files and configuration change, and how much it tells others.
 * The clock is this test's. */
#include "base/timestamp.h"
#include "keys/read.h"
#include "keys/retired.h"
#include "keys/store.h"
#include "os/clock.h"
#include "scratch.h"
#include "test.h"
#include "unit/tls/tls_scene.h"
#include <errno.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = SCRATCH_SIZE + 32 };

static struct {
	char folder[SCRATCH_SIZE];
	int64_t now_us;
	struct keys_store *store;
	struct config_certificate sections[2];
	struct config_listen listens[20];
	struct config config;
	unsigned open_fails; /* the how manieth from now on; 0: none */
} world;

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return world.now_us;
}

int __real_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	if (world.open_fails > 0 && --world.open_fails == 0)
		return -EIO;
	return __real_os_file_open(directory, path, flags);
}

static const char *path_of(const char *name)
{
	static char paths[32][PATH_SIZE];
	static unsigned next;
	char *path = paths[next++ % COUNT_OF(paths)];

	snprintf(path, PATH_SIZE, "%s/%s", world.folder, name);
	return path;
}

/* As those who renew one do: the new file is whole when it gets the name. */
static void write_file(const char *name, struct str text)
{
	char fresh[PATH_SIZE];
	FILE *file;

	snprintf(fresh, sizeof fresh, "%s/fresh", world.folder);
	file = fopen(fresh, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, path_of(name)), 0);
}

struct id {
	uint8_t bytes[TLS_KEY_ID_SIZE];
};

/* A certificate with a new key in the file NAME. */
static struct id make(const char *name)
{
	EVP_PKEY *key = tls_scene_key("P-256", 0);
	X509 *certificate = tls_scene_certificate(
		&(struct tls_scene_certificate){.name = "mx.example.org", .key = key});
	struct buffer text = {0};
	struct buffer reason = {0};
	struct id id;

	tls_scene_write(certificate, &text);
	assert_int_equal(tls_identity_key(buffer_view(&text), id.bytes, &reason), 0);
	tls_scene_write_key(key, &text);
	write_file(name, buffer_view(&text));
	buffer_clear(&text);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return id;
}

static bool has(const struct id *id)
{
	return keys_store_find(world.store, id->bytes) != NULL;
}

static bool refresh(void)
{
	return keys_store_refresh(world.store, &world.config);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	world.now_us = HOUR_US;
	assert_int_equal(scratch_make(world.folder), 0);
	world.store = keys_store_new();
	world.config.certificates = world.sections;
	world.config.listens = world.listens;
	world.sections[0] = (struct config_certificate){
		.name = "main", .chain = path_of("main.pem"), .key = ""};
	world.sections[1] = (struct config_certificate){
		.name = "other", .chain = path_of("other.pem"), .key = ""};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	keys_store_free(world.store);
	return scratch_remove(world.folder);
}

/* --- keys of before --- */

static void a_replaced_key_signs_for_a_minute(void **state)
{
	struct id old = make("main.pem");
	struct id new;

	(void)state;
	world.config.certificate_count = 1;
	assert_true(refresh());
	assert_true(has(&old));
	new = make("main.pem");
	assert_true(refresh());
	assert_true(has(&new) && has(&old));
	world.now_us += KEYS_RETIRED_US - 1;
	assert_false(refresh());
	assert_true(has(&old));
	world.now_us += 1;
	assert_false(refresh());
	assert_true(has(&new) && !has(&old));
}

static void so_does_one_that_the_configuration_has_no_more(void **state)
{
	struct id main = make("main.pem");
	struct id other = make("other.pem");

	(void)state;
	world.config.certificate_count = 2;
	assert_true(refresh());
	world.config.certificate_count = 1;
	assert_true(refresh());
	assert_true(has(&main) && has(&other));
	world.now_us += KEYS_RETIRED_US;
	(void)refresh();
	assert_true(has(&main) && !has(&other));
}

static void keys_of_before_are_bounded(void **state)
{
	struct id ids[KEYS_RETIRED_MAX + 2];

	(void)state;
	world.config.certificate_count = 1;
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		ids[i] = make("main.pem");
		assert_true(refresh());
	}
	assert_false(has(&ids[0]));
	for (size_t i = 1; i < COUNT_OF(ids); i++)
		assert_true(has(&ids[i]));
}

static void what_cannot_be_used_replaces_nothing(void **state)
{
	struct id old = make("main.pem");

	(void)state;
	world.config.certificate_count = 1;
	assert_true(refresh());
	write_file("main.pem", STR("nothing"));
	assert_false(refresh());
	world.now_us += 2 * KEYS_RETIRED_US;
	assert_false(refresh());
	assert_true(has(&old));
}

/* The files are looked at, and then read. */
static void what_the_disk_refuses_once_is_read_again(void **state)
{
	struct id id = make("main.pem");

	(void)state;
	world.config.certificate_count = 1;
	for (unsigned open = 3; open <= 4; open++) {
		keys_store_free(world.store);
		world.store = keys_store_new();
		world.open_fails = open;
		(void)refresh();
		assert_false(has(&id));
		assert_true(keys_store_is_unsure(world.store));
		assert_true(refresh());
		assert_true(has(&id));
		assert_false(keys_store_is_unsure(world.store));
	}
}

static void what_the_file_says_is_not(void **state)
{
	(void)state;
	world.config.certificate_count = 1;
	write_file("main.pem", STR("nothing"));
	(void)refresh();
	assert_false(keys_store_is_unsure(world.store));
}

/* --- authorities --- */

/* About a megabyte of large certificates, or with COUNT fewer. */
static struct buffer make_authorities(size_t count)
{
	EVP_PKEY *key = tls_scene_key("P-256", 0);
	struct buffer names = {0};
	struct buffer text = {0};
	X509 *certificate;

	for (unsigned i = 0; i < 800; i++)
		buffer_append_format(&names, "%sDNS:host%04u.authority.example", i > 0 ? "," : "",
				     i);
	buffer_append_byte(&names, '\0');
	certificate =
		tls_scene_certificate(&(struct tls_scene_certificate){.name = "authority",
								      .names = buffer_data(&names),
								      .is_authority = true,
								      .key = key});
	for (size_t i = 0; i < count; i++)
		tls_scene_write(certificate, &text);
	buffer_clear(&names);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return text;
}

/* What those who accept sessions are told; to be freed. */
static struct keys_set *told(void)
{
	struct keys_set *set = calloc(1, sizeof *set);
	struct keys_packed packed = {0};
	struct buffer whole = {0};

	assert_non_null(set);
	keys_store_pack(world.store, &packed);
	buffer_append_str(&whole, buffer_view(&packed.texts));
	buffer_append_str(&whole, buffer_view(&packed.tickets));
	assert_true(whole.length <= KEYS_SET_SIZE_MAX);
	assert_true(keys_set_unpack(buffer_view(&whole), set));
	buffer_clear(&whole);
	keys_packed_clear(&packed);
	return set;
}

static size_t told_authorities(void)
{
	struct keys_set *set = told();
	size_t count = set->authority_count;

	free(set);
	return count;
}

/* Others can take all of them, though each file may be large. */
static void all_authorities_together_are_bounded(void **state)
{
	struct buffer text = make_authorities(30);
	char paths[COUNT_OF(world.listens)][PATH_SIZE];
	size_t fitting = KEYS_AUTHORITIES_SIZE_MAX / text.length;

	(void)state;
	assert_in_range(text.length, 800000, KEYS_AUTHORITY_SIZE_MAX);
	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		snprintf(paths[i], PATH_SIZE, "%s/%zu.pem", world.folder, i);
		write_file(strrchr(paths[i], '/') + 1, buffer_view(&text));
		world.listens[i].client_authority = paths[i];
	}
	world.config.listen_count = COUNT_OF(paths);
	assert_true(refresh());
	assert_int_equal(told_authorities(), fitting);
	assert_in_range(fitting, 15, COUNT_OF(paths) - 1);
	assert_false(refresh()); /* and what is too much is not read again and again */
	/* a reload that makes room */
	memmove(&world.listens[0], &world.listens[10], 10 * sizeof world.listens[0]);
	world.config.listen_count = 10;
	assert_true(refresh());
	assert_int_equal(told_authorities(), 10);
	buffer_clear(&text);
}

static void they_are_read_again_too(void **state)
{
	struct buffer one = make_authorities(1);
	struct buffer two = make_authorities(2);

	(void)state;
	write_file("a.pem", buffer_view(&one));
	world.config.listens[0].client_authority = path_of("a.pem");
	world.config.listen_count = 1;
	assert_true(refresh());
	write_file("a.pem", buffer_view(&two));
	world.open_fails = 2;
	assert_false(refresh());
	assert_true(keys_store_is_unsure(world.store));
	assert_true(refresh());
	assert_false(keys_store_is_unsure(world.store));
	buffer_clear(&one);
	buffer_clear(&two);
}

/* One that there was no room for is taken as soon as another one needs less, wherever it is in the
 * configuration. */
static void a_file_that_shrinks_makes_room(void **state)
{
	struct buffer text = make_authorities(30);
	struct buffer small = make_authorities(1);
	char paths[COUNT_OF(world.listens)][PATH_SIZE];
	size_t fitting = KEYS_AUTHORITIES_SIZE_MAX / text.length;

	(void)state;
	assert_in_range(fitting, 2, COUNT_OF(paths) - 1);
	for (size_t i = 0; i <= fitting; i++) {
		snprintf(paths[i], PATH_SIZE, "%s/%zu.pem", world.folder, i);
		if (i > 0)
			write_file(strrchr(paths[i], '/') + 1, buffer_view(&text));
		world.listens[i].client_authority = paths[i];
	}
	world.config.listen_count = fitting + 1;
	assert_true(refresh());
	write_file("0.pem", buffer_view(&text)); /* the first comes last */
	(void)refresh();
	assert_int_equal(told_authorities(), fitting);
	snprintf(paths[0], PATH_SIZE, "%zu.pem", fitting);
	write_file(paths[0], buffer_view(&small));
	snprintf(paths[0], PATH_SIZE, "%s/0.pem", world.folder);
	assert_true(refresh());
	assert_int_equal(told_authorities(), fitting + 1);
	assert_false(refresh());
	buffer_clear(&text);
	buffer_clear(&small);
}

/* Those of before open the tickets that they made. */
static void keys_of_tickets_change_by_time(void **state)
{
	struct keys_set *before;

	(void)state;
	assert_true(refresh());
	before = told();
	assert_int_equal(before->ticket_count, 1);
	world.now_us += KEYS_TICKET_US - 1;
	assert_false(refresh());
	for (size_t turn = 1; turn <= TLS_TICKET_KEYS_MAX + 1; turn++) {
		struct keys_set *after;
		size_t expected = turn < TLS_TICKET_KEYS_MAX ? turn + 1 : TLS_TICKET_KEYS_MAX;

		world.now_us += turn == 1 ? 1 : KEYS_TICKET_US;
		assert_true(refresh());
		after = told();
		assert_int_equal(after->ticket_count, expected);
		assert_memory_not_equal(&after->tickets[0], &before->tickets[0],
					sizeof after->tickets[0]);
		assert_memory_equal(&after->tickets[1], &before->tickets[0],
				    (expected - 1) * sizeof after->tickets[0]);
		free(before);
		before = after;
	}
	free(before);
}

static void what_is_too_much_is_named(void **state)
{
	static const char wanted[] = "all files of authorities together have more than 16777216";
	struct buffer made = make_authorities(2);
	struct buffer text = {0};
	struct buffer reason = {0};

	(void)state;
	write_file("a.pem", buffer_view(&made));
	assert_int_equal(keys_read_authorities(path_of("a.pem"), made.length - 1, &text, &reason),
			 -EFBIG);
	assert_non_null(memmem(buffer_data(&reason), reason.length, wanted, sizeof wanted - 1));
	buffer_clear(&text);
	assert_int_equal(keys_read_authorities(path_of("a.pem"), made.length, &text, &reason), 0);
	buffer_clear(&made);
	buffer_clear(&text);
	buffer_clear(&reason);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_replaced_key_signs_for_a_minute),
		TEST(so_does_one_that_the_configuration_has_no_more),
		TEST(keys_of_before_are_bounded),
		TEST(what_cannot_be_used_replaces_nothing),
		TEST(what_the_disk_refuses_once_is_read_again),
		TEST(what_the_file_says_is_not),
		TEST(all_authorities_together_are_bounded),
		TEST(they_are_read_again_too),
		TEST(a_file_that_shrinks_makes_room),
		TEST(keys_of_tickets_change_by_time),
		TEST(what_is_too_much_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
