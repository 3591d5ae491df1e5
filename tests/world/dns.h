// SPDX-License-Identifier: ISC
/*
 * world/dns.h - what the name servers of a world know. They answer every machine, by libunbound's
 * functions (dns.c), after some milliseconds.
 */
#ifndef WORLD_DNS_H
#define WORLD_DNS_H

#include <stdint.h>

/* Names are borrowed, in lower case, without a dot at the end. */
void dns_add_host(const char *name, uint32_t address);
void dns_add_mx(const char *domain, uint16_t preference, const char *host);
/* Until WHEN_US some questions fail, others are never answered. */
void dns_be_odd(int64_t when_us);
/* Forgets all of it. */
void dns_end(void);

#endif
