// SPDX-License-Identifier: ISC
/*
 * One connection to an LDAP server: loads the content (RFC 4533 section 3.3), then waits for
 * changes (3.4). On the same connection the server is regularly asked for its contextCSN: this
 * distinguishes an idle server from a dead one, and shows when nothing is missing.
 */
#include "directory/store/ldap/follow/session.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include <stdlib.h>

static void end_broken(struct session *session, int code)
{
	if (session->is_over)
		return;
	link_describe(session->ld, code, session->why);
	session_end(session, SESSION_LOST);
}

struct csn_set session_csns(struct follower *follower)
{
	struct csn_set set = {0};

	csn_set_add_cookie(&set, copy_cookie(follower->copy));
	return set;
}

/* --- how recent the server's content is --- */

/* Checks whether the copy, as committed, has all that the server had at MARK. Cookies do not
 * suffice: changes outside our base do not advance them. */
static void settle_freshness_of_copy(struct session *session)
{
	struct csn_set ours;

	if (!session->is_loaded || !session->waiting.is_set || session->is_over)
		return;
	ours = session_csns(session->follower);
	if (csn_set_covers(&ours, &session->waiting.csns))
		session_set_fresh(session, session->waiting.at_us);
}

static void ask_probe(struct session *session, int64_t now_us)
{
	const char *name = session->context != NULL ? session->context
						    : session->follower->settings.login.base;

	session->probing = (struct mark){
		.is_set = true, .at_us = now_us, .message_count = session->message_count};
	session->probe = link_ask_csns(session->ld, name);
	if (session->probe < 0)
		session_end_lost(session, "the connection is lost");
}

/* After a probe's result. If no cookie comes for changes that we cannot see, the next probe shows
 * that everything sent before this one has arrived. */
static void on_probed(struct session *session)
{
	struct mark *waiting = &session->waiting;

	if (session->is_loaded && waiting->is_set &&
	    waiting->message_count == session->message_count)
		session_set_fresh(session, waiting->at_us);
	if (!waiting->is_set) {
		*waiting = session->probing;
		waiting->message_count = session->message_count;
	} else {
		waiting->message_count = session->message_count;
	}
	session->probing.is_set = false;
}

/* A server may be too busy to answer during a reload, but must then send entries. */
static bool is_talking_idly(const struct session *session, int64_t now_us)
{
	int64_t since_us = session->probing.at_us;

	if (!session->is_loaded && session->told_us > since_us)
		since_us = session->told_us;
	return now_us - since_us >= FOLLOW_ANSWER_US;
}

static void probe_ldap_server(struct session *session, int64_t now_us)
{
	if (!session->probing.is_set && now_us - session->probing.at_us >= FOLLOW_PROBE_US)
		ask_probe(session, now_us);
	else if (session->probing.is_set && now_us - session->probing.at_us >= FOLLOW_SILENCE_US &&
		 now_us - session->heard_us >= FOLLOW_SILENCE_US)
		session_end_lost(session, "it says nothing any more");
	else if (session->probing.is_set && is_talking_idly(session, now_us))
		session_end_lost(session, "it talks, but answers nothing any more");
}

/* --- the loop --- */

static void take_ldap_message(struct session *session, LDAPMessage *message)
{
	int64_t now_us = os_clock_monotonic_us();
	int number = ldap_msgid(message);
	int kind = ldap_msgtype(message);

	/* unsolicited messages and search references are no sign of progress */
	if (number == session->sync && kind != LDAP_RES_SEARCH_REFERENCE)
		session->told_us = session->heard_us = now_us;
	else if (number == session->probe)
		session->heard_us = now_us;
	if (number == session->probe && kind == LDAP_RES_SEARCH_ENTRY)
		link_add_csns(session->ld, message, &session->probing.csns);
	else if (number == session->probe && kind == LDAP_RES_SEARCH_RESULT)
		on_probed(session);
	if (number != session->sync)
		return;
	session->message_count++;
	if (kind == LDAP_RES_SEARCH_ENTRY)
		session_on_entry(session, message);
	else if (kind == LDAP_RES_INTERMEDIATE)
		session_on_info(session, message);
	else if (kind == LDAP_RES_SEARCH_RESULT)
		session_on_end(session, message);
}

/* Handles the messages that have come, at most FOLLOW_TURN_MAX; whether there were any. */
static bool take_all(struct session *session)
{
	struct timeval now = {0};
	LDAPMessage *message = NULL;
	int code = LDAP_SERVER_DOWN;
	int count = 0;
	int kind = 0;

	while (count < FOLLOW_TURN_MAX && !session->is_over) {
		link_allow(session->ld, LINK_RECORD_S);
		kind = ldap_result(session->ld, LDAP_RES_ANY, LDAP_MSG_ONE, &now, &message);
		if (kind <= 0)
			break;
		take_ldap_message(session, message);
		(void)ldap_msgfree(message);
		count++;
	}
	if (kind < 0) {
		(void)ldap_get_option(session->ld, LDAP_OPT_RESULT_CODE, &code);
		end_broken(session, code);
	}
	return count > 0;
}

