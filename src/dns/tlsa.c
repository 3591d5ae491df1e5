// SPDX-License-Identifier: ISC
#include "dns/tlsa.h"
#include "base/panic.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TLSA_HEADER_SIZE = 3,   /* usage, selector, matching type */
	PREFIX_SIZE = 16,       /* "_65535._tcp." and more */
	TLSA_REASON_SIZE = 600, /* two names and a resolver's reason */
	SHA256_SIZE = 32,
	SHA512_SIZE = 64,
};

/* RFC 7672 section 2.2.2. The candidates for the base domain are the canonical name, if the whole
 * way to it is secure, and then the host's own name. Where only the end of an alias is insecure,
 * the host's own name is left, if its CNAME record itself is secure. */
enum step { STEP_NOTHING, STEP_ALIAS, STEP_CANONICAL, STEP_HOST };

struct dns_tlsa_search {
	struct dns_resolver *resolver;
	enum step step;
	char host[DNS_NAME_SIZE];
	char canonical[DNS_NAME_SIZE];
	uint16_t port;
	char question[PREFIX_SIZE + DNS_NAME_SIZE];
	struct dns_query *query;
	struct os_timer *timer; /* when there is nothing to ask */
	char reason[TLSA_REASON_SIZE];
	struct dns_tlsa_answer answer;
	char *data; /* of the records */
	void (*done)(void *context, const struct dns_tlsa_answer *answer);
	void *context;
};

static bool is_length(uint8_t matching, size_t length)
{
	switch (matching) {
	case DNS_TLSA_FULL:
		return length > 0 && length <= DNS_TLSA_DATA_MAX;
	case DNS_TLSA_SHA256:
		return length == SHA256_SIZE;
	case DNS_TLSA_SHA512:
		return length == SHA512_SIZE;
	default:
		return false;
	}
}

bool dns_tlsa_parse(struct str data, struct dns_tlsa *tlsa_out)
{
	const unsigned char *bytes = (const unsigned char *)data.data;
	struct dns_tlsa tlsa;

	if (data.length <= TLSA_HEADER_SIZE)
		return false;
	tlsa = (struct dns_tlsa){bytes[0], bytes[1], bytes[2], str_skip(data, TLSA_HEADER_SIZE)};
	if (tlsa.usage != DNS_TLSA_TRUST_ANCHOR && tlsa.usage != DNS_TLSA_END_ENTITY)
		return false;
	if (tlsa.selector > DNS_TLSA_PUBLIC_KEY || !is_length(tlsa.matching, tlsa.data.length))
		return false;
	*tlsa_out = tlsa;
	return true;
}

static void finish_tlsa_search(struct dns_tlsa_search *search, enum dns_tlsa_status status)
{
	search->answer.status = status;
	search->answer.reason = search->reason;
	search->done(search->context, &search->answer);
}

static const char *tlsa_base_of(const struct dns_tlsa_search *search)
{
	return search->step == STEP_CANONICAL ? search->canonical : search->host;
}

static void ask_for_tlsa(struct dns_tlsa_search *search, enum step step);

/* Copies the usable records; false: there are too many. */
static bool take_tlsa_records(struct dns_tlsa_search *search, const struct dns_answer *answer)
{
	struct dns_tlsa_answer *out = &search->answer;
	size_t size = 0;
	size_t used = 0;
	struct dns_tlsa tlsa;

	for (size_t i = 0; i < answer->count; i++)
		size += (size_t)answer->lengths[i];
	search->data = memory_alloc(size + 1);
	for (size_t i = 0; i < answer->count; i++) {
		if (!dns_tlsa_parse(str_slice(answer->data[i], (size_t)answer->lengths[i]), &tlsa))
			continue;
		if (out->count == DNS_TLSA_MAX)
			return false;
		memcpy(search->data + used, tlsa.data.data, tlsa.data.length);
		tlsa.data.data = search->data + used;
		used += tlsa.data.length;
		out->list[out->count++] = tlsa;
	}
	return true;
}

static void read_tlsa_records(struct dns_tlsa_search *search, const struct dns_answer *answer)
{
	search->answer.base = tlsa_base_of(search);
	if (!take_tlsa_records(search, answer)) {
		snprintf(search->reason, sizeof search->reason, "%s has more than %d TLSA records",
			 search->question, DNS_TLSA_MAX);
		finish_tlsa_search(search, DNS_TLSA_FAILED);
	} else if (search->answer.count == 0) {
		snprintf(search->reason, sizeof search->reason,
			 "%s has no usable TLSA record, of %zu", search->question, answer->count);
		finish_tlsa_search(search, DNS_TLSA_UNUSABLE);
	} else {
		snprintf(search->reason, sizeof search->reason, "%s has usable TLSA records: %zu",
			 search->question, search->answer.count);
		finish_tlsa_search(search, DNS_TLSA_USABLE);
	}
}

