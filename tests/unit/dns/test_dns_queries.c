// SPDX-License-Identifier: ISC
/*
 * Queries against a libunbound that is played: each answer that it may give, each refusal, any
 * order of answers, cancellations and time-outs; /etc/hosts before it; how it is configured. What a
 * query gets is compared with a table.
 */
#include "base/panic.h"
#include "base/timestamp.h"
#include "chance.h"
#include "dns/hosts.h"
#include "dns/resolver.h"
#include "fake_loop.h"
#include "fake_unbound.h"
#include "os/clock.h"
#include "test.h"
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { QUERIES_MAX = 60, TURNS = PLAYED_QUESTIONS, LONG = 300 };

/* --- answers --- */

static char long_text[LONG + 1];

static const struct {
	const char *why;
	const char *reason;
} bogus[] = {
	{NULL, "bogus: no reason is known"},
	{"signature expired", "bogus: signature expired"},
	{"validation failure <x.example. A IN>: no keys: <y>: here", "bogus: no keys: <y>: here"},
	{"validation failure <x>: bad\x01\x1f\x7f\xff!~  ", "bogus: bad????"
							    "!~"},
	{"validation failure <x>: ", "bogus:"},
};

static const struct {
	const char *canonical;
	const char *name;
} names[] = {
	{NULL, ""},
	{"", ""},
	{".", ""},
	{"Mail.Example.ORG.", "mail.example.org"},
	{"no.dot", "no.dot"},
	{"a b.example.", ""},
	{"a..b.", ""},
	{long_text, ""},
	{long_text + LONG - 256, ""},
	{long_text + LONG - 255, long_text + LONG - 255},
};

enum kind { FOUND, NO_DATA, NO_NAME, REFUSED_IT, SERVFAIL, BOGUS, ERROR, KINDS };

struct expected {
	enum dns_status status;
	const char *reason;
	const char *canonical;
	size_t count;
	uint32_t ttl;
	bool is_secure;
};

static char *data[] = {"one", "two", "three", NULL};
static int lengths[] = {3, 3, 5, 0};

/* A result of libunbound of that KIND, and what the answer to it is. */
static void make_result(enum kind kind, struct ub_result *result, struct expected *expected)
{
	size_t name = chance(COUNT_OF(names)), why = chance(COUNT_OF(bogus)), first = chance(4);
	bool is_failure = kind >= REFUSED_IT;

	*result = (struct ub_result){.canonname = (char *)(uintptr_t)names[name].canonical,
				     .ttl = (int)chance(4) - 1,
				     .secure = chance(2) == 0,
				     .why_bogus = (char *)(uintptr_t)bogus[why].why,
				     .data = data + first,
				     .len = lengths + first};
	result->havedata = kind == FOUND;
	result->nxdomain = kind == NO_NAME;
	result->rcode = kind == NO_NAME ? 3 : kind == REFUSED_IT ? 5 : 0;
	if (kind == SERVFAIL || (kind == BOGUS && chance(2) == 0))
		result->rcode = 2;
	result->bogus = kind == BOGUS;
	*expected = (struct expected){
		.status = kind == FOUND     ? DNS_FOUND
			  : kind == NO_DATA ? DNS_NO_DATA
			  : kind == NO_NAME ? DNS_NO_NAME
					    : DNS_FAILED,
		.reason = kind == REFUSED_IT ? "refused or malformed"
			  : kind == BOGUS    ? bogus[why].reason
			  : kind == ERROR    ? "out of memory"
					     : "",
		.canonical = kind == BOGUS || kind == ERROR ? "" : names[name].name,
		.count = kind == FOUND ? 3 - first : 0,
		.ttl = is_failure || result->ttl < 0 ? 0 : (uint32_t)result->ttl,
		.is_secure = !is_failure && result->secure};
}

/* --- queries --- */

static struct {
	struct dns_query *query;
	int number; /* of libunbound; -1: none */
	struct expected expected;
	unsigned done;
	int64_t begun_us;
} queries[QUERIES_MAX];

