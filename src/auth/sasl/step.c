// SPDX-License-Identifier: ISC
/* What a mechanism may do when it has a message or an answer. */
#include "auth/sasl/internal.h"
#include "directory/record/key.h"

void sasl_refuse(struct sasl *sasl, enum auth_refusal refusal, const char *reason)
{
	sasl->has_failed |= refusal == AUTH_FAILED;
	sasl->refusal = refusal;
	sasl->reason = reason;
	sasl->state = SASL_REFUSED;
}

void sasl_refuse_malformed(struct sasl *sasl)
{
	sasl_refuse(sasl, AUTH_MALFORMED, "not a message of this mechanism");
}

void sasl_refuse_for(struct sasl *sasl, enum sasl_finding finding)
{
	if (finding == SASL_LATER)
		sasl_refuse(sasl, AUTH_TEMPORARY, "no answer");
	else if (finding == SASL_TOO_WEAK)
		sasl_refuse(sasl, AUTH_TOO_WEAK, "no such credentials");
	else
		sasl_refuse(sasl, AUTH_FAILED, "wrong credentials");
}

void sasl_accept(struct sasl *sasl)
{
	sasl->state = SASL_ACCEPTED;
}

void sasl_challenge(struct sasl *sasl, struct str message)
{
	buffer_reset(&sasl->message);
	buffer_append_str(&sasl->message, message);
	sasl->state = SASL_WANTS_MESSAGE;
}

void sasl_conclude(struct sasl *sasl, enum sasl_finding finding, struct str user,
		   const struct directory_scram *keys)
{
	(void)user;
	(void)keys;
	if (finding == SASL_RIGHT)
		sasl_accept(sasl);
	else
		sasl_refuse_for(sasl, finding);
}

/* Whether TEXT is a name; appends it in canonical form. */
static bool append_canonical_user(struct str text, struct buffer *out)
{
	return text.length <= AUTH_USER_MAX &&
	       directory_key_normalize(DIRECTORY_USER, text, out) == 0 &&
	       out->length <= AUTH_USER_MAX;
}

void sasl_claimed(const struct sasl *sasl, struct buffer *out)
{
	size_t before = out->length;

	if (!append_canonical_user(buffer_view(&sasl->user), out))
		buffer_truncate(out, before);
}

void sasl_ask(struct sasl *sasl, enum sasl_state question, struct str as, struct str user,
	      struct str secret)
{
	struct buffer other CLEANUP(buffer_clear) = {0};

	buffer_reset(&sasl->user);
	if (!append_canonical_user(user, &sasl->user)) {
		buffer_reset(&sasl->user);
		sasl_refuse(sasl, AUTH_FAILED, "not a name");
		return;
	}
	if (as.length > 0 && (!append_canonical_user(as, &other) ||
			      !str_equal(buffer_view(&other), buffer_view(&sasl->user)))) {
		sasl_refuse(sasl, AUTH_FAILED, "wants to act as somebody else");
		return;
	}
	buffer_reset(&sasl->secret);
	buffer_append_str(&sasl->secret, secret);
	sasl->state = question;
}
