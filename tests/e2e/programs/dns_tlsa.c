// SPDX-License-Identifier: ISC
/*
 * tests/e2e/programs/dns_tlsa.c - prints which TLSA records hold for the servers of domains.
 *
 *   dns_tlsa SERVER ANCHOR-FILE DOMAIN...
 *
 * A line for each domain: "DOMAIN (usable|unusable|none|failed) COUNT BASE|- REASON" for the first
 * of its servers, or "DOMAIN STATUS TEXT" if none is found.
 */
#include "base/buffer.h"
#include "base/panic.h"
#include "dns/anchor.h"
#include "dns/tlsa.h"
#include <stdio.h>
#include <stdlib.h>

enum { PORT = 25, DOMAINS_MAX = 200 };

struct lookup {
	const char *domain;
	struct dns_search *search;
	struct dns_tlsa_search *tlsa;
	struct buffer line;
};

static struct os_loop *loop;
static struct dns_resolver *resolver;
static int pending;

static void end(void)
{
	if (--pending == 0)
		os_loop_stop(loop);
}

static void on_tlsa(void *context, const struct dns_tlsa_answer *answer)
{
	static const char *const names[] = {"none", "usable", "unusable", "failed"};
	struct lookup *lookup = context;

	buffer_append_format(&lookup->line, "%s %zu %s %s", names[answer->status], answer->count,
			     answer->base != NULL ? answer->base : "-", answer->reason);
	end();
}

static void on_servers(void *context, const struct dns_servers *servers)
{
	struct lookup *lookup = context;

	buffer_append_format(&lookup->line, "%s ", lookup->domain);
	if (servers->verdict.class == MAIL_OK) {
		lookup->tlsa =
			dns_tlsa_search_new(loop, resolver, &servers->list[0], on_tlsa, lookup);
		return;
	}
	buffer_append_format(&lookup->line, "%s %s", servers->verdict.status,
			     servers->verdict.text);
	end();
}

static void print(struct lookup *lookup)
{
	printf(STR_FORMAT "\n", STR_ARGUMENTS(buffer_view(&lookup->line)));
	buffer_clear(&lookup->line);
	dns_tlsa_search_free(lookup->tlsa);
	dns_search_free(lookup->search);
}

int main(int argc, char **argv)
{
	struct lookup lookups[DOMAINS_MAX] = {0};
	const struct dns_self self = {.hostname = "us.test"};
	struct buffer anchors = {0};
	struct buffer reason = {0};
	int count = argc - 3;

	if (count < 1 || count > DOMAINS_MAX)
		panic("usage: dns_tlsa SERVER ANCHOR-FILE DOMAIN...");
	if (dns_anchor_read(argv[2], &anchors, &reason) < 0)
		panic("%s: " STR_FORMAT, argv[2], STR_ARGUMENTS(buffer_view(&reason)));
	loop = os_loop_new();
	if (dns_resolver_new_validating(loop, argv[1],
					&(struct dns_trust){.anchors = buffer_view(&anchors)},
					&resolver) < 0)
		panic("cannot use %s with these anchors", argv[1]);
	for (int i = 0; i < count; i++) {
		lookups[i].domain = argv[3 + i];
		lookups[i].search = dns_search_exchangers(resolver, lookups[i].domain, &self, PORT,
							  on_servers, &lookups[i]);
		pending++;
	}
	os_loop_run(loop);
	for (int i = 0; i < count; i++)
		print(&lookups[i]);
	dns_resolver_free(resolver);
	os_loop_free(loop);
	buffer_clear(&anchors);
	return EXIT_SUCCESS;
}
