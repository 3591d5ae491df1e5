// SPDX-License-Identifier: ISC
/* The values of RFC 4533, and how far cookies go. */
#include "directory/store/ldap/sync/csn.h"
#include "directory/store/ldap/sync/value.h"
#include "test.h"
#include <errno.h>
#include <string.h>

#define A1 "20260101000000.000001Z#000000#001#000000"
#define A2 "20260101000000.000002Z#000000#001#000000"
#define B1 "20250101000000.000000Z#000000#002#000000"

static struct csn_set set_of(const char *cookie)
{
	struct csn_set set = {0};

	csn_set_add_cookie(&set, str_from(cookie));
	return set;
}

static void test_covers(void **state)
{
	static const struct {
		const char *set;
		const char *other;
		bool covers;
	} cases[] = {
		{"", "", true},
		{"rid=000,csn=" A1, "", true},
		{"", "csn=" A1, false},
		{"rid=000,csn=" A1, "csn=" A1, true},
		{"rid=000,csn=" A1, "csn=" A2, false},
		{"rid=000,csn=" A2, "csn=" A1, true},
		{"csn=" A2, "csn=" A1 ";" B1, false},
		{"csn=" B1 ";" A2, "csn=" A1 ";" B1, true},
		{"csn=" A2 ";" A1, "csn=" A2, true}, /* the newer stays */
		{"csn=x;y;" A1 ",csn=#", "csn=" A1, true},
		{"opaque", "csn=" A1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct csn_set set = set_of(cases[i].set);
		struct csn_set other = set_of(cases[i].other);

		if (csn_set_covers(&set, &other) != cases[i].covers)
			fail_msg("case %zu", i);
	}
}

static void test_bounds(void **state)
{
	struct csn_set set = {0};
	struct buffer text = {0};

	(void)state;
	for (unsigned i = 0; i < 2 * CSN_SERVERS_MAX; i++) {
		buffer_reset(&text);
		buffer_append_format(&text, "2026#0#%03x#0", i);
		csn_set_add(&set, buffer_view(&text));
	}
	assert_int_equal(set.count, CSN_SERVERS_MAX);
	buffer_reset(&text);
	for (int i = 0; i < CSN_SIZE; i++)
		buffer_append_byte(&text, '2');
	buffer_append_string(&text, "#0#000#0");
	csn_set_add(&set, buffer_view(&text));
	assert_string_equal(set.csns[0], "2026#0#000#0");
	buffer_clear(&text);
}

static void test_request(void **state)
{
	struct buffer out = {0};

	(void)state;
	ldap_sync_request_encode((struct str){0}, &out);
	assert_int_equal(out.length, 5);
	assert_memory_equal(buffer_data(&out), "\x30\x03\x0a\x01\x03", 5);
	buffer_reset(&out);
	ldap_sync_request_encode(STR("abc"), &out);
	assert_int_equal(out.length, 10);
	assert_memory_equal(buffer_data(&out),
			    "\x30\x08\x0a\x01\x03\x04\x03"
			    "abc",
			    10);
	buffer_clear(&out);
}

#define UUID "0123456789abcdef"

static void test_state(void **state)
{
	static const struct {
		struct str data;
		int error;
		enum sync_state state;
		const char *cookie;
	} cases[] = {
		{STR("\x30\x15\x0a\x01\x01\x04\x10" UUID), 0, SYNC_ADD, ""},
		{STR("\x30\x18\x0a\x01\x03\x04\x10" UUID "\x04\x01x"), 0, SYNC_DELETE, "x"},
		{STR("\x30\x15\x0a\x01\x04\x04\x10" UUID), -EBADMSG, 0, NULL},
		{STR("\x30\x14\x0a\x01\x01\x04\x0f"
		     "0123456789abcde"),
		 -EBADMSG, 0, NULL},
		{STR("\x30\x15\x0a\x01\x01\x04\x10"
		     "012345"),
		 -EBADMSG, 0, NULL},
		{STR("\x30\x18\x0a\x01\x03\x04\x10" UUID "\x04\x02x"), -EBADMSG, 0, NULL},
		{STR("\x04\x01x"), -EBADMSG, 0, NULL},
		{{NULL, 0}, -EBADMSG, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena *arena = arena_new();
		struct sync_state_value value;

		assert_int_equal(sync_state_decode(cases[i].data, arena, &value), cases[i].error);
		if (cases[i].error == 0) {
			assert_int_equal(value.state, cases[i].state);
			assert_memory_equal(value.uuid.bytes, UUID, SYNC_UUID_SIZE);
			assert_true(str_equal(value.cookie, str_from(cases[i].cookie)));
		}
		arena_free(arena);
	}
}

static void test_info(void **state)
{
	static const struct {
		struct str data;
		int error;
		enum sync_info info;
		const char *cookie;
		bool flag;
		size_t count;
	} cases[] = {
		{STR("\x80\x02xy"), 0, SYNC_NEW_COOKIE, "xy", false, 0},
		{STR("\xa1\x00"), 0, SYNC_REFRESH_DELETE, "", true, 0},
		{STR("\xa1\x04\x04\x02xy"), 0, SYNC_REFRESH_DELETE, "xy", true, 0},
		{STR("\xa2\x03\x01\x01\x00"), 0, SYNC_REFRESH_PRESENT, "", false, 0},
		{STR("\xa2\x07\x04\x02xy\x01\x01\xff"), 0, SYNC_REFRESH_PRESENT, "xy", true, 0},
		{STR("\xa3\x14\x31\x12\x04\x10" UUID), 0, SYNC_ID_SET, "", false, 1},
		{STR("\xa3\x17\x01\x01\xff\x31\x12\x04\x10" UUID), 0, SYNC_ID_SET, "", true, 1},
		{STR("\xa3\x02\x31\x00"), 0, SYNC_ID_SET, "", false, 0},
		{STR("\xa3\x13\x31\x11\x04\x0f"
		     "0123456789abcde"),
		 -EBADMSG, 0, NULL, false, 0},
		{STR("\xa3\x00"), -EBADMSG, 0, NULL, false, 0},
		{STR("\xa4\x00"), -EBADMSG, 0, NULL, false, 0},
		{{NULL, 0}, -EBADMSG, 0, NULL, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena *arena = arena_new();
		struct sync_info_value value;

		if (sync_info_decode(cases[i].data, arena, &value) != cases[i].error)
			fail_msg("case %zu", i);
		if (cases[i].error == 0) {
			assert_int_equal(value.info, cases[i].info);
			assert_true(str_equal(value.cookie, str_from(cases[i].cookie)));
			assert_true((value.is_refresh_done || value.are_deleted) == cases[i].flag);
			assert_int_equal(value.uuid_count, cases[i].count);
		}
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covers),  cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_request), cmocka_unit_test(test_state),
		cmocka_unit_test(test_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
