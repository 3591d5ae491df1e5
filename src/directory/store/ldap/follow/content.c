// SPDX-License-Identifier: ISC
/* Applies the search's messages to the copy. */
#include "directory/store/ldap/dn.h"
#include "directory/store/ldap/follow/session.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- commits --- */

/* False: it failed, and the session has ended. */
bool session_commit(struct session *session)
{
	struct follower *follower = session->follower;
	int error = copy_commit(follower->copy, &follower->counts);

	session->is_changed = false;
	if (error == 0) {
		follower_tell(follower);
		return true;
	}
	follower_note(follower, EVENT_DIRECTORY_ERROR, log_string(operation, "write"),
		      log_string(path, follower->settings.path), log_error(error),
		      log_string(reason, copy_error_text(follower->copy)));
	session_end_lost(session, "what it said cannot be written");
	return false;
}

void session_set_fresh(struct session *session, int64_t fresh_us)
{
	struct follower *follower = session->follower;
	int64_t now_us = os_clock_monotonic_us();

	follower_set_fresh(follower, fresh_us);
	session->waiting.is_set = false;
	if (follower->fresh_noted_us != 0 && now_us - follower->fresh_noted_us < FOLLOW_FRESH_US)
		return;
	follower->fresh_noted_us = now_us;
	copy_set_fresh(follower->copy, os_clock_wall_us() - (now_us - fresh_us));
	(void)session_commit(session);
}

/* --- messages of the search --- */

static void on_bad(void *context, struct str dn, const char *reason)
{
	struct session *session = context;
	struct follower *follower = session->follower;

	if (follower->bad_count++ < FOLLOW_ENTRIES_BAD_MAX || session->is_loaded)
		follower_note(follower, EVENT_LDAP_ENTRY_BAD, log_str(dn, dn),
			      log_string(reason, reason));
}

/* OpenLDAP's cookie after a change has only the CSN of the server where that was made: consumers
 * must merge them. We also drop its "sid", which in a request identifies the client. */
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

/* Entries reported as present must be known, or sent in this load, so their number is bounded.
 * Counts entries only if necessary, as that reads the whole copy. */
static bool may_report_present(struct session *session, size_t size)
{
	if (size <= session->present_max)
		return true;
	session->present_max =
		FOLLOW_PRESENT_MAX +
		2 * sizeof(struct sync_uuid) * (size_t)copy_entry_count(session->follower->copy);
	return size <= session->present_max;
}

static void add_present(struct session *session, const struct sync_uuid *uuids, size_t count)
{
	size_t size = count * sizeof(*uuids);

	if (session->is_loaded)
		return;
	if (may_report_present(session, session->present.length + size))
		buffer_append(&session->present, uuids, size);
	else
		session_end_lost(session, "it names too many entries");
}

static void put_entry(struct session *session, LDAPMessage *message, const struct sync_uuid *uuid)
{
	struct follower *follower = session->follower;
	struct mapping mapping = {0};
	struct buffer name = {0};
	struct entry entry;

	if (message_entry(session->ld, message, session->arena, &entry) < 0) {
		session_end_lost(session, "it sent a malformed entry");
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

void session_on_entry(struct session *session, LDAPMessage *message)
{
	struct sync_state_value value;

	arena_reset(session->arena);
	if (message_sync_state(session->ld, message, session->arena, &value) < 0) {
		session_end_lost(session,
				 "it sent an entry without a Sync State control (RFC 4533)");
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

static int compare_present_uuids(const void *a, const void *b)
{
	return memcmp(a, b, SYNC_UUID_SIZE);
}

/* If the account can suddenly read nothing, or little, this is probably a mistake in the server's
 * access rules. Addresses must not disappear because of it, as their mail would be rejected. */
static bool is_plausible(struct session *session, size_t count)
{
	struct buffer why = {0};

	if ((count > 0 && 2 * (uint64_t)count >= session->entries_before) ||
	    session->follower->is_accepted)
		return true;
	buffer_append_format(&why,
			     "it shows only %zu of %llu entries below the base; may the account "
			     "read them? If all is well: stagepost directory accept%c",
			     count, (unsigned long long)session->entries_before, '\0');
	session_end_lost(session, buffer_data(&why));
	buffer_clear(&why);
	return false;
}

/* Every entry that still exists has been reported: deletes all others. */
static void keep_present(struct session *session)
{
	struct sync_uuid *uuids = (struct sync_uuid *)(void *)buffer_data(&session->present);
	size_t count = session->present.length / sizeof(*uuids);

	session->is_present_known = true;
	if (!is_plausible(session, count))
		return;
	if (count > 0) /* without memory there is none */
		qsort(uuids, count, sizeof(*uuids), compare_present_uuids);
	copy_keep_only(session->follower->copy, uuids, count);
	buffer_clear(&session->present);
}

static void note_loaded(struct session *session)
{
	struct follower *follower = session->follower;
	struct copy *copy = follower->copy;

	follower_note(follower, EVENT_LDAP_FOLLOWED, log_string(url, session->server->url),
		      log_string(loaded, session->is_full ? "full" : "changes"),
		      log_number(entries, (int64_t)copy_entry_count(copy)),
		      log_number(changed, (int64_t)follower->counts.entries),
		      log_number(deleted, (int64_t)follower->counts.deleted),
		      log_number(record_count, (int64_t)follower->counts.records));
	if (follower->bad_count > FOLLOW_ENTRIES_BAD_MAX || follower->passwords_unusable > 0)
		follower_note(follower, EVENT_LDAP_UNUSABLE, log_string(url, session->server->url),
			      log_number(values, (int64_t)follower->bad_count),
			      log_number(passwords, (int64_t)follower->passwords_unusable));
}

static void finish_load(struct session *session)
{
	if (session->is_loaded)
		return;
	if (session->is_full && !session->is_present_known)
		keep_present(session);
	if (session->is_over || !session_commit(session))
		return;
	session->is_loaded = true;
	session->follower->is_reload = false;
	session->follower->is_accepted = false;
	note_loaded(session);
	session_set_fresh(session, session->asked_us);
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

void session_on_info(struct session *session, LDAPMessage *message)
{
	struct sync_info_value value;
	int error;

	arena_reset(session->arena);
	error = message_sync_info(session->ld, message, session->arena, &value);
	if (error == -EBADMSG)
		session_end_lost(session, "it sent a malformed Sync Info message (RFC 4533)");
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

/* The server has ended a search that should not end. */
void session_on_end(struct session *session, LDAPMessage *message)
{
	char *said = NULL;
	int code = LDAP_OTHER;

	(void)ldap_parse_result(session->ld, message, &code, NULL, &said, NULL, NULL, 0);
	buffer_append_format(session->why, "search below %s: %s (%d)",
			     session->follower->settings.login.base, ldap_err2string(code), code);
	if (said != NULL && said[0] != '\0')
		buffer_append_format(session->why, ": %.200s", said);
	ldap_memfree(said);
	session_end(session, code == LDAP_SYNC_REFRESH_REQUIRED ? SESSION_REFUSED : SESSION_LOST);
}