static void wait_for_more(struct session *session)
{
	int socket = -1;

	(void)ldap_get_option(session->ld, LDAP_OPT_DESC, &socket);
	if (socket >= 0 && os_socket_wait(socket, false, FOLLOW_SLICE_US) == 0)
		session->heard_us = os_clock_monotonic_us();
}

static void look_for_better(struct session *session, size_t number, int64_t now_us)
{
	if (session->return_us == 0 || now_us < session->return_us)
		return;
	session->return_us = now_us + 2 * (session->return_us - session->begun_us);
	for (size_t i = 0; i < number && !session->is_over; i++)
		if (session_try(session->follower, i))
			session_end(session, SESSION_RETURN);
}

static void take_turn_of_ldap_session(struct session *session, size_t number)
{
	bool was_any = take_all(session);
	int64_t now_us = os_clock_monotonic_us();

	if (session->is_over)
		return;
	if (session->is_loaded && session->is_changed && !session_commit(session))
		return;
	settle_freshness_of_copy(session);
	if (follower_is_stopping(session->follower))
		session_end(session, SESSION_STOPPED);
	else if (!was_any)
		wait_for_more(session);
	probe_ldap_server(session, now_us);
	if (session->is_loaded)
		look_for_better(session, number, now_us);
}

/* --- the start --- */

static bool is_ldap_server_behind(struct follower *follower, LDAP *ld, const char *context,
				  struct buffer *why)
{
	struct csn_set ours = session_csns(follower);
	struct csn_set theirs = {0};

	if (context == NULL || link_read_csns(ld, context, &theirs) != LDAP_SUCCESS ||
	    theirs.count == 0 || csn_set_covers(&theirs, &ours))
		return false;
	buffer_append_string(why, "it lacks changes that are known here: it has ");
	csn_set_print(&theirs, why);
	buffer_append_string(why, ", known is ");
	csn_set_print(&ours, why);
	return true;
}

static void ask_for_sync(struct session *session)
{
	struct follower *follower = session->follower;
	struct str cookie = follower->is_reload ? (struct str){0} : copy_cookie(follower->copy);

	session->is_full = cookie.length == 0;
	csn_set_add_cookie(&session->csns, cookie);
	session->asked_us = os_clock_monotonic_us();
	session->sync = message_ask_sync(session->ld, follower->settings.login.base,
					 entry_map_attributes(follower->settings.map), cookie);
	if (session->sync < 0)
		session_end_lost(session, "the connection is lost");
}

static void begin_ldap_session(struct session *session, size_t number)
{
	struct follower *follower = session->follower;

	if (link_open(session->server, &follower->settings.login, &session->ld, session->why) !=
	    LDAP_SUCCESS) {
		session_end(session, SESSION_LOST);
		return;
	}
	session->context = link_find_context(session->ld, follower->settings.login.base);
	if (is_ldap_server_behind(follower, session->ld, session->context, session->why)) {
		session_end(session, SESSION_BEHIND);
		return;
	}
	session->begun_us = os_clock_monotonic_us();
	session->heard_us = session->begun_us;
	session->return_us = number > 0 ? session->begun_us + FOLLOW_RETURN_US : 0;
	session->entries_before = copy_entry_count(follower->copy);
	follower->counts = (struct copy_counts){0};
	follower->passwords_unusable = 0;
	follower->bad_count = 0;
	ask_for_sync(session);
}

enum session_end session_run(struct follower *follower, size_t number, bool *was_loaded_out,
			     struct buffer *why)
{
	struct session session = {.follower = follower,
				  .server = &follower->settings.servers[number],
				  .arena = arena_new(),
				  .probe = -1,
				  .why = why};

	begin_ldap_session(&session, number);
	while (!session.is_over)
		take_turn_of_ldap_session(&session, number);
	copy_rollback(follower->copy);
	link_close(session.ld);
	free(session.context);
	buffer_clear(&session.present);
	arena_free(session.arena);
	*was_loaded_out = session.is_loaded;
	return session.end;
}

bool session_try(struct follower *follower, size_t number)
{
	struct buffer why = {0};
	LDAP *ld = NULL;
	char *context;
	bool is_usable = false;

	if (link_open(&follower->settings.servers[number], &follower->settings.login, &ld, &why) ==
	    LDAP_SUCCESS) {
		context = link_find_context(ld, follower->settings.login.base);
		is_usable = !is_ldap_server_behind(follower, ld, context, &why);
		free(context);
		link_close(ld);
	}
	buffer_clear(&why);
	return is_usable;
}
