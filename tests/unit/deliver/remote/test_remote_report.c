// SPDX-License-Identifier: ISC
/*
 * What reports about TLS say of a session: every policy with every way in which a session may go,
 * against RFC 8460 section 4.3 as a list of rules. The session and "policy" are this test's.
 */
#include "deliver/remote/report.h"
#include "heard.h"
#include "policy/sts/client.h"
#include "policy/tlsrpt/session.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

/* How a session went. */
static struct {
	bool is_injected, has_connection, has_tls, has_own;
	enum tls_flaw flaw;
} session;

static struct tlsrpt_session counted;
static char counted_text[TLSRPT_TEXT_MAX + 1];
static char addresses[2][OS_SOCKET_TEXT_SIZE];
static unsigned counts;
static const struct dns_server server = {.host = "mx.a.test"};
static union os_socket_address peer, own;

void sts_client_count(struct sts_client *client, const struct tlsrpt_session *of)
{
	assert_ptr_equal(client, &counts);
	counted = *of;
	assert_true(of->text.length <= TLSRPT_TEXT_MAX);
	snprintf(counted_text, sizeof counted_text, STR_FORMAT, STR_ARGUMENTS(of->text));
	snprintf(addresses[0], sizeof addresses[0], STR_FORMAT, STR_ARGUMENTS(of->server_address));
	snprintf(addresses[1], sizeof addresses[1], STR_FORMAT, STR_ARGUMENTS(of->own_address));
	counts++;
}

bool remote_session_is_injected(const struct remote_session *of)
{
	assert_ptr_equal(of, &session);
	return session.is_injected;
}

const struct tls_connection *remote_session_connection(const struct remote_session *of)
{
	assert_ptr_equal(of, &session);
	return session.has_connection ? (const struct tls_connection *)&session : NULL;
}

enum tls_flaw tls_connection_flaw(const struct tls_connection *connection)
{
	assert_ptr_equal(connection, &session);
	return session.flaw;
}

const struct ipc_job_tls *remote_session_tls(const struct remote_session *of)
{
	assert_ptr_equal(of, &session);
	return session.has_tls ? (const struct ipc_job_tls *)&session : NULL;
}

const char *remote_session_server_name(const struct remote_session *of)
{
	assert_ptr_equal(of, &session);
	return "itself.a.test";
}

const union os_socket_address *remote_session_address(const struct remote_session *of)
{
	assert_ptr_equal(of, &session);
	return &peer;
}

bool remote_session_own_address(const struct remote_session *of, union os_socket_address *out)
{
	assert_ptr_equal(of, &session);
	if (session.has_own)
		*out = own;
	return session.has_own;
}

/* --- the rules --- */

static const struct {
	enum tlsrpt_result result;
	const char *reason;
} of_flaws[] = {
	[TLS_FLAW_NONE] = {TLSRPT_SUCCESS, ""},
	[TLS_FLAW_NAME] = {TLSRPT_CERTIFICATE_HOST_MISMATCH, "the certificate is for another name"},
	[TLS_FLAW_EXPIRED] = {TLSRPT_CERTIFICATE_EXPIRED, "the certificate has expired"},
	[TLS_FLAW_UNTRUSTED] = {TLSRPT_CERTIFICATE_NOT_TRUSTED,
				"no authority has signed the certificate"},
	[TLS_FLAW_OTHER] = {TLSRPT_VALIDATION_FAILURE, "the certificate is not valid"},
};

struct expected {
	enum tlsrpt_result result;
	const char *reason;
};

/* A session that was not made at all has what the policy found before; one that failed before a
 * handshake had no STARTTLS, or somebody between; one that failed in it has the flaw that its
 * authorities found, or another. */
static struct expected expect_failure(const struct remote_report *report)
{
	struct expected of = {TLSRPT_VALIDATION_FAILURE, report->reason};

	if (report->session == NULL)
		of.result = report->policy->flaw;
	else if (!session.has_connection && !session.is_injected)
		of.result = TLSRPT_STARTTLS_NOT_SUPPORTED;
	else if (session.has_connection && report->policy->verify.by == TLS_VERIFY_AUTHORITIES &&
		 session.flaw != TLS_FLAW_NONE)
		of.result = of_flaws[session.flaw].result;
	return of;
}

static struct expected expect_finding(const struct remote_report *report)
{
	struct expected of = {report->policy->flaw, ""};

	if (report->has_failed || report->session == NULL)
		return expect_failure(report);
	if (!session.has_tls)
		return (struct expected){TLSRPT_STARTTLS_NOT_SUPPORTED,
					 "the server does not offer STARTTLS"};
	if (report->policy->is_tried)
		of.reason = of_flaws[session.flaw].reason;
	if (report->policy->is_tried && session.flaw != TLS_FLAW_NONE)
		of.result = of_flaws[session.flaw].result;
	return of;
}

