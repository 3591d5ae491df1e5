// SPDX-License-Identifier: ISC
/* directory/store/ldap/follow/session.h - shared by the parts of a session. */
#ifndef DIRECTORY_STORE_LDAP_FOLLOW_SESSION_H
#define DIRECTORY_STORE_LDAP_FOLLOW_SESSION_H

#include "directory/store/ldap/follow/internal.h"
#include "directory/store/ldap/sync/message.h"

/* How recent the server's content was at a time. */
struct mark {
	bool is_set;
	int64_t at_us;
	struct csn_set csns;
	uint64_t message_count; /* of the session, at that time */
};

struct session {
	struct follower *follower;
	const struct link_server *server;
	LDAP *ld;
	char *context; /* the entry with contextCSN; or NULL */
	struct arena *arena;
	int sync; /* message IDs */
	int probe;
	bool is_full;    /* the request had no cookie */
	bool is_loaded;  /* waiting for changes */
	bool is_changed; /* since the last commit */
	bool is_present_known;
	uint64_t entries_before;
	struct csn_set csns;   /* from cookies */
	struct buffer present; /* struct sync_uuid: entries reported as present */
	size_t present_max;    /* bytes; grows with the copy */
	uint64_t message_count;
	int64_t begun_us;
	int64_t asked_us; /* when the search was sent */
	int64_t heard_us;
	int64_t told_us;     /* when the search last returned something */
	struct mark probing; /* its CSNs are arriving */
	struct mark waiting; /* until the copy is as recent */
	int64_t return_us;   /* when to check preferred servers; 0: never */
	bool is_over;
	enum session_end end;
	struct buffer *why;
};

static inline void session_end(struct session *session, enum session_end end)
{
	session->is_over = true;
	session->end = end;
}

/* Ends the session as SESSION_LOST with WHY, unless it has ended already. */
static inline void session_end_lost(struct session *session, const char *why)
{
	if (session->is_over)
		return;
	buffer_append_string(session->why, why);
	session_end(session, SESSION_LOST);
}

/* content.c: false: it failed, and the session has ended. */
bool session_commit(struct session *session);
void session_set_fresh(struct session *session, int64_t fresh_us);
/* Handle an entry, a Sync Info message, and the end of the search. */
void session_on_entry(struct session *session, LDAPMessage *message);
void session_on_info(struct session *session, LDAPMessage *message);
void session_on_end(struct session *session, LDAPMessage *message);

/* session.c: the CSNs in the copy's cookie. */
struct csn_set session_csns(struct follower *follower);

#endif
