// SPDX-License-Identifier: ISC
/* The life of an attempt: how it begins, and how it ends. */
#include "auth/server/internal.h"
#include "base/base64.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/socket_address.h"
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1024 /* bytes of a text about the peer */ };

/* --- answers --- */

static void send_answer(struct auth_asker *asker, uint32_t tag, const struct auth_answer *answer)
{
	struct buffer body CLEANUP(buffer_clear) = {.is_secret = true};

	pack_u32(&body, answer->outcome);
	pack_u32(&body, answer->refusal);
	pack_str(&body, answer->message);
	pack_str(&body, answer->user);
	ipc_channel_send(asker->channel, AUTH_ANSWER, tag, buffer_view(&body), NULL, 0);
}

static void send_refusal(struct auth_asker *asker, uint32_t tag, enum auth_refusal refusal)
{
	const struct auth_answer answer = {.outcome = AUTH_REFUSED, .refusal = refusal};

	send_answer(asker, tag, &answer);
}

void auth_attempt_challenge(struct auth_attempt *attempt, struct str message)
{
	const struct auth_answer answer = {.outcome = AUTH_CHALLENGE, .message = message};

	attempt->state = ATTEMPT_SPEAKS;
	send_answer(attempt->asker, attempt->tag, &answer);
}

static void log_attempt(const struct auth_attempt *attempt, enum log_name event, struct str user,
			const char *reason, unsigned count)
{
	char client[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format_mapped(&attempt->address, client);
	if (event == EVENT_AUTH_ACCEPTED)
		log_event(event, log_string("client", client), log_str("user", user),
			  log_string("mechanism", attempt->mechanism_name),
			  log_str("protocol", attempt->protocol));
	else if (event == EVENT_AUTH_UNAVAILABLE)
		log_event_rated(event, log_string("client", client), log_str("user", user),
				log_string("mechanism", attempt->mechanism_name),
				log_string("reason", reason));
	else
		log_event(event, log_string("client", client), log_str("user", user),
			  log_string("mechanism", attempt->mechanism_name),
			  log_str("protocol", attempt->protocol), log_string("reason", reason),
			  log_number("count", count));
}

void auth_attempt_accept(struct auth_attempt *attempt, struct str user)
{
	const struct auth_answer answer = {.outcome = AUTH_ACCEPTED, .user = user};

	auth_failures_forgive(attempt->asker->server->failures, &attempt->address, user);
	log_attempt(attempt, EVENT_AUTH_ACCEPTED, user, NULL, 0);
	send_answer(attempt->asker, attempt->tag, &answer);
	auth_attempt_free(attempt);
}

static void refuse_now(struct auth_attempt *attempt, enum auth_refusal refusal)
{
	send_refusal(attempt->asker, attempt->tag, refusal);
	auth_attempt_free(attempt);
}

static void on_held(void *context)
{
	refuse_now(context, AUTH_FAILED);
}

/* The time is counted from the client's message, so that nobody learns how long the check took. */
static void hold(struct auth_attempt *attempt, int64_t delay_us)
{
	int64_t left_us = attempt->asked_us + delay_us - os_clock_boot_us();

	attempt->state = ATTEMPT_HELD;
	sasl_free(attempt->sasl);
	attempt->sasl = NULL;
	attempt->timer = os_timer_new(attempt->asker->server->ways.loop, on_held, attempt);
	os_timer_start(attempt->timer, left_us > 0 ? left_us : 0);
}

/* A client that leaves before it has heard of its failure has failed all the same. */
static void fail(struct auth_attempt *attempt, struct str user, const char *reason)
{
	struct auth_failures *failures = attempt->asker->server->failures;
	int64_t now_us = os_clock_boot_us();
	int64_t delay_us = auth_failures_add(failures, &attempt->address, user, now_us);

	log_attempt(attempt, EVENT_AUTH_FAILED, user, reason,
		    auth_failures_count(failures, &attempt->address, now_us));
	if (auth_failures_is_refused(failures, &attempt->address, now_us))
		log_attempt(attempt, EVENT_AUTH_REFUSED, STR(""), "too many failures",
			    auth_failures_count(failures, &attempt->address, now_us));
	hold(attempt, delay_us);
}

void auth_attempt_refuse(struct auth_attempt *attempt, enum auth_refusal refusal, struct str user,
			 const char *reason)
{
	if (refusal == AUTH_FAILED) {
		fail(attempt, user, reason);
		return;
	}
	if (refusal == AUTH_TEMPORARY)
		log_attempt(attempt, EVENT_AUTH_UNAVAILABLE, user, reason, 0);
	refuse_now(attempt, refusal);
}

/* --- begin --- */

static struct auth_tally *find_tally(struct auth_server *server, const struct in6_addr *client)
{
	struct auth_tally *tally;

	HASH_FIND(hh, server->tallies, client, sizeof *client, tally);
	return tally;
}

static void count_open(struct auth_server *server, const struct in6_addr *client)
{
	struct auth_tally *tally = find_tally(server, client);

	if (tally == NULL) {
		tally = memory_alloc_zero(1, sizeof *tally);
		tally->client = *client;
		HASH_ADD(hh, server->tallies, client, sizeof tally->client, tally);
	}
	tally->open++;
}

static void count_closed(struct auth_server *server, const struct in6_addr *client)
{
	struct auth_tally *tally = find_tally(server, client);

	if (--tally->open > 0)
		return;
	HASH_DEL(server->tallies, tally);
	free(tally);
}

/* The fields of AUTH_BEGIN. */
struct beginning {
	struct in6_addr address;
	bool is_secured;
	struct str exporter;
	struct str end_point;
	struct str certificate;
	struct str certificate_name;
	struct str protocol;
	struct str mechanism;
	bool has_initial;
	struct str initial;
};

static bool unpack_beginning(struct str body, struct beginning *out)
{
	struct unpack unpack = {body, false};
	struct str address = unpack_str(&unpack);

	out->is_secured = unpack_u32(&unpack) != 0;
	out->exporter = unpack_str(&unpack);
	out->end_point = unpack_str(&unpack);
	out->certificate = unpack_str(&unpack);
	out->certificate_name = unpack_str(&unpack);
	out->protocol = unpack_str(&unpack);
	out->mechanism = unpack_str(&unpack);
	out->has_initial = unpack_u32(&unpack) != 0;
	out->initial = unpack_str(&unpack);
	if (!unpack_is_whole(&unpack) || address.length != AUTH_ADDRESS_SIZE ||
	    out->exporter.length > AUTH_BINDING_MAX || out->end_point.length > AUTH_BINDING_MAX ||
	    out->certificate.length > TEXT_MAX || out->certificate_name.length > TEXT_MAX ||
	    out->protocol.length > TEXT_MAX || out->mechanism.length >= AUTH_MECHANISM_SIZE ||
	    out->initial.length > AUTH_MESSAGE_MAX)
		return false;
	memcpy(&out->address, address.data, sizeof out->address);
	return true;
}

/* Why the mechanism cannot be used here; -1: it can. */
static int find_obstacle(const struct auth_offered *mechanism, const struct beginning *begin)
{
	if (mechanism == NULL)
		return AUTH_UNKNOWN;
	if ((mechanism->needs & AUTH_NEEDS_SECURED) != 0 && !begin->is_secured)
		return AUTH_INSECURE;
	if ((mechanism->needs & AUTH_NEEDS_BINDING) != 0 &&
	    begin->exporter.length + begin->end_point.length == 0)
		return AUTH_UNKNOWN;
	if ((mechanism->needs & AUTH_NEEDS_CERTIFICATE) != 0 && begin->certificate_name.length == 0)
		return AUTH_UNKNOWN;
	return -1;
}

static void append_nonce(struct buffer *out)
{
	uint64_t numbers[3];

	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		numbers[i] = os_random_u64();
	base64_append(out, str_slice((const char *)numbers, sizeof numbers));
}

/* The texts that outlive the message, one after the other. */
static void keep_texts(struct auth_attempt *attempt, const struct beginning *begin)
{
	const struct str sources[] = {begin->exporter, begin->end_point, begin->certificate_name,
				      begin->protocol};
	struct sasl_peer *peer = &attempt->peer;
	struct str *const places[] = {&peer->exporter, &peer->end_point, &peer->certificate_name,
				      &attempt->protocol, &peer->nonce};
	size_t starts[COUNT_OF(places) + 1];

	attempt->texts.is_secret = true;
	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		starts[i] = attempt->texts.length;
		buffer_append_str(&attempt->texts, sources[i]);
	}
	starts[COUNT_OF(sources)] = attempt->texts.length;
	append_nonce(&attempt->texts);
	starts[COUNT_OF(places)] = attempt->texts.length;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		*places[i] = str_slice(buffer_data(&attempt->texts) + starts[i],
				       starts[i + 1] - starts[i]);
}

