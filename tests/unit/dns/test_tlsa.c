// SPDX-License-Identifier: ISC
/* TLSA records: which can be used, and which of a server's names they are looked up for, with a DNS
 * that is played. */
#include "base/panic.h"
#include "chance.h"
#include "dns/tlsa.h"
#include "fake_dns.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST  "0123456789abcdef0123456789abcdef"
#define EE      "\3\1\1" DIGEST
#define TA      "\2\0\1" DIGEST
#define PKIX_EE "\1\1\1" DIGEST

/* --- one record --- */

static void which_records_are_usable(void **state)
{
	static const struct {
		const char *data;
		size_t length;
		bool is_usable;
	} cases[] = {
		{DATA(EE), true},
		{DATA(TA), true},
		{DATA("\3\0\2" DIGEST DIGEST), true},
		{DATA("\2\1\0x"), true},
		{DATA(PKIX_EE), false},
		{DATA("\0\0\1" DIGEST), false},
		{DATA("\4\0\1" DIGEST), false},
		{DATA("\377\0\1" DIGEST), false},
		{DATA("\3\2\1" DIGEST), false},
		{DATA("\3\1\3" DIGEST), false},
		{DATA("\3\1\1" DIGEST "x"), false},
		{DATA("\3\1\2" DIGEST), false},
		{DATA("\3\1\0"), false},
		{DATA("\3\1"), false},
		{DATA(""), false},
	};
	struct dns_tlsa tlsa;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(dns_tlsa_parse(str_slice(cases[i].data, cases[i].length), &tlsa),
				 cases[i].is_usable);
	assert_true(dns_tlsa_parse(str_slice(DATA(TA)), &tlsa));
	assert_int_equal(tlsa.usage, DNS_TLSA_TRUST_ANCHOR);
	assert_int_equal(tlsa.selector, DNS_TLSA_CERTIFICATE);
	assert_int_equal(tlsa.matching, DNS_TLSA_SHA256);
	assert_true(str_equal(tlsa.data, STR(DIGEST)));
}

static void a_long_record_is_unusable(void **state)
{
	char *data = memory_alloc_zero(1, 3 + DNS_TLSA_DATA_MAX + 1);
	struct dns_tlsa tlsa;

	(void)state;
	data[0] = 3;
	assert_true(dns_tlsa_parse(str_slice(data, 3 + DNS_TLSA_DATA_MAX), &tlsa));
	assert_false(dns_tlsa_parse(str_slice(data, 3 + DNS_TLSA_DATA_MAX + 1), &tlsa));
	free(data);
}

/* --- the lookup --- */

static struct os_loop *loop;
static size_t done_count;
static bool is_running;

static void on_found(void *context, const struct dns_tlsa_answer *answer)
{
	*(const struct dns_tlsa_answer **)context = answer;
	done_count++;
	if (is_running)
		os_loop_stop(loop);
}

static struct dns_tlsa_search *look_up(const struct dns_record *records,
				       const struct dns_server *server,
				       const struct dns_tlsa_answer **answer_out)
{
	struct dns_server copy = *server;
	struct dns_tlsa_search *search;

	fake_dns_play(records);
	done_count = 0;
	*answer_out = NULL;
	copy.address.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(25)};
	search = dns_tlsa_search_new(loop, NULL, &copy, on_found, answer_out);
	assert_null(*answer_out);
	fake_dns_answer_all();
	is_running = true;
	if (*answer_out == NULL)
		os_loop_run(loop);
	is_running = false;
	assert_int_equal(done_count, 1);
	return search;
}

#define PLAIN                                                                \
	{                                                                    \
		.host = "mx.x", .canonical = "mx.x", .is_host_secure = true, \
		.is_addresses_secure = true                                  \
	}
#define ALIAS                                                                  \
	{                                                                      \
		.host = "mx.x", .canonical = "real.y", .is_host_secure = true, \
		.is_addresses_secure = true                                    \
	}
#define ASKED_HOST "_25._tcp.mx.x/52 "
#define ASKED_REAL "_25._tcp.real.y/52 "

