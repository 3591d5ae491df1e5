// SPDX-License-Identifier: ISC
#include "fake_dns.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 128 };

struct dns_query {
	char name[300];
	enum dns_type type;
	void (*done)(void *context, const struct dns_answer *answer);
	void *context;
	struct dns_query *next;
};

static struct {
	const struct dns_record *records;
	struct dns_query *queries; /* newest first */
	struct buffer asked;       /* "NAME/TYPE " of each */
} dns;

struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context)
{
	struct dns_query *query = memory_alloc_zero(1, sizeof *query);

	(void)resolver;
	*query = (struct dns_query){
		.type = type, .done = done, .context = context, .next = dns.queries};
	assert_true(strlen(name) < sizeof query->name);
	strcpy(query->name, name);
	dns.queries = query;
	buffer_append_format(&dns.asked, "%s/%d ", name, (int)type);
	return query;
}

void dns_query_cancel(struct dns_query *query)
{
	struct dns_query **place = &dns.queries;

	if (query == NULL)
		return;
	while (*place != query)
		place = &(*place)->next;
	*place = query->next;
	free(query);
}

int dns_resolver_new(struct os_loop *loop, const char *server, struct dns_resolver **resolver_out)
{
	(void)loop;
	(void)server;
	*resolver_out = NULL;
	return 0;
}

int dns_resolver_new_validating(struct os_loop *loop, const char *server,
				const struct dns_trust *trust, struct dns_resolver **resolver_out)
{
	return trust->anchors.length > 0 ? dns_resolver_new(loop, server, resolver_out) : -EINVAL;
}

void dns_resolver_free(struct dns_resolver *resolver)
{
	assert_null(resolver);
}

static const struct dns_record *find(const struct dns_query *query)
{
	static const struct dns_record nothing = {.status = DNS_NO_NAME, .is_secure = true};

	for (const struct dns_record *one = dns.records; one->name != NULL; one++)
		if (strcmp(one->name, query->name) == 0 && one->type == query->type)
			return one;
	return &nothing;
}

void fake_dns_answer(const struct dns_answer *answer)
{
	struct dns_query query = *dns.queries;

	dns_query_cancel(dns.queries);
	query.done(query.context, answer);
}

void fake_dns_answer_all(void)
{
	char *data[RECORDS_MAX];
	int lengths[RECORDS_MAX];

	while (dns.queries != NULL) {
		const struct dns_record *record = find(dns.queries);
		struct dns_answer answer = {.status = record->status,
					    .reason = "bogus: signature expired",
					    .data = data,
					    .lengths = lengths,
					    .is_secure = record->is_secure,
					    .canonical = ""};

		if (record->status == DNS_FOUND)
			answer.count = record->count > 0 ? record->count : 1;
		assert_true(answer.count <= RECORDS_MAX);
		if (record->canonical != NULL)
			answer.canonical = record->canonical;
		for (size_t i = 0; i < answer.count; i++) {
			data[i] = (char *)(uintptr_t)record->data;
			lengths[i] = (int)record->length;
		}
		fake_dns_answer(&answer);
	}
}

void fake_dns_play(const struct dns_record *records)
{
	buffer_clear(&dns.asked);
	dns.queries = NULL;
	dns.records = records;
}

void fake_dns_end(void)
{
	buffer_clear(&dns.asked);
}

void fake_dns_check_asked(const char *expected)
{
	buffer_append_byte(&dns.asked, '\0');
	assert_string_equal(buffer_data(&dns.asked), expected);
	assert_null(dns.queries);
}
