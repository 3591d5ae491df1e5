// SPDX-License-Identifier: ISC
/*
 * deliver/remote_policy.h - how a connection to one host of a destination is protected, and who
 * says so.
 *
 * The answer is found in this order: the section "tls" of the relay, else of the domain; without
 * one, what the DNS or the domain publish; else setting remote_tls.
 */
#ifndef DELIVER_REMOTE_POLICY_H
#define DELIVER_REMOTE_POLICY_H

#include "base/arena.h"
#include "config/config.h"
#include "dns/search.h"
#include "tls/client.h"

enum remote_policy_source {
	REMOTE_POLICY_SETTING,
	REMOTE_POLICY_DANE,
	REMOTE_POLICY_MTA_STS,
};

enum { REMOTE_POLICY_KEY_SIZE = DNS_NAME_SIZE + 32 };

struct remote_policy {
	/* What is required. NONE: no TLS. MAY: TLS if it works. All others: TLS, verified as VERIFY
	 * says, or the mail waits. */
	enum config_tls_level level;
	enum remote_policy_source source;
	/* For people: "remote_tls", "tls \"example.net\"", "service NAME", "dane", "mta-sts" */
	const char *origin;
	struct tls_verify verify;
	const char *certificate; /* the section certificate to present; "": none */
	/* NULL; or why this host must not be used at all: then the next one is tried. */
	const struct mail_verdict *refusal;
};

/* "may", "dane-only" */
const char *remote_policy_level_name(enum config_tls_level level);
/* "setting", "dane", "mta-sts" */
const char *remote_policy_source_name(enum remote_policy_source source);

/* What policies are found by: the configuration and the authorities' files. */
struct remote_policies;

/* Reads the files of authorities that CONFIG needs for mail to other hosts, or to the servers of
 * its LMTP services. If one cannot be read, the mail that needs it waits. To be called before the
 * sandbox is entered. CONFIG must live until the next remote_policies_configure(). */
struct remote_policies *remote_policies_new(const struct config *config, bool is_lmtp);
/* Logs which files could not be read. */
void remote_policies_log(const struct remote_policies *policies);
void remote_policies_free(struct remote_policies *policies);
/* CONFIG applies from now on. False: it needs files that were not read; the mail that needs them
 * waits until the process is started again. */
MUST_CHECK bool remote_policies_configure(struct remote_policies *policies,
					  const struct config *config);

struct remote_policy_question {
	const char *domain; /* of the recipients, lower case; "[literal]" */
	const char *relay;  /* of the route: a host name or "[address]"; NULL: the domain's MX */
	const struct dns_server *server; /* the host */
	struct arena *arena;             /* for the answer; lives at least as long */
};

/* A question that is not answered yet. */
struct remote_policy_search;

/* Finds the policy for a connection to QUESTION's server. If it is known at once: NULL, and
 * *POLICY_OUT. Else DONE is called once, later, with it; QUESTION must be valid until then. The
 * policy is valid as long as the arena, its authorities as long as POLICIES. */
MUST_CHECK struct remote_policy_search *
remote_policy_find(struct remote_policies *policies, const struct remote_policy_question *question,
		   struct remote_policy *policy_out,
		   void (*done)(void *context, const struct remote_policy *policy), void *context);
/* Cancels it if it has not been answered. NULL is allowed. */
void remote_policy_search_free(struct remote_policy_search *search);

/* The policy for a server of an LMTP service. */
void remote_policy_of_service(const struct remote_policies *policies,
			      const struct config_service *service, const struct dns_server *server,
			      struct arena *arena, struct remote_policy *policy_out);

/* Messages with the same text share connections to the same next hop. */
void remote_policy_key(const struct remote_policies *policies, const char *domain,
		       const char *relay, char key[REMOTE_POLICY_KEY_SIZE]);

#endif