static const struct {
	struct dns_server server;
	struct dns_record records[4];
	enum dns_tlsa_status status;
	size_t count;
	const char *base; /* of USABLE and UNUSABLE */
	const char *asked;
	const char *reason;
} lookups[] = {
	{PLAIN,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), 2}},
	 DNS_TLSA_USABLE,
	 2,
	 "mx.x",
	 ASKED_HOST,
	 "_25._tcp.mx.x has usable TLSA records: 2"},
	{PLAIN,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, "tlsa.z", DATA(EE), 1}},
	 DNS_TLSA_USABLE,
	 1,
	 "mx.x",
	 ASKED_HOST,
	 "_25._tcp.mx.x has usable TLSA records: 1"},
	{PLAIN,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(PKIX_EE), 3}},
	 DNS_TLSA_UNUSABLE,
	 0,
	 "mx.x",
	 ASKED_HOST,
	 "_25._tcp.mx.x has no usable TLSA record, of 3"},
	{PLAIN,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, false, NULL, DATA(EE), 1}},
	 DNS_TLSA_NONE,
	 0,
	 NULL,
	 ASKED_HOST,
	 "the TLSA records of _25._tcp.mx.x are not signed"},
	{PLAIN, {{0}}, DNS_TLSA_NONE, 0, NULL, ASKED_HOST, "_25._tcp.mx.x has no TLSA records"},
	{PLAIN,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_NO_DATA, false, NULL, NULL, 0, 0}},
	 DNS_TLSA_NONE,
	 0,
	 NULL,
	 ASKED_HOST,
	 "_25._tcp.mx.x has no TLSA records"},
	{PLAIN,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FAILED, false, NULL, NULL, 0, 0}},
	 DNS_TLSA_FAILED,
	 0,
	 NULL,
	 ASKED_HOST,
	 "the TLSA records of _25._tcp.mx.x: bogus: signature expired"},
	{PLAIN,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), DNS_TLSA_MAX + 1}},
	 DNS_TLSA_FAILED,
	 DNS_TLSA_MAX,
	 "mx.x",
	 ASKED_HOST,
	 "_25._tcp.mx.x has more than 100 TLSA records"},
	/* insecure MX, or insecure addresses: nothing is asked */
	{{.host = "mx.x", .canonical = "mx.x", .is_addresses_secure = true},
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), 1}},
	 DNS_TLSA_NONE,
	 0,
	 NULL,
	 "",
	 "the MX records that name mx.x are not signed"},
	{{.host = "mx.x", .canonical = "mx.x", .is_host_secure = true},
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), 1}},
	 DNS_TLSA_NONE,
	 0,
	 NULL,
	 "",
	 "the addresses of mx.x are not signed"},
	/* an alias that is secure to its end: first its end, then its name */
	{ALIAS,
	 {{"_25._tcp.real.y", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), 1}},
	 DNS_TLSA_USABLE,
	 1,
	 "real.y",
	 ASKED_REAL,
	 "_25._tcp.real.y has usable TLSA records: 1"},
	{ALIAS,
	 {{"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(TA), 1}},
	 DNS_TLSA_USABLE,
	 1,
	 "mx.x",
	 ASKED_REAL ASKED_HOST,
	 "_25._tcp.mx.x has usable TLSA records: 1"},
	{ALIAS,
	 {{"_25._tcp.real.y", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(PKIX_EE), 1},
	  {"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(TA), 1}},
	 DNS_TLSA_UNUSABLE,
	 0,
	 "real.y",
	 ASKED_REAL,
	 "_25._tcp.real.y has no usable TLSA record, of 1"},
	{ALIAS,
	 {{0}},
	 DNS_TLSA_NONE,
	 0,
	 NULL,
	 ASKED_REAL ASKED_HOST,
	 "_25._tcp.mx.x has no TLSA records"},
	{ALIAS, /* a failure is no absence */
	 {{"_25._tcp.real.y", DNS_TYPE_TLSA, DNS_FAILED, false, NULL, NULL, 0, 0},
	  {"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), 1}},
	 DNS_TLSA_FAILED,
	 0,
	 NULL,
	 ASKED_REAL,
	 "the TLSA records of _25._tcp.real.y: bogus: signature expired"},
	/* an alias in a signed zone of a host in one that is not */
	{{.host = "mx.x", .canonical = "real.y", .is_host_secure = true},
	 {{"mx.x", DNS_TYPE_CNAME, DNS_FOUND, true, NULL, DATA("\4real\1y"), 1},
	  {"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), 1}},
	 DNS_TLSA_USABLE,
	 1,
	 "mx.x",
	 "mx.x/5 " ASKED_HOST,
	 "_25._tcp.mx.x has usable TLSA records: 1"},
	{{.host = "mx.x", .canonical = "real.y", .is_host_secure = true},
	 {{"mx.x", DNS_TYPE_CNAME, DNS_FOUND, false, NULL, DATA("\4real\1y"), 1},
	  {"_25._tcp.mx.x", DNS_TYPE_TLSA, DNS_FOUND, true, NULL, DATA(EE), 1}},
	 DNS_TLSA_NONE,
	 0,
	 NULL,
	 "mx.x/5 ",
	 "the addresses of mx.x are not signed"},
	{{.host = "mx.x", .canonical = "real.y", .is_host_secure = true},
	 {{"mx.x", DNS_TYPE_CNAME, DNS_FAILED, false, NULL, NULL, 0, 0}},
	 DNS_TLSA_FAILED,
	 0,
	 NULL,
	 "mx.x/5 ",
	 "the CNAME record of mx.x: bogus: signature expired"},
};

static void which_names_are_looked_up(void **state)
{
	(void)state;
	loop = os_loop_new();
	for (size_t i = 0; i < COUNT_OF(lookups); i++) {
		const struct dns_tlsa_answer *answer;
		struct dns_tlsa_search *search =
			look_up(lookups[i].records, &lookups[i].server, &answer);

		assert_string_equal(answer->reason, lookups[i].reason);
		assert_int_equal(answer->status, lookups[i].status);
		assert_int_equal(answer->count, lookups[i].count);
		if (lookups[i].base != NULL)
			assert_string_equal(answer->base, lookups[i].base);
		fake_dns_check_asked(lookups[i].asked);
		dns_tlsa_search_free(search);
	}
	os_loop_free(loop);
	fake_dns_end();
}

static void usable_records_are_kept_of_a_mixture(void **state)
{
	static const struct dns_record nothing[] = {{0}};
	char *data[] = {(char *)(uintptr_t)PKIX_EE, (char *)(uintptr_t)EE,
			(char *)(uintptr_t) "\3\1", (char *)(uintptr_t)TA};
	int lengths[] = {sizeof PKIX_EE - 1, sizeof EE - 1, 2, sizeof TA - 1};
	struct dns_answer mixture = {DNS_FOUND, "", data, lengths, 4, 60, true, ""};
	struct dns_server server = PLAIN;
	const struct dns_tlsa_answer *answer = NULL;
	struct dns_tlsa_search *search;

	(void)state;
	loop = os_loop_new();
	server.address.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(25)};
	fake_dns_play(nothing);
	search = dns_tlsa_search_new(loop, NULL, &server, on_found, &answer);
	fake_dns_answer(&mixture);
	assert_int_equal(answer->status, DNS_TLSA_USABLE);
	assert_int_equal(answer->count, 2);
	assert_int_equal(answer->list[0].usage, DNS_TLSA_END_ENTITY);
	assert_int_equal(answer->list[1].usage, DNS_TLSA_TRUST_ANCHOR);
	assert_true(str_equal(answer->list[1].data, STR(DIGEST)));
	dns_tlsa_search_free(search);
	/* one that is given up */
	dns_tlsa_search_free(dns_tlsa_search_new(loop, NULL, &server, on_found, &answer));
	fake_dns_check_asked(ASKED_HOST ASKED_HOST);
	os_loop_free(loop);
	fake_dns_end();
}

/* --- any records --- */

enum { RECORDS = DNS_TLSA_MAX + 30, RECORD_MAX = 80, TURNS = 400 };

/* Its length; whether it can be used. */
static int make_tlsa_record(char *data, bool *is_usable_out)
{
	static const size_t lengths[] = {0, 32, 64};
	size_t matching = chance(3),
	       length = lengths[matching] > 0 ? lengths[matching] : 1 + chance(70);

	*is_usable_out = chance(3) > 0;
	for (size_t i = 0; i < RECORD_MAX; i++)
		data[i] = (char)chance(256);
	data[0] = (char)(*is_usable_out ? 2 + chance(2) : chance(2));
	data[1] = (char)chance(2);
	data[2] = (char)matching;
	return (int)(3 + length);
}

/* Each usable one is there, in its order, as it came. */
static void any_records(void **state)
{
	static char bytes[RECORDS][RECORD_MAX], *data[RECORDS];
	static int lengths[RECORDS];
	static const struct dns_record none[] = {{0}};
	const struct dns_server server = PLAIN;

	(void)state;
	loop = os_loop_new();
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t count = chance(turn % 2 == 0 ? 5 : RECORDS), usable = 0, at = 0;
		bool is_usable[RECORDS];
		struct dns_answer answer = {.status = DNS_FOUND,
					    .reason = "",
					    .canonical = "",
					    .data = data,
					    .lengths = lengths,
					    .count = count,
					    .is_secure = true};
		const struct dns_tlsa_answer *found = NULL;
		struct dns_tlsa_search *search;

		for (size_t i = 0; i < count; i++) {
			data[i] = bytes[i];
			lengths[i] = make_tlsa_record(data[i], &is_usable[i]);
			usable += is_usable[i];
		}
		fake_dns_play(none);
		search = dns_tlsa_search_new(loop, NULL, &server, on_found, &found);
		fake_dns_answer(&answer);
		assert_non_null(found);
		assert_int_equal(found->status, usable > DNS_TLSA_MAX ? DNS_TLSA_FAILED
						: usable > 0          ? DNS_TLSA_USABLE
								      : DNS_TLSA_UNUSABLE);
		if (usable > DNS_TLSA_MAX)
			usable = 0;
		else
			assert_int_equal(found->count, usable);
		for (size_t i = 0; i < count && usable > 0; i++) {
			const struct dns_tlsa *tlsa = &found->list[at];

			if (!is_usable[i])
				continue;
			assert_int_equal(tlsa->usage, bytes[i][0]);
			assert_int_equal(tlsa->selector, bytes[i][1]);
			assert_int_equal(tlsa->matching, bytes[i][2]);
			assert_int_equal(tlsa->data.length, lengths[i] - 3);
			assert_memory_equal(tlsa->data.data, bytes[i] + 3, tlsa->data.length);
			at++;
		}
		dns_tlsa_search_free(search);
	}
	dns_tlsa_search_free(NULL);
	os_loop_free(loop);
	fake_dns_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_records_are_usable),
		cmocka_unit_test(a_long_record_is_unusable),
		cmocka_unit_test(which_names_are_looked_up),
		cmocka_unit_test(usable_records_are_kept_of_a_mixture),
		cmocka_unit_test(any_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