static void on_dns_answer(void *context, const struct dns_answer *answer)
{
	size_t i = (size_t)(uintptr_t)context;
	const struct expected *expected = &queries[i].expected;

	queries[i].done++;
	assert_int_equal(answer->status, expected->status);
	assert_string_equal(answer->reason, expected->reason);
	assert_string_equal(answer->canonical, expected->canonical);
	assert_int_equal(answer->count, expected->count);
	assert_int_equal(answer->ttl, expected->ttl);
	assert_int_equal(answer->is_secure, expected->is_secure);
	for (size_t n = 0; n < answer->count && expected->ttl != DNS_HOSTS_TTL; n++) {
		assert_ptr_equal(answer->data[n], data[3 - answer->count + n]);
		assert_int_equal(answer->lengths[n], lengths[3 - answer->count + n]);
	}
}

static struct dns_resolver *resolver;

static void begin_query(size_t i)
{
	static const struct expected nobody = {DNS_FAILED, "timeout", "", 0, 0, false},
				     none = {DNS_NO_DATA, "", "", 0, DNS_HOSTS_TTL, false},
				     known = {DNS_FOUND, "", "", 1, DNS_HOSTS_TTL, false};
	size_t how = chance(8);
	const char *name = how == 0 ? "four.example" : how == 1 ? "six.example" : "asked.example";
	int before = played.count;

	played.refuses = how == 2 ? UB_NOMEM : 0;
	queries[i].done = 0;
	queries[i].begun_us = os_clock_monotonic_us();
	queries[i].expected = how == 0 ? none : how == 1 ? known : nobody;
	queries[i].query =
		dns_query_new(resolver, name, DNS_TYPE_AAAA, on_dns_answer, (void *)(uintptr_t)i);
	assert_int_equal(queries[i].done, 0); /* never before it returns */
	queries[i].number = played.count > before ? before : -1;
	assert_int_equal(queries[i].number >= 0, how > 2);
}

/* Time passes. What was not asked is answered at once, all else when its time is over; but the one
 * whose time no longer counts. */
static void let_time_pass(int64_t us, size_t but)
{
	fake_advance(us);
	for (size_t i = 0; i < QUERIES_MAX; i++) {
		bool is_asked = queries[i].number >= 0, is_due;

		if (queries[i].query == NULL || i == but)
			continue;
		is_due = os_clock_monotonic_us() >=
			 queries[i].begun_us + (is_asked ? 30 * SECOND_US : 0);
		assert_int_equal(queries[i].done, is_due);
		if (!is_due)
			continue;
		if (is_asked)
			assert_null(played.asked[queries[i].number].call);
		queries[i].query = NULL;
		queries[i].number = -1;
	}
}

/* That libunbound has not answered; how it goes on is the caller's. */
static void answer_query(size_t i)
{
	struct asked *asked = &played.asked[queries[i].number];
	ub_callback_type call = asked->call;
	enum kind kind = (enum kind)chance(KINDS);
	struct ub_result result;

	make_result(kind, &result, &queries[i].expected);
	asked->call = NULL;
	played.results += kind != ERROR;
	call(asked->context, kind == ERROR ? UB_NOMEM : 0, kind == ERROR ? NULL : &result);
	assert_int_equal(played.results, 0);
	queries[i].number = -1;
	assert_int_equal(queries[i].done, kind != SERVFAIL);
	if (kind != SERVFAIL) {
		queries[i].query = NULL;
		return;
	}
	{
		/* whether a name server answers, is asked; which takes no time here, or more than
		 * a query has */
		struct dns_reach_question *question = played.reach;
		bool is_reached = chance(2) == 0;

		assert_non_null(question);
		let_time_pass((int64_t)chance(2) * 40 * SECOND_US, i);
		assert_int_equal(queries[i].done, 0);
		queries[i].expected = (struct expected){
			DNS_FAILED,
			is_reached ? "the name servers answer SERVFAIL" : "no name server answers",
			"",
			0,
			0,
			false};
		if (chance(4) == 0) {
			dns_query_cancel(queries[i].query);
			assert_null(played.reach);
		} else {
			struct dns_reach_question copy = *question;

			dns_reach_cancel(question);
			copy.done(copy.context, is_reached);
			assert_int_equal(queries[i].done, 1);
		}
		queries[i].query = NULL;
	}
}

