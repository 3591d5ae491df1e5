// SPDX-License-Identifier: ISC
#include "dns/search.h"
#include "base/panic.h"
#include "os/random.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HOSTS_MAX = 16,    /* exchangers whose addresses are looked up */
	ADDRESSES_MAX = 5, /* for each host and address family */
	SEARCH_REASON_SIZE = 240,
};

struct addresses {
	union os_socket_address list[ADDRESSES_MAX];
	size_t count;
	size_t met_count;        /* acceptable ones of the answer */
	struct dns_query *query; /* NULL: finished */
	struct host *host;
	enum dns_status status;
	bool is_secure;
	char canonical[DNS_NAME_SIZE];   /* as of the answer */
	char reason[SEARCH_REASON_SIZE]; /* of DNS_FAILED */
};

struct host {
	struct dns_mx mx;
	struct addresses v6;
	struct addresses v4;
	struct dns_search *search;
};

struct dns_search {
	struct dns_resolver *resolver;
	const struct dns_self *self; /* NULL: search for a relay */
	char domain[DNS_NAME_SIZE];
	uint16_t port;
	enum dns_families families;
	bool is_family_missing; /* a host has only addresses that are not wanted */
	struct dns_query *mx_query;
	bool is_host_secure;
	size_t pending; /* address queries */
	struct host *hosts;
	size_t host_count;
	bool is_none_met;         /* an address was not that of a host */
	bool is_self_met;         /* this host is among the exchangers, */
	uint16_t self_preference; /* with this preference */
	struct dns_servers servers;
	void (*done)(void *context, const struct dns_servers *servers);
	void *context;
};

static void meet_self(struct dns_search *search, uint16_t preference)
{
	if (!search->is_self_met || preference < search->self_preference)
		search->self_preference = preference;
	search->is_self_met = true;
}

/* An exchanger that is not better than this host would return the mail to this host. */
static bool is_better_than_self(const struct dns_search *search, const struct host *host)
{
	return !search->is_self_met || host->mx.preference < search->self_preference;
}

/* A family that could not be looked up says nothing about the other. */
static bool is_insecure(const struct addresses *addresses)
{
	return addresses->status != DNS_FAILED && !addresses->is_secure;
}

static const char *canonical_of(const struct host *host)
{
	if (host->v6.canonical[0] != '\0')
		return host->v6.canonical;
	return host->v4.canonical[0] != '\0' ? host->v4.canonical : host->mx.host;
}

static void add_found_server(struct dns_search *search, const struct host *host,
			     const struct addresses *addresses, size_t index)
{
	struct dns_servers *servers = &search->servers;

	if (index >= addresses->count || servers->count >= DNS_SERVERS_MAX)
		return;
	servers->list[servers->count++] = (struct dns_server){
		.address = addresses->list[index],
		.host = host->mx.host,
		.canonical = canonical_of(host),
		.is_host_secure = search->is_host_secure,
		.is_addresses_secure = !is_insecure(&host->v6) && !is_insecure(&host->v4),
	};
}

static void explain_nothing(struct dns_search *search)
{
	struct mail_verdict *verdict = &search->servers.verdict;
	const struct addresses *failed = NULL;

	for (size_t i = 0; i < search->host_count; i++) {
		if (search->hosts[i].v4.status == DNS_FAILED)
			failed = &search->hosts[i].v4;
		if (search->hosts[i].v6.status == DNS_FAILED)
			failed = &search->hosts[i].v6;
	}
	if (search->is_self_met)
		mail_verdict_set(verdict, "5.4.6", "mail for %s loops back to this host",
				 search->domain);
	else if (failed != NULL)
		mail_verdict_set(verdict, "4.4.3", "the addresses of %s: %s", failed->host->mx.host,
				 failed->reason);
	else if (search->is_family_missing)
		mail_verdict_set(verdict, "4.4.4", "no server of %s has an %s address",
				 search->domain,
				 search->families == DNS_IPV4_ONLY ? "IPv4" : "IPv6");
	else if (search->self == NULL)
		mail_verdict_set(verdict, "4.4.3", "the relay %s has no address", search->domain);
	else if (search->is_none_met)
		mail_verdict_set(verdict, "5.4.4",
				 "the mail exchangers of %s have no address of a host",
				 search->domain);
	else
		mail_verdict_set(verdict, "5.4.4", "no mail exchanger of %s has an address",
				 search->domain);
}

