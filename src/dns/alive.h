// SPDX-License-Identifier: ISC
/*
 * dns/alive.h - whether libunbound's thread, which looks everything up, still runs.
 *
 * When it cannot begin, or cannot read what it is asked, it ends and only writes a line to standard
 * error: no question is answered any more. So if questions are open and nothing comes, it is asked
 * for a name that it answers without the network. If it does not answer that, the process ends
 * (cannot_begin()): a sandbox cannot read the DNS's configuration a second time, and the supervisor
 * starts another process.
 */
#ifndef DNS_ALIVE_H
#define DNS_ALIVE_H

#include "os/loop.h"

struct dns_alive;
struct ub_ctx;

struct dns_alive *dns_alive_new(struct os_loop *loop, struct ub_ctx *unbound);
/* The probe, if there is one, is cancelled. NULL is allowed. */
void dns_alive_free(struct dns_alive *alive);

/* A question was asked; an answer came; a question was given up. */
void dns_alive_asked(struct dns_alive *alive);
void dns_alive_answered(struct dns_alive *alive);
void dns_alive_cancelled(struct dns_alive *alive);

#endif
