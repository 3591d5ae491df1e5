// SPDX-License-Identifier: ISC
/*
 * One connection to an LDAP server: the content is brought into line (RFC 4533 section 3.3), then
 * changes are waited for (3.4). Beside the search, on the same connection, the server is
 * asked how far it is: so silence is told from death, and it is known when nothing lacks.
 */
#include "base/panic.h"
#include "os/clock.h"
#include "os/socket.h"
#include "store/ldap_dn.h"
#include "store/ldap_follow_internal.h"
#include "store/ldap_message.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the server had at a moment. */
struct mark {
	bool is_set;
	int64_t at_us;
	struct csn_set csns;
	uint64_t message_count; /* of the session, then */
};

struct session {
	struct follower *follower;
	const struct link_server *server;
	LDAP *ld;
	char *context; /* who has contextCSN; or NULL */
	struct arena *arena;
	int sync; /* numbers of messages */
	int probe;
	bool is_full;    /* no cookie was sent */
	bool is_loaded;  /* changes are waited for */
	bool is_changed; /* since the last commit */
	bool is_present_known;
	struct csn_set csns;   /* that cookies have told of */
	struct buffer present; /* struct sync_uuid: who was named as being there */
	uint64_t message_count;
	int64_t begun_us;
	int64_t asked_us; /* when the search began */
	int64_t heard_us;
	struct mark probing; /* its CSNs come in */
	struct mark waiting; /* for the copy to come so far */
	int64_t return_us;   /* when to look for a better server; 0: never */
	bool is_over;
	enum session_end end;
	struct buffer *why;
};

static void end_session(struct session *session, enum session_end end)
{
	session->is_over = true;
	session->end = end;
}

static void end_lost(struct session *session, const char *why)
{
	if (session->is_over)
		return;
	buffer_append_string(session->why, why);
	end_session(session, SESSION_LOST);
}

static void end_broken(struct session *session, int code)
{
	if (session->is_over)
		return;
	link_describe(session->ld, code, session->why);
	end_session(session, SESSION_LOST);
}

/* --- commits --- */

/* False when it failed; that is the end of the session. */
static bool commit(struct session *session)
{
	struct follower *follower = session->follower;
	int error = copy_commit(follower->copy, &follower->counts);

	session->is_changed = false;
	if (error == 0) {
		follower_tell(follower);
		return true;
	}
	follower_note(follower, EVENT_DIRECTORY_ERROR, log_string("operation", "write"),
		      log_string("path", follower->settings.path), log_error(error),
		      log_string("reason", copy_error_text(follower->copy)));
	end_lost(session, "what it said cannot be written");
	return false;
}

static struct csn_set csns_of_copy(struct follower *follower)
{
	struct csn_set set = {0};

	csn_set_add_cookie(&set, copy_cookie(follower->copy));
	return set;
}

static void set_fresh(struct session *session, int64_t fresh_us)
{
	struct follower *follower = session->follower;
	int64_t now_us = os_clock_monotonic_us();

	follower_set_fresh(follower, fresh_us);
	session->waiting.is_set = false;
	if (follower->fresh_noted_us != 0 && now_us - follower->fresh_noted_us < FOLLOW_FRESH_US)
		return;
	follower->fresh_noted_us = now_us;
	copy_set_fresh(follower->copy, os_clock_wall_us() - (now_us - fresh_us));
	(void)commit(session);
}

/* Whether all that the server had at MARK is in the copy, which is committed. A cookie does not
 * follow every change: not those elsewhere than below our base. */
static void settle(struct session *session)
{
	struct csn_set ours;

	if (!session->is_loaded || !session->waiting.is_set || session->is_over)
		return;
	ours = csns_of_copy(session->follower);
	if (csn_set_covers(&ours, &session->waiting.csns))
		set_fresh(session, session->waiting.at_us);
}

/* --- what the search tells --- */

