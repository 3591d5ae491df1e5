// SPDX-License-Identifier: ISC
/*
 * dns/reach.h - whether any name server answers.
 *
 * libunbound returns SERVFAIL both if no server could be reached and if a server answered so.
 * These are different faults for an operator, so after a SERVFAIL this module finds out which. It
 * asks all servers for the root's name servers, over UDP: any datagram with the question's ID
 * counts as an answer, whatever it contains.
 */
#ifndef DNS_REACH_H
#define DNS_REACH_H

#include "base/attributes.h"
#include "os/loop.h"

struct dns_reach;
struct dns_reach_question;

/* SERVER as for dns_resolver_new(), and the same servers: those of /etc/resolv.conf, which is read
 * once, by this call. */
struct dns_reach *dns_reach_new(struct os_loop *loop, const char *server);
/* All questions must have been cancelled or answered. NULL is allowed. */
void dns_reach_free(struct dns_reach *reach);

/* Calls DONE once, never before returning, within two seconds. Later questions share the datagrams
 * of a pending one, and its answer for five seconds. */
struct dns_reach_question *
dns_reach_ask(struct dns_reach *reach, void (*done)(void *context, bool is_reached), void *context);
/* DONE will not be called. NULL is allowed. */
void dns_reach_cancel(struct dns_reach_question *question);

#endif
