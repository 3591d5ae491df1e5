// SPDX-License-Identifier: ISC
/*
 * Who has authenticated, and still may (auth/login.h): the users' records are looked at when
 * somebody asks, and when the directory says that they have changed. That a login is valid holds
 * until a doubt: since a user who is followed has changed, or since the directory is away.
 *
 * A login is known by a stamp of what it was made with: "H" and a keyed digest of the user's hash,
 * or "A" where the user need only be active, as with a token.
 */
#include "auth/login.h"
#include "auth/server/internal.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { LOOKS_MAX = 64 /* questions at once, when all records may have changed */ };

struct auth_followed {
	struct auth_server *server;
	struct auth_follower *followers;
	struct directory_question question;
	bool is_due;      /* in the list of those to look at */
	bool has_changed; /* while the question was under way */
	struct auth_followed *next, *previous;
	UT_hash_handle hh; /* by name */
	char name[];
};

/* --- what a record says --- */

static bool is_stamp_of_hash(const struct auth_server *server, const struct auth_follower *follower,
			     struct str hash)
{
	struct buffer stamp CLEANUP(buffer_clear) = {0};

	auth_login_stamp(server, hash, &stamp);
	return stamp.length == follower->stamp.length &&
	       CRYPTO_memcmp(buffer_data(&stamp), buffer_data(&follower->stamp), stamp.length) == 0;
}

static enum auth_login_state judge_login(const struct auth_follower *follower,
					 const struct directory_answer_text *answer)
{
	bool needs_hash = buffer_data(&follower->stamp)[0] == 'H';
	bool is_valid = answer->exists && !needs_hash;
	struct str name;
	struct str value;

	if (answer->error != DIRECTORY_ERROR_NONE)
		return AUTH_LOGIN_UNKNOWN;
	for (size_t i = 0; answer->exists && i < answer->result_count; i++) {
		directory_frame_split_result(answer->results[i], &name, &value);
		if (str_equal(name, STR("state")) && !str_equal(value, STR("active")))
			return AUTH_LOGIN_ENDED;
		if (needs_hash && str_equal(name, STR("password")))
			is_valid |= is_stamp_of_hash(follower->asker->server, follower, value);
	}
	return is_valid ? AUTH_LOGIN_VALID : AUTH_LOGIN_ENDED;
}

/* --- looking --- */

static void tell_follower(struct auth_follower *follower, enum auth_login_state state)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	if (!follower->is_asking && state != AUTH_LOGIN_ENDED)
		return;
	follower->is_asking = false;
	pack_u32(&body, state);
	ipc_channel_send(follower->asker->channel, AUTH_LOGIN, follower->tag, buffer_view(&body),
			 NULL, 0);
}

static void say_doubt(void *asker, struct ipc_channel *channel)
{
	(void)asker;
	ipc_channel_send(channel, AUTH_DOUBT, 0, STR(""), NULL, 0);
}

static void say_doubt_to_all(void *context)
{
	struct auth_server *server = context;

	ipc_server_each(server->ipc, say_doubt);
}

/* Of all logins: which of them matter, those who ask will say. One message for all changes of a
 * turn, at its end, as it may disconnect who asks. */
static void doubt_logins(struct auth_server *server)
{
	os_loop_defer(server->ways.loop, &server->doubt);
}

/* An answer that is under way may be of before. */
static void set_due(struct auth_followed *user)
{
	if (user->question.private != NULL)
		user->has_changed = true;
	if (user->is_due || user->has_changed)
		return;
	user->is_due = true;
	DL_APPEND2(user->server->due, user, previous, next);
}

static void look_at_due(struct auth_server *server);

static void forget_user(struct auth_followed *user)
{
	struct auth_server *server = user->server;

	if (user->is_due)
		DL_DELETE2(server->due, user, previous, next);
	if (user->question.private != NULL) {
		directory_question_cancel(server->directory, &user->question);
		server->looks--;
	}
	HASH_DEL(server->followed, user);
	free(user);
}

static void on_record_of_login(void *context, const struct directory_answer_text *answer)
{
	struct auth_followed *user = context;
	struct auth_server *server = user->server;
	struct auth_follower *follower;
	bool is_old = user->has_changed || !directory_client_is_up(server->directory);
	bool must_look = user->has_changed || answer->error != DIRECTORY_ERROR_NONE;

	server->looks--;
	user->has_changed = false;
	DL_FOREACH2 (user->followers, follower, next)
		tell_follower(follower, judge_login(follower, answer));
	if (is_old)
		doubt_logins(server);
	if (must_look)
		set_due(user);
	if (answer->error == DIRECTORY_ERROR_NONE)
		look_at_due(server);
	else if (!os_timer_is_running(server->look_again))
		os_timer_start(server->look_again, SECOND_US);
}

static void look_up_login_user(struct auth_followed *user)
{
	struct auth_server *server = user->server;

	if (user->is_due)
		DL_DELETE2(server->due, user, previous, next);
	user->is_due = false;
	server->looks++;
	user->question.answered = on_record_of_login;
	user->question.context = user;
	directory_client_get(server->directory, "user", str_from(user->name), DIRECTORY_PATIENCE_US,
			     &user->question);
}

