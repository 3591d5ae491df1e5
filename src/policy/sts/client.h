// SPDX-License-Identifier: ISC
/*
 * policy/sts/client.h - asks the process "policy" for the policies of domains.
 *
 * While there is no connection, or it was lost, questions wait for the next one. No question waits
 * longer than the client's patience, which is more than a lookup takes; then the answer is
 * STS_LATER: it is not known whether a policy demands TLS, so mail must wait.
 */
#ifndef POLICY_STS_CLIENT_H
#define POLICY_STS_CLIENT_H

#include "os/loop.h"
#include "policy/sts/answer.h"

#define STS_PATIENCE_US (90 * SECOND_US)

struct sts_client;
struct sts_question;

/* PATH: the socket of "policy". PATIENCE_US: STS_PATIENCE_US, or what a command has. */
struct sts_client *sts_client_new(struct os_loop *loop, const char *path, int64_t patience_us);
/* Questions must have been answered or cancelled. NULL is allowed. */
void sts_client_free(struct sts_client *client);

/* The policy of DOMAIN, a host name in lower case. Calls DONE once, never before returning; ANSWER
 * is valid during the call, the question no longer. A domain that is no host name, or too long for
 * a policy, has none. */
struct sts_question *sts_client_ask(struct sts_client *client, struct str domain,
				    void (*done)(void *context, const struct sts_answer *answer),
				    void *context);
struct tlsrpt_session;

/* Counts SESSION for reports; it is lost if there is no connection to "policy", or too much waits
 * there. */
void sts_client_count(struct sts_client *client, const struct tlsrpt_session *session);
/* DONE is not called any more. NULL is allowed. */
void sts_question_cancel(struct sts_question *question);

#endif
