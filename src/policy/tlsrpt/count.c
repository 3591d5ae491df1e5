// SPDX-License-Identifier: ISC
#include "policy/tlsrpt/count.h"
#include "base/panic.h"
#include "policy/tlsrpt/internal.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const char *const result_names[TLSRPT_RESULTS] = {
	[TLSRPT_SUCCESS] = "",
	[TLSRPT_STARTTLS_NOT_SUPPORTED] = "starttls-not-supported",
	[TLSRPT_CERTIFICATE_HOST_MISMATCH] = "certificate-host-mismatch",
	[TLSRPT_CERTIFICATE_EXPIRED] = "certificate-expired",
	[TLSRPT_CERTIFICATE_NOT_TRUSTED] = "certificate-not-trusted",
	[TLSRPT_VALIDATION_FAILURE] = "validation-failure",
	[TLSRPT_TLSA_INVALID] = "tlsa-invalid",
	[TLSRPT_DNSSEC_INVALID] = "dnssec-invalid",
	[TLSRPT_DANE_REQUIRED] = "dane-required",
	[TLSRPT_STS_POLICY_FETCH_ERROR] = "sts-policy-fetch-error",
	[TLSRPT_STS_POLICY_INVALID] = "sts-policy-invalid",
	[TLSRPT_STS_WEBPKI_INVALID] = "sts-webpki-invalid",
};

const char *const tlsrpt_policy_names[TLSRPT_POLICIES] = {"no-policy-found", "sts", "tlsa"};

const char *tlsrpt_result_name(enum tlsrpt_result result)
{
	return result_names[result];
}

bool tlsrpt_result_find(struct str name, enum tlsrpt_result *result_out)
{
	for (enum tlsrpt_result i = TLSRPT_SUCCESS + 1; i < TLSRPT_RESULTS; i++)
		if (str_equal(name, str_from(result_names[i]))) {
			*result_out = i;
			return true;
		}
	return false;
}

/* TEXT as one line; IS_WORD: and one word, "-" if it is empty. */
static char *copy_line(struct str text, size_t most, bool is_word)
{
	size_t length = text.length < most ? text.length : most;
	char *copy;

	if (length == 0 && is_word)
		return memory_copy_string("-");
	copy = memory_alloc_zero(length + 1, 1);
	for (size_t i = 0; i < length; i++) {
		char byte = text.data[i];

		copy[i] = byte < ' ' || byte > '~' || (is_word && byte == ' ') ? '?' : byte;
	}
	return copy;
}

static void failure_free(struct tlsrpt_failure *failure)
{
	free(failure->host);
	free(failure->greeting);
	free(failure->server_address);
	free(failure->own_address);
	free(failure->reason);
	free(failure);
}

static void policy_free(struct tlsrpt_applied *policy)
{
	struct tlsrpt_failure *failure;
	struct tlsrpt_failure *next;

	LL_FOREACH_SAFE(policy->failures, failure, next)
	failure_free(failure);
	free(policy->text);
	free(policy->hosts);
	free(policy);
}

struct tlsrpt_day *tlsrpt_day_new(void)
{
	return memory_alloc_zero(1, sizeof(struct tlsrpt_day));
}

void tlsrpt_day_free(struct tlsrpt_day *day)
{
	struct tlsrpt_applied *policy;
	struct tlsrpt_applied *next;

	if (day == NULL)
		return;
	LL_FOREACH_SAFE(day->policies, policy, next)
	policy_free(policy);
	free(day);
}

/* Items with BETWEEN between them stay so; empty ones are left out. */
static char *copy_items(struct str text, char between)
{
	size_t most = text.length < TLSRPT_LINES_MAX ? text.length : TLSRPT_LINES_MAX;
	char *copy = memory_alloc_zero(most + 1, 1);
	size_t length = 0;

	for (size_t i = 0; i < most; i++) {
		char byte = text.data[i];

		if (byte != between)
			copy[length++] = byte < ' ' || byte > '~' ? '?' : byte;
		else if (length > 0 && copy[length - 1] != between)
			copy[length++] = byte;
	}
	if (length > 0 && copy[length - 1] == between)
		copy[length - 1] = '\0';
	return copy;
}