static void look_at_due(struct auth_server *server)
{
	while (server->due != NULL && server->looks < LOOKS_MAX && !server->is_looking &&
	       !os_timer_is_running(server->look_again)) {
		server->is_looking = true; /* answers may come at once */
		look_up_login_user(server->due);
		server->is_looking = false;
	}
}

static void on_look_again(void *context)
{
	look_at_due(context);
}

static void on_user_changed(void *context, uint64_t version, struct str table, struct str key)
{
	struct auth_server *server = context;
	struct auth_followed *user = NULL;
	struct auth_followed *next;

	(void)version;
	if (table.length == 0 || str_equal(table, STR("user")))
		auth_keys_ask(server);
	if (str_equal(table, STR("user")))
		HASH_FIND(hh, server->followed, key.data, key.length, user);
	if (user != NULL || table.length == 0)
		doubt_logins(server);
	if (user != NULL)
		set_due(user);
	else if (table.length == 0)
		HASH_ITER (hh, server->followed, user, next)
			set_due(user);
	look_at_due(server);
}

void auth_logins_hear_directory(void *context, bool is_up)
{
	if (!is_up)
		doubt_logins(context);
}

void auth_logins_open(struct auth_server *server)
{
	server->look_again = os_timer_new(server->ways.loop, on_look_again, server);
	server->doubt = (struct os_task){.call = say_doubt_to_all, .context = server};
	if (server->directory != NULL)
		directory_client_watch(server->directory, on_user_changed, server);
}

void auth_logins_close(struct auth_server *server)
{
	os_timer_free(server->look_again);
	os_task_cancel(server->ways.loop, &server->doubt);
}

/* --- who asks --- */

static void forget_follower(struct auth_follower *follower)
{
	struct auth_followed *user = follower->user;

	DL_DELETE2(user->followers, follower, previous, next);
	HASH_DEL(follower->asker->followers, follower);
	buffer_clear(&follower->stamp);
	free(follower);
	if (user->followers == NULL)
		forget_user(user);
}

static struct auth_followed *find_followed_user(struct auth_server *server, struct str name)
{
	struct auth_followed *user;

	HASH_FIND(hh, server->followed, name.data, name.length, user);
	if (user != NULL)
		return user;
	user = memory_alloc_zero(1, sizeof *user + name.length + 1);
	user->server = server;
	memcpy(user->name, name.data, name.length);
	HASH_ADD_KEYPTR(hh, server->followed, user->name, name.length, user);
	return user;
}

static struct auth_follower *follower_new(struct auth_asker *asker, uint32_t tag, struct str name,
					  struct str stamp)
{
	struct auth_follower *follower = memory_alloc_zero(1, sizeof *follower);

	follower->asker = asker;
	follower->tag = tag;
	follower->user = find_followed_user(asker->server, name);
	buffer_append_str(&follower->stamp, stamp);
	DL_APPEND2(follower->user->followers, follower, previous, next);
	HASH_ADD(hh, asker->followers, tag, sizeof follower->tag, follower);
	return follower;
}

bool auth_logins_follow(struct auth_asker *asker, uint32_t tag, struct str body)
{
	struct unpack unpack = {body, false};
	struct str name = unpack_str(&unpack);
	struct str stamp = unpack_str(&unpack);
	struct auth_follower *follower;

	HASH_FIND(hh, asker->followers, &tag, sizeof tag, follower);
	if (!unpack_is_whole(&unpack) || name.length == 0 || name.length > AUTH_USER_MAX ||
	    memchr(name.data, '\0', name.length) != NULL || stamp.length == 0 ||
	    stamp.length > AUTH_STAMP_MAX ||
	    (follower != NULL && !str_equal(str_from(follower->user->name), name)) ||
	    (follower == NULL && HASH_COUNT(asker->followers) >= AUTH_LOGINS_MAX))
		return false;
	if (follower == NULL)
		follower = follower_new(asker, tag, name, stamp);
	follower->is_asking = true;
	if (asker->server->directory == NULL)
		tell_follower(follower, AUTH_LOGIN_VALID);
	else if (follower->user->question.private == NULL) /* else its answer will do */
		look_up_login_user(follower->user);
	return true;
}

void auth_logins_unfollow(struct auth_asker *asker, uint32_t tag)
{
	struct auth_follower *follower;

	HASH_FIND(hh, asker->followers, &tag, sizeof tag, follower);
	if (follower != NULL)
		forget_follower(follower);
}

void auth_logins_lose(struct auth_asker *asker)
{
	while (asker->followers != NULL)
		forget_follower(asker->followers);
}

void auth_login_stamp(const struct auth_server *server, struct str hash, struct buffer *out)
{
	buffer_reset(out);
	if (hash.length == 0) {
		buffer_append_byte(out, 'A');
		return;
	}
	buffer_append_byte(out, 'H');
	auth_inventor_stamp(server->inventor, hash, out);
}
