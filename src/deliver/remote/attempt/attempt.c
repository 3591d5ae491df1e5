// SPDX-License-Identifier: ISC
#include "deliver/remote/attempt/attempt.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/internal.h"
#include "deliver/remote/route/peer.h"
#include "os/clock.h"

/* Since the attempt began; after that no further server is asked. */
static const int64_t ASKING_US = 10 * MINUTE_US;

static void start_transaction(struct remote_attempt *attempt);

/* Ends the attempt: its memory is freed with the job. Recipients that were not reported wait for
 * the server that may be asked first. */
static void finish_remote_attempt(struct remote_attempt *attempt)
{
	struct deliver_helper_job *job = attempt->job;

	attempt->finder->end(attempt->finder_context);
	remote_session_free(attempt->session);
	*attempt->previous = attempt->next;
	if (attempt->next != NULL)
		attempt->next->previous = attempt->previous;
	if (attempt->busy.us > 0)
		deliver_helper_finish_busy(
			job, attempt->busy.us,
			(attempt->busy.place != NULL ? IPC_JOB_BUSY_PLACE : 0U) |
				(attempt->has_complained ? IPC_JOB_BUSY_LAST : 0U),
			attempt->busy.reason);
	else
		deliver_helper_finish(job);
}

static void finish_with(struct remote_attempt *attempt, const struct mail_verdict *verdict,
			const char *trigger)
{
	remote_recipients_report_deferred(&attempt->recipients);
	deliver_helper_report_rest(attempt->job, verdict, trigger);
	attempt->busy.us = 0; /* nobody is left to wait for the other server */
	finish_remote_attempt(attempt);
}

/* What a full class of hosts had no place for is tried as soon as it has one, whatever the other
 * servers said. */
static void report_failure(struct remote_attempt *attempt)
{
	const char *trigger = attempt->was_connected ? NULL : attempt->trigger;

	if (attempt->busy.us > 0 && attempt->full == 0) {
		remote_recipients_report_deferred(&attempt->recipients);
		finish_remote_attempt(attempt);
		return;
	}
	finish_with(attempt, &attempt->failure,
		    attempt->full != 0 ? attempt->full_trigger : trigger);
}

/* The attempt may be over when it returns true. A server that is there, but may not be asked now,
 * is waited for. */
static bool fall_back_to_relay(struct remote_attempt *attempt)
{
	const struct remote_finder *finder = attempt->finder;
	bool is_new = attempt->asked_count == 0 && attempt->failure.class == MAIL_WAIT &&
		      attempt->busy.us == 0 && attempt->full == 0;

	if (finder->fall_back == NULL || !is_new)
		return false;
	attempt->has_fallen_back = true;
	return finder->fall_back(attempt->finder_context, attempt);
}

static void try_next_server(struct remote_attempt *attempt)
{
	switch (remote_attempt_meet_next(attempt)) {
	case REMOTE_ATTEMPT_MET:
		start_transaction(attempt);
		break;
	case REMOTE_ATTEMPT_WAITS:
		break;
	case REMOTE_ATTEMPT_NONE:
		if (!fall_back_to_relay(attempt))
			report_failure(attempt);
		break;
	}
}

void remote_attempt_connect(struct remote_attempt *attempt, const struct remote_policy *policy)
{
	attempt->policy = *policy;
	if (remote_attempt_obey_policy(attempt))
		start_transaction(attempt);
	else
		try_next_server(attempt);
}

void remote_attempt_try(struct remote_attempt *attempt, const struct dns_server *servers,
			size_t count, const char *trigger)
{
	attempt->servers = servers;
	attempt->server_count = count;
	attempt->next_server = 0;
	attempt->passed_over = 0;
	attempt->has_only_passed_by = false;
	attempt->trigger = trigger;
	attempt->full = 0;
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
	if (attempt->asked_count == 0 && !attempt->has_fallen_back &&
	    attempt->configuration == attempt->client->configurations)
		remote_pool_put(attempt->client->pool, attempt->session);
	else
		remote_session_free(attempt->session);
	attempt->session = NULL;
}

/* RFC 5321 section 5.1. With an idle connection its server is known, but not whether there is
 * another. */
