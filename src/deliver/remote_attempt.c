// SPDX-License-Identifier: ISC
#include "deliver/remote_attempt.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote_content.h"
#include "deliver/remote_peer.h"
#include "deliver/remote_recipients.h"
#include "mail/address.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>

/* In one attempt: each is asked for the recipients that the one before deferred. */
enum { SERVERS_MAX = 4 };

/* Since the attempt began; after that no further server is asked. */
static const int64_t ASKING_US = 10 * MINUTE_US;

/* In the arena of its job. */
struct remote_attempt {
	struct remote_carrier *carrier;
	enum smtp_client_protocol protocol;
	struct deliver_helper_job *job;
	const char *key;
	const struct remote_finder *finder;
	void *finder_context;
	const struct dns_server *servers; /* candidates, best first */
	size_t server_count;
	size_t next_server;
	const char *trigger;         /* set when none of them answered */
	bool was_connected;          /* at least one of them answered */
	struct mail_verdict failure; /* of the candidates so far; no text: none */

	const struct dns_server *server; /* the current one */
	struct remote_policy policy;     /* for it */
	struct remote_session *session;
	bool is_told;                               /* how TLS went in the session */
	union os_socket_address asked[SERVERS_MAX]; /* asked already; recipients that are left
						     * wait for the next */
	size_t asked_count;
	int64_t begin_us; /* monotonic */
	struct remote_recipients recipients;
	struct remote_content_needs needs;
	bool needs_utf8;        /* its header does */
	bool is_last;           /* no transaction follows the current one */
	unsigned configuration; /* the carrier's at the start */
	struct remote_attempt *next, **previous;
};

static void start_transaction(struct remote_attempt *attempt);

/* Ends the attempt: its memory is freed with the job. */
static void finish(struct remote_attempt *attempt)
{
	struct deliver_helper_job *job = attempt->job;

	attempt->finder->end(attempt->finder_context);
	remote_session_free(attempt->session);
	*attempt->previous = attempt->next;
	if (attempt->next != NULL)
		attempt->next->previous = attempt->previous;
	deliver_helper_finish(job);
}

static void finish_with(struct remote_attempt *attempt, const struct mail_verdict *verdict,
			const char *trigger)
{
	remote_recipients_report_deferred(&attempt->recipients);
	deliver_helper_report_rest(attempt->job, verdict, trigger);
	finish(attempt);
}

/* Keeps the error of one candidate as long as no other gives more hope. */
static void keep_failure(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	if (attempt->failure.text[0] == '\0' || verdict->class == MAIL_WAIT)
		attempt->failure = *verdict;
}

static void report_failure(struct remote_attempt *attempt)
{
	finish_with(attempt, &attempt->failure, attempt->was_connected ? NULL : attempt->trigger);
}

/* A new search returns all servers again, including those already asked. */
static bool was_asked(const struct remote_attempt *attempt, const struct dns_server *server)
{
	for (size_t i = 0; i < attempt->asked_count; i++)
		if (os_socket_address_is_equal(&attempt->asked[i], &server->address))
			return true;
	return false;
}

static void tell(struct remote_attempt *attempt, const char *failure)
{
	if (attempt->finder->tell != NULL && !attempt->is_told &&
	    attempt->policy.level != CONFIG_TLS_NONE)
		attempt->finder->tell(attempt->finder_context, attempt->server, &attempt->policy,
				      attempt->session, failure);
	attempt->is_told = true;
}

/* Connects to the current server by the current policy. False: that is impossible. */
static bool connect_to_server(struct remote_attempt *attempt)
{
	struct remote_session_settings settings = attempt->carrier->settings;
	struct mail_verdict verdict;
	int result;

	settings.protocol = attempt->protocol;
	result = remote_session_new(&settings, attempt->key, attempt->server, &attempt->policy,
				    &attempt->session);

	if (result == 0) {
		attempt->is_told = false;
		start_transaction(attempt);
		return true;
	}
	remote_peer_unreachable(&verdict, attempt->server, strerror(-result));
	keep_failure(attempt, &verdict);
	attempt->was_connected = attempt->was_connected || !remote_peer_is_absent(result);
	return false;
}

/* Whether TLS is left out where it may be: by QMTP a server cannot offer it. */
static bool is_plain(const struct remote_attempt *attempt)
{
	return attempt->protocol == SMTP_CLIENT_QMTP ||
	       remote_plain_has(attempt->carrier->plain, &attempt->server->address);
}

/* The same, unless the policy forbids it; and without TLS if that is known not to work. */
static bool obey_policy(struct remote_attempt *attempt)
{
	struct remote_policy *policy = &attempt->policy;

	if (policy->refusal != NULL) {
		attempt->is_told = false;
		tell(attempt, policy->refusal->text);
		keep_failure(attempt, policy->refusal);
		attempt->was_connected = true; /* the server is not to blame */
		return false;
	}
	if (policy->level == CONFIG_TLS_MAY && is_plain(attempt))
		policy->level = CONFIG_TLS_NONE;
	return connect_to_server(attempt);
}

