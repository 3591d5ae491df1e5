// SPDX-License-Identifier: ISC
/*
 * deliver/remote/policy/policy.h - how a connection to one host of a destination is protected, and
 * who says so.
 *
 * The answer is found in this order: the section "tls" of the relay, else of the domain; without
 * one, what the DNS or the domain publish; else setting remote_tls.
 */
#ifndef DELIVER_REMOTE_POLICY_POLICY_H
#define DELIVER_REMOTE_POLICY_POLICY_H

#include "base/arena.h"
#include "config/config.h"
#include "deliver/remote/keys/login.h"
#include "dns/search.h"
#include "os/loop.h"
#include "policy/tlsrpt/result.h"
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
	/* It is a policy of mode testing: VERIFY is tried, and the mail goes as if there were none.
	 */
	bool is_tried;
	const char *sts;         /* what MTA-STS says, for people; NULL: it was not asked */
	enum tlsrpt_result flaw; /* for reports: what is wrong before there is a connection */
	/* For people: "remote_tls", "tls \"example.net\"", "service NAME", "dane", "mta-sts" */
	const char *origin;
	bool is_by_section; /* a section "tls" decided, or asked for DANE */
	struct tls_verify verify;
	struct tls_strength strength; /* where plain text would not do */
	const char *server_name;      /* for SNI; NULL: the host's name */
	const char *dane;        /* for people: what the DNS says about DANE; NULL: not asked */
	const char *certificate; /* the section certificate to present; "": none */
	const struct remote_login *login; /* NULL: none */
	/* NULL; or why this host must not be used at all: then the next one is tried. */
	const struct mail_verdict *refusal;
};

/* "may", "dane-only" */
const char *remote_policy_level_name(enum config_tls_level level);
/* "setting", "dane", "mta-sts" */
const char *remote_policy_source_name(enum remote_policy_source source);

/* What policies are found by: the configuration and the authorities' files. */
struct remote_policies;
struct remote_authorities_watcher;

/* Reads the files of authorities that CONFIG needs for mail to other hosts, or to the servers of
 * its LMTP services. If one cannot be read, the mail that needs it waits. To be called before the
 * sandbox is entered. CONFIG must live until the next remote_policies_configure(). WATCHER: as for
 * remote_authorities_new(). */
struct remote_policies *remote_policies_new(const struct config *config, bool is_lmtp,
					    const struct remote_authorities_watcher *watcher);
/* Logs which files could not be read. */
void remote_policies_log(const struct remote_policies *policies);
void remote_policies_free(struct remote_policies *policies);
/* CONFIG applies from now on. False: it needs files that were not read; the mail that needs them
 * waits until the process is started again. */
MUST_CHECK bool remote_policies_configure(struct remote_policies *policies,
					  const struct config *config);

/* Those that policies may want to be presented; borrowed. NULL, as at first: none can be. */
struct remote_certificates;
void remote_policies_present(struct remote_policies *policies,
			     struct remote_certificates *certificates);
struct remote_certificates *remote_policies_certificates(const struct remote_policies *policies);

/* Whether anything but the configuration can demand TLS. */
bool remote_policies_can_demand(const struct remote_policies *policies);

struct remote_dane;

/* From now on DANE is asked, too; DANE must live until another or NULL is given. */
void remote_policies_use_dane(struct remote_policies *policies, struct remote_dane *dane);

struct sts_client;

/* From now on the policies of domains are asked for, too; CLIENT must live until another or NULL is
 * given, and no search with it is open then. */
void remote_policies_use_sts(struct remote_policies *policies, struct sts_client *client);

/* What a message's sender wants (RFC 8689). */
enum remote_policy_wish {
	REMOTE_POLICY_NO_WISH,
	REMOTE_POLICY_REQUIRED, /* REQUIRETLS: no server but one that is known to be right */
	REMOTE_POLICY_WAIVED,   /* "TLS-Required: No": only the configuration counts, neither DANE
				 * nor what the domain publishes */
};

struct remote_policy_question {
	const char *domain; /* of the recipients, lower case; "[literal]" */
	const char *relay;  /* of the route: a host name or "[address]"; NULL: the domain's MX */
	const struct dns_server *server; /* the host */
	struct arena *arena;             /* for the answer; lives at least as long */
	enum remote_policy_wish wish;
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

/* Messages with the same text, of the configuration, share connections to the same next hop. */
const char *remote_policy_key(const struct remote_policies *policies, const char *domain,
			      const char *relay);

#endif