static void finish_server_search(struct dns_search *search)
{
	search->done(search->context, &search->servers);
}

static void add_host(struct dns_search *search, const struct host *host)
{
	enum dns_families families = search->families;
	const struct addresses *order[] = {&host->v6, &host->v4};

	if (families == DNS_IPV4_FIRST || families == DNS_IPV4_ONLY) {
		order[0] = &host->v4;
		order[1] = &host->v6;
	}
	for (size_t n = 0; n < ADDRESSES_MAX; n++) {
		add_found_server(search, host, order[0], n);
		if (families == DNS_IPV4_FIRST || families == DNS_IPV6_FIRST)
			add_found_server(search, host, order[1], n);
		else
			search->is_family_missing |= order[1]->count > 0;
	}
}

static void collect_servers(struct dns_search *search)
{
	for (size_t i = 0; i < search->host_count; i++)
		if (is_better_than_self(search, &search->hosts[i]))
			add_host(search, &search->hosts[i]);
	search->servers.is_backup = search->is_self_met;
	if (search->servers.count == 0)
		explain_nothing(search);
	else
		mail_verdict_set(&search->servers.verdict, "2.0.0", "found");
	finish_server_search(search);
}

static bool read_address(const struct dns_answer *answer, size_t index, bool is_v6, uint16_t port,
			 union os_socket_address *out)
{
	size_t length = (size_t)answer->lengths[index];

	*out = (union os_socket_address){0};
	if (!is_v6 && length == sizeof out->v4.sin_addr) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		memcpy(&out->v4.sin_addr, answer->data[index], length);
		return true;
	}
	if (is_v6 && length == sizeof out->v6.sin6_addr) {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = htons(port);
		memcpy(&out->v6.sin6_addr, answer->data[index], length);
		return true;
	}
	return false;
}

/* Whether mail may be sent to ADDRESS. */
static bool is_acceptable_address(struct dns_search *search, const struct host *host,
				  const union os_socket_address *address)
{
	enum dns_target target = DNS_TARGET_HOST;

	if (search->self != NULL)
		target = dns_self_target(search->self, address);
	if (target == DNS_TARGET_SELF)
		meet_self(search, host->mx.preference);
	if (target == DNS_TARGET_NONE)
		search->is_none_met = true;
	return target == DNS_TARGET_HOST;
}

/* Each of those met has the same chance to be kept, in each position: the addresses of a host are
 * equal, and mail is spread over them (RFC 5321 section 5.1 leaves their order to the resolver). */
static void add_host_address(struct addresses *addresses, const union os_socket_address *address)
{
	size_t position = os_random_below(++addresses->met_count);

	if (addresses->count < ADDRESSES_MAX) {
		addresses->list[addresses->count] = addresses->list[position];
		addresses->count++;
	}
	if (position < ADDRESSES_MAX)
		addresses->list[position] = *address;
}

static void on_host_addresses(void *context, const struct dns_answer *answer)
{
	struct addresses *addresses = context;
	struct host *host = addresses->host;
	struct dns_search *search = host->search;

	addresses->query = NULL;
	addresses->status = answer->status;
	addresses->is_secure = answer->is_secure;
	snprintf(addresses->reason, sizeof addresses->reason, "%s", answer->reason);
	snprintf(addresses->canonical, sizeof addresses->canonical, "%s", answer->canonical);
	for (size_t i = 0; i < answer->count; i++) {
		union os_socket_address address;

		if (read_address(answer, i, addresses == &host->v6, search->port, &address) &&
		    is_acceptable_address(search, host, &address))
			add_host_address(addresses, &address);
	}
	if (--search->pending == 0)
		collect_servers(search);
}

static void look_up_addresses(struct dns_search *search, struct addresses *addresses,
			      struct host *host, enum dns_type type)
{
	addresses->host = host;
	addresses->query =
		dns_query_new(search->resolver, host->mx.host, type, on_host_addresses, addresses);
	search->pending++;
}

