// SPDX-License-Identifier: ISC
/* What a client is told, and how an attempt ends. */
#include "auth/server/internal.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/socket/address.h"
#include <stdlib.h>
#include <string.h>

void auth_attempt_free(struct auth_attempt *attempt)
{
	struct auth_asker *asker = attempt->asker;

	HASH_DEL(asker->attempts, attempt);
	if (attempt->state != ATTEMPT_LEFT)
		auth_tally_remove(asker->server, &attempt->client);
	if (attempt->question.private != NULL)
		directory_question_cancel(asker->server->directory, &attempt->question);
	auth_check_cancel(attempt->check);
	auth_token_request_cancel(attempt->token);
	dovecot_cancel(&attempt->dovecot);
	sasl_free(attempt->sasl);
	os_timer_free(attempt->timer);
	buffer_clear(&attempt->dovecot_user);
	buffer_clear(&attempt->owner);
	buffer_clear(&attempt->stamp);
	buffer_clear(&attempt->texts);
	explicit_bzero(attempt, sizeof *attempt);
	free(attempt);
}

static void send_attempt_answer(struct auth_asker *asker, uint32_t tag,
				const struct auth_answer *answer)
{
	struct buffer body CLEANUP(buffer_clear) = {.is_secret = true};

	pack_u32(&body, answer->outcome);
	pack_u32(&body, answer->refusal);
	pack_str(&body, answer->message);
	pack_str(&body, answer->user);
	pack_str(&body, answer->stamp);
	ipc_channel_send(asker->channel, AUTH_ANSWER, tag, buffer_view(&body), NULL, 0);
}

void auth_attempt_send_refusal(struct auth_asker *asker, uint32_t tag, enum auth_refusal refusal)
{
	const struct auth_answer answer = {.outcome = AUTH_REFUSED, .refusal = refusal};

	send_attempt_answer(asker, tag, &answer);
}

static void send_challenge(struct auth_attempt *attempt, enum auth_outcome outcome,
			   struct str message)
{
	const struct auth_answer answer = {.outcome = outcome, .message = message};

	attempt->state = ATTEMPT_SPEAKS;
	send_attempt_answer(attempt->asker, attempt->tag, &answer);
}

void auth_attempt_challenge(struct auth_attempt *attempt, struct str message)
{
	send_challenge(attempt, AUTH_CHALLENGE, message);
}

