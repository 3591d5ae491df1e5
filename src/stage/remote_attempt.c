// SPDX-License-Identifier: ISC
#include "stage/remote_attempt.h"
#include "os/file.h"
#include "os/interface.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	RECIPIENTS_MAX = 100,     /* of one transaction, RFC 5321 section 4.5.3.1.8 */
	SCAN_MAX = 16,            /* chunks; a longer message counts as 8-bit */
	SELF_ADDRESSES_MAX = 256, /* interfaces' addresses that are known */
	TRIGGER_SIZE = DNS_NAME_SIZE + 8,
};

/* In the arena of its job. */
struct remote_attempt {
	struct stage_remote *remote;
	struct stage_helper_job *job;
	struct remote_hop hop;
	struct dns_self self;
	struct dns_search *search;
	const struct dns_server *servers; /* candidates, the best first */
	size_t server_count;
	size_t next_server;
	struct dns_server single;
	bool was_connected;          /* at least one of them answered */
	struct mail_verdict failure; /* of the candidates so far; no text: none */

	struct remote_session *session;
	struct smtp_client_recipient *recipients; /* as in the job */
	size_t first;                             /* of those that the transaction is for */
	size_t count;
	bool is_8bit;
	struct remote_attempt *next, **previous;
};

static void start_transaction(struct remote_attempt *attempt);

/* The end of the attempt: its memory goes with the job. */
static void finish(struct remote_attempt *attempt)
{
	struct stage_helper_job *job = attempt->job;

	dns_search_free(attempt->search);
	remote_session_free(attempt->session);
	*attempt->previous = attempt->next;
	if (attempt->next != NULL)
		attempt->next->previous = attempt->previous;
	stage_helper_finish(job);
}

void remote_attempt_abandon(struct remote_attempt *attempt)
{
	finish(attempt);
}

static void finish_with(struct remote_attempt *attempt, const struct mail_verdict *verdict,
			const char *trigger)
{
	stage_helper_report_rest(attempt->job, verdict, trigger);
	finish(attempt);
}

/* "host.NAME", where NAME is the first that was tried; names are made of letters,
 * digits, '-', '_' and '.'. */
static void format_trigger(const struct remote_attempt *attempt, char trigger[TRIGGER_SIZE])
{
	const char *name = attempt->server_count > 0 ? attempt->servers[0].host : attempt->hop.name;

	snprintf(trigger, TRIGGER_SIZE, "host.%s", name);
	for (char *c = trigger; *c != '\0'; c++)
		if (*c == ':')
			*c = '-';
}

/* What one candidate said stays only as long as no other gives more hope. */
static void keep_failure(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	if (attempt->failure.text[0] == '\0' || verdict->class == MAIL_WAIT)
		attempt->failure = *verdict;
}

static void report_failure(struct remote_attempt *attempt)
{
	char trigger[TRIGGER_SIZE];

	format_trigger(attempt, trigger);
	finish_with(attempt, &attempt->failure, attempt->was_connected ? NULL : trigger);
}