/* Records that are not signed are none. */
static void go_on_without(struct dns_tlsa_search *search, const struct dns_answer *answer)
{
	if (search->step == STEP_CANONICAL && strcmp(search->canonical, search->host) != 0) {
		ask_for_tlsa(search, STEP_HOST);
		return;
	}
	snprintf(search->reason, sizeof search->reason,
		 answer->status == DNS_FOUND ? "the TLSA records of %s are not signed"
					     : "%s has no TLSA records",
		 search->question);
	finish_tlsa_search(search, DNS_TLSA_NONE);
}

static void on_tlsa_records(void *context, const struct dns_answer *answer)
{
	struct dns_tlsa_search *search = context;

	search->query = NULL;
	if (answer->status == DNS_FAILED) {
		snprintf(search->reason, sizeof search->reason, "the TLSA records of %s: %s",
			 search->question, answer->reason);
		finish_tlsa_search(search, DNS_TLSA_FAILED);
	} else if (answer->status == DNS_FOUND && answer->is_secure) {
		read_tlsa_records(search, answer);
	} else {
		go_on_without(search, answer);
	}
}

static void on_alias(void *context, const struct dns_answer *answer)
{
	struct dns_tlsa_search *search = context;

	search->query = NULL;
	if (answer->status == DNS_FAILED) {
		snprintf(search->reason, sizeof search->reason, "the CNAME record of %s: %s",
			 search->host, answer->reason);
		finish_tlsa_search(search, DNS_TLSA_FAILED);
	} else if (answer->is_secure) {
		ask_for_tlsa(search, STEP_HOST);
	} else {
		snprintf(search->reason, sizeof search->reason,
			 "the addresses of %s are not signed", search->host);
		finish_tlsa_search(search, DNS_TLSA_NONE);
	}
}

static void on_nothing(void *context)
{
	finish_tlsa_search(context, DNS_TLSA_NONE);
}

static void ask_for_tlsa(struct dns_tlsa_search *search, enum step step)
{
	search->step = step;
	if (step == STEP_NOTHING) {
		os_timer_start(search->timer, 0);
	} else if (step == STEP_ALIAS) {
		search->query = dns_query_new(search->resolver, search->host, DNS_TYPE_CNAME,
					      on_alias, search);
	} else {
		snprintf(search->question, sizeof search->question, "_%u._tcp.%s", search->port,
			 tlsa_base_of(search));
		search->query = dns_query_new(search->resolver, search->question, DNS_TYPE_TLSA,
					      on_tlsa_records, search);
	}
}

static enum step first_step(struct dns_tlsa_search *search, const struct dns_server *server)
{
	if (!server->is_host_secure) {
		snprintf(search->reason, sizeof search->reason,
			 "the MX records that name %s are not signed", search->host);
		return STEP_NOTHING;
	}
	if (server->is_addresses_secure)
		return STEP_CANONICAL;
	if (strcmp(search->canonical, search->host) != 0)
		return STEP_ALIAS;
	snprintf(search->reason, sizeof search->reason, "the addresses of %s are not signed",
		 search->host);
	return STEP_NOTHING;
}

struct dns_tlsa_search *dns_tlsa_search_new(
	struct os_loop *loop, struct dns_resolver *resolver, const struct dns_server *server,
	void (*done)(void *context, const struct dns_tlsa_answer *answer), void *context)
{
	struct dns_tlsa_search *search = memory_alloc_zero(1, sizeof *search);

	search->resolver = resolver;
	search->done = done;
	search->context = context;
	search->port = os_socket_address_port(&server->address);
	search->timer = os_timer_new(loop, on_nothing, search);
	snprintf(search->host, sizeof search->host, "%s", server->host);
	snprintf(search->canonical, sizeof search->canonical, "%s", server->canonical);
	ask_for_tlsa(search, first_step(search, server));
	return search;
}

void dns_tlsa_search_free(struct dns_tlsa_search *search)
{
	if (search == NULL)
		return;
	dns_query_cancel(search->query);
	os_timer_free(search->timer);
	free(search->data);
	free(search);
}