static bool may_ask_elsewhere(const struct remote_attempt *attempt)
{
	return remote_attempt_has_next(attempt) && !attempt->is_last &&
	       attempt->asked_count + 1 < SERVERS_MAX && attempt->protocol != SMTP_CLIENT_LMTP &&
	       os_clock_monotonic_us() - attempt->begin_us < ASKING_US;
}

/* Another configuration came: what the current connection still carries it completes, but nothing
 * more is begun by the policy that was found then. */
static bool is_policy_outdated(const struct remote_attempt *attempt)
{
	return attempt->decided_by != attempt->client->configurations;
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
	if (attempt->is_last || attempt->is_slowed) {
		remote_recipients_report_deferred(&attempt->recipients);
		finish_remote_attempt(attempt);
	} else if (remote_recipients_has_more(&attempt->recipients)) {
		if (remote_session_is_reusable(attempt->session) && !is_policy_outdated(attempt) &&
		    !attempt->recipients.is_anew) {
			start_transaction(attempt);
			return;
		}
		close_session(attempt);
		attempt->finder->find(attempt->finder_context, attempt);
	} else if (remote_recipients_turn(&attempt->recipients)) {
		ask_elsewhere(attempt);
	} else {
		leave_session(attempt);
		finish_remote_attempt(attempt);
	}
}

/* A session without a transaction: TLS was made, or somebody has disturbed it. */
static void tell_unserved(struct remote_attempt *attempt)
{
	if (remote_session_is_injected(attempt->session))
		remote_attempt_tell(attempt, attempt->recipients.transaction[0].verdict->text);
	else if (remote_session_tls(attempt->session) != NULL)
		remote_attempt_tell(attempt, NULL);
}

static void go_elsewhere(struct remote_attempt *attempt)
{
	close_session(attempt);
	if (attempt->server_count > 0)
		try_next_server(attempt);
	else /* the connection was an idle one: no servers have been looked up yet */
		attempt->finder->find(attempt->finder_context, attempt);
}

static void pass_by(struct remote_attempt *attempt)
{
	attempt->was_connected = true;
	remote_attempt_keep_failure(attempt, attempt->recipients.transaction[0].verdict);
	go_elsewhere(attempt);
}

/* A server has said that it gets too much. If it wants nothing for a time, others that are on the
 * way to it turn back. */
static void turn_others_back(const struct remote_attempt *attempt)
{
	struct remote_attempt *next;

	for (struct remote_attempt *other = attempt->client->attempts; other != NULL;
	     other = next) {
		next = other->next;
		if (other == attempt || !remote_attempt_is_unwanted(other))
			continue;
		tell_unserved(other);
		shape_unsent(remote_session_hold(other->session));
		go_elsewhere(other);
	}
}

/* TLS has failed. Where it may be left out, the same server gets plain text at once; whether it may
 * is asked again if that was before a reload. */
static void leave_tls_out(struct remote_attempt *attempt)
{
	remote_attempt_tell(attempt, attempt->recipients.transaction[0].verdict->text);
	if (attempt->policy.level != CONFIG_TLS_MAY) {
		pass_by(attempt);
		return;
	}
	if (is_policy_outdated(attempt)) {
		close_session(attempt);
		attempt->finder->find(attempt->finder_context, attempt);
		return;
	}
	remote_plain_add(attempt->client->plain, attempt->server,
			 attempt->recipients.transaction[0].verdict->text);
	attempt->policy.level = CONFIG_TLS_NONE;
	close_session(attempt);
	if (remote_attempt_meet(attempt))
		start_transaction(attempt);
	else
		try_next_server(attempt);
}

/* The server is there, but is of no use before the login is put right: until then all mail for it
 * waits while one message tries. */
static void pass_by_refused(struct remote_attempt *attempt)
{
	char peer[REMOTE_PEER_SIZE];

	remote_attempt_tell(attempt, NULL);
	remote_peer_format(attempt->server, peer);
	remote_session_log_refusal(attempt->session, peer);
	remote_attempt_keep_failure(attempt, attempt->recipients.transaction[0].verdict);
	close_session(attempt);
	try_next_server(attempt);
}

