// SPDX-License-Identifier: ISC
#include "auth/protocol.h"
#include "auth/sasl/internal.h"
#include "base/panic.h"
#include <stdlib.h>
#include <string.h>

enum {
	BOUND = AUTH_NEEDS_SECURED | AUTH_NEEDS_BINDING,
	CERTIFIED = AUTH_NEEDS_SECURED | AUTH_NEEDS_CERTIFICATE,
};

#define SHA_1   DIRECTORY_PASSWORD_SCRAM_SHA_1
#define SHA_256 DIRECTORY_PASSWORD_SCRAM_SHA_256

const struct sasl_mechanism sasl_mechanisms[] = {
	{"EXTERNAL", CERTIFIED, &sasl_external, 0, false},
	{"SCRAM-SHA-256-PLUS", BOUND, &sasl_scram, SHA_256, true},
	{"SCRAM-SHA-1-PLUS", BOUND, &sasl_scram, SHA_1, true},
	{"SCRAM-SHA-256", AUTH_NEEDS_SECURED, &sasl_scram, SHA_256, false},
	{"SCRAM-SHA-1", AUTH_NEEDS_SECURED, &sasl_scram, SHA_1, false},
	{"OAUTHBEARER", AUTH_NEEDS_SECURED, &sasl_oauthbearer, 0, false},
	{"XOAUTH2", AUTH_NEEDS_SECURED, &sasl_xoauth2, 0, false},
	{"PLAIN", AUTH_NEEDS_SECURED, &sasl_plain, 0, false},
	{"LOGIN", AUTH_NEEDS_SECURED, &sasl_login, 0, false},
};
const size_t sasl_mechanism_count = COUNT_OF(sasl_mechanisms);

const struct sasl_mechanism *sasl_mechanism_find(struct str name)
{
	for (size_t i = 0; i < sasl_mechanism_count; i++)
		if (str_equal(name, str_from(sasl_mechanisms[i].name)))
			return &sasl_mechanisms[i];
	return NULL;
}

struct sasl *sasl_new(const struct sasl_mechanism *mechanism, const struct sasl_peer *peer)
{
	struct sasl *sasl = memory_alloc_zero(1, sizeof *sasl);
	const char *greeting = mechanism->kind->greeting;

	sasl->mechanism = mechanism;
	sasl->peer = *peer;
	sasl->message.is_secret = true;
	sasl->secret.is_secret = true;
	sasl->scram.header.is_secret = true;
	sasl->scram.conversation.is_secret = true;
	sasl_challenge(sasl, greeting == NULL ? STR("") : str_from(greeting));
	return sasl;
}

void sasl_free(struct sasl *sasl)
{
	if (sasl == NULL)
		return;
	buffer_clear(&sasl->message);
	buffer_clear(&sasl->user);
	buffer_clear(&sasl->secret);
	buffer_clear(&sasl->scram.header);
	buffer_clear(&sasl->scram.nonce);
	buffer_clear(&sasl->scram.conversation);
	explicit_bzero(sasl, sizeof *sasl);
	free(sasl);
}

enum sasl_state sasl_state(const struct sasl *sasl)
{
	return sasl->state;
}

struct str sasl_message(const struct sasl *sasl)
{
	return buffer_view(&sasl->message);
}

struct str sasl_user(const struct sasl *sasl)
{
	return buffer_view(&sasl->user);
}

struct str sasl_secret(const struct sasl *sasl)
{
	return buffer_view(&sasl->secret);
}

bool sasl_has_failed(const struct sasl *sasl)
{
	return sasl->has_failed;
}

bool sasl_has_told(const struct sasl *sasl)
{
	return sasl->scram.keys.key_length > 0 && !sasl->scram.is_proven;
}

enum auth_refusal sasl_refusal(const struct sasl *sasl)
{
	return sasl->refusal;
}

const char *sasl_reason(const struct sasl *sasl)
{
	return sasl->reason;
}

void sasl_take(struct sasl *sasl, struct str message)
{
	if (sasl->state != SASL_WANTS_MESSAGE)
		panic("a message for a mechanism that wants none");
	if (message.length > AUTH_MESSAGE_MAX) {
		sasl_refuse_malformed(sasl);
		return;
	}
	sasl->mechanism->kind->take(sasl, message);
	sasl->step++;
}

void sasl_answer(struct sasl *sasl, enum sasl_finding finding, struct str user,
		 const struct directory_scram *keys)
{
	if (sasl->state == SASL_WANTS_MESSAGE || sasl->state >= SASL_ACCEPTED)
		panic("an answer to no question");
	buffer_clear(&sasl->secret); /* erased; it is not needed any more */
	sasl->mechanism->kind->answer(sasl, finding, user, keys);
}
