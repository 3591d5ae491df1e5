// SPDX-License-Identifier: ISC
/* How an attempt begins, and what its client says. */
#include "auth/server/internal.h"
#include "base/panic.h"
#include "base/text/base64.h"
#include "ipc/pack.h"
#include "os/clock.h"
#include "os/random.h"
#include <string.h>

enum { TEXT_MAX = 1024 /* bytes of a text about the peer */ };

/* The fields of AUTH_BEGIN. */
struct beginning {
	struct in6_addr address;
	bool is_secured;
	struct str exporter;
	struct str end_point;
	struct str certificate;
	struct str certificate_name;
	struct str protocol;
	uint32_t port;
	struct str session;
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
	out->port = unpack_u32(&unpack);
	out->session = unpack_str(&unpack);
	out->mechanism = unpack_str(&unpack);
	out->has_initial = unpack_u32(&unpack) != 0;
	out->initial = unpack_str(&unpack);
	if (!unpack_is_whole(&unpack) || address.length != AUTH_ADDRESS_SIZE ||
	    out->exporter.length > AUTH_BINDING_MAX || out->end_point.length > AUTH_BINDING_MAX ||
	    out->certificate.length > TEXT_MAX || out->certificate_name.length > TEXT_MAX ||
	    out->protocol.length > TEXT_MAX || out->session.length > TEXT_MAX ||
	    out->mechanism.length >= AUTH_MECHANISM_SIZE || out->initial.length > AUTH_MESSAGE_MAX)
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
				      begin->protocol, begin->session};
	struct sasl_peer *peer = &attempt->peer;
	struct str *const places[] = {&peer->exporter,         &peer->end_point,
				      &peer->certificate_name, &attempt->protocol,
				      &attempt->session,       &peer->nonce};
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
	attempt->port = begin->port;
	attempt->client = auth_failures_client(&begin->address);
	memcpy(attempt->mechanism_name, mechanism->name, sizeof attempt->mechanism_name);
	attempt->asked_us = os_clock_boot_us();
	keep_texts(attempt, begin);
	attempt->peer.is_binding_offered = begin->exporter.length + begin->end_point.length > 0 &&
					   auth_offer_has_binding(asker->server);
	HASH_ADD(hh, asker->attempts, tag, sizeof attempt->tag, attempt);
	auth_tally_add(asker->server, &attempt->client);
	return attempt;
}

/* Whether there is no room for another attempt of this client. */
static bool is_full_of_attempts(const struct auth_asker *asker, const struct in6_addr *address)
{
	const struct in6_addr client = auth_failures_client(address);

	return HASH_COUNT(asker->attempts) >= AUTH_OPEN_MAX ||
	       (auth_tally_count(asker->server, &client) >= AUTH_ATTEMPTS_CLIENT_MAX &&
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
	if (obstacle < 0 && is_full_of_attempts(asker, &begin.address))
		obstacle = AUTH_TEMPORARY;
	if (auth_failures_is_refused(server->failures, &begin.address, os_clock_boot_us()))
		obstacle = AUTH_FAILED;
	if (obstacle >= 0) {
		auth_attempt_send_refusal(asker, tag, (enum auth_refusal)obstacle);
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
