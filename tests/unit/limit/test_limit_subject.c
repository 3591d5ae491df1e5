// SPDX-License-Identifier: ISC
/* Who rates count for: which parts of a subject make its key, and which do not; and where in a row.
 */
#include "limit/internal_rate.h"
#include "limit/layout.h"
#include "mail/address.h"
#include "os/file/file.h"
#include "test.h"
#include <arpa/inet.h>
#include <string.h>

static const struct hash_key secret = {3, 4};

static struct in6_addr address_of(const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

/* Each of these differs from the first in one part alone. */
static void a_key_is_by_one_part_of_the_subject(void **state)
{
	struct in6_addr one = address_of("2001:db8::1");
	struct in6_addr other = address_of("2001:db9::1");
	const struct limit_subject first = {"mask", &one, STR("ann"), STR("a.test")};
	const struct limit_subject subjects[CONFIG_RATE_PERS] = {
		[CONFIG_RATE_PER_ADDRESS] = {"mask", &other, STR("ann"), STR("a.test")},
		[CONFIG_RATE_PER_CLASS] = {"other", &one, STR("ann"), STR("a.test")},
		[CONFIG_RATE_PER_USER] = {"mask", &one, STR("joe"), STR("a.test")},
		[CONFIG_RATE_PER_SENDER_DOMAIN] = {"mask", &one, STR("ann"), STR("b.test")},
		[CONFIG_RATE_PER_ALL] = {0},
	};
	const struct limit_subject nobody = {0};

	(void)state;
	for (unsigned per = 0; per < CONFIG_RATE_PERS; per++) {
		uint64_t key = limit_subject_key(&first, per, secret);

		assert_int_not_equal(key, 0);
		for (unsigned part = 0; part < CONFIG_RATE_PERS; part++)
			if (part != CONFIG_RATE_PER_ALL)
				assert_int_equal(limit_subject_key(&subjects[part], per, secret) !=
							 key,
						 part == per);
		assert_int_equal(limit_subject_key(&nobody, per, secret),
				 per == CONFIG_RATE_PER_ALL);
		if (per != CONFIG_RATE_PER_ALL)
			assert_int_not_equal(
				limit_subject_key(&first, per, (struct hash_key){4, 3}), key);
	}
}

/* A byte beyond the longest address makes no difference, one in it does; nor does a letter's case.
 */
static void a_name_counts_to_its_bound(void **state)
{
	char text[MAIL_ADDRESS_MAX + 2];
	char other[sizeof text];

	(void)state;
	memset(text, 'a', sizeof text);
	for (size_t length = 1; length <= sizeof text; length++) {
		struct limit_subject subject = {.user = {text, length}};
		uint64_t key = limit_subject_key(&subject, CONFIG_RATE_PER_USER, secret);
		struct limit_subject changed = {.user = {other, length}};

		memcpy(other, text, sizeof text);
		other[length - 1] = 'A';
		assert_int_equal(limit_subject_key(&changed, CONFIG_RATE_PER_USER, secret), key);
		other[length - 1] = 'b';
		assert_int_equal(limit_subject_key(&changed, CONFIG_RATE_PER_USER, secret) == key,
				 length > MAIL_ADDRESS_MAX);
		changed.user.length--;
		assert_int_equal(limit_subject_key(&changed, CONFIG_RATE_PER_USER, secret) == key,
				 length > MAIL_ADDRESS_MAX);
	}
}

/* Of IPv6 the first 64 bits count, of IPv4 all 32. */
static void an_address_counts_by_its_network(void **state)
{
	struct in6_addr first[] = {address_of("2001:db8::1"), address_of("::ffff:192.0.2.1")};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct limit_subject subject = {.address = &first[i]};
		uint64_t key = limit_subject_key(&subject, CONFIG_RATE_PER_ADDRESS, secret);

		for (size_t byte = i == 0 ? 0 : 12; byte < 16; byte++) {
			struct in6_addr other = first[i];

			other.s6_addr[byte] ^= 1;
			subject.address = &other;
			assert_int_equal(
				limit_subject_key(&subject, CONFIG_RATE_PER_ADDRESS, secret) == key,
				i == 0 && byte >= 8);
		}
	}
}

static void a_rule_is_for_all_or_for_a_class(void **state)
{
	const struct limit_subject nobody = {0};
	const struct limit_subject one = {.class_mask = "*.a.test"};

	(void)state;
	assert_true(limit_subject_is_of(&nobody, ""));
	assert_true(limit_subject_is_of(&one, ""));
	assert_true(limit_subject_is_of(&one, "*.a.test"));
	assert_false(limit_subject_is_of(&one, "*.a.tes"));
	assert_false(limit_subject_is_of(&one, "*"));
	assert_false(limit_subject_is_of(&nobody, "*.a.test"));
}