static void on_bad(void *context, struct str dn, const char *reason)
{
	struct session *session = context;
	struct follower *follower = session->follower;

	if (follower->bad_count++ < FOLLOW_ENTRIES_BAD_MAX || session->is_loaded)
		follower_note(follower, EVENT_LDAP_ENTRY_BAD, log_str("dn", dn),
			      log_string("reason", reason));
}

/* OpenLDAP's cookie for one change tells only of the server where that was made: its consumers
 * gather them. They also leave out its "sid", which would be taken for their own, and changes
 * made at that server would be kept from them. */
static void take_cookie(struct session *session, struct str cookie)
{
	struct csn_set csns = {0};
	struct buffer whole = {0};

	if (cookie.length == 0)
		return;
	csn_set_add_cookie(&csns, cookie);
	if (csns.count == 0) {
		buffer_append_str(&whole, cookie);
	} else {
		csn_set_add_cookie(&session->csns, cookie);
		buffer_append_string(&whole, "rid=000,csn=");
		csn_set_print(&session->csns, &whole);
	}
	copy_set_cookie(session->follower->copy, buffer_view(&whole));
	buffer_clear(&whole);
	session->is_changed = true;
}

static void add_present(struct session *session, const struct sync_uuid *uuids, size_t count)
{
	if (!session->is_loaded)
		buffer_append(&session->present, uuids, count * sizeof(*uuids));
}

static void put_entry(struct session *session, LDAPMessage *message, const struct sync_uuid *uuid)
{
	struct follower *follower = session->follower;
	struct mapping mapping = {0};
	struct buffer name = {0};
	struct entry entry;

	if (message_entry(session->ld, message, session->arena, &entry) < 0) {
		end_lost(session, "it sent a malformed entry");
		return;
	}
	if (dn_normalize(entry.dn, &name) == 0) {
		entry_map_apply(follower->settings.map, &entry, session->arena, on_bad, session,
				&mapping);
		copy_put(follower->copy, uuid, buffer_view(&name), &mapping);
	} else {
		on_bad(session, entry.dn, "its name cannot be read");
		copy_delete(follower->copy, uuid);
	}
	follower->passwords_unusable += mapping.passwords_unusable;
	buffer_clear(&name);
}

static void on_entry(struct session *session, LDAPMessage *message)
{
	struct sync_state_value value;

	arena_reset(session->arena);
	if (message_sync_state(session->ld, message, session->arena, &value) < 0) {
		end_lost(session, "it sent an entry without a Sync State control (RFC 4533)");
		return;
	}
	if (value.state == SYNC_DELETE)
		copy_delete(session->follower->copy, &value.uuid);
	else
		add_present(session, &value.uuid, 1);
	if (value.state == SYNC_ADD || value.state == SYNC_MODIFY)
		put_entry(session, message, &value.uuid);
	session->is_changed = session->is_changed || value.state != SYNC_PRESENT;
	take_cookie(session, value.cookie);
}

static int compare_uuids(const void *a, const void *b)
{
	return memcmp(a, b, SYNC_UUID_SIZE);
}

/* All who are there have been named: the others are not any more. An account that may suddenly read
 * nothing is a mistake in the server's access rules, and must not make all addresses vanish. */
static void keep_present(struct session *session)
{
	struct sync_uuid *uuids = (struct sync_uuid *)(void *)buffer_data(&session->present);
	size_t count = session->present.length / sizeof(*uuids);

	session->is_present_known = true;
	if (count == 0) {
		end_lost(session, "it shows no entry below the base: may the account read them?");
		return;
	}
	qsort(uuids, count, sizeof(*uuids), compare_uuids);
	copy_keep_only(session->follower->copy, uuids, count);
	buffer_clear(&session->present);
}