static void cancel_query(size_t i)
{
	int number = queries[i].number;

	dns_query_cancel(queries[i].query);
	queries[i].query = NULL;
	queries[i].number = -1;
	if (number >= 0)
		assert_null(played.asked[number].call);
	assert_int_equal(queries[i].done, 0);
}

static int count_open(void)
{
	int count = 0;

	for (size_t i = 0; i < QUERIES_MAX; i++)
		count += queries[i].query != NULL && queries[i].number >= 0;
	return count;
}

static void any_order_of_answers(void **state)
{
	(void)state;
	assert_int_equal(dns_resolver_new(NULL, "192.0.2.53@53", &resolver), 0);
	memset(queries, 0, sizeof queries);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t i = chance(QUERIES_MAX);

		if (queries[i].query == NULL)
			begin_query(i);
		else if (chance(4) == 0)
			cancel_query(i);
		else if (queries[i].number >= 0)
			answer_query(i);
		if (chance(20) == 0)
			let_time_pass((int64_t)chance(4) * 10 * SECOND_US, QUERIES_MAX);
		assert_int_equal(played.open, count_open());
	}
	for (size_t i = 0; i < QUERIES_MAX; i++)
		if (queries[i].query != NULL)
			cancel_query(i);
	dns_query_cancel(NULL);
	assert_int_equal(played.open, 0);
	assert_int_equal(fake_timers(), 0);
	dns_resolver_free(resolver);
	dns_resolver_free(NULL);
}

/* --- how it is configured --- */

static const char all_options[] = "option do-not-query-localhost:no\n"
				  "option infra-host-ttl:30\n"
				  "option infra-keep-probing:yes\n"
				  "option infra-cache-max-rtt:4000\n"
				  "option outgoing-range:1024\n"
				  "option num-queries-per-thread:1024\n"
				  "option use-syslog:no\n"
				  "option target-fetch-policy:0 0 0 0 0\n"
				  "option unblock-lan-zones:yes\n";

static const char *const unsigned_domains[] = {"corp.example", "lan"};

static const struct {
	const char *server;
	struct dns_trust trust;
	const char *before, *after; /* the options */
} settings[] = {
	{"192.0.2.53@5353", {{0}}, "option module-config:iterator\n", "forward 192.0.2.53@5353\n"},
	{"",
	 {.unsigned_domains = unsigned_domains, .unsigned_count = 2},
	 "option module-config:iterator\n",
	 "resolvconf \n"},
	{"::1",
	 {STR(". DS 1\n\n. DS 2\nx. DNSKEY 3"), unsigned_domains, 2},
	 "option module-config:validator iterator\n"
	 "option domain-insecure:corp.example\n"
	 "option domain-insecure:lan\n"
	 "anchor . DS 1\nanchor . DS 2\nanchor x. DNSKEY 3\n",
	 "forward ::1\n"},
};

static void begin_configuration(int fails_at)
{
	played.log[0] = '\0';
	played.calls = 0;
	played.fails_at = fails_at;
}

