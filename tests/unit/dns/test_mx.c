// SPDX-License-Identifier: ISC
/* MX records: none to eight in any order, as many as are read, and more. */
#include "base/buffer.h"
#include "chance.h"
#include "dns/mx.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 500, RECORDS_MAX = 300, DATA_SIZE = 20 };

static struct {
	char data[RECORDS_MAX][DATA_SIZE];
	char *pointers[RECORDS_MAX];
	int lengths[RECORDS_MAX];
	unsigned preferences[RECORDS_MAX];
	bool is_valid[RECORDS_MAX];
	size_t count;
} records;

/* Its host is "hNNN". */
static void add_record(unsigned preference, bool is_valid)
{
	size_t i = records.count++;
	char *data = records.data[i];

	data[0] = (char)(preference >> 8);
	data[1] = (char)preference;
	snprintf(data + 2, DATA_SIZE - 2, "%ch%03zu", 4, i);
	records.pointers[i] = data;
	records.lengths[i] = is_valid ? 8 : (int)chance(8);
	records.preferences[i] = preference;
	records.is_valid[i] = is_valid;
}

static size_t read_records(struct dns_mx list[DNS_MX_MAX])
{
	const struct dns_answer answer = {
		.count = records.count, .data = records.pointers, .lengths = records.lengths};

	return dns_mx_read(&answer, list);
}

/* The host's record. */
static size_t record_of(const struct dns_mx *mx)
{
	assert_int_equal(mx->host[0], 'h');
	return strtoul(mx->host + 1, NULL, 10);
}

static void check_list(const struct dns_mx *list, size_t count)
{
	bool is_met[RECORDS_MAX] = {false};
	size_t valid = 0, better = 0;

	for (size_t i = 0; i < records.count; i++)
		valid += records.is_valid[i];
	assert_int_equal(count, valid < DNS_MX_MAX ? valid : DNS_MX_MAX);
	for (size_t i = 0; i < count; i++) {
		size_t record = record_of(&list[i]);

		assert_true(records.is_valid[record] && !is_met[record]);
		is_met[record] = true;
		assert_int_equal(list[i].preference, records.preferences[record]);
		assert_true(i == 0 || list[i - 1].preference <= list[i].preference);
	}
	for (size_t i = 0; count > 0 && i < records.count; i++)
		better += records.is_valid[i] && !is_met[i] &&
			  records.preferences[i] < list[count - 1].preference;
	assert_int_equal(better, 0);
}

static void any_records(void **state)
{
	static struct dns_mx list[DNS_MX_MAX];

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t count = turn % 3 > 0 ? chance(9) : DNS_MX_MAX - 2 + chance(5);

		records.count = 0;
		for (size_t i = 0; i < count; i++)
			add_record((unsigned)chance(chance(2) == 0 ? 4 : 65536), chance(6) > 0);
		check_list(list, read_records(list));
	}
	/* at the bound, and beyond, all valid */
	for (size_t count = DNS_MX_MAX - 1; count <= DNS_MX_MAX + 1; count++) {
		records.count = 0;
		for (size_t i = 0; i < count; i++)
			add_record((unsigned)(count - i), true);
		check_list(list, read_records(list));
	}
}

/* Each of three has each place about as often. */
static void equal_ones_come_in_any_order(void **state)
{
	struct dns_mx list[DNS_MX_MAX];
	unsigned met[3][3] = {{0}};

	(void)state;
	records.count = 0;
	for (size_t i = 0; i < 3; i++)
		add_record(10, true);
	for (unsigned turn = 0; turn < 3000; turn++) {
		assert_int_equal(read_records(list), 3);
		for (size_t i = 0; i < 3; i++)
			met[record_of(&list[i])][i]++;
	}
	for (size_t i = 0; i < 9; i++)
		assert_in_range(met[i / 3][i % 3], 700, 1300);
}

static void what_is_no_record(void **state)
{
	static const struct {
		struct str data;
		bool is_valid;
		const char *host;
	} rows[] = {
		{STR("\0\12\1a\0"), true, "a"},  {STR("\0\12\0"), true, ""},
		{STR("\0\12"), false, ""},       {STR(""), false, ""},
		{STR("\0"), false, ""},          {STR("\0\12\1A\0"), true, "a"},
		{STR("\0\12\1a\0x"), false, ""}, {STR("\0\12\2a\0"), false, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dns_mx mx = {.preference = 7};
		bool is_valid = dns_mx_parse(rows[i].data, &mx);

		if (is_valid != rows[i].is_valid)
			fail_msg("%zu", i);
		assert_int_equal(mx.preference, is_valid ? 10 : 7);
		assert_string_equal(mx.host, rows[i].host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_records),
		cmocka_unit_test(equal_ones_come_in_any_order),
		cmocka_unit_test(what_is_no_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
