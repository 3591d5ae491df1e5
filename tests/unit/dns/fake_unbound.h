// SPDX-License-Identifier: ISC
/* unit/dns/fake_unbound.h - a libunbound that a test plays, and who looks after it (dns/alive.h,
 * dns/reach.h, /etc/hosts). */
#ifndef UNIT_DNS_FAKE_UNBOUND_H
#define UNIT_DNS_FAKE_UNBOUND_H

#include "dns/reach.h"
#include <unbound.h>

enum { PLAYED_QUESTIONS = 20000 };

/* A question; without a call once it is answered or cancelled. */
struct asked {
	void *context;
	ub_callback_type call;
};

struct dns_reach_question {
	void (*done)(void *context, bool is_reached);
	void *context;
	struct dns_reach_question *next;
};

struct played {
	struct asked asked[PLAYED_QUESTIONS]; /* by the number */
	int count;
	int refuses;                      /* the error of the next question; 0: none */
	int open;                         /* questions of dns/alive.h */
	struct dns_reach_question *reach; /* the newest question */
	unsigned results;                 /* that are not freed */
	char log[4096];                   /* a line for each call that configures it */
	int calls, fails_at;              /* their number; which one fails, from 1 */
	int resolvconf_error, system_error;
	int descriptor; /* that its thread writes to; */
	int process_error;
	unsigned processed; /* how often that was read */
};

extern struct played played;

#endif