/* LIST is sorted by preference. */
static void look_up_hosts(struct dns_search *search, const struct dns_mx *list, size_t count)
{
	search->hosts = memory_alloc_zero(HOSTS_MAX, sizeof *search->hosts);
	for (size_t i = 0; i < count && search->host_count < HOSTS_MAX; i++) {
		struct host *host = &search->hosts[search->host_count];

		host->mx = list[i];
		host->search = search;
		if (host->mx.host[0] == '\0' || !is_better_than_self(search, host))
			continue;
		search->host_count++;
		look_up_addresses(search, &host->v6, host, DNS_TYPE_AAAA);
		look_up_addresses(search, &host->v4, host, DNS_TYPE_A);
	}
	if (search->pending == 0)
		collect_servers(search);
}

static void look_up_single(struct dns_search *search)
{
	struct dns_mx mx = {0};

	memcpy(mx.host, search->domain, sizeof mx.host);
	look_up_hosts(search, &mx, 1);
}

static void take_exchangers(struct dns_search *search, const struct dns_answer *answer)
{
	struct dns_mx *list = memory_alloc_zero(DNS_MX_MAX, sizeof *list);
	size_t count = dns_mx_read(answer, list);

	for (size_t i = 0; i < count; i++)
		if (str_equal_nocase(str_from(list[i].host), str_from(search->self->hostname)))
			meet_self(search, list[i].preference);
	if (count == 1 && list[0].host[0] == '\0') {
		mail_verdict_set(&search->servers.verdict, "5.1.10", "%s takes no mail",
				 search->domain);
		finish_server_search(search);
	} else {
		look_up_hosts(search, list, count);
	}
	free(list);
}

static void on_exchangers(void *context, const struct dns_answer *answer)
{
	struct dns_search *search = context;
	struct mail_verdict *verdict = &search->servers.verdict;

	search->mx_query = NULL;
	search->is_host_secure = answer->is_secure;
	switch (answer->status) {
	case DNS_FOUND:
		take_exchangers(search, answer);
		return;
	case DNS_NO_DATA: /* the domain's own address, RFC 5321 section 5.1 */
		if (str_equal_nocase(str_from(search->domain), str_from(search->self->hostname)))
			meet_self(search, 0);
		look_up_single(search);
		return;
	case DNS_NO_NAME:
		mail_verdict_set(verdict, "5.1.2", "domain %s not found", search->domain);
		break;
	case DNS_FAILED:
		mail_verdict_set(verdict, "4.4.3", "the mail exchangers of %s: %s", search->domain,
				 answer->reason);
		break;
	}
	finish_server_search(search);
}

static struct dns_search *new_search(struct dns_resolver *resolver, const char *domain,
				     uint16_t port,
				     void (*done)(void *context, const struct dns_servers *servers),
				     void *context)
{
	struct dns_search *search = memory_alloc_zero(1, sizeof *search);
	size_t length = strnlen(domain, sizeof search->domain - 1);

	memcpy(search->domain, domain, length);
	search->resolver = resolver;
	search->port = port;
	search->done = done;
	search->context = context;
	return search;
}

struct dns_search *
dns_search_exchangers(struct dns_resolver *resolver, const char *domain,
		      const struct dns_self *self, uint16_t port,
		      void (*done)(void *context, const struct dns_servers *servers), void *context)
{
	struct dns_search *search = new_search(resolver, domain, port, done, context);

	search->self = self;
	search->mx_query =
		dns_query_new(resolver, search->domain, DNS_TYPE_MX, on_exchangers, search);
	return search;
}

struct dns_search *dns_search_relay(struct dns_resolver *resolver, const char *host, uint16_t port,
				    void (*done)(void *context, const struct dns_servers *servers),
				    void *context)
{
	struct dns_search *search = new_search(resolver, host, port, done, context);

	search->is_host_secure = true;
	look_up_single(search);
	return search;
}

void dns_search_prefer(struct dns_search *search, enum dns_families families)
{
	search->families = families;
}

void dns_search_free(struct dns_search *search)
{
	if (search == NULL)
		return;
	dns_query_cancel(search->mx_query);
	for (size_t i = 0; i < search->host_count; i++) {
		dns_query_cancel(search->hosts[i].v4.query);
		dns_query_cancel(search->hosts[i].v6.query);
	}
	free(search->hosts);
	free(search);
}