/* 32 bits are at least four times the limit, and not eight times as much as needed. */
static void a_unit_is_as_small_as_it_can_be(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++)
		for (int more = -1; more <= 1; more++) {
			uint64_t limit = (UINT64_C(1) << bit) + (uint64_t)more;
			uint64_t unit = limit_rate_unit(limit);

			assert_int_equal(unit & (unit - 1), 0);
			assert_true(unit > 0 && limit / unit <= UINT32_MAX / 4);
			assert_true(unit == 1 || limit / (unit / 2) > UINT32_MAX / 4);
		}
}

/* A rule that counts another way is another rule. */
static void a_rule_is_known_by_name_interval_and_unit(void **state)
{
	const struct config_rate rule = {.name = "a", .interval_us = 1000, .limit = 5};
	struct config_rate other = rule;
	limit_rule_key key = limit_rate_key(secret, &rule);

	(void)state;
	other.limit = UINT32_MAX / 4;
	assert_int_equal(limit_rate_key(secret, &other), key);
	other.limit = UINT64_C(1) << 30;
	assert_int_not_equal(limit_rate_key(secret, &other), key);
	other = rule;
	other.interval_us++;
	assert_int_not_equal(limit_rate_key(secret, &other), key);
	other = rule;
	other.name = "b";
	assert_int_not_equal(limit_rate_key(secret, &other), key);
	assert_int_not_equal(limit_rate_key((struct hash_key){4, 3}, &rule), key);
}

/* --- the rows --- */

/* Each kind of subject has a table of its own with room for its keys, in the area and in no other
 * table. */
static void tables_are_beside_each_other(void **state)
{
	static const uint32_t keys[] = {1, 7, 8, 100, 1000, 99999};

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct config config = {.rate_count = 1, .rate_keys = keys[i]};
		struct limit_layout layout = limit_layout_of(&config);
		struct limit_memory *memory = limit_memory_new(&layout);
		int row = limit_row_new(&layout, "row");
		struct limit_rate_tables tables;
		char *area;
		char *end;

		assert_int_equal(layout.count, 1);
		assert_int_equal(limit_memory_add(memory, "row", row, true), 0);
		area = limit_memory_area(memory, 0, LIMIT_AREA_RATES, 1);
		end = area + limit_memory_area_size(memory, LIMIT_AREA_RATES);
		tables = limit_rate_tables(memory, 0);
		for (unsigned per = 0; per < CONFIG_RATE_PERS; per++) {
			struct limit_keyed_view view = tables.per[per];
			size_t wanted = per == CONFIG_RATE_PER_ALL     ? 1
					: per == CONFIG_RATE_PER_CLASS ? CONFIG_CLASSES_MAX
								       : keys[i];
			char *last = (char *)view.table + limit_keyed_size(wanted);

			assert_true(view.buckets * 8 >= wanted);
			assert_true((char *)view.table >= area + sizeof(struct limit_rate_header));
			assert_true(last <= end);
			for (unsigned other = 0; other < CONFIG_RATE_PERS; other++)
				assert_true(other == per ||
					    last <= (char *)tables.per[other].table ||
					    (char *)tables.per[other].table < (char *)view.table);
		}
		limit_memory_free(memory);
		os_file_close(row);
	}
}

/* What is not configured has no area. */
static void a_row_has_what_is_configured(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		const struct config config = {
			.class_count = i & 1,
			.rate_count = i >> 1 & 1,
			.rate_keys = 10,
			.maxsessions = 100,
			.maxsessions_client = i >> 2 & 1,
			.maxunfinished_client = i >> 3 & 1,
		};
		struct limit_layout layout = limit_layout_of(&config);
		struct limit_memory *memory = limit_memory_new(&layout);

		assert_int_equal(limit_memory_area_size(memory, LIMIT_AREA_SESSIONS) > 0, i & 1);
		assert_int_equal(limit_memory_area_size(memory, LIMIT_AREA_RATES) > 0, i >> 1 & 1);
		assert_int_equal(limit_memory_area_size(memory, LIMIT_AREA_CLIENTS) > 0, i >= 4);
		limit_memory_free(memory);
	}
}

/* Each rule by its key, wherever it is. */
static void a_rule_has_its_count(void **state)
{
	static struct limit_rate_header header;

	(void)state;
	for (size_t i = 0; i < CONFIG_RATES_MAX; i++) {
		header.rules[i].key = 100 + i;
		header.rules[i].exceeded = 2 * i + 1;
	}
	for (size_t i = 0; i < CONFIG_RATES_MAX; i++)
		assert_int_equal(limit_rate_exceeded(&header, 100 + i), 2 * i + 1);
	assert_int_equal(limit_rate_exceeded(&header, 99), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_by_one_part_of_the_subject),
		cmocka_unit_test(a_name_counts_to_its_bound),
		cmocka_unit_test(an_address_counts_by_its_network),
		cmocka_unit_test(a_rule_is_for_all_or_for_a_class),
		cmocka_unit_test(a_unit_is_as_small_as_it_can_be),
		cmocka_unit_test(tables_are_beside_each_other),
		cmocka_unit_test(a_row_has_what_is_configured),
		cmocka_unit_test(a_rule_has_its_count),
		cmocka_unit_test(a_rule_is_known_by_name_interval_and_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
