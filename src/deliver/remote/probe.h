// SPDX-License-Identifier: ISC
/*
 * deliver/remote/probe.h - tries how mail for a destination would be protected: connects to each of
 * its hosts as a delivery does, by its policy, and sends no mail.
 */
#ifndef DELIVER_REMOTE_PROBE_H
#define DELIVER_REMOTE_PROBE_H

#include "deliver/remote/session/session.h"

enum remote_probe_outcome {
	REMOTE_PROBE_SECURED, /* by TLS, as the policy demands */
	REMOTE_PROBE_PLAIN,   /* in plain text, as the policy allows */
	REMOTE_PROBE_WAITS,   /* mail would wait, or go to the next host */
};

struct remote_probe_result {
	const struct dns_server *server;
	const char *route; /* how the host was found: "mail exchangers", "relay mx:26" */
	const char
		*source; /* "NAME[ADDRESS]" that it would be reached from; "": the system chooses */
	const struct remote_policy *policy;
	enum remote_probe_outcome outcome;
	const char *reason;                      /* why it is not SECURED */
	const struct ipc_job_tls *tls;           /* NULL: plain text */
	const struct tls_connection *connection; /* NULL: no handshake was begun */
};

/* Implemented by command/tls/tls.c. */
struct remote_probe_handler {
	/* One host has been tried; RESULT is valid during the call. */
	void (*tried)(void *context, const struct remote_probe_result *result);
	/* All have been. FAILURE: why there are none; NULL: there are. */
	void (*ended)(void *context, const struct mail_verdict *failure);
};

struct remote_probe;

struct remote_probe_settings {
	const struct remote_session_settings *session;
	const struct config *config;
	struct dns_resolver *resolver;
	struct remote_policies *policies;
	struct str sender; /* whose mail it would be */
};

/* Tries DESTINATION: a domain, or HOST:PORT for that host alone. SETTINGS, HANDLER and what they
 * point to are borrowed. NULL: it is neither. Calls nothing before it returns. */
MUST_CHECK struct remote_probe *remote_probe_new(const struct remote_probe_settings *settings,
						 struct str destination,
						 const struct remote_probe_handler *handler,
						 void *context);
void remote_probe_free(struct remote_probe *probe);

#endif