static void try_next_server(struct remote_attempt *attempt)
{
	const struct remote_finder *finder = attempt->finder;

	while (attempt->next_server < attempt->server_count) {
		attempt->server = &attempt->servers[attempt->next_server++];
		if (was_asked(attempt, attempt->server))
			continue;
		attempt->policy = (struct remote_policy){.level = CONFIG_TLS_NONE};
		if (finder->protect != NULL && !finder->protect(attempt->finder_context, attempt,
								attempt->server, &attempt->policy))
			return;
		if (obey_policy(attempt))
			return;
	}
	report_failure(attempt);
}

void remote_attempt_connect(struct remote_attempt *attempt, const struct remote_policy *policy)
{
	attempt->policy = *policy;
	if (!obey_policy(attempt))
		try_next_server(attempt);
}

void remote_attempt_try(struct remote_attempt *attempt, const struct dns_server *servers,
			size_t count, const char *trigger)
{
	attempt->servers = servers;
	attempt->server_count = count;
	attempt->next_server = 0;
	attempt->trigger = trigger;
	try_next_server(attempt);
}

void remote_attempt_fail(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	finish_with(attempt, verdict, NULL);
}

static void close_session(struct remote_attempt *attempt)
{
	remote_session_free(attempt->session);
	attempt->session = NULL;
}

/* A connection to a server that is not the best is not kept for the next message, nor one that an
 * earlier configuration has allowed. */
static void leave_session(struct remote_attempt *attempt)
{
	if (attempt->asked_count == 0 && attempt->configuration == attempt->carrier->configurations)
		remote_pool_put(attempt->carrier->pool, attempt->session);
	else
		remote_session_free(attempt->session);
	attempt->session = NULL;
}

/* RFC 5321 section 5.1. With an idle connection its server is known, but not whether there is
 * another. */
static bool may_ask_elsewhere(const struct remote_attempt *attempt)
{
	bool has_next = attempt->next_server < attempt->server_count || attempt->server_count == 0;

	return has_next && !attempt->is_last && attempt->asked_count + 1 < SERVERS_MAX &&
	       attempt->protocol != SMTP_CLIENT_LMTP &&
	       os_clock_monotonic_us() - attempt->begin_us < ASKING_US;
}

/* For the recipients that this server deferred. */
static void ask_elsewhere(struct remote_attempt *attempt)
{
	attempt->asked[attempt->asked_count] = *remote_session_address(attempt->session);
	leave_session(attempt);
	attempt->asked_count++;
	if (attempt->server_count > 0)
		try_next_server(attempt);
	else
		attempt->finder->find(attempt->finder_context, attempt);
}

static void go_on_with_rest(struct remote_attempt *attempt)
{
	if (attempt->is_last) {
		remote_recipients_report_deferred(&attempt->recipients);
		finish(attempt);
	} else if (remote_recipients_has_more(&attempt->recipients)) {
		if (remote_session_is_reusable(attempt->session)) {
			start_transaction(attempt);
			return;
		}
		close_session(attempt);
		attempt->finder->find(attempt->finder_context, attempt);
	} else if (remote_recipients_turn(&attempt->recipients)) {
		ask_elsewhere(attempt);
	} else {
		leave_session(attempt);
		finish(attempt);
	}
}

/* A session without a transaction: TLS was made, or somebody has disturbed it. */
static void tell_unserved(struct remote_attempt *attempt)
{
	if (remote_session_is_injected(attempt->session))
		tell(attempt, attempt->recipients.transaction[0].verdict->text);
	else if (remote_session_tls(attempt->session) != NULL)
		tell(attempt, NULL);
}

static void pass_by(struct remote_attempt *attempt)
{
	attempt->was_connected = true;
	keep_failure(attempt, attempt->recipients.transaction[0].verdict);
	close_session(attempt);
	if (attempt->server_count > 0)
		try_next_server(attempt);
	else /* the connection was an idle one: no servers have been looked up yet */
		attempt->finder->find(attempt->finder_context, attempt);
}

/* TLS has failed. Where it may be left out, the same server gets plain text at once. */
static void leave_tls_out(struct remote_attempt *attempt)
{
	tell(attempt, attempt->recipients.transaction[0].verdict->text);
	if (attempt->policy.level != CONFIG_TLS_MAY) {
		pass_by(attempt);
		return;
	}
	remote_plain_add(attempt->carrier->plain, attempt->server,
			 attempt->recipients.transaction[0].verdict->text);
	attempt->policy.level = CONFIG_TLS_NONE;
	close_session(attempt);
	if (!connect_to_server(attempt))
		try_next_server(attempt);
}

/* The server is there, but is of no use before the login is put right: until then all mail for it
 * waits while one message tries. */