static struct auth_attempt *attempt_new(struct auth_asker *asker, uint32_t tag,
					const struct auth_offered *mechanism,
					const struct beginning *begin)
{
	struct auth_attempt *attempt = memory_alloc_zero(1, sizeof *attempt);

	attempt->asker = asker;
	attempt->tag = tag;
	attempt->address = begin->address;
	attempt->client = auth_failures_client(&begin->address);
	memcpy(attempt->mechanism_name, mechanism->name, sizeof attempt->mechanism_name);
	attempt->asked_us = os_clock_boot_us();
	keep_texts(attempt, begin);
	attempt->peer.is_binding_offered = begin->exporter.length + begin->end_point.length > 0 &&
					   auth_offer_has_binding(asker->server);
	HASH_ADD(hh, asker->attempts, tag, sizeof attempt->tag, attempt);
	count_open(asker->server, &attempt->client);
	return attempt;
}

/* Whether there is no room for another attempt of this client. */
static bool is_full(const struct auth_asker *asker, const struct in6_addr *address)
{
	const struct in6_addr client = auth_failures_client(address);
	const struct auth_tally *tally = find_tally(asker->server, &client);

	return HASH_COUNT(asker->attempts) >= AUTH_OPEN_MAX ||
	       (tally != NULL && tally->open >= AUTH_ATTEMPTS_CLIENT_MAX &&
		!IN6_IS_ADDR_UNSPECIFIED(address));
}

