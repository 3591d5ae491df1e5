// SPDX-License-Identifier: ISC
/* Which mechanism is taken. */
#include "auth/login/internal.h"
#include "base/panic.h"

static const char *send_plain(struct login_exchange *exchange, struct str challenge,
			      struct buffer *response)
{
	(void)challenge;
	buffer_append_byte(response, '\0');
	buffer_append_str(response, buffer_view(&exchange->user));
	buffer_append_byte(response, '\0');
	buffer_append_str(response, buffer_view(&exchange->password));
	exchange->is_complete = true;
	return NULL;
}

static const char *send_user(struct login_exchange *exchange, struct str challenge,
			     struct buffer *response)
{
	(void)challenge;
	buffer_append_str(response, buffer_view(&exchange->user));
	return NULL;
}

static const char *send_password(struct login_exchange *exchange, struct str challenge,
				 struct buffer *response)
{
	(void)challenge;
	buffer_append_str(response, buffer_view(&exchange->password));
	exchange->is_complete = true;
	return NULL;
}

#define SCRAM                                                            \
	{                                                                \
		login_scram_first, login_scram_prove, login_scram_verify \
	}

static const struct login_mechanism mechanisms[LOGIN_STRENGTHS] = {
	[LOGIN_BY_LOGIN] = {"LOGIN", false, false, NULL, {send_user, send_password}},
	[LOGIN_BY_PLAIN] = {"PLAIN", true, false, NULL, {send_plain}},
	[LOGIN_BY_SCRAM_SHA_1] = {"SCRAM-SHA-1", true, false, "SHA1", SCRAM},
	[LOGIN_BY_SCRAM_SHA_256] = {"SCRAM-SHA-256", true, false, "SHA256", SCRAM},
	[LOGIN_BY_SCRAM_SHA_1_PLUS] = {"SCRAM-SHA-1-PLUS", true, true, "SHA1", SCRAM},
	[LOGIN_BY_SCRAM_SHA_256_PLUS] = {"SCRAM-SHA-256-PLUS", true, true, "SHA256", SCRAM},
};

const char *login_strength_name(enum login_strength strength)
{
	return mechanisms[strength].name;
}

const struct login_mechanism *login_mechanism_find(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(mechanisms); i++)
		if (str_equal_nocase(name, str_from(mechanisms[i].name)))
			return &mechanisms[i];
	return NULL;
}

/* RFC 5802 section 6. Another mechanism with -PLUS in the offer, which is not known here, does not
 * count: who sits in between could put its name into the place of what was taken out. */
static enum login_flag flag_of(const struct login_mechanism *mechanism, bool can_bind)
{
	if (mechanism->binds)
		return LOGIN_BOUND;
	return can_bind ? LOGIN_NOT_OFFERED : LOGIN_UNBOUND;
}

struct login_choice login_choose(struct str offered, bool can_bind, enum login_strength weakest)
{
	const struct login_mechanism *best = NULL;
	struct str name;

	while (str_split(&offered, ' ', &name)) {
		const struct login_mechanism *found = login_mechanism_find(name);

		if (found != NULL && found >= &mechanisms[weakest] && (can_bind || !found->binds) &&
		    (best == NULL || found > best))
			best = found;
	}
	if (best == NULL)
		return (struct login_choice){NULL, LOGIN_UNBOUND};
	return (struct login_choice){best->name, flag_of(best, can_bind)};
}

bool login_begins(const char *mechanism)
{
	const struct login_mechanism *found = login_mechanism_find(str_from(mechanism));

	if (found == NULL)
		panic("unknown mechanism %s", mechanism);
	return found->begins;
}
