// SPDX-License-Identifier: ISC
/*
 * tests/e2e/programs/dns_search.c - prints what a search in the DNS finds.
 *
 *   dns_search SERVER (exchangers|relay) HOSTNAME DOMAIN...
 *
 * A line for each domain: "DOMAIN HOST=ADDRESS..." or "DOMAIN STATUS TEXT". The
 * address 192.0.2.254 is this host's.
 */
#include "base/buffer.h"
#include "base/panic.h"
#include "dns/search.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 25, DOMAINS_MAX = 200 };

struct lookup {
	const char *domain;
	struct dns_search *search;
	struct buffer line;
};

static struct os_loop *loop;
static int pending;

static void on_servers(void *context, const struct dns_servers *servers)
{
	struct lookup *lookup = context;

	buffer_append_string(&lookup->line, lookup->domain);
	if (servers->verdict.class != MAIL_OK)
		buffer_append_format(&lookup->line, " %s %s", servers->verdict.status,
				     servers->verdict.text);
	for (size_t i = 0; i < servers->count; i++) {
		char address[OS_SOCKET_TEXT_SIZE];

		os_socket_address_format_host(&servers->list[i].address, address);
		buffer_append_format(&lookup->line, " %s=%s", servers->list[i].host, address);
	}
	if (--pending == 0)
		os_loop_stop(loop);
}

static void start(struct lookup *lookup, struct dns_resolver *resolver, const char *kind,
		  const struct dns_self *self)
{
	if (strcmp(kind, "relay") == 0)
		lookup->search =
			dns_search_relay(resolver, lookup->domain, PORT, on_servers, lookup);
	else
		lookup->search = dns_search_exchangers(resolver, lookup->domain, self, PORT,
						       on_servers, lookup);
	pending++;
}

static void print(struct lookup *lookup)
{
	printf(STR_FORMAT "\n", STR_ARGUMENTS(buffer_view(&lookup->line)));
	buffer_clear(&lookup->line);
	dns_search_free(lookup->search);
}

int main(int argc, char **argv)
{
	struct lookup lookups[DOMAINS_MAX] = {0};
	struct in6_addr own;
	struct dns_self self = {.addresses = &own, .address_count = 1};
	struct dns_resolver *resolver;
	int count = argc - 4;

	if (count < 1 || count > DOMAINS_MAX ||
	    inet_pton(AF_INET6, "::ffff:192.0.2.254", &own) != 1)
		panic("usage: dns_search SERVER exchangers|relay HOSTNAME DOMAIN...");
	self.hostname = argv[3];
	loop = os_loop_new();
	if (dns_resolver_new(loop, argv[1], &resolver) < 0)
		panic("cannot use %s", argv[1]);
	for (int i = 0; i < count; i++) {
		lookups[i].domain = argv[4 + i];
		start(&lookups[i], resolver, argv[2], &self);
	}
	os_loop_run(loop);
	for (int i = 0; i < count; i++)
		print(&lookups[i]);
	dns_resolver_free(resolver);
	os_loop_free(loop);
	return EXIT_SUCCESS;
}
