// SPDX-License-Identifier: ISC
/* Mechanisms with the password in clear, PLAIN (RFC 4616) and LOGIN (draft-murchison-sasl-login),
 * and the one that has none: EXTERNAL (RFC 4422 appendix A). */
#include "auth/sasl/internal.h"

/* [as] NUL user NUL password */
static void take_plain(struct sasl *sasl, struct str message)
{
	struct str as;
	struct str user;

	if (!str_split(&message, '\0', &as) || message.data == NULL ||
	    !str_split(&message, '\0', &user) || message.data == NULL || user.length == 0 ||
	    message.length == 0 || str_find(message, '\0') >= 0)
		sasl_refuse_malformed(sasl);
	else
		sasl_ask(sasl, SASL_ASKS_PASSWORD, as, user, message);
}

/* The user's name, then the password. */
static void take_login_message(struct sasl *sasl, struct str message)
{
	struct buffer user CLEANUP(buffer_clear) = {0};

	if (message.length == 0 || str_find(message, '\0') >= 0) {
		sasl_refuse_malformed(sasl);
	} else if (sasl->step == 0) {
		buffer_append_str(&sasl->user, message);
		sasl_challenge(sasl, STR("Password:"));
	} else {
		buffer_append_str(&user, buffer_view(&sasl->user));
		sasl_ask(sasl, SASL_ASKS_PASSWORD, STR(""), buffer_view(&user), message);
	}
}

/* Whom the client wants to act as, or nothing. */
static void take_external(struct sasl *sasl, struct str message)
{
	if (str_find(message, '\0') >= 0)
		sasl_refuse_malformed(sasl);
	else
		sasl_ask(sasl, SASL_ASKS_CERTIFICATE, message, sasl->peer.certificate_name,
			 STR(""));
}

const struct sasl_kind sasl_plain = {NULL, take_plain, sasl_conclude};
const struct sasl_kind sasl_login = {"Username:", take_login_message, sasl_conclude};
const struct sasl_kind sasl_external = {NULL, take_external, sasl_conclude};