/* A lack of descriptors or memory says nothing about the server. */
static bool is_our_own(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

static void try_next_server(struct remote_attempt *attempt)
{
	struct stage_remote *remote = attempt->remote;

	while (attempt->next_server < attempt->server_count) {
		const struct dns_server *server = &attempt->servers[attempt->next_server++];
		struct mail_verdict verdict;
		int result = remote_session_new(&remote->settings, attempt->hop.key, server,
						&attempt->session);

		if (result == 0) {
			start_transaction(attempt);
			return;
		}
		remote_session_explain(&verdict, server, strerror(-result));
		keep_failure(attempt, &verdict);
		attempt->was_connected = attempt->was_connected || is_our_own(result);
	}
	report_failure(attempt);
}

static void on_servers(void *context, const struct dns_servers *servers)
{
	struct remote_attempt *attempt = context;

	if (servers->verdict.class != MAIL_OK) {
		finish_with(attempt, &servers->verdict, NULL);
		return;
	}
	attempt->servers = servers->list;
	attempt->server_count = servers->count;
	try_next_server(attempt);
}

static void learn_self(struct remote_attempt *attempt)
{
	struct arena *arena = attempt->job->arena;
	struct in6_addr *list = arena_alloc(arena, SELF_ADDRESSES_MAX * sizeof *list);
	int count = os_interface_addresses(list, SELF_ADDRESSES_MAX);

	attempt->self = (struct dns_self){
		.hostname = arena_copy(arena, str_from(attempt->remote->settings.hostname)),
		.addresses = list,
		.address_count = count > 0 ? (size_t)count : 0,
	};
}

static void try_address(struct remote_attempt *attempt)
{
	struct mail_verdict verdict;

	attempt->single.address = attempt->hop.address;
	attempt->single.host = attempt->hop.name;
	if (attempt->hop.kind == REMOTE_HOP_LITERAL &&
	    dns_self_has(&attempt->self, &attempt->single.address)) {
		mail_verdict_set(&verdict, "5.4.6", "mail for [%s] loops back to this host",
				 attempt->hop.name);
		finish_with(attempt, &verdict, NULL);
		return;
	}
	attempt->servers = &attempt->single;
	attempt->server_count = 1;
	try_next_server(attempt);
}

/* Finds the candidates, from the beginning. */
static void find_servers(struct remote_attempt *attempt)
{
	struct dns_resolver *resolver = attempt->remote->resolver;
	const struct remote_hop *hop = &attempt->hop;

	dns_search_free(attempt->search);
	attempt->search = NULL;
	attempt->server_count = 0;
	attempt->next_server = 0;
	if (hop->kind == REMOTE_HOP_EXCHANGERS || hop->kind == REMOTE_HOP_LITERAL)
		learn_self(attempt);
	if (hop->kind == REMOTE_HOP_EXCHANGERS)
		attempt->search = dns_search_exchangers(resolver, hop->name, &attempt->self,
							hop->port, on_servers, attempt);
	else if (hop->kind == REMOTE_HOP_RELAY)
		attempt->search =
			dns_search_relay(resolver, hop->name, hop->port, on_servers, attempt);
	else
		try_address(attempt);
}

static void report_transaction(struct remote_attempt *attempt)
{
	for (size_t i = 0; i < attempt->count; i++)
		stage_helper_report(attempt->job, attempt->first + i,
				    attempt->recipients[attempt->first + i].verdict, NULL);
}

static void close_session(struct remote_attempt *attempt)
{
	remote_session_free(attempt->session);
	attempt->session = NULL;
}

static void go_on_with_rest(struct remote_attempt *attempt)
{
	struct remote_session *session = attempt->session;

	attempt->first += attempt->count;
	if (attempt->first == attempt->job->recipient_count) {
		attempt->session = NULL;
		remote_pool_put(attempt->remote->pool, session);
		finish(attempt);
	} else if (remote_session_is_reusable(session)) {
		start_transaction(attempt);
	} else {
		close_session(attempt);
		find_servers(attempt);
	}
}

static void on_outcome(void *context, enum remote_outcome outcome)
{
	struct remote_attempt *attempt = context;

	switch (outcome) {
	case REMOTE_DECIDED:
		report_transaction(attempt);
		go_on_with_rest(attempt);
		break;
	case REMOTE_UNREACHABLE:
		keep_failure(attempt, remote_session_failure(attempt->session));
		close_session(attempt);
		try_next_server(attempt);
		break;
	case REMOTE_UNGREETED:
		attempt->was_connected = true;
		keep_failure(attempt, attempt->recipients[attempt->first].verdict);
		close_session(attempt);
		try_next_server(attempt);
		break;
	case REMOTE_STALE:
		close_session(attempt);
		find_servers(attempt);
		break;
	}
}

/* The last thing that is done with the attempt. */
static void start_transaction(struct remote_attempt *attempt)
{
	struct stage_helper_job *job = attempt->job;
	struct remote_transaction transaction = {
		.file = job->file, .done = on_outcome, .context = attempt};
	size_t rest = job->recipient_count - attempt->first;

	attempt->count = rest < RECIPIENTS_MAX ? rest : RECIPIENTS_MAX;
	transaction.message = (struct smtp_client_message){
		.sender = remote_sender_is_null(job->sender) ? STR("") : job->sender,
		.size = job->size,
		.is_8bit = attempt->is_8bit,
		.recipients = attempt->recipients + attempt->first,
		.recipient_count = attempt->count,
	};
	remote_session_run(attempt->session, &transaction);
}

static bool has_high_bit(struct str data)
{
	uint64_t all = 0;
	size_t i = 0;

	for (uint64_t word; i + sizeof word <= data.length; i += sizeof word) {
		memcpy(&word, data.data + i, sizeof word);
		all |= word;
	}
	for (; i < data.length; i++)
		all |= (unsigned char)data.data[i];
	return (all & UINT64_C(0x8080808080808080)) != 0;
}

static bool is_8bit(struct stage_remote *remote, const struct stage_helper_job *job)
{
	uint64_t position = 0;

	for (int i = 0; i < SCAN_MAX; i++) {
		ssize_t count = os_file_read(job->file, remote->chunk, REMOTE_CHUNK_SIZE, position);

		if (count < 0 || has_high_bit(str_slice(remote->chunk, (size_t)count)))
			return true;
		position += (uint64_t)count;
		if (position >= job->size || count == 0)
			return false;
	}
	return true;
}

static struct remote_attempt *new_attempt(struct stage_remote *remote, struct stage_helper_job *job)
{
	struct remote_attempt *attempt = arena_alloc(job->arena, sizeof *attempt);

	attempt->remote = remote;
	attempt->job = job;
	attempt->is_8bit = is_8bit(remote, job);
	attempt->recipients =
		arena_alloc(job->arena, job->recipient_count * sizeof *attempt->recipients);
	for (size_t i = 0; i < job->recipient_count; i++)
		attempt->recipients[i].address = job->recipients[i].address;
	attempt->next = remote->attempts;
	attempt->previous = &remote->attempts;
	if (attempt->next != NULL)
		attempt->next->previous = &attempt->next;
	remote->attempts = attempt;
	job->context = attempt;
	return attempt;
}

void remote_attempt_start(struct stage_remote *remote, struct stage_helper_job *job)
{
	struct remote_attempt *attempt = new_attempt(remote, job);
	struct mail_verdict verdict;

	if (!remote_routes_choose(remote->routes, job->sender, job->destination, &attempt->hop)) {
		mail_verdict_set(&verdict, "5.1.2", STR_FORMAT " is no name of a host",
				 STR_ARGUMENTS(job->destination));
		finish_with(attempt, &verdict, NULL);
		return;
	}
	attempt->session = remote_pool_take(remote->pool, attempt->hop.key);
	if (attempt->session != NULL)
		start_transaction(attempt);
	else
		find_servers(attempt);
}