/* All of it, in order; and each call fails once. */
static void how_it_is_configured(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		char expected[2048];
		int calls;

		snprintf(expected, sizeof expected, "create \n%s%s%sasync 1\nremove test.\n",
			 settings[i].before, all_options, settings[i].after);
		begin_configuration(0);
		assert_int_equal(dns_resolver_new_validating(NULL, settings[i].server,
							     &settings[i].trust, &resolver),
				 0);
		assert_string_equal(played.log, expected);
		calls = played.calls;
		dns_resolver_free(resolver);
		for (int call = 2; call <= calls; call++) {
			struct dns_resolver *none = (struct dns_resolver *)&played;

			begin_configuration(call);
			if (strcmp(settings[i].server, "") == 0 && call == calls - 2)
				continue; /* resolvconf, below */
			assert_int_equal(dns_resolver_new_validating(NULL, settings[i].server,
								     &settings[i].trust, &none),
					 -EINVAL);
			assert_ptr_equal(none, &played);
			assert_string_equal(played.log + strlen(played.log) - 8, "delete \n");
			assert_int_equal(played.calls, call + 1);
		}
	}
	begin_configuration(0);
}

/* The errors of the system, where there are any, are what an operator can act on. */
static void errors_of_the_system(void **state)
{
	static const struct {
		int unbound, system, result;
	} rows[] = {
		{UB_NOERROR, EACCES, 0},     {UB_READFILE, EACCES, -EACCES},
		{UB_PIPE, EMFILE, -EMFILE},  {UB_SOCKET, ENFILE, -ENFILE},
		{UB_READFILE, 0, -EINVAL},   {UB_SYNTAX, EACCES, -EINVAL},
		{UB_NOMEM, EACCES, -ENOMEM}, {UB_READFILE, ENOENT, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		begin_configuration(0);
		played.resolvconf_error = rows[i].unbound;
		played.system_error = rows[i].system;
		errno = EISDIR; /* of a call before */
		assert_int_equal(dns_resolver_new(NULL, "", &resolver), rows[i].result);
		/* without the file it is this machine */
		assert_int_equal(strstr(played.log, "forward 127.0.0.1\n") != NULL,
				 rows[i].system == ENOENT);
		if (rows[i].result == 0)
			dns_resolver_free(resolver);
	}
	begin_configuration(13);
	assert_int_equal(dns_resolver_new(NULL, "", &resolver), -ENOENT);
	assert_non_null(strstr(played.log, "forward 127.0.0.1\ndelete"));
	played.resolvconf_error = 0;
	begin_configuration(1);
	played.system_error = EMFILE;
	assert_int_equal(dns_resolver_new(NULL, "", &resolver), -EMFILE);
	begin_configuration(1);
	played.system_error = 0;
	errno = EISDIR;
	assert_int_equal(dns_resolver_new(NULL, "", &resolver), -ENOMEM);
	begin_configuration(0);
}

/* --- its thread --- */

static jmp_buf end;
static int end_error;

static void on_end(const char *what, int error)
{
	assert_non_null(strstr(what, "libunbound's thread"));
	end_error = error;
	longjmp(end, 1);
}

/* What it writes is read; what cannot be understood, or asked, ends the process. */
static void a_thread_that_cannot_be_understood(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	played.descriptor = ends[0];
	cannot_begin_by(on_end);
	assert_int_equal(dns_resolver_new(NULL, "192.0.2.53", &resolver), 0);
	assert_false(fake_play_file());
	assert_int_equal(write(ends[1], "a", 1), 1);
	assert_true(fake_play_file());
	assert_int_equal(played.processed, 1);
	for (int error = -1; error <= 1; error += 2) {
		played.process_error = error;
		end_error = 0;
		if (setjmp(end) == 0)
			(void)fake_play_file();
		assert_int_equal(end_error, -EPIPE);
	}
	dns_resolver_free(resolver);
	cannot_begin_by(NULL);
	close(ends[0]);
	close(ends[1]);
}

static int set_up(void **state)
{
	(void)state;
	memset(&played, 0, sizeof played);
	played.descriptor = 99;
	for (size_t i = 0; i < LONG; i++)
		long_text[i] = i % 50 == 40 ? '.' : 'x';
	fake_begin(1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(any_order_of_answers, set_up),
		cmocka_unit_test_setup(how_it_is_configured, set_up),
		cmocka_unit_test_setup(errors_of_the_system, set_up),
		cmocka_unit_test_setup(a_thread_that_cannot_be_understood, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
