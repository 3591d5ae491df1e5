// SPDX-License-Identifier: ISC
#include "auth/login.h"
#include "auth/internal.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include <stdlib.h>
#include <string.h>

struct auth_login {
	struct auth *auth;
	uint32_t tag;
	auth_login_notify *notify;
	void *context;
	struct os_timer *patience; /* runs while an answer is awaited */
	bool is_asking;
	bool is_sent;    /* the question, to the "auth" that is connected; no answer has come */
	bool is_valid;   /* "auth" has said so, */
	uint64_t doubts; /* after so many doubts of struct auth: with another one it is not known */
	struct buffer user;
	struct buffer stamp;
	UT_hash_handle hh;
};

/* Both the question and the wish to be told. */
static void send_follow(struct auth_login *login)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	login->is_sent = true;
	pack_str(&body, buffer_view(&login->user));
	pack_str(&body, buffer_view(&login->stamp));
	ipc_channel_send(ipc_client_channel(login->auth->client), AUTH_FOLLOW, login->tag,
			 buffer_view(&body), NULL, 0);
}

static bool is_known_valid(const struct auth_login *login)
{
	return login->is_valid && login->doubts == login->auth->doubts;
}

static void answer_login(struct auth_login *login, enum auth_login_state state)
{
	bool is_answer = login->is_asking;

	login->is_valid = state == AUTH_LOGIN_VALID;
	login->doubts = login->auth->doubts;
	login->is_asking = false;
	os_timer_stop(login->patience);
	if (is_answer || state == AUTH_LOGIN_ENDED)
		login->notify(login->context, state, is_answer);
}

static void on_login_timeout(void *context)
{
	struct auth_login *login = context;

	login->is_sent = false;
	answer_login(login, AUTH_LOGIN_UNKNOWN);
}

struct auth_login *auth_login_new(struct auth *auth, struct str user, struct str stamp,
				  auth_login_notify *notify, void *context)
{
	struct auth_login *login = memory_alloc_zero(1, sizeof *login);

	login->auth = auth;
	login->tag = ++auth->last_tag;
	login->notify = notify;
	login->context = context;
	login->patience = os_timer_new(auth->loop, on_login_timeout, login);
	buffer_append_str(&login->user, user);
	buffer_append_str(&login->stamp, stamp);
	HASH_ADD(hh, auth->logins, tag, sizeof login->tag, login);
	if (ipc_client_channel(auth->client) != NULL)
		send_follow(login);
	return login;
}

void auth_login_ask(struct auth_login *login)
{
	if (is_known_valid(login)) {
		login->notify(login->context, AUTH_LOGIN_VALID, true);
		return;
	}
	login->is_asking = true;
	os_timer_start(login->patience, AUTH_LOGIN_PATIENCE_US);
	if (ipc_client_channel(login->auth->client) == NULL)
		answer_login(login, AUTH_LOGIN_UNKNOWN);
	else if (!login->is_sent)
		send_follow(login);
}

void auth_login_free(struct auth_login *login)
{
	if (login == NULL)
		return;
	if (ipc_client_channel(login->auth->client) != NULL)
		ipc_channel_send(ipc_client_channel(login->auth->client), AUTH_UNFOLLOW, login->tag,
				 STR(""), NULL, 0);
	HASH_DEL(login->auth->logins, login);
	os_timer_free(login->patience);
	buffer_clear(&login->user);
	buffer_clear(&login->stamp);
	free(login);
}

/* --- what "auth" says --- */

bool auth_login_take(struct auth *auth, uint32_t tag, struct str body)
{
	struct unpack unpack = {body, false};
	uint32_t state = unpack_u32(&unpack);
	struct auth_login *login;

	if (!unpack_is_whole(&unpack) || state > AUTH_LOGIN_UNKNOWN)
		return false;
	HASH_FIND(hh, auth->logins, &tag, sizeof tag, login);
	if (login != NULL) {
		login->is_sent = false;
		answer_login(login, (enum auth_login_state)state);
	}
	return true;
}

bool auth_login_doubt(struct auth *auth, struct str body)
{
	auth->doubts++;
	return body.length == 0;
}

void auth_login_resume(struct auth *auth)
{
	struct auth_login *login;
	struct auth_login *next;

	HASH_ITER (hh, auth->logins, login, next)
		send_follow(login);
}

/* Who is told may free a login, of its own session. */
void auth_login_lost(struct auth *auth)
{
	struct auth_login *login;
	struct auth_login *next;

	auth->doubts++;
	HASH_ITER (hh, auth->logins, login, next) {
		login->is_sent = false;
		if (login->is_asking)
			answer_login(login, AUTH_LOGIN_UNKNOWN);
	}
}