static void note_loaded(struct session *session)
{
	struct follower *follower = session->follower;
	struct copy *copy = follower->copy;

	follower_note(follower, EVENT_LDAP_FOLLOWED, log_string("url", session->server->url),
		      log_string("load", session->is_full ? "full" : "changes"),
		      log_number("entries", (int64_t)copy_entry_count(copy)),
		      log_number("changed", (int64_t)follower->counts.entries),
		      log_number("deleted", (int64_t)follower->counts.deleted),
		      log_number("records", (int64_t)follower->counts.records));
	if (follower->bad_count > FOLLOW_ENTRIES_BAD_MAX || follower->passwords_unusable > 0)
		follower_note(follower, EVENT_LDAP_UNUSABLE,
			      log_string("url", session->server->url),
			      log_number("values", (int64_t)follower->bad_count),
			      log_number("passwords", (int64_t)follower->passwords_unusable));
}

static void finish_load(struct session *session)
{
	if (session->is_loaded)
		return;
	if (session->is_full && !session->is_present_known)
		keep_present(session);
	if (session->is_over || !commit(session))
		return;
	session->is_loaded = true;
	session->follower->is_reload = false;
	note_loaded(session);
	set_fresh(session, session->asked_us);
}

static void take_uuids(struct session *session, const struct sync_info_value *value)
{
	if (!value->are_deleted) {
		add_present(session, value->uuids, value->uuid_count);
		return;
	}
	for (size_t i = 0; i < value->uuid_count; i++)
		copy_delete(session->follower->copy, &value->uuids[i]);
	session->is_changed = true;
}

static void on_info(struct session *session, LDAPMessage *message)
{
	struct sync_info_value value;
	int error;

	arena_reset(session->arena);
	error = message_sync_info(session->ld, message, session->arena, &value);
	if (error == -EBADMSG)
		end_lost(session, "it sent a malformed Sync Info message (RFC 4533)");
	if (error < 0)
		return;
	if (value.info == SYNC_ID_SET)
		take_uuids(session, &value);
	if (value.info == SYNC_REFRESH_PRESENT && !session->is_loaded)
		keep_present(session);
	take_cookie(session, value.cookie);
	if ((value.info == SYNC_REFRESH_PRESENT || value.info == SYNC_REFRESH_DELETE) &&
	    value.is_refresh_done && !session->is_over)
		finish_load(session);
}

/* The server ends a search that has no end. */
static void on_end(struct session *session, LDAPMessage *message)
{
	char *said = NULL;
	int code = LDAP_OTHER;

	(void)ldap_parse_result(session->ld, message, &code, NULL, &said, NULL, NULL, 0);
	buffer_append_format(session->why, "search below %s: %s (%d)",
			     session->follower->settings.login.base, ldap_err2string(code), code);
	if (said != NULL && said[0] != '\0')
		buffer_append_format(session->why, ": %.200s", said);
	ldap_memfree(said);
	end_session(session, code == LDAP_SYNC_REFRESH_REQUIRED ? SESSION_REFUSED : SESSION_LOST);
}

/* --- how far the server is --- */

static void ask_probe(struct session *session, int64_t now_us)
{
	const char *name = session->context != NULL ? session->context
						    : session->follower->settings.login.base;

	session->probing = (struct mark){
		.is_set = true, .at_us = now_us, .message_count = session->message_count};
	session->probe = link_ask_csns(session->ld, name);
	if (session->probe < 0)
		end_lost(session, "the connection is lost");
}

/* Its answer is whole. Where no cookie came for what we do not see, the next answer shows that all
 * that was under way at the last has arrived. */
static void on_probed(struct session *session)
{
	struct mark *waiting = &session->waiting;

	if (session->is_loaded && waiting->is_set &&
	    waiting->message_count == session->message_count)
		set_fresh(session, waiting->at_us);
	if (!waiting->is_set) {
		*waiting = session->probing;
		waiting->message_count = session->message_count;
	} else {
		waiting->message_count = session->message_count;
	}
	session->probing.is_set = false;
}

static void probe(struct session *session, int64_t now_us)
{
	if (!session->probing.is_set && now_us - session->probing.at_us >= FOLLOW_PROBE_US)
		ask_probe(session, now_us);
	else if (session->probing.is_set && now_us - session->probing.at_us >= FOLLOW_SILENCE_US &&
		 now_us - session->heard_us >= FOLLOW_SILENCE_US)
		end_lost(session, "it says nothing any more");
}

