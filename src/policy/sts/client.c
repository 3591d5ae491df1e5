// SPDX-License-Identifier: ISC
#include "policy/sts/client.h"
#include "base/table.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "mail/host.h"
#include "os/clock.h"
#include "policy/tlsrpt/session.h"
#include <stdlib.h>

enum { BACKLOG_MAX = 1 << 20 }; /* bytes that wait for "policy" */

struct sts_question {
	struct sts_client *client;
	uint32_t tag;
	bool is_answered; /* by this client itself, at the end of the turn */
	struct os_task none;
	int64_t until_us;
	void (*done)(void *context, const struct sts_answer *answer);
	void *context;
	UT_hash_handle hh;
	char domain[STS_DOMAIN_MAX + 1];
};

struct sts_client {
	struct os_loop *loop;
	struct ipc_client *ipc;
	struct os_timer *timer;         /* for the first question */
	struct sts_question *questions; /* by tag, the oldest first */
	uint32_t tag;
	int64_t patience_us;
};

static void set_sts_client_timer(struct sts_client *client)
{
	int64_t left_us;

	os_timer_stop(client->timer);
	if (client->questions == NULL)
		return;
	left_us = client->questions->until_us - os_clock_boot_us();
	os_timer_start(client->timer, left_us > 0 ? left_us : 0);
}

static void free_sts_question(struct sts_question *question)
{
	struct sts_client *client = question->client;

	os_task_cancel(client->loop, &question->none);
	HASH_DEL(client->questions, question);
	free(question);
	set_sts_client_timer(client);
}

static void finish_sts_question(struct sts_question *question, const struct sts_answer *answer)
{
	void (*done)(void *context, const struct sts_answer *answer) = question->done;
	void *context = question->context;

	free_sts_question(question);
	done(context, answer);
}

static void on_sts_client_timer(void *context)
{
	static const struct sts_answer later = {.kind = STS_LATER};
	struct sts_client *client = context;

	while (client->questions != NULL && client->questions->until_us <= os_clock_boot_us())
		finish_sts_question(client->questions, &later);
	set_sts_client_timer(client);
}

static void answer_no_policy(void *context)
{
	static const struct sts_answer none = {.kind = STS_NONE};

	finish_sts_question(context, &none);
}

static void send_sts_question(const struct sts_question *question)
{
	struct ipc_channel *channel = ipc_client_channel(question->client->ipc);
	struct buffer body = {0};

	if (channel == NULL)
		return;
	pack_str(&body, str_from(question->domain));
	ipc_channel_send(channel, STS_ASK, question->tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
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

static void on_sts_message(void *context, struct ipc_message *message)
{
	struct sts_client *client = context;
	struct sts_question *question;
	struct sts_answer answer;

	if (message->type != STS_ANSWER || !read_sts_answer(message->body, &answer)) {
		ipc_channel_refuse(ipc_client_channel(client->ipc), message->type);
		return;
	}
	HASH_FIND(hh, client->questions, &message->tag, sizeof message->tag, question);
	if (question != NULL && !question->is_answered)
		finish_sts_question(question, &answer);
}

static void on_sts_connected(void *context)
{
	struct sts_client *client = context;

	for (struct sts_question *one = client->questions; one != NULL; one = one->hh.next)
		if (!one->is_answered)
			send_sts_question(one);
}

/* They are asked again. */
static void on_sts_lost(void *context)
{
	(void)context;
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
	question->tag = ++client->tag;
	question->none.call = answer_no_policy;
	question->none.context = question;
	question->until_us = os_clock_boot_us() + client->patience_us;
	question->is_answered = !is_askable_domain(domain);
	HASH_ADD(hh, client->questions, tag, sizeof question->tag, question);
	if (question->is_answered) {
		os_loop_defer(client->loop, &question->none);
	} else {
		memcpy(question->domain, domain.data, domain.length);
		str_lower(question->domain, domain.length);
		send_sts_question(question);
	}
	if (!os_timer_is_running(client->timer))
		set_sts_client_timer(client);
	return question;
}

void sts_question_cancel(struct sts_question *question)
{
	if (question != NULL)
		free_sts_question(question);
}

static struct str cut_session_text(struct str text, size_t most)
{
	return str_slice(text.data, text.length < most ? text.length : most);
}

void sts_client_count(struct sts_client *client, const struct tlsrpt_session *session)
{
	struct ipc_channel *channel = ipc_client_channel(client->ipc);
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
	static const struct ipc_client_handler handler = {on_sts_connected, on_sts_message,
							  on_sts_lost};
	struct sts_client *client = memory_alloc_zero(1, sizeof *client);

	client->loop = loop;
	client->patience_us = patience_us;
	client->timer = os_timer_new(loop, on_sts_client_timer, client);
	client->ipc = ipc_client_new(loop, path, &handler, client);
	return client;
}

void sts_client_free(struct sts_client *client)
{
	if (client == NULL)
		return;
	while (client->questions != NULL)
		free_sts_question(client->questions);
	ipc_client_free(client->ipc);
	os_timer_free(client->timer);
	free(client);
}
