// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_dns.c - what is made of answers from the DNS, whatever is in them.
 *
 * The first byte: a relay's addresses or a domain's exchangers, and whether the TLSA records of
 * the first server follow. Then for each answer a byte that says to which of the pending
 * questions, one for its status, one for how many records, and these. When the input ends amid
 * them, the search is given up.
 *
 * In the place of the resolver stands this file.
 */
#include "base/panic.h"
#include "dns/search.h"
#include "dns/self.h"
#include "dns/tlsa.h"
#include "input.h"
#include "os/random.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { QUERIES_MAX = 64, RECORDS_MAX = 130, PORT = 2525 };
enum { RELAY = 1, TLSA = 2 };         /* of the first byte */
enum { SECURE = 0x80, ALIAS = 0x40 }; /* of a status */

struct dns_query {
	void (*done)(void *context, const struct dns_answer *answer);
	void *context;
	enum dns_type type;
};

static struct dns_query *pending[QUERIES_MAX];
static size_t pending_count;
static const struct dns_servers *found; /* NULL: not done */

struct dns_query *dns_query_new(struct dns_resolver *resolver, const char *name, enum dns_type type,
				void (*done)(void *context, const struct dns_answer *answer),
				void *context)
{
	struct dns_query *query = memory_alloc_zero(1, sizeof *query);

	(void)resolver;
	if (pending_count == QUERIES_MAX || strlen(name) >= DNS_NAME_SIZE)
		panic("too much is asked");
	query->done = done;
	query->context = context;
	query->type = type;
	pending[pending_count++] = query;
	return query;
}

static void forget(size_t index)
{
	free(pending[index]);
	pending[index] = pending[--pending_count];
}

void dns_query_cancel(struct dns_query *query)
{
	size_t index = 0;

	if (query == NULL)
		return;
	while (index < pending_count && pending[index] != query)
		index++;
	if (index == pending_count)
		panic("a question is cancelled that is not pending");
	forget(index);
}

/* In the place of chance. */
uint64_t os_random_below(uint64_t bound)
{
	return bound / 2;
}

static void give_answer(struct input *input)
{
	size_t index = input_byte(input) % pending_count;
	struct dns_query query = *pending[index];
	unsigned status = input_byte(input);
	struct dns_answer answer = {.status = (enum dns_status)(status % 4),
				    .reason = "SERVFAIL",
				    .is_secure = status & SECURE,
				    .canonical = status & ALIAS ? "real.example" : ""};
	size_t count = input_byte(input) % RECORDS_MAX;
	char *records[RECORDS_MAX];
	int lengths[RECORDS_MAX];

	for (size_t i = 0; i < count && answer.status == DNS_FOUND; i++) {
		struct str record = input_text(input);

		/* of its own length exactly, so that reading after it is noticed */
		records[i] = memory_alloc(record.length > 0 ? record.length : 1);
		memcpy(records[i], record.data, record.length);
		lengths[i] = (int)record.length;
		answer.count++;
	}
	answer.data = records;
	answer.lengths = lengths;
	forget(index);
	query.done(query.context, &answer);
	for (size_t i = 0; i < answer.count; i++)
		free(records[i]);
}

static void on_done(void *context, const struct dns_servers *servers)
{
	(void)context;
	if (found != NULL || pending_count > 0)
		panic("done twice, or with questions pending");
	found = servers;
}

static void check_host(const char *host)
{
	if (host[0] == '\0' || strlen(host) >= DNS_NAME_SIZE)
		panic("a server without a name");
	for (; *host != '\0'; host++)
		if (strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.", *host) == NULL)
			panic("a server's name is none: %s", host);
}

static void check_servers(const struct dns_servers *servers, const struct dns_self *self)
{
	if ((servers->count > 0) != (servers->verdict.class == MAIL_OK) ||
	    servers->count > DNS_SERVERS_MAX)
		panic("%zu servers, and %s", servers->count, servers->verdict.text);
	for (size_t i = 0; i < servers->count; i++) {
		const union os_socket_address *address = &servers->list[i].address;
		sa_family_t family = address->v4.sin_family;

		check_host(servers->list[i].host);
		if ((family != AF_INET || ntohs(address->v4.sin_port) != PORT) &&
		    (family != AF_INET6 || ntohs(address->v6.sin6_port) != PORT))
			panic("a server's address is none");
		if (self != NULL && dns_self_target(self, address) != DNS_TARGET_HOST)
			panic("mail would come back to this host, or go nowhere");
	}
}

static void on_tlsa(void *context, const struct dns_tlsa_answer *answer)
{
	*(bool *)context = true;
	if (answer->count > DNS_TLSA_MAX || answer->reason[0] == '\0')
		panic("%zu TLSA records, for no reason", answer->count);
	if (answer->status == DNS_TLSA_USABLE && (answer->count == 0 || answer->base == NULL))
		panic("usable TLSA records that are not there");
	for (size_t i = 0; i < answer->count; i++) {
		const struct dns_tlsa *tlsa = &answer->list[i];
		bool is_usage = tlsa->usage == 2 || tlsa->usage == 3;

		if (!is_usage || tlsa->selector > 1 || tlsa->matching > 2 ||
		    tlsa->data.length == 0 || tlsa->data.length > DNS_TLSA_DATA_MAX)
			panic("a TLSA record that is of no use");
	}
}

/* Of one server. If nothing is asked, the answer comes from the loop, and is not waited for. */
static void look_up_tlsa(struct input *input, const struct dns_server *server)
{
	struct os_loop *loop = os_loop_new();
	bool is_done = false;
	struct dns_tlsa_search *search = dns_tlsa_search_new(loop, NULL, server, on_tlsa, &is_done);
	bool is_asked = pending_count > 0;

	if (is_asked && !server->is_host_secure)
		panic("the TLSA records of a server that is not secure are asked for");
	while (pending_count > 0 && input->rest.length > 0)
		give_answer(input);
	if (is_asked && pending_count == 0 && !is_done)
		panic("nothing is asked about TLSA records, and nothing was said");
	dns_tlsa_search_free(search);
	os_loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct in6_addr own = {{{[10] = 0xff, [11] = 0xff, 192, 0, 2, 1}}};
	static const struct dns_self self = {"us.example", &own, 1};
	struct input input = {str_slice((const char *)data, size)};
	unsigned kind = input_byte(&input);
	bool is_relay = kind & RELAY;
	struct dns_search *search;

	found = NULL;
	search = is_relay ? dns_search_relay(NULL, "relay.example", PORT, on_done, NULL)
			  : dns_search_exchangers(NULL, "d.example", &self, PORT, on_done, NULL);
	if (found != NULL)
		panic("done before it began");
	while (pending_count > 0 && input.rest.length > 0)
		give_answer(&input);
	if (pending_count == 0 && found == NULL)
		panic("nothing is asked, and nothing was said");
	if (found != NULL)
		check_servers(found, is_relay ? NULL : &self);
	if (found != NULL && found->count > 0 && (kind & TLSA))
		look_up_tlsa(&input, &found->list[0]);
	dns_search_free(search);
	if (pending_count > 0)
		panic("a question outlives its search");
	return 0;
}
