// SPDX-License-Identifier: ISC
/* store/ldap/session.h - between the parts of ldap_session. */
#ifndef STORE_LDAP_SESSION_H
#define STORE_LDAP_SESSION_H

#include "store/ldap/follow_internal.h"
#include "store/ldap/message.h"

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
	uint64_t entries_before;
	struct csn_set csns;   /* that cookies have told of */
	struct buffer present; /* struct sync_uuid: who was named as being there */
	size_t present_max;    /* bytes of it; it grows with the copy */
	uint64_t message_count;
	int64_t begun_us;
	int64_t asked_us; /* when the search began */
	int64_t heard_us;
	int64_t told_us;     /* when it last told something of what we follow */
	struct mark probing; /* its CSNs come in */
	struct mark waiting; /* for the copy to come so far */
	int64_t return_us;   /* when to look for a better server; 0: never */
	bool is_over;
	enum session_end end;
	struct buffer *why;
};

void session_end(struct session *session, enum session_end end);
/* SESSION_LOST, and WHY, unless it has ended before. */
void session_end_lost(struct session *session, const char *why);

/* content.c: false when it failed; that is the end of the session. */
bool session_commit(struct session *session);
void session_set_fresh(struct session *session, int64_t fresh_us);
/* What the search tells: an entry, a Sync Info message, its end. */
void session_on_entry(struct session *session, LDAPMessage *message);
void session_on_info(struct session *session, LDAPMessage *message);
void session_on_end(struct session *session, LDAPMessage *message);

/* session.c: what cookies in the copy have told of. */
struct csn_set session_csns(struct follower *follower);

#endif
