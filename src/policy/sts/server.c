// SPDX-License-Identifier: ISC
#include "policy/sts/server.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include "ipc/server.h"
#include "mail/host.h"
#include <stdlib.h>
#include <utlist.h>

enum {
	CLIENTS_MAX = 64,                 /* connections of a user */
	QUESTIONS_MAX = 4 * STS_OPEN_MAX, /* of all connections of a rank */
	BACKLOG_MAX = 4 << 20,            /* bytes of answers that a client has not read */
};

struct client;

struct question {
	struct client *client;
	uint32_t tag;
	struct sts_request request;
	struct question *next, *previous;
};

struct client {
	struct sts_server *server;
	struct ipc_channel *channel;
	enum sts_rank rank;
	struct question *questions;
	size_t question_count;
};

struct sts_server {
	uid_t remote;
	size_t question_counts[STS_RANKS];
	struct sts_cache *cache;
	struct ipc_server *clients;
	void (*counted)(void *context, const struct tlsrpt_session *session); /* or NULL */
	void *context;
};

static void free_policy_question(struct question *question)
{
	sts_request_cancel(&question->request);
	DL_DELETE2(question->client->questions, question, previous, next);
	question->client->question_count--;
	question->client->server->question_counts[question->client->rank]--;
	free(question);
}

static void send_sts_answer(const struct client *client, uint32_t tag,
			    const struct sts_answer *answer)
{
	struct buffer body = {0};

	pack_u32(&body, answer->kind);
	pack_u32(&body, answer->mode);
	pack_u64(&body, (uint64_t)answer->until_us);
	pack_u32(&body, answer->problem);
	pack_str(&body, answer->id);
	pack_str(&body, answer->patterns);
	ipc_channel_send(client->channel, STS_ANSWER, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_policy_known(void *context, const struct sts_answer *answer)
{
	struct question *question = context;

	send_sts_answer(question->client, question->tag, answer);
	free_policy_question(question);
}

static void ask_sts_cache(struct client *client, uint32_t tag, struct str domain)
{
	static const struct sts_answer later = {.kind = STS_LATER};
	size_t *all = &client->server->question_counts[client->rank];
	struct question *question;

	if (client->question_count >= STS_OPEN_MAX || *all >= QUESTIONS_MAX) {
		send_sts_answer(client, tag, &later);
		return;
	}
	question = memory_alloc_zero(1, sizeof *question);
	question->client = client;
	question->tag = tag;
	question->request.done = on_policy_known;
	question->request.context = question;
	question->request.rank = client->rank;
	DL_APPEND2(client->questions, question, previous, next);
	client->question_count++;
	++*all;
	sts_cache_ask(client->server->cache, domain, &question->request);
}

static bool is_lower_case_domain(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] >= 'A' && text.data[i] <= 'Z')
			return false;
	return text.length <= STS_DOMAIN_MAX && mail_host_is_name(text);
}

/* False: it is malformed. */
static bool take_question(struct client *client, const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	struct str domain = unpack_str(&unpack);

	if (!unpack_is_whole(&unpack) || !is_lower_case_domain(domain))
		return false;
	ask_sts_cache(client, message->tag, domain);
	return true;
}

static bool take_session(const struct sts_server *server, struct str body)
{
	struct unpack unpack = {body, false};
	struct tlsrpt_session session = {.domain = unpack_str(&unpack)};
	uint32_t policy = unpack_u32(&unpack);
	uint32_t result;

	session.text = unpack_str(&unpack);
	result = unpack_u32(&unpack);
	session.host = unpack_str(&unpack);
	session.greeting = unpack_str(&unpack);
	session.server_address = unpack_str(&unpack);
	session.own_address = unpack_str(&unpack);
	session.reason = unpack_str(&unpack);
	if (!unpack_is_whole(&unpack) || !is_lower_case_domain(session.domain) ||
	    policy >= TLSRPT_POLICIES || result >= TLSRPT_RESULTS ||
	    session.text.length > TLSRPT_TEXT_MAX)
		return false;
	session.policy = (enum tlsrpt_policy)policy;
	session.result = (enum tlsrpt_result)result;
	if (server->counted != NULL)
		server->counted(server->context, &session);
	return true;
}

static enum sts_rank rank_of(const struct sts_server *server, uid_t user)
{
	if (user == server->remote)
		return STS_RANK_REMOTE;
	return user == 0 ? STS_RANK_ROOT : STS_RANK_OWNER;
}

static void *on_sts_client_connected(void *context, struct ipc_channel *channel)
{
	struct client *client = memory_alloc_zero(1, sizeof *client);

	client->server = context;
	client->channel = channel;
	client->rank = rank_of(client->server, ipc_channel_user(channel));
	return client;
}

static bool on_sts_request(void *context, struct ipc_channel *channel,
			   const struct ipc_message *message)
{
	struct client *client = context;

	(void)channel;
	switch (message->type) {
	case STS_ASK:
		return take_question(client, message);
	case STS_COUNT:
		return take_session(client->server, message->body);
	default:
		return false;
	}
}

static void on_sts_client_lost(void *context)
{
	struct client *client = context;

	while (client->questions != NULL)
		free_policy_question(client->questions);
	free(client);
}

struct sts_server *sts_server_new(struct os_loop *loop, int listening, struct sts_cache *cache,
				  const struct sts_users *users)
{
	static const struct ipc_server_kind kind = {CLIENTS_MAX, BACKLOG_MAX,
						    on_sts_client_connected, on_sts_request,
						    on_sts_client_lost};
	struct sts_server *server = memory_alloc_zero(1, sizeof *server);

	server->cache = cache;
	server->clients = ipc_server_new(loop, listening, &kind, server);
	sts_server_set_users(server, users);
	return server;
}

void sts_server_set_users(struct sts_server *server, const struct sts_users *users)
{
	const uid_t list[] = {0, users->remote, users->owner};

	server->remote = users->remote;
	ipc_server_set_users(server->clients, list, COUNT_OF(list));
}

void sts_server_on_count(struct sts_server *server,
			 void (*counted)(void *context, const struct tlsrpt_session *session),
			 void *context)
{
	server->counted = counted;
	server->context = context;
}

void sts_server_free(struct sts_server *server)
{
	if (server == NULL)
		return;
	ipc_server_free(server->clients);
	free(server);
}
