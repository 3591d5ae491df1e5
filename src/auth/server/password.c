// SPDX-License-Identifier: ISC
#include "auth/server/password.h"
#include "base/panic.h"
#include <stdlib.h>
#include <string.h>

struct auth_password {
	const struct auth_binder *binder;
	struct buffer user;
	struct buffer secret;
	struct buffer hashes[AUTH_PASSWORD_HASHES_MAX];
	size_t hash_count;
	size_t found; /* by the thread: which of them is the password's */
	bool is_spoilt;
	enum sasl_finding finding; /* by the thread */
	auth_password_judged *judged;
	void *context;
};

struct auth_password *auth_password_new(const struct auth_binder *binder, struct str user,
					struct str secret)
{
	struct auth_password *password = memory_alloc_zero(1, sizeof *password);

	password->binder = binder;
	password->secret.is_secret = true;
	buffer_append_str(&password->user, user);
	buffer_append_str(&password->secret, secret);
	return password;
}

void auth_password_add_hash(struct auth_password *password, struct str hash)
{
	struct buffer *place = &password->hashes[password->hash_count];

	if (password->hash_count == AUTH_PASSWORD_HASHES_MAX)
		return;
	password->hash_count++;
	place->is_secret = true;
	buffer_append_str(place, hash);
}

void auth_password_spoil(struct auth_password *password)
{
	password->is_spoilt = true;
}

/* In a thread. */
static void check_password_in_thread(void *context)
{
	struct auth_password *password = context;
	struct str secret = buffer_view(&password->secret);

	password->finding = SASL_WRONG;
	if (password->binder != NULL)
		password->finding = password->binder->check(password->binder->context,
							    buffer_view(&password->user), secret);
	for (size_t i = 0; i < password->hash_count && password->finding == SASL_WRONG; i++)
		if (directory_password_verify(buffer_view(&password->hashes[i]), secret)) {
			password->finding = SASL_RIGHT;
			password->found = i;
		}
	if (password->is_spoilt && password->finding == SASL_RIGHT)
		password->finding = SASL_WRONG;
}

static void on_password_checked(void *context)
{
	struct auth_password *password = context;

	bool is_by_hash = password->finding == SASL_RIGHT && password->binder == NULL;

	password->judged(password->context, password->finding,
			 is_by_hash ? buffer_view(&password->hashes[password->found]) : STR(""));
}

static void free_password(void *context)
{
	struct auth_password *password = context;

	buffer_clear(&password->user);
	buffer_clear(&password->secret);
	for (size_t i = 0; i < password->hash_count; i++)
		buffer_clear(&password->hashes[i]);
	free(password);
}

struct auth_check *auth_password_check(struct auth_password *password, struct auth_checks *checks,
				       const struct in6_addr *client, enum auth_trust trust,
				       auth_password_judged *judged, void *context)
{
	static const struct auth_check_kind kind = {check_password_in_thread, on_password_checked,
						    free_password};

	password->judged = judged;
	password->context = context;
	return auth_checks_add(checks, &kind, password, client, trust);
}
