// SPDX-License-Identifier: ISC
/* In the place of the client of "policy": nobody asks for policies of MTA-STS. */
#include "base/panic.h"
#include "policy/sts/client.h"
#include "policy/tlsrpt/session.h"

struct sts_question *sts_client_ask(struct sts_client *client, struct str domain,
				    void (*done)(void *context, const struct sts_answer *answer),
				    void *context)
{
	(void)client;
	(void)done;
	(void)context;
	panic("the policy of " STR_FORMAT " is asked for", STR_ARGUMENTS(domain));
}

void sts_client_count(struct sts_client *client, const struct tlsrpt_session *session)
{
	(void)client;
	panic("a session with " STR_FORMAT " is counted", STR_ARGUMENTS(session->domain));
}

void sts_question_cancel(struct sts_question *question)
{
	if (question != NULL)
		panic("a question is cancelled that nobody asked");
}
