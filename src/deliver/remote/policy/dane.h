// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/dane.h - DANE for outgoing mail (RFC 7672): the resolver that validates,
 * and what the TLSA records of a host make of its policy.
 */
#ifndef DELIVER_REMOTE_POLICY_DANE_H
#define DELIVER_REMOTE_POLICY_DANE_H

#include "deliver/remote/policy/policy.h"
#include "dns/resolver.h"
#include "os/loop.h"

struct remote_dane;

/* Opens the resolver as CONFIG says: with setting dane it validates. A trust anchor that cannot be
 * read is logged, and then no host can be used to which DANE applies. To be called before the
 * sandbox is entered. -errno: the system's name servers cannot be read, or dns_server cannot be
 * used. */
MUST_CHECK int remote_dane_new(struct os_loop *loop, const struct config *config,
			       struct remote_dane **dane_out);
/* Its searches must have been freed, and those of its resolver. NULL is allowed. */
void remote_dane_free(struct remote_dane *dane);

struct dns_resolver *remote_dane_resolver(const struct remote_dane *dane);
/* Whether CONFIG has the settings that it was opened with. */
bool remote_dane_fits(const struct remote_dane *dane, const struct config *config);

/* Whether TLSA records decide, where POLICY, by the configuration, is that for QUESTION's server.
 * If not, *POLICY becomes what it is without any: "dane" is "may", and "dane-only" refuses. DANE
 * may be NULL. */
bool remote_dane_applies(const struct remote_dane *dane,
			 const struct remote_policy_question *question,
			 struct remote_policy *policy);

struct remote_dane_search;

/* Looks up the TLSA records of QUESTION's server and changes *POLICY, which
 * remote_dane_applies() to, accordingly: usable records are demanded; unusable ones demand TLS, at
 * least; if none are known to be there, POLICY remains, with "dane" as "may", and "dane-only"
 * refuses; if nobody knows, the host is refused. Calls DONE once, never before returning. QUESTION
 * and POLICY must live until then. */
struct remote_dane_search *remote_dane_find(struct remote_dane *dane,
					    const struct remote_policy_question *question,
					    struct remote_policy *policy,
					    void (*done)(void *context), void *context);
/* Cancels it if it has not finished. NULL is allowed. */
void remote_dane_search_free(struct remote_dane_search *search);

#endif
