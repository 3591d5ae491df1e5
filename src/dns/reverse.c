// SPDX-License-Identifier: ISC
#include "dns/reverse.h"
#include "base/panic.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
	struct dns_reverse *reverse;
	struct dns_query *query; /* NULL: finished */
	char name[DNS_NAME_SIZE];
};

struct dns_reverse {
	struct dns_resolver *resolver;
	struct in6_addr address;
	struct dns_query *query; /* for the PTR records */
	struct candidate candidates[DNS_REVERSE_NAMES_MAX];
	size_t count;
	size_t pending; /* candidates with a pending query */
	uint32_t ttl;
	bool has_failed; /* at least one query */
	struct dns_reverse_answer answer;
	void (*done)(void *context, const struct dns_reverse_answer *answer);
	void *context;
};

static bool is_reverse_of_ipv4(const struct dns_reverse *reverse)
{
	return IN6_IS_ADDR_V4MAPPED(&reverse->address);
}

/* RFC 1035 section 3.5, RFC 3596 section 2.5 */
static void format_question(const struct dns_reverse *reverse, char name_out[DNS_NAME_SIZE])
{
	const unsigned char *bytes = reverse->address.s6_addr;
	char *end = name_out;

	if (is_reverse_of_ipv4(reverse)) {
		snprintf(name_out, DNS_NAME_SIZE, "%u.%u.%u.%u.in-addr.arpa", bytes[15], bytes[14],
			 bytes[13], bytes[12]);
		return;
	}
	for (size_t i = sizeof reverse->address.s6_addr; i > 0; i--)
		end += sprintf(end, "%x.%x.", bytes[i - 1] & 15u, bytes[i - 1] >> 4);
	strcpy(end, "ip6.arpa");
}

static void cancel_reverse_queries(struct dns_reverse *reverse)
{
	dns_query_cancel(reverse->query);
	reverse->query = NULL;
	for (size_t i = 0; i < reverse->count; i++) {
		dns_query_cancel(reverse->candidates[i].query);
		reverse->candidates[i].query = NULL;
	}
	reverse->pending = 0;
}

static void finish_reverse_lookup(struct dns_reverse *reverse, const char *name)
{
	bool is_temporary = *name == '\0' && reverse->has_failed;

	cancel_reverse_queries(reverse);
	reverse->answer =
		(struct dns_reverse_answer){name, is_temporary, is_temporary ? 0 : reverse->ttl};
	reverse->done(reverse->context, &reverse->answer);
}

static void note_reverse_answer(struct dns_reverse *reverse, const struct dns_answer *answer)
{
	if (answer->status == DNS_FAILED)
		reverse->has_failed = true;
	else if (answer->ttl < reverse->ttl)
		reverse->ttl = answer->ttl;
}

static bool has_reverse_address(const struct dns_reverse *reverse, const struct dns_answer *answer)
{
	size_t length = is_reverse_of_ipv4(reverse) ? 4 : 16;
	const unsigned char *wanted = reverse->address.s6_addr + 16 - length;

	for (size_t i = 0; i < answer->count; i++)
		if ((size_t)answer->lengths[i] == length &&
		    memcmp(answer->data[i], wanted, length) == 0)
			return true;
	return false;
}

static void on_candidate_addresses(void *context, const struct dns_answer *answer)
{
	struct candidate *candidate = context;
	struct dns_reverse *reverse = candidate->reverse;

	candidate->query = NULL;
	reverse->pending--;
	note_reverse_answer(reverse, answer);
	if (has_reverse_address(reverse, answer))
		finish_reverse_lookup(reverse, candidate->name);
	else if (reverse->pending == 0)
		finish_reverse_lookup(reverse, "");
}

static void add_reverse_candidate(struct dns_reverse *reverse, struct str data)
{
	struct candidate *candidate = &reverse->candidates[reverse->count];

	if (!dns_name_parse(data, candidate->name) || candidate->name[0] == '\0')
		return;
	candidate->reverse = reverse;
	candidate->query = dns_query_new(reverse->resolver, candidate->name,
					 is_reverse_of_ipv4(reverse) ? DNS_TYPE_A : DNS_TYPE_AAAA,
					 on_candidate_addresses, candidate);
	reverse->count++;
	reverse->pending++;
}

static void on_names(void *context, const struct dns_answer *answer)
{
	struct dns_reverse *reverse = context;

	reverse->query = NULL;
	note_reverse_answer(reverse, answer);
	for (size_t i = 0; i < answer->count && reverse->count < DNS_REVERSE_NAMES_MAX; i++)
		add_reverse_candidate(reverse,
				      str_slice(answer->data[i], (size_t)answer->lengths[i]));
	if (reverse->pending == 0)
		finish_reverse_lookup(reverse, "");
}

struct dns_reverse *
dns_reverse_new(struct dns_resolver *resolver, const struct in6_addr *address,
		void (*done)(void *context, const struct dns_reverse_answer *answer), void *context)
{
	struct dns_reverse *reverse = memory_alloc_zero(1, sizeof *reverse);
	char name[DNS_NAME_SIZE];

	reverse->resolver = resolver;
	reverse->address = *address;
	reverse->ttl = UINT32_MAX;
	reverse->done = done;
	reverse->context = context;
	format_question(reverse, name);
	reverse->query = dns_query_new(resolver, name, DNS_TYPE_PTR, on_names, reverse);
	return reverse;
}

void dns_reverse_free(struct dns_reverse *reverse)
{
	if (reverse == NULL)
		return;
	cancel_reverse_queries(reverse);
	free(reverse);
}
