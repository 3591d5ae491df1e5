// SPDX-License-Identifier: ISC
/*
 * dns/reach.h - whether any name server answers at all.
 *
 * libunbound says SERVFAIL where no server was reached as well as where one said so. To an
 * operator these are two faults, in two places; so who got a SERVFAIL asks here what it means.
 * All servers are asked for the name servers of the root, over UDP: any datagram that comes back
 * with the question's number is an answer, whatever it says.
 */
#ifndef DNS_REACH_H
#define DNS_REACH_H

#include "base/attributes.h"
#include "os/loop.h"

struct dns_reach;
struct dns_reach_question;

/* SERVER is as for dns_resolver_new(), whose servers they are: those of /etc/resolv.conf are read
 * here, once. */
struct dns_reach *dns_reach_new(struct os_loop *loop, const char *server);
/* After its questions were cancelled or answered. NULL is allowed. */
void dns_reach_free(struct dns_reach *reach);

/* DONE is called once, never before this returns, within two seconds. Who asks meanwhile shares
 * the datagrams of the first, and who asks within five seconds after them the answer. */
struct dns_reach_question *
dns_reach_ask(struct dns_reach *reach, void (*done)(void *context, bool is_reached), void *context);
/* DONE is not called any more. NULL is allowed. */
void dns_reach_cancel(struct dns_reach_question *question);

#endif