/* REASON: of what did not succeed. COUNT: of failures; -1: it is none. */
static void log_attempt(const struct auth_attempt *attempt, enum log_name event, struct str user,
			const char *reason, int64_t count)
{
	void (*write)(enum log_name name, const struct log_field *fields) =
		event == EVENT_AUTH_UNAVAILABLE ? log_write_rated : log_write;
	bool is_refused = event == EVENT_AUTH_REFUSED;
	char address[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format_mapped(&attempt->address, address);
	log_event_like(
		write, event, EVENT_AUTH_REFUSED, log_string(client, address),
		log_positive(client_port, attempt->port), log_str(session, attempt->session),
		log_str(user, user), log_string(mechanism, attempt->mechanism_name),
		log_str(protocol, attempt->protocol), log_string(reason, reason),
		count >= 0 ? log_number(count, count) : log_none(),
		log_string(setting, is_refused ? "auth.failure_limit" : ""),
		log_positive(limit,
			     is_refused ? attempt->asker->server->config->auth.failure_limit : 0));
}

void auth_attempt_accept(struct auth_attempt *attempt, struct str user)
{
	const struct auth_answer answer = {
		.outcome = AUTH_ACCEPTED, .user = user, .stamp = buffer_view(&attempt->stamp)};

	auth_failures_forgive(attempt->asker->server->failures, &attempt->address, user);
	auth_known_add(attempt->asker->server->known, &attempt->client, os_clock_boot_us());
	log_attempt(attempt, EVENT_AUTH_ACCEPTED, user, "", -1);
	send_attempt_answer(attempt->asker, attempt->tag, &answer);
	auth_attempt_free(attempt);
}

static void refuse_now(struct auth_attempt *attempt, enum auth_refusal refusal)
{
	auth_attempt_send_refusal(attempt->asker, attempt->tag, refusal);
	auth_attempt_free(attempt);
}

/* A mechanism that is not over tells why in a challenge. */
static void on_attempt_held(void *context)
{
	struct auth_attempt *attempt = context;

	if (attempt->sasl != NULL)
		send_challenge(attempt, AUTH_LAST_CHALLENGE, sasl_message(attempt->sasl));
	else
		refuse_now(attempt, AUTH_FAILED);
}

/* The time is counted from the client's message, so that nobody learns how long the check took. */
static void hold_attempt(struct auth_attempt *attempt, int64_t delay_us)
{
	int64_t left_us = attempt->asked_us + delay_us - os_clock_boot_us();

	attempt->state = ATTEMPT_HELD;
	attempt->has_failed = true;
	if (attempt->sasl != NULL && sasl_state(attempt->sasl) == SASL_REFUSED) {
		sasl_free(attempt->sasl);
		attempt->sasl = NULL;
	}
	attempt->timer = os_timer_new(attempt->asker->server->ways.loop, on_attempt_held, attempt);
	os_timer_start(attempt->timer, left_us > 0 ? left_us : 0);
}

/* Counts and logs a failure. How long its answer is to be held back. */
static int64_t count_failure(struct auth_attempt *attempt, struct str user, const char *reason)
{
	struct auth_failures *failures = attempt->asker->server->failures;
	int64_t now_us = os_clock_boot_us();
	int64_t delay_us = auth_failures_add(failures, &attempt->address, user, now_us);

	log_attempt(attempt, EVENT_AUTH_FAILED, user, reason,
		    auth_failures_count(failures, &attempt->address, now_us));
	if (auth_failures_is_refused(failures, &attempt->address, now_us))
		log_attempt(attempt, EVENT_AUTH_REFUSED, STR(""), "too many failures",
			    auth_failures_count(failures, &attempt->address, now_us));
	return delay_us;
}

/* A client that leaves before it has heard of its failure has failed all the same. */
void auth_attempt_fail(struct auth_attempt *attempt, struct str user, const char *reason)
{
	hold_attempt(attempt, count_failure(attempt, user, reason));
}

/* Whether the client leaves with what it has learnt of a user. */
static bool is_probe(const struct auth_attempt *attempt)
{
	return attempt->sasl != NULL && !attempt->has_failed && sasl_has_told(attempt->sasl);
}

void auth_attempt_cancel(struct auth_attempt *attempt)
{
	struct buffer user CLEANUP(buffer_clear) = {0};

	if (is_probe(attempt)) {
		sasl_claimed(attempt->sasl, &user);
		(void)count_failure(attempt, buffer_view(&user), "cancelled");
	}
	auth_attempt_free(attempt);
}

static void on_attempt_left(void *context)
{
	auth_attempt_cancel(context);
}

void auth_attempt_leave(struct auth_attempt *attempt)
{
	struct buffer user CLEANUP(buffer_clear) = {0};

	if (attempt->state == ATTEMPT_LEFT)
		return;
	if (attempt->sasl != NULL)
		sasl_claimed(attempt->sasl, &user);
	log_attempt(attempt, EVENT_AUTH_CANCELLED, buffer_view(&user), "", -1);
	if (!is_probe(attempt)) {
		auth_attempt_free(attempt);
		return;
	}
	auth_tally_remove(attempt->asker->server, &attempt->client);
	attempt->state = ATTEMPT_LEFT;
	attempt->timer = os_timer_new(attempt->asker->server->ways.loop, on_attempt_left, attempt);
	os_timer_start(attempt->timer, AUTH_LEFT_US);
}

void auth_attempt_refuse(struct auth_attempt *attempt, enum auth_refusal refusal, struct str user,
			 const char *reason)
{
	if (refusal == AUTH_FAILED && !attempt->has_failed) {
		auth_attempt_fail(attempt, user, reason);
		return;
	}
	if (refusal == AUTH_TEMPORARY)
		log_attempt(attempt, EVENT_AUTH_UNAVAILABLE, user, reason, -1);
	refuse_now(attempt, refusal);
}