bool auth_attempt_begin(struct auth_asker *asker, uint32_t tag, struct str body)
{
	struct auth_server *server = asker->server;
	const struct auth_offered *mechanism;
	struct auth_attempt *attempt;
	struct beginning begin;
	int obstacle;

	HASH_FIND(hh, asker->attempts, &tag, sizeof tag, attempt);
	if (attempt != NULL || !unpack_beginning(body, &begin))
		return false;
	mechanism = auth_offer_find(server, begin.mechanism);
	obstacle = find_obstacle(mechanism, &begin);
	if (obstacle < 0 && is_full(asker, &begin.address))
		obstacle = AUTH_TEMPORARY;
	if (auth_failures_is_refused(server->failures, &begin.address, os_clock_boot_us()))
		obstacle = AUTH_FAILED;
	if (obstacle >= 0) {
		send_refusal(asker, tag, (enum auth_refusal)obstacle);
		return true;
	}
	attempt = attempt_new(asker, tag, mechanism, &begin);
	if (mechanism->own == NULL) {
		auth_attempt_pass(attempt, begin.has_initial, begin.initial,
				  begin.certificate_name);
		return true;
	}
	attempt->sasl = sasl_new(mechanism->own, &attempt->peer);
	if (begin.has_initial)
		sasl_take(attempt->sasl, begin.initial);
	auth_attempt_advance(attempt);
	return true;
}

bool auth_attempt_respond(struct auth_attempt *attempt, struct str body)
{
	struct unpack unpack = {body, false};
	struct str message = unpack_str(&unpack);

	if (!unpack_is_whole(&unpack) || message.length > AUTH_MESSAGE_MAX ||
	    attempt->state != ATTEMPT_SPEAKS)
		return false;
	attempt->asked_us = os_clock_boot_us();
	if (attempt->sasl == NULL) {
		auth_attempt_pass_on(attempt, message);
		return true;
	}
	sasl_take(attempt->sasl, message);
	auth_attempt_advance(attempt);
	return true;
}

void auth_attempt_free(struct auth_attempt *attempt)
{
	struct auth_asker *asker = attempt->asker;

	HASH_DEL(asker->attempts, attempt);
	count_closed(asker->server, &attempt->client);
	if (attempt->question.private != NULL)
		directory_question_cancel(asker->server->directory, &attempt->question);
	auth_check_cancel(attempt->check);
	auth_token_request_cancel(attempt->token);
	dovecot_cancel(&attempt->dovecot);
	sasl_free(attempt->sasl);
	os_timer_free(attempt->timer);
	buffer_clear(&attempt->dovecot_user);
	buffer_clear(&attempt->owner);
	buffer_clear(&attempt->texts);
	explicit_bzero(attempt, sizeof *attempt);
	free(attempt);
}
