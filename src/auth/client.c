// SPDX-License-Identifier: ISC
#include "auth/client.h"
#include "auth/internal.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* --- the life of an exchange: asking, then waiting for a response, then asking again --- */

static void leave_list(struct auth_exchange *exchange)
{
	struct auth *auth = exchange->auth;

	if (exchange->is_asking)
		DL_DELETE2(auth->asking, exchange, previous, next);
	else
		DL_DELETE2(auth->waiting, exchange, previous, next);
	exchange->is_asking = false;
}

static void end_auth_exchange(struct auth_exchange *exchange)
{
	if (!exchange->is_lost)
		HASH_DEL(exchange->auth->open, exchange);
	leave_list(exchange);
	exchange->auth = NULL;
}

static bool is_answer_failure(const struct auth_answer *answer)
{
	return answer->outcome == AUTH_LAST_CHALLENGE ||
	       (answer->outcome == AUTH_REFUSED && answer->refusal == AUTH_FAILED);
}

static void answer_auth_exchange(struct auth_exchange *exchange, const struct auth_answer *found)
{
	struct auth_answer answer = *found;

	answer.is_failure = is_answer_failure(&answer) && !exchange->has_failed;
	exchange->has_failed |= answer.is_failure;
	if (answer.outcome == AUTH_ACCEPTED || answer.outcome == AUTH_REFUSED) {
		end_auth_exchange(exchange);
	} else {
		leave_list(exchange);
		DL_APPEND2(exchange->auth->waiting, exchange, previous, next);
	}
	exchange->answered(exchange->context, &answer);
}

static void refuse_auth_exchange(struct auth_exchange *exchange, enum auth_refusal refusal)
{
	const struct auth_answer refused = {.outcome = AUTH_REFUSED, .refusal = refusal};

	answer_auth_exchange(exchange, &refused);
}

/* All have the same patience. */
static void set_auth_timer(struct auth *auth)
{
	int64_t left_us;

	os_timer_stop(auth->timer);
	if (auth->asking == NULL)
		return;
	left_us = auth->asking->until_us - os_clock_boot_us();
	os_timer_start(auth->timer, left_us > 0 ? left_us : 0);
}

static void send_erased(struct auth *auth, enum auth_message type, uint32_t tag,
			struct buffer *body)
{
	ipc_channel_send(ipc_client_channel(auth->client), (uint16_t)type, tag, buffer_view(body),
			 NULL, 0);
	if (body->length > 0)
		explicit_bzero(buffer_data(body), body->length);
	buffer_clear(body);
}

static void on_auth_exchange_timeout(void *context)
{
	struct auth *auth = context;
	int64_t now_us = os_clock_boot_us();
	struct buffer nothing = {0};

	while (auth->asking != NULL && auth->asking->until_us <= now_us) {
		send_erased(auth, AUTH_CANCEL, auth->asking->tag, &nothing);
		refuse_auth_exchange(auth->asking, AUTH_TEMPORARY);
	}
	set_auth_timer(auth);
}

static void ask_auth_process(struct auth_exchange *exchange, enum auth_message type,
			     struct buffer *body)
{
	struct auth *auth = exchange->auth;

	if (!exchange->is_asking)
		DL_DELETE2(auth->waiting, exchange, previous, next);
	exchange->is_asking = true;
	exchange->until_us = os_clock_boot_us() + AUTH_PATIENCE_US;
	DL_APPEND2(auth->asking, exchange, previous, next);
	send_erased(auth, type, exchange->tag, body);
	if (!os_timer_is_running(auth->timer))
		set_auth_timer(auth);
}

/* --- what "auth" says --- */