struct tlsrpt_applied *tlsrpt_day_find(struct tlsrpt_day *day, enum tlsrpt_policy kind,
				       struct str text, struct str hosts)
{
	char *copy = copy_items(text, '\n');
	struct tlsrpt_applied *policy;

	LL_FOREACH(day->policies, policy)
	if (policy->kind == kind && strcmp(policy->text, copy) == 0)
		break;
	if (policy != NULL || day->policy_count == TLSRPT_DAY_POLICIES_MAX) {
		free(copy);
		return policy;
	}
	policy = memory_alloc_zero(1, sizeof *policy);
	policy->kind = kind;
	policy->text = copy;
	policy->hosts = copy_items(hosts, ' ');
	LL_APPEND(day->policies, policy);
	day->policy_count++;
	return policy;
}

static bool is_equal_failure(const struct tlsrpt_failure *a, const struct tlsrpt_failure *b)
{
	return a->result == b->result && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->greeting, b->greeting) == 0 &&
	       strcmp(a->server_address, b->server_address) == 0 &&
	       strcmp(a->own_address, b->own_address) == 0 && strcmp(a->reason, b->reason) == 0;
}

static struct tlsrpt_failure *new_failure(const struct tlsrpt_session *session)
{
	struct tlsrpt_failure *failure = memory_alloc_zero(1, sizeof *failure);

	failure->result = session->result;
	failure->host = copy_line(session->host, TLSRPT_WORD_MAX, true);
	failure->greeting = copy_line(session->greeting, TLSRPT_WORD_MAX, true);
	failure->server_address = copy_line(session->server_address, TLSRPT_WORD_MAX, true);
	failure->own_address = copy_line(session->own_address, TLSRPT_WORD_MAX, true);
	failure->reason = copy_line(session->reason, TLSRPT_REASON_MAX, false);
	return failure;
}

void tlsrpt_applied_fail(struct tlsrpt_applied *policy, const struct tlsrpt_session *session,
			 uint64_t count)
{
	struct tlsrpt_session plain = {.result = session->result};
	struct tlsrpt_failure *new = new_failure(session);
	struct tlsrpt_failure *failure;

	if (policy->failure_count >= TLSRPT_DAY_FAILURES_MAX) {
		LL_FOREACH(policy->failures, failure)
		if (is_equal_failure(failure, new))
			break;
		if (failure == NULL) {
			failure_free(new);
			new = new_failure(&plain);
		}
	}
	LL_FOREACH(policy->failures, failure)
	if (is_equal_failure(failure, new))
		break;
	if (failure == NULL) {
		LL_APPEND(policy->failures, new);
		policy->failure_count++;
		failure = new;
	} else {
		failure_free(new);
	}
	failure->count += count;
}

void tlsrpt_day_count(struct tlsrpt_day *day, const struct tlsrpt_session *session, struct str text,
		      struct str hosts)
{
	struct tlsrpt_applied *policy = tlsrpt_day_find(day, session->policy, text, hosts);

	if (policy == NULL)
		return;
	if (session->result == TLSRPT_SUCCESS)
		policy->successes++;
	else
		tlsrpt_applied_fail(policy, session, 1);
}

uint64_t tlsrpt_applied_failures(const struct tlsrpt_applied *policy)
{
	const struct tlsrpt_failure *failure;
	uint64_t count = 0;

	LL_FOREACH(policy->failures, failure)
	count += failure->count;
	return count;
}

struct tlsrpt_totals tlsrpt_day_totals(const struct tlsrpt_day *day)
{
	struct tlsrpt_totals totals = {0, 0};
	const struct tlsrpt_applied *policy;

	LL_FOREACH(day->policies, policy)
	{
		totals.successes += policy->successes;
		totals.failures += tlsrpt_applied_failures(policy);
	}
	return totals;
}
