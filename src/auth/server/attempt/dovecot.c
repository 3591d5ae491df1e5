// SPDX-License-Identifier: ISC
/* Attempts whose mechanism Dovecot has: messages are passed to and fro. */
#include "auth/server/internal.h"
#include "directory/record/key.h"

/* The name that Dovecot gave, in canonical form; false: it is not a valid one. */
static bool take_dovecot_user(struct str text, struct buffer *out)
{
	return text.length <= AUTH_USER_MAX &&
	       directory_key_normalize(DIRECTORY_USER, text, out) == 0 &&
	       out->length <= AUTH_USER_MAX;
}

/* SMTP's success has no room for a message: it is sent before. */
static void take_right(struct auth_attempt *attempt, const struct dovecot_answer *answer)
{
	buffer_reset(&attempt->dovecot_user);
	if (!take_dovecot_user(answer->user, &attempt->dovecot_user))
		auth_attempt_refuse(attempt, AUTH_TEMPORARY, STR(""),
				    "Dovecot gave a name that is not valid");
	else if (answer->message.length > AUTH_MESSAGE_MAX)
		auth_attempt_refuse(attempt, AUTH_TEMPORARY, STR(""), "too long a message");
	else if (answer->message.length > 0)
		auth_attempt_challenge(attempt, answer->message);
	else
		auth_attempt_accept(attempt, buffer_view(&attempt->dovecot_user));
}

static void refuse_attempt_for_now(struct auth_attempt *attempt)
{
	auth_attempt_refuse(attempt, AUTH_TEMPORARY, STR(""), "Dovecot does not answer");
}

static void on_dovecot_answer(void *context, const struct dovecot_answer *answer)
{
	struct auth_attempt *attempt = context;
	struct buffer user CLEANUP(buffer_clear) = {0};

	switch (answer->outcome) {
	case DOVECOT_CHALLENGE:
		if (answer->message.length <= AUTH_MESSAGE_MAX)
			auth_attempt_challenge(attempt, answer->message);
		else
			auth_attempt_refuse(attempt, AUTH_TEMPORARY, STR(""), "too long a message");
		break;
	case DOVECOT_RIGHT:
		take_right(attempt, answer);
		break;
	case DOVECOT_WRONG:
		(void)take_dovecot_user(answer->user, &user);
		auth_attempt_refuse(attempt, AUTH_FAILED, buffer_view(&user), "Dovecot says no");
		break;
	case DOVECOT_LATER: /* while the client speaks, it is told after that */
		if (attempt->state == ATTEMPT_ASKS)
			refuse_attempt_for_now(attempt);
		break;
	}
}

void auth_attempt_pass(struct auth_attempt *attempt, bool has_initial, struct str initial,
		       struct str certificate_name)
{
	const struct dovecot_ask ask = {.mechanism = str_from(attempt->mechanism_name),
					.service = STR("smtp"),
					.client = attempt->address,
					.has_certificate = certificate_name.length > 0,
					.certificate_name = certificate_name,
					.has_initial = has_initial,
					.initial = initial};

	attempt->state = ATTEMPT_ASKS;
	attempt->dovecot.answered = on_dovecot_answer;
	attempt->dovecot.context = attempt;
	dovecot_begin(attempt->asker->server->dovecot, &ask, &attempt->dovecot);
}

void auth_attempt_pass_on(struct auth_attempt *attempt, struct str message)
{
	attempt->state = ATTEMPT_ASKS;
	if (attempt->dovecot.dovecot != NULL)
		dovecot_respond(&attempt->dovecot, message);
	else if (attempt->dovecot_user.length == 0)
		refuse_attempt_for_now(attempt);
	else if (message.length == 0)
		auth_attempt_accept(attempt, buffer_view(&attempt->dovecot_user));
	else
		auth_attempt_refuse(attempt, AUTH_MALFORMED, STR(""), "not a message");
}