static void check_report_of_tls(const struct remote_report *report)
{
	static const enum tlsrpt_policy kinds[] = {TLSRPT_NO_POLICY, TLSRPT_TLSA, TLSRPT_STS};
	struct expected wanted = expect_finding(report);
	bool is_said = report->session != NULL || wanted.result != TLSRPT_SUCCESS;
	bool is_unmet = report->policy->is_tried && wanted.result != TLSRPT_SUCCESS &&
			wanted.result != report->policy->flaw;
	char line[160] = "";

	if (is_unmet)
		snprintf(line, sizeof line, "policy_unmet domain=a.test host=mx.a.test%s%s\n",
			 *wanted.reason != '\0' ? " reason=" : "", wanted.reason);
	(void)heard_take();
	counts = 0;
	remote_report_tell((struct sts_client *)&counts, report);
	assert_string_equal(heard_take(), line);
	assert_int_equal(counts, is_said);
	if (is_said) {
		assert_int_equal(counted.result, wanted.result);
		assert_true(str_equal(counted.reason, str_from(wanted.reason)));
		assert_int_equal(counted.policy, kinds[report->policy->source]);
		assert_true(str_equal(counted.domain, STR("a.test")));
		assert_true(str_equal(counted.host, STR("mx.a.test")));
		assert_true(str_equal(counted.greeting,
				      str_from(report->session != NULL ? "itself.a.test" : "")));
		assert_string_equal(addresses[0], report->session != NULL ? "192.0.2.1" : "");
		assert_string_equal(addresses[1], report->session != NULL && session.has_own
							  ? "2001:db8::1"
							  : "");
	}
	remote_report_tell(NULL, report); /* nobody counts, but it is logged */
	assert_string_equal(heard_take(), line);
	assert_int_equal(counts, is_said);
}

/* The Nth of all ways. */
static unsigned take_digit(unsigned *n, unsigned base)
{
	unsigned digit = *n % base;

	*n /= base;
	return digit;
}

static void every_session_has_its_result(void **state)
{
	static const enum tlsrpt_result flaws[] = {TLSRPT_SUCCESS, TLSRPT_STARTTLS_NOT_SUPPORTED,
						   TLSRPT_CERTIFICATE_EXPIRED, TLSRPT_TLSA_INVALID};
	static const enum tls_verify_by ways[] = {TLS_VERIFY_NOTHING, TLS_VERIFY_AUTHORITIES,
						  TLS_VERIFY_TLSA};
	unsigned count = 0;

	(void)state;
	assert_true(os_socket_address_parse("192.0.2.1", 25, &peer));
	assert_true(os_socket_address_parse("2001:db8::1", 25, &own));
	for (unsigned all = 0;; all++) {
		unsigned n = all;
		struct remote_policy policy = {
			.source = (enum remote_policy_source)take_digit(&n, 3),
			.is_tried = take_digit(&n, 2) > 0,
			.flaw = flaws[take_digit(&n, COUNT_OF(flaws))],
			.verify = {.by = ways[take_digit(&n, COUNT_OF(ways))]},
		};
		struct remote_report report = {
			.domain = "a.test", .server = &server, .policy = &policy};

		report.has_failed = take_digit(&n, 2) > 0;
		report.session =
			take_digit(&n, 3) > 0 ? (const struct remote_session *)&session : NULL;
		/* a failure has a reason, and so has what no session was made for */
		report.reason = report.has_failed || report.session == NULL ? "why" : NULL;
		session.is_injected = take_digit(&n, 2) > 0;
		session.has_connection = take_digit(&n, 2) > 0;
		session.has_tls = session.has_connection && take_digit(&n, 2) > 0;
		session.has_own = take_digit(&n, 2) > 0;
		session.flaw = (enum tls_flaw)take_digit(&n, 5);
		if (n > 0)
			break;
		check_report_of_tls(&report);
		count++;
	}
	assert_true(count > 10000);
}

/* As many as fit, each whole. */
static void records_are_told_as_far_as_they_fit(void **state)
{
	static const char data[] = "\x01\xab\xff";
	static char long_data[1100];
	struct tls_tlsa records[] = {
		{.usage = 3, .selector = 1, .matching = 0, .data = str_slice(data, 3)},
		{.usage = 2, .selector = 0, .matching = 2, .data = str_slice(long_data, 900)},
		{.usage = 3, .selector = 1, .matching = 1, .data = str_slice(long_data, 0)},
		{.usage = 2, .selector = 0, .matching = 1, .data = STR("z")},
	};
	const struct remote_policy policy = {
		.source = REMOTE_POLICY_DANE,
		.verify = {.records = records, .record_count = COUNT_OF(records)}};
	const struct remote_report report = {.domain = "a.test",
					     .server = &server,
					     .policy = &policy,
					     .session = (const struct remote_session *)&session};

	(void)state;
	session.has_tls = session.has_connection = true;
	for (size_t length = 900; length < 920; length++) {
		records[1].data.length = length;
		remote_report_tell((struct sts_client *)&counts, &report);
		assert_memory_equal(counted_text, "3 1 0 01ABFF\n2 0 2 0000", 23);
		assert_string_equal(counted_text + 12 + 7 + 2 * length, "\n3 1 1 \n2 0 1 7A");
	}
	/* two that are so long that the rest is left out, from a bound on */
	for (size_t length = 980; length <= 1100; length++) {
		bool fits = 12 + 7 + 2 * length + 2 * length + 16 <= TLSRPT_TEXT_MAX;

		records[1].data.length = records[2].data.length = length;
		remote_report_tell((struct sts_client *)&counts, &report);
		assert_int_equal(strlen(counted_text) > 12 + 7 + 2 * length, fits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_session_has_its_result),
		cmocka_unit_test(records_are_told_as_far_as_they_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
