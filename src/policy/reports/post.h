// SPDX-License-Identifier: ISC
/*
 * policy/reports/post.h - brings a report to the places that a domain names.
 */
#ifndef POLICY_REPORTS_POST_H
#define POLICY_REPORTS_POST_H

#include "policy/https/https.h"
#include "policy/tlsrpt/count.h"
#include "queue/client/client.h"

/* By what reports are sent. All borrowed; the texts until a reload has given others. */
struct reports_ways {
	struct os_loop *loop;
	struct dns_resolver *resolver;
	struct https *https;
	struct queue_client *queue;
	const char *hostname;
	const char *from; /* an address */
};

enum reports_end {
	REPORTS_SENT,     /* to a place at least, or to none that could take it ever */
	REPORTS_UNWANTED, /* the domain asks for none */
	REPORTS_LATER,    /* no place can be reached now */
};

struct reports_post;

/* Sends the report of DAY, which began at BEGIN_US, to DOMAIN. DAY, DOMAIN and the texts of WAYS
 * are copied or used before this returns. Calls DONE once, never before returning; POST is gone
 * before that. */
struct reports_post *reports_post_new(const struct reports_ways *ways, const char *domain,
				      int64_t begin_us, const struct tlsrpt_day *day,
				      void (*done)(void *context, enum reports_end end),
				      void *context);
/* DONE will not be called. NULL is allowed. */
void reports_post_free(struct reports_post *post);

#endif
