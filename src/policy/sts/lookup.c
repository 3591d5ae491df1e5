// SPDX-License-Identifier: ISC
#include "policy/sts/lookup.h"
#include "base/panic.h"
#include "dns/text.h"
#include <stdio.h>
#include <stdlib.h>

#define RECORD_PREFIX "_mta-sts."
#define HOST_PREFIX   "mta-sts."
#define POLICY_PATH   "/.well-known/mta-sts.txt"

enum {
	FETCH_SECONDS = 30, /* the RFC suggests at most a minute */
	NAME_SIZE = 256,
	RECORDS_MAX = 100, /* TXT records that are looked at */
};

struct sts_lookup {
	struct https *https;
	struct dns_query *query;
	struct https_request *request;
	char domain[STS_DOMAIN_MAX + 1];
	char known[STS_ID_MAX + 1];
	struct sts_record record;
	void (*done)(void *context, const struct sts_lookup_result *result);
	void *context;
};

static void finish_policy_lookup(struct sts_lookup *lookup, struct sts_lookup_result *result)
{
	void (*done)(void *context, const struct sts_lookup_result *result) = lookup->done;
	void *context = lookup->context;
	struct sts_record record = lookup->record;

	result->id = record.id;
	free(lookup);
	done(context, result);
}

static void fail_policy_lookup(struct sts_lookup *lookup, enum sts_problem problem,
			       const char *reason)
{
	struct sts_lookup_result result = {
		.status = STS_LOOKUP_FAILED, .problem = problem, .reason = reason};

	finish_policy_lookup(lookup, &result);
}

/* text/plain, perhaps with parameters */
static bool is_type_text_plain(const char *type)
{
	struct str rest = str_from(type);
	struct str media;

	(void)str_split(&rest, ';', &media);
	return str_equal_nocase(str_trim(media), STR("text/plain"));
}

static void take_fetched_policy(struct sts_lookup *lookup, struct str text)
{
	struct sts_lookup_result result = {.status = STS_LOOKUP_FETCHED, .text = text};
	const char *problem = sts_policy_parse(text, &result.policy);

	if (problem != NULL)
		fail_policy_lookup(lookup, STS_PROBLEM_INVALID, problem);
	else
		finish_policy_lookup(lookup, &result);
}

static void on_policy_fetched(void *context, const struct https_answer *answer)
{
	struct sts_lookup *lookup = context;
	char reason[64];

	lookup->request = NULL;
	if (answer->status == HTTPS_UNTRUSTED) {
		fail_policy_lookup(lookup, STS_PROBLEM_WEBPKI, answer->reason);
	} else if (answer->status == HTTPS_TOO_LARGE) {
		fail_policy_lookup(lookup, STS_PROBLEM_INVALID, answer->reason);
	} else if (answer->status != HTTPS_OK) {
		fail_policy_lookup(lookup, STS_PROBLEM_FETCH, answer->reason);
	} else if (answer->code != 200) {
		snprintf(reason, sizeof reason, "HTTP status %u", answer->code);
		fail_policy_lookup(lookup, STS_PROBLEM_FETCH, reason);
	} else if (!is_type_text_plain(answer->type)) {
		fail_policy_lookup(lookup, STS_PROBLEM_INVALID, "its type is not text/plain");
	} else {
		take_fetched_policy(lookup, answer->body);
	}
}

static void fetch_policy(struct sts_lookup *lookup)
{
	char host[NAME_SIZE];
	struct https_ask ask = {.host = host,
				.port = HTTPS_PORT,
				.path = POLICY_PATH,
				.size_max = STS_POLICY_MAX,
				.seconds = FETCH_SECONDS};

	snprintf(host, sizeof host, HOST_PREFIX "%s", lookup->domain);
	lookup->request = https_ask(lookup->https, &ask, on_policy_fetched, lookup);
}

static void read_sts_records(struct sts_record *record, const struct dns_answer *answer)
{
	struct buffer text = {0};

	for (size_t i = 0; i < answer->count && i < RECORDS_MAX; i++) {
		buffer_reset(&text);
		if (dns_text_append(&text, str_slice(answer->data[i], (size_t)answer->lengths[i])))
			sts_record_add(record, buffer_view(&text));
	}
	buffer_clear(&text);
}

static void on_sts_records(void *context, const struct dns_answer *answer)
{
	struct sts_lookup *lookup = context;
	struct sts_lookup_result result = {.status = STS_LOOKUP_NO_RECORD, .ttl = answer->ttl};

	lookup->query = NULL;
	if (answer->status == DNS_FOUND)
		read_sts_records(&lookup->record, answer);
	if (sts_record_is_valid(&lookup->record)) {
		if (strcmp(lookup->record.id, lookup->known) != 0) {
			fetch_policy(lookup);
			return;
		}
		result.status = STS_LOOKUP_SAME;
	} else if (answer->status == DNS_FAILED) {
		result.status = STS_LOOKUP_NO_ANSWER;
		result.reason = answer->reason;
	}
	finish_policy_lookup(lookup, &result);
}

struct sts_lookup *
sts_lookup_new(struct dns_resolver *resolver, struct https *https, const char *domain,
	       const char *known,
	       void (*done)(void *context, const struct sts_lookup_result *result), void *context)
{
	struct sts_lookup *lookup = memory_alloc_zero(1, sizeof *lookup);
	char name[NAME_SIZE];

	lookup->https = https;
	lookup->done = done;
	lookup->context = context;
	snprintf(lookup->domain, sizeof lookup->domain, "%s", domain);
	snprintf(lookup->known, sizeof lookup->known, "%s", known);
	snprintf(name, sizeof name, RECORD_PREFIX "%s", lookup->domain);
	lookup->query = dns_query_new(resolver, name, DNS_TYPE_TXT, on_sts_records, lookup);
	return lookup;
}

void sts_lookup_cancel(struct sts_lookup *lookup)
{
	if (lookup == NULL)
		return;
	dns_query_cancel(lookup->query);
	https_cancel(lookup->request);
	free(lookup);
}
