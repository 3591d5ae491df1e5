// SPDX-License-Identifier: ISC
/*
 * deliver/remote/report.h - tells the process "policy" how TLS went in a session, for reports of
 * RFC 8460, and the log what a policy in mode testing would have refused.
 */
#ifndef DELIVER_REMOTE_REPORT_H
#define DELIVER_REMOTE_REPORT_H

#include "deliver/remote/session/session.h"

struct sts_client;

/* What is known of a session with a host. */
struct remote_report {
	const char *domain; /* the recipients' */
	const struct dns_server *server;
	const struct remote_policy *policy;
	const struct remote_session *session; /* NULL: the policy forbids one */
	bool has_failed;                      /* TLS has, and so the session */
	const char *reason;                   /* HAS_FAILED: for people */
};

/* CLIENT is NULL: nothing is counted. */
void remote_report_tell(struct sts_client *client, const struct remote_report *report);

#endif