/* --- the loop --- */

static void take(struct session *session, LDAPMessage *message)
{
	int number = ldap_msgid(message);
	int kind = ldap_msgtype(message);

	session->heard_us = os_clock_monotonic_us();
	if (number == session->probe && kind == LDAP_RES_SEARCH_ENTRY)
		link_add_csns(session->ld, message, &session->probing.csns);
	else if (number == session->probe && kind == LDAP_RES_SEARCH_RESULT)
		on_probed(session);
	if (number != session->sync)
		return;
	session->message_count++;
	if (kind == LDAP_RES_SEARCH_ENTRY)
		on_entry(session, message);
	else if (kind == LDAP_RES_INTERMEDIATE)
		on_info(session, message);
	else if (kind == LDAP_RES_SEARCH_RESULT)
		on_end(session, message);
}

/* What has come, at most FOLLOW_TURN_MAX messages; whether there was any. */
static bool take_all(struct session *session)
{
	struct timeval now = {0};
	LDAPMessage *message = NULL;
	int code = LDAP_SERVER_DOWN;
	int count = 0;
	int kind = 0;

	while (count < FOLLOW_TURN_MAX && !session->is_over) {
		kind = ldap_result(session->ld, LDAP_RES_ANY, LDAP_MSG_ONE, &now, &message);
		if (kind <= 0)
			break;
		take(session, message);
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
			end_session(session, SESSION_RETURN);
}

static void turn(struct session *session, size_t number)
{
	bool was_any = take_all(session);
	int64_t now_us = os_clock_monotonic_us();

	if (session->is_over)
		return;
	if (session->is_loaded && session->is_changed && !commit(session))
		return;
	settle(session);
	if (follower_is_stopping(session->follower))
		end_session(session, SESSION_STOPPED);
	else if (!was_any)
		wait_for_more(session);
	probe(session, now_us);
	if (session->is_loaded)
		look_for_better(session, number, now_us);
}

/* --- its beginning --- */

static bool is_behind(struct follower *follower, LDAP *ld, const char *context, struct buffer *why)
{
	struct csn_set ours = csns_of_copy(follower);
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

static void ask(struct session *session)
{
	struct follower *follower = session->follower;
	struct str cookie = follower->is_reload ? (struct str){0} : copy_cookie(follower->copy);

	session->is_full = cookie.length == 0;
	csn_set_add_cookie(&session->csns, cookie);
	session->asked_us = os_clock_monotonic_us();
	session->sync = message_ask_sync(session->ld, follower->settings.login.base,
					 entry_map_attributes(follower->settings.map), cookie);
	if (session->sync < 0)
		end_lost(session, "the connection is lost");
}

static void begin(struct session *session, size_t number)
{
	struct follower *follower = session->follower;

	if (link_open(session->server, &follower->settings.login, &session->ld, session->why) !=
	    LDAP_SUCCESS) {
		end_session(session, SESSION_LOST);
		return;
	}
	session->context = link_find_context(session->ld, follower->settings.login.base);
	if (is_behind(follower, session->ld, session->context, session->why)) {
		end_session(session, SESSION_BEHIND);
		return;
	}
	session->begun_us = os_clock_monotonic_us();
	session->heard_us = session->begun_us;
	session->return_us = number > 0 ? session->begun_us + FOLLOW_RETURN_US : 0;
	follower->counts = (struct copy_counts){0};
	follower->passwords_unusable = 0;
	follower->bad_count = 0;
	ask(session);
}

enum session_end session_run(struct follower *follower, size_t number, bool *was_loaded_out,
			     struct buffer *why)
{
	struct session session = {.follower = follower,
				  .server = &follower->settings.servers[number],
				  .arena = arena_new(),
				  .probe = -1,
				  .why = why};

	begin(&session, number);
	while (!session.is_over)
		turn(&session, number);
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
		is_usable = !is_behind(follower, ld, context, &why);
		free(context);
		link_close(ld);
	}
	buffer_clear(&why);
	return is_usable;
}