/* RFC 4422 section 3.1: nothing else may come into a reply to a client. */
static bool is_mechanism_name(struct str name)
{
	for (size_t i = 0; i < name.length; i++)
		if (memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", name.data[i], 38) == NULL)
			return false;
	return name.length > 0 && name.length < AUTH_MECHANISM_SIZE;
}

static bool unpack_offer(struct unpack *unpack, struct auth *auth)
{
	uint32_t count = unpack_u32(unpack);

	if (count > AUTH_MECHANISMS_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct str name = unpack_str(unpack);
		struct auth_offered_mechanism *mechanism = &auth->mechanisms[i];

		if (!is_mechanism_name(name))
			return false;
		memcpy(mechanism->name, name.data, name.length);
		mechanism->name[name.length] = '\0';
		mechanism->needs = unpack_u32(unpack);
	}
	auth->mechanism_count = count;
	return unpack_is_whole(unpack);
}

static bool is_user(struct str name)
{
	return name.length > 0 && name.length <= AUTH_USER_MAX &&
	       memchr(name.data, '\0', name.length) == NULL;
}

static bool take_auth_answer(struct auth *auth, struct unpack *unpack, uint32_t tag)
{
	const uint32_t outcome = unpack_u32(unpack);
	const uint32_t refusal = unpack_u32(unpack);
	const struct auth_answer found = {.outcome = (enum auth_outcome)outcome,
					  .message = unpack_str(unpack),
					  .user = unpack_str(unpack),
					  .stamp = unpack_str(unpack),
					  .refusal = (enum auth_refusal)refusal};
	struct auth_exchange *exchange;

	if (!unpack_is_whole(unpack) || outcome > AUTH_LAST_CHALLENGE || refusal > AUTH_TOO_WEAK ||
	    found.message.length > AUTH_MESSAGE_MAX || found.stamp.length > AUTH_STAMP_MAX ||
	    (outcome == AUTH_ACCEPTED && !is_user(found.user)))
		return false;
	HASH_FIND(hh, auth->open, &tag, sizeof tag, exchange);
	if (exchange != NULL && exchange->is_asking)
		answer_auth_exchange(exchange, &found);
	return true;
}

static bool take_offer(struct auth *auth, struct unpack *unpack)
{
	void (*call)(void *context) = auth->when_offered;

	if (!unpack_offer(unpack, auth))
		return false;
	auth->when_offered = NULL;
	if (call != NULL)
		call(auth->when_context);
	return true;
}

static void on_auth_message(void *context, struct ipc_message *message)
{
	struct auth *auth = context;
	struct unpack unpack = {message->body, false};
	bool is_good = false;

	if (message->type == AUTH_OFFER)
		is_good = take_offer(auth, &unpack);
	else if (message->type == AUTH_ANSWER)
		is_good = take_auth_answer(auth, &unpack, message->tag);
	else if (message->type == AUTH_LOGIN)
		is_good = auth_login_take(auth, message->tag, message->body);
	else if (message->type == AUTH_DOUBT)
		is_good = auth_login_doubt(auth, message->body);
	if (!is_good) {
		auth->mechanism_count = 0;
		ipc_channel_refuse(ipc_client_channel(auth->client), message->type);
	}
}

static void on_auth_connected(void *context)
{
	struct auth *auth = context;

	ipc_channel_set_secret(ipc_client_channel(auth->client));
	auth_login_resume(auth);
}

/* "auth" has forgotten all exchanges. Those that wait for a response end when it comes. */
static void on_auth_lost(void *context)
{
	struct auth *auth = context;
	struct auth_exchange *exchange;

	auth->mechanism_count = 0;
	HASH_CLEAR(hh, auth->open);
	DL_FOREACH2 (auth->waiting, exchange, next)
		exchange->is_lost = true;
	DL_FOREACH2 (auth->asking, exchange, next)
		exchange->is_lost = true;
	while (auth->asking != NULL)
		refuse_auth_exchange(auth->asking, AUTH_TEMPORARY);
	set_auth_timer(auth);
	auth_login_lost(auth);
}

struct auth *auth_new(struct os_loop *loop, const char *path)
{
	static const struct ipc_client_handler handler = {on_auth_connected, on_auth_message,
							  on_auth_lost};
	struct auth *auth = memory_alloc_zero(1, sizeof *auth);

	auth->loop = loop;
	auth->timer = os_timer_new(loop, on_auth_exchange_timeout, auth);
	auth->client = ipc_client_new(loop, path, &handler, auth);
	return auth;
}

void auth_when_offered(struct auth *auth, void (*call)(void *context), void *context)
{
	auth->when_offered = call;
	auth->when_context = context;
}

void auth_free(struct auth *auth)
{
	if (auth == NULL)
		return;
	ipc_client_free(auth->client);
	os_timer_free(auth->timer);
	buffer_clear(&auth->list);
	free(auth);
}

/* --- for the caller --- */

struct str auth_mechanisms(struct auth *auth, bool is_secured, bool has_binding,
			   bool has_certificate)
{
	unsigned lacks = (is_secured ? 0u : AUTH_NEEDS_SECURED) |
			 (has_binding ? 0u : AUTH_NEEDS_BINDING) |
			 (has_certificate ? 0u : AUTH_NEEDS_CERTIFICATE);

	buffer_reset(&auth->list);
	for (size_t i = 0; i < auth->mechanism_count; i++) {
		if ((auth->mechanisms[i].needs & lacks) != 0)
			continue;
		if (auth->list.length > 0)
			buffer_append_byte(&auth->list, ' ');
		buffer_append_string(&auth->list, auth->mechanisms[i].name);
	}
	return buffer_view(&auth->list);
}

static void pack_peer(struct buffer *body, const struct auth_peer *peer)
{
	pack_str(body, str_slice((const char *)peer->address.s6_addr, AUTH_ADDRESS_SIZE));
	pack_u32(body, peer->is_secured);
	pack_str(body, peer->exporter);
	pack_str(body, peer->end_point);
	pack_str(body, peer->certificate);
	pack_str(body, peer->certificate_name);
	pack_str(body, peer->protocol);
	pack_u32(body, peer->port);
	pack_str(body, peer->session);
}

static void begin_auth_exchange(struct auth *auth, struct auth_exchange *exchange)
{
	exchange->auth = auth;
	exchange->tag = ++auth->last_tag;
	exchange->is_lost = false;
	exchange->is_asking = false;
	exchange->has_failed = false;
	HASH_ADD(hh, auth->open, tag, sizeof exchange->tag, exchange);
	DL_APPEND2(auth->waiting, exchange, previous, next);
}

void auth_exchange_begin(struct auth *auth, const struct auth_peer *peer, struct str mechanism,
			 bool has_initial, struct str initial, struct auth_exchange *exchange)
{
	struct buffer body = {0};

	begin_auth_exchange(auth, exchange);
	if (ipc_client_channel(auth->client) == NULL || HASH_COUNT(auth->open) > AUTH_OPEN_MAX) {
		refuse_auth_exchange(exchange, AUTH_TEMPORARY);
		return;
	}
	if (mechanism.length >= AUTH_MECHANISM_SIZE) {
		refuse_auth_exchange(exchange, AUTH_UNKNOWN);
		return;
	}
	if (initial.length > AUTH_MESSAGE_MAX) {
		refuse_auth_exchange(exchange, AUTH_MALFORMED);
		return;
	}
	(void)buffer_reserve(&body, initial.length + 4096); /* so that no copy is left behind */
	pack_peer(&body, peer);
	pack_str(&body, mechanism);
	pack_u32(&body, has_initial);
	pack_str(&body, initial);
	ask_auth_process(exchange, AUTH_BEGIN, &body);
}

void auth_exchange_respond(struct auth_exchange *exchange, struct str response)
{
	struct buffer body = {0};

	if (exchange->auth == NULL)
		return;
	if (exchange->is_lost) {
		refuse_auth_exchange(exchange, AUTH_TEMPORARY);
		return;
	}
	if (response.length > AUTH_MESSAGE_MAX) {
		send_erased(exchange->auth, AUTH_CANCEL, exchange->tag, &body);
		refuse_auth_exchange(exchange, AUTH_MALFORMED);
		return;
	}
	(void)buffer_reserve(&body, response.length + sizeof(uint32_t));
	pack_str(&body, response);
	ask_auth_process(exchange, AUTH_RESPOND, &body);
}

void auth_exchange_cancel(struct auth_exchange *exchange)
{
	struct auth *auth = exchange->auth;
	struct buffer nothing = {0};

	if (auth == NULL)
		return;
	if (!exchange->is_lost)
		send_erased(auth, AUTH_CANCEL, exchange->tag, &nothing);
	end_auth_exchange(exchange);
}

uint32_t auth_exchange_leave(struct auth_exchange *exchange)
{
	struct auth *auth = exchange->auth;
	struct buffer nothing = {0};
	bool is_known = auth != NULL && !exchange->is_lost;

	if (is_known)
		send_erased(auth, AUTH_LEAVE, exchange->tag, &nothing);
	if (auth != NULL)
		end_auth_exchange(exchange);
	return is_known ? exchange->tag : 0;
}

void auth_settle(struct auth *auth, uint32_t tag, bool has_succeeded)
{
	struct buffer nothing = {0};

	if (tag != 0 && ipc_client_channel(auth->client) != NULL)
		send_erased(auth, has_succeeded ? AUTH_FORGIVE : AUTH_CANCEL, tag, &nothing);
}