static void settle_transaction(struct remote_attempt *attempt)
{
	attempt->was_connected = true;
	remote_attempt_tell(attempt, NULL);
	remote_attempt_note_copies(attempt);
	attempt->job->tls = remote_session_tls(attempt->session);
	attempt->job->source = str_from(remote_session_source(attempt->session));
	remote_recipients_settle(&attempt->recipients, may_ask_elsewhere(attempt),
				 attempt->is_slowed);
	attempt->job->tls = NULL;
	attempt->job->source = STR("");
	remote_attempt_learn_limits(attempt);
	go_on_with_rest(attempt);
}

static void on_outcome(void *context, enum remote_outcome outcome)
{
	struct remote_attempt *attempt = context;

	remote_attempt_learn_speed(attempt, outcome);
	remote_attempt_remember(attempt, outcome);
	if (attempt->is_slowed)
		turn_others_back(attempt);
	switch (outcome) {
	case REMOTE_DECIDED:
		settle_transaction(attempt);
		break;
	case REMOTE_UNREACHABLE:
		remote_attempt_keep_failure(attempt, remote_session_failure(attempt->session));
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

/* While it was held, the place in its class may have become somebody else's, and the configuration
 * another one. */
static void on_end_of_session_hold(void *context, struct remote_session *session)
{
	struct remote_attempt *attempt = context;

	if (os_clock_monotonic_us() >= attempt->held_until_us && !is_policy_outdated(attempt) &&
	    remote_session_claim(session, attempt->job->has_turn)) {
		start_transaction(attempt);
		return;
	}
	close_session(attempt); /* or the server has had enough of waiting */
	attempt->finder->find(attempt->finder_context, attempt);
}

/* Whether the next transaction may run now. False: it waits, or the attempt is over. */
static bool take_turn_of_transaction(struct remote_attempt *attempt)
{
	switch (remote_attempt_turn(attempt)) {
	case REMOTE_ATTEMPT_NOW:
		return true;
	case REMOTE_ATTEMPT_SOON:
		remote_session_wait(attempt->session,
				    attempt->held_until_us - os_clock_monotonic_us(),
				    on_end_of_session_hold, attempt);
		return false;
	case REMOTE_ATTEMPT_BUSY:
		remote_recipients_report_deferred(&attempt->recipients);
		leave_session(attempt);
		finish_remote_attempt(attempt);
		return false;
	}
	return false;
}

/* Must be the last call on the attempt. */
static void start_transaction(struct remote_attempt *attempt)
{
	struct deliver_helper_job *job = attempt->job;
	struct remote_transaction transaction = {
		.content = job->content, .done = on_outcome, .context = attempt};

	remote_recipients_begin(&attempt->recipients, remote_attempt_recipients_most(attempt));
	if (!take_turn_of_transaction(attempt))
		return;
	remote_attempt_message(attempt, &transaction.message);

	remote_session_run(attempt->session, &transaction);
}

void remote_attempt_start(struct remote_client *client, enum smtp_client_protocol protocol,
			  struct deliver_helper_job *job, const char *key,
			  const struct remote_finder *finder, void *context)
{
	struct remote_attempt *attempt = remote_attempt_new(client, protocol, job);

	attempt->key = key;
	attempt->finder = finder;
	attempt->finder_context = context;
	if (!remote_attempt_shuns_idle(attempt))
		attempt->session = remote_pool_take(client->pool, key, job->has_turn);
	attempt->is_told = true;
	if (attempt->session != NULL)
		start_transaction(attempt);
	else
		finder->find(context, attempt);
}

void remote_client_drain(struct remote_client *client)
{
	struct remote_attempt *next;

	for (struct remote_attempt *attempt = client->attempts; attempt != NULL; attempt = next) {
		next = attempt->next;
		if (attempt->session != NULL && remote_session_is_deciding(attempt->session))
			attempt->is_last = true;
		else
			finish_remote_attempt(attempt);
	}
	remote_pool_clear(client->pool);
}

void remote_client_give_up(struct remote_client *client)
{
	while (client->attempts != NULL)
		finish_remote_attempt(client->attempts);
}