static void pass_by_refused(struct remote_attempt *attempt)
{
	char peer[REMOTE_PEER_SIZE];

	tell(attempt, NULL);
	remote_peer_format(attempt->server, peer);
	remote_session_log_refusal(attempt->session, peer);
	keep_failure(attempt, attempt->recipients.transaction[0].verdict);
	close_session(attempt);
	try_next_server(attempt);
}

static void settle(struct remote_attempt *attempt)
{
	attempt->was_connected = true;
	tell(attempt, NULL);
	attempt->job->tls = remote_session_tls(attempt->session);
	remote_recipients_settle(&attempt->recipients, may_ask_elsewhere(attempt));
	attempt->job->tls = NULL;
	go_on_with_rest(attempt);
}

static void on_outcome(void *context, enum remote_outcome outcome)
{
	struct remote_attempt *attempt = context;

	switch (outcome) {
	case REMOTE_DECIDED:
		settle(attempt);
		break;
	case REMOTE_UNREACHABLE:
		keep_failure(attempt, remote_session_failure(attempt->session));
		close_session(attempt);
		try_next_server(attempt);
		break;
	case REMOTE_UNSERVED:
		tell_unserved(attempt);
		pass_by(attempt);
		break;
	case REMOTE_INSECURE:
		leave_tls_out(attempt);
		break;
	case REMOTE_REFUSED:
		pass_by_refused(attempt);
		break;
	case REMOTE_STALE:
		close_session(attempt);
		attempt->finder->find(attempt->finder_context, attempt);
		break;
	}
}

/* To LMTP servers mail is delivered, not sent on. */
static bool is_sent_on(const struct remote_attempt *attempt)
{
	return attempt->protocol != SMTP_CLIENT_LMTP;
}

/* Must be the last call on the attempt. */
static void start_transaction(struct remote_attempt *attempt)
{
	struct deliver_helper_job *job = attempt->job;
	struct remote_transaction transaction = {
		.content = job->content, .done = on_outcome, .context = attempt};

	remote_recipients_begin(&attempt->recipients);
	transaction.message = (struct smtp_client_message){
		.sender = mail_sender_told(job->sender),
		.size = job->content.size + attempt->needs.breaks_size,
		.is_8bit = attempt->needs.is_8bit,
		.is_utf8 = job->utf8,
		.needs_utf8 = attempt->needs_utf8,
		.requires_tls = job->requires_tls && is_sent_on(attempt),
		.priority = job->priority,
		.ret = job->ret,
		.envid = job->envid,
		.recipients = attempt->recipients.transaction,
		.recipient_count = attempt->recipients.count,
	};
	remote_session_run(attempt->session, &transaction);
}

static struct remote_attempt *new_attempt(struct remote_carrier *carrier,
					  enum smtp_client_protocol protocol,
					  struct deliver_helper_job *job)
{
	struct remote_attempt *attempt = arena_alloc(job->arena, sizeof *attempt);
	char *chunk = carrier->settings.chunk;

	attempt->carrier = carrier;
	attempt->protocol = protocol;
	attempt->job = job;
	attempt->configuration = carrier->configurations;
	attempt->begin_us = os_clock_monotonic_us();
	attempt->needs = remote_content_look(&job->content, chunk);
	if (protocol != SMTP_CLIENT_SMTP) /* the others break no lines */
		attempt->needs.breaks_size = 0;
	attempt->needs_utf8 = attempt->needs.is_8bit && job->utf8 && protocol == SMTP_CLIENT_SMTP &&
			      remote_content_has_8bit_header(&job->content, chunk);
	remote_recipients_init(&attempt->recipients, job);
	attempt->next = carrier->attempts;
	attempt->previous = &carrier->attempts;
	if (attempt->next != NULL)
		attempt->next->previous = &attempt->next;
	carrier->attempts = attempt;
	job->context = attempt;
	return attempt;
}

void remote_attempt_start(struct remote_carrier *carrier, enum smtp_client_protocol protocol,
			  struct deliver_helper_job *job, const char *key,
			  const struct remote_finder *finder, void *context)
{
	struct remote_attempt *attempt = new_attempt(carrier, protocol, job);

	attempt->key = key;
	attempt->finder = finder;
	attempt->finder_context = context;
	attempt->session = remote_pool_take(carrier->pool, key);
	attempt->is_told = true;
	if (attempt->session != NULL)
		start_transaction(attempt);
	else
		finder->find(context, attempt);
}

void remote_carrier_drain(struct remote_carrier *carrier)
{
	struct remote_attempt *next;

	for (struct remote_attempt *attempt = carrier->attempts; attempt != NULL; attempt = next) {
		next = attempt->next;
		if (attempt->session != NULL && remote_session_is_deciding(attempt->session))
			attempt->is_last = true;
		else
			finish(attempt);
	}
	remote_pool_clear(carrier->pool);
}

void remote_carrier_give_up(struct remote_carrier *carrier)
{
	while (carrier->attempts != NULL)
		finish(carrier->attempts);
}
