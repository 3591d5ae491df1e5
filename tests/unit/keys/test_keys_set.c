// SPDX-License-Identifier: ISC
/* What "keys" tells others, packed and unpacked. */
#include "ipc/pack.h"
#include "keys/set.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static struct keys_set *sample(void)
{
	struct keys_set *set = calloc(1, sizeof *set);

	assert_non_null(set);
	set->certificates[0] = (struct keys_text){STR("main"), STR("chain of main")};
	set->certificates[1] = (struct keys_text){STR("other"), STR("")};
	set->certificate_count = 2;
	set->authorities[0] = (struct keys_text){STR("/etc/authority.pem"), STR("authority")};
	set->authority_count = 1;
	memset(&set->tickets[0], 'a', sizeof set->tickets[0]);
	memset(&set->tickets[1], 'b', sizeof set->tickets[1]);
	set->ticket_count = 2;
	return set;
}

static void test_what_is_packed_comes_out(void **state)
{
	struct keys_set *set = sample();
	struct keys_set *out = calloc(1, sizeof *out);
	struct buffer packed = {0};

	(void)state;
	keys_set_pack_texts(set, &packed);
	keys_set_pack_tickets(set, &packed);
	assert_true(keys_set_unpack(buffer_view(&packed), out));
	assert_true(str_equal(keys_set_find(out->certificates, out->certificate_count, STR("main")),
			      STR("chain of main")));
	assert_int_equal(
		keys_set_find(out->certificates, out->certificate_count, STR("Main")).length, 0);
	assert_true(str_equal(
		keys_set_find(out->authorities, out->authority_count, STR("/etc/authority.pem")),
		STR("authority")));
	assert_int_equal(out->ticket_count, 2);
	assert_memory_equal(out->tickets, set->tickets, sizeof set->tickets);
	buffer_clear(&packed);
	free(set);
	free(out);
}

static void test_a_part_is_refused(void **state)
{
	struct keys_set *set = sample();
	struct keys_set *out = calloc(1, sizeof *out);
	struct buffer packed = {0};

	(void)state;
	keys_set_pack_texts(set, &packed);
	keys_set_pack_tickets(set, &packed);
	for (size_t length = 0; length < packed.length; length++) {
		char *copy = malloc(length + 1); /* so that a read behind it is seen */

		assert_non_null(copy);
		memcpy(copy, buffer_data(&packed), length);
		assert_false(keys_set_unpack(str_slice(copy, length), out));
		free(copy);
	}
	buffer_append_byte(&packed, 'x');
	assert_false(keys_set_unpack(buffer_view(&packed), out));
	buffer_clear(&packed);
	free(set);
	free(out);
}

/* COUNTS of certificates, authorities and tickets, without these. */
static bool takes_counts(uint32_t certificates, uint32_t authorities, uint32_t tickets)
{
	struct keys_set *out = calloc(1, sizeof *out);
	struct buffer packed = {0};
	bool takes;

	pack_u32(&packed, certificates);
	for (uint32_t i = 0; i < 2 * certificates && i < 1000; i++)
		pack_str(&packed, STR("x"));
	pack_u32(&packed, authorities);
	for (uint32_t i = 0; i < 2 * authorities && i < 1000; i++)
		pack_str(&packed, STR("x"));
	pack_u32(&packed, tickets);
	for (uint32_t i = 0; i < tickets && i < 10; i++) {
		static const struct tls_ticket_key key;

		pack_str(&packed, str_slice((const char *)&key, sizeof key));
	}
	takes = keys_set_unpack(buffer_view(&packed), out);
	buffer_clear(&packed);
	free(out);
	return takes;
}

static void test_limits(void **state)
{
	(void)state;
	assert_true(takes_counts(0, 0, 0));
	assert_true(takes_counts(KEYS_CERTIFICATES_MAX, KEYS_AUTHORITIES_MAX, TLS_TICKET_KEYS_MAX));
	assert_false(takes_counts(KEYS_CERTIFICATES_MAX + 1, 0, 0));
	assert_false(takes_counts(0, KEYS_AUTHORITIES_MAX + 1, 0));
	assert_false(takes_counts(0, 0, TLS_TICKET_KEYS_MAX + 1));
	assert_false(takes_counts(UINT32_MAX, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_packed_comes_out),
		cmocka_unit_test(test_a_part_is_refused),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
