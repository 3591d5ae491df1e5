// SPDX-License-Identifier: ISC
#include "policy/sts/client.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include "ipc/question.h"
#include "mail/host.h"
#include "policy/tlsrpt/session.h"
#include <stdlib.h>

enum { BACKLOG_MAX = 1 << 20 }; /* bytes that wait for "policy" */

struct sts_question {
	struct ipc_question asked;
	struct sts_client *client;
	struct os_task none; /* for a domain that is not asked about */
	void (*done)(void *context, const struct sts_answer *answer);
	void *context;
	char domain[STS_DOMAIN_MAX + 1];
};

struct sts_client {
	struct os_loop *loop;
	struct ipc_questions *questions;
};

static void finish_sts_question(struct sts_question *question, const struct sts_answer *answer)
{
	void (*done)(void *context, const struct sts_answer *answer) = question->done;
	void *context = question->context;

	sts_question_cancel(question);
	done(context, answer);
}

static void answer_no_policy(void *context)
{
	static const struct sts_answer none = {.kind = STS_NONE};

	finish_sts_question(context, &none);
}

static void pack_sts_question(const struct ipc_question *asked, struct buffer *body)
{
	pack_str(body, str_from(CONTAINER_OF(asked, const struct sts_question, asked)->domain));
}

static bool read_sts_answer(struct str body, struct sts_answer *answer_out)
{
	struct unpack unpack = {body, false};
	uint32_t kind = unpack_u32(&unpack);
	uint32_t mode = unpack_u32(&unpack);
	uint64_t until_us = unpack_u64(&unpack);
	uint32_t problem = unpack_u32(&unpack);

	answer_out->id = unpack_str(&unpack);
	answer_out->patterns = unpack_str(&unpack);
	answer_out->kind = (enum sts_kind)kind;
	answer_out->mode = (enum sts_mode)mode;
	answer_out->until_us = (int64_t)until_us;
	answer_out->problem = (enum sts_problem)problem;
	return unpack_is_whole(&unpack) && kind <= STS_LATER && mode <= STS_MODE_ENFORCE &&
	       problem <= STS_PROBLEM_WEBPKI && until_us <= INT64_MAX;
}

static bool on_sts_answered(struct ipc_question *asked, struct str body)
{
	struct sts_answer answer;

	if (!read_sts_answer(body, &answer))
		return false;
	if (asked != NULL)
		finish_sts_question(CONTAINER_OF(asked, struct sts_question, asked), &answer);
	return true;
}

static void on_sts_late(struct ipc_question *asked)
{
	static const struct sts_answer later = {.kind = STS_LATER};

	finish_sts_question(CONTAINER_OF(asked, struct sts_question, asked), &later);
}

static bool is_askable_domain(struct str domain)
{
	return domain.length <= STS_DOMAIN_MAX && mail_host_is_name(domain);
}

struct sts_question *sts_client_ask(struct sts_client *client, struct str domain,
				    void (*done)(void *context, const struct sts_answer *answer),
				    void *context)
{
	struct sts_question *question = memory_alloc_zero(1, sizeof *question);

	question->client = client;
	question->done = done;
	question->context = context;
	question->none = (struct os_task){.call = answer_no_policy, .context = question};
	if (is_askable_domain(domain)) {
		memcpy(question->domain, domain.data, domain.length);
		str_lower(question->domain, domain.length);
		ipc_question_ask(client->questions, &question->asked);
	} else {
		os_loop_defer(client->loop, &question->none);
	}
	return question;
}

void sts_question_cancel(struct sts_question *question)
{
	if (question == NULL)
		return;
	ipc_question_cancel(&question->asked);
	os_task_cancel(question->client->loop, &question->none);
	free(question);
}

static struct str cut_session_text(struct str text, size_t most)
{
	return str_slice(text.data, text.length < most ? text.length : most);
}

void sts_client_count(struct sts_client *client, const struct tlsrpt_session *session)
{
	struct ipc_channel *channel = ipc_client_channel(ipc_questions_client(client->questions));
	struct buffer body = {0};

	if (channel == NULL || ipc_channel_backlog(channel) > BACKLOG_MAX ||
	    !is_askable_domain(session->domain))
		return;
	pack_str(&body, session->domain);
	pack_u32(&body, session->policy);
	pack_str(&body, cut_session_text(session->text, TLSRPT_TEXT_MAX));
	pack_u32(&body, session->result);
	pack_str(&body, session->host);
	pack_str(&body, session->greeting);
	pack_str(&body, session->server_address);
	pack_str(&body, session->own_address);
	pack_str(&body, cut_session_text(session->reason, TLSRPT_REASON_MAX));
	ipc_channel_send(channel, STS_COUNT, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

struct sts_client *sts_client_new(struct os_loop *loop, const char *path, int64_t patience_us)
{
	static const struct ipc_question_kind kind = {.type = STS_ASK,
						      .answer_type = STS_ANSWER,
						      .pack = pack_sts_question,
						      .answered = on_sts_answered,
						      .late = on_sts_late};
	struct sts_client *client = memory_alloc_zero(1, sizeof *client);

	client->loop = loop;
	client->questions = ipc_questions_new(loop, path, &kind, patience_us);
	return client;
}

void sts_client_free(struct sts_client *client)
{
	struct ipc_question *asked;

	if (client == NULL)
		return;
	while ((asked = ipc_questions_first(client->questions)) != NULL)
		sts_question_cancel(CONTAINER_OF(asked, struct sts_question, asked));
	ipc_questions_free(client->questions);
	free(client);
}
