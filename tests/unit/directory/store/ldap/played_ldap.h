// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/store/ldap/played_ldap.h - LDAP servers (RFC 4511) at sockets, for the real
 * libldap, which waits for them by poll(): that is the test's, as is the time, which passes only
 * while somebody waits and nothing comes. Then played_ldap.idle is called.
 */
#ifndef TESTS_UNIT_PLAYED_LDAP_H
#define TESTS_UNIT_PLAYED_LDAP_H

#include "base/buffer.h"
#include "directory/store/ldap/sync/value.h"
#include <ldap.h>
#include <stdbool.h>

enum { PLAYED_LDAP_SERVERS = 3, PLAYED_LDAP_SESSIONS = 8 };

enum played_ldap_fault {
	PLAYED_LDAP_FINE,
	PLAYED_LDAP_REFUSES, /* the request, by FAULT_CODE */
	PLAYED_LDAP_CLOSES,
	PLAYED_LDAP_IS_SILENT,
	PLAYED_LDAP_BABBLES, /* what is no message of LDAP */
};

struct played_ldap_server {
	int listening;
	char url[160];
	/* how it is */
	bool is_silent;
	const char *contexts[4]; /* namingContexts */
	const char *csn;         /* contextCSN of any entry; NULL: it has none */
	int csn_code;            /* the result of a search for them */
	unsigned found;          /* entries of each other search, uid=N,dc=test */
	int bind_code, search_code, tls_code;
	const char *password;  /* of who is not the login's; NULL: any */
	bool answers_no_probe; /* no search for contextCSN, once somebody follows */
	bool says_more;        /* a reference and an intermediate response before each result */
	/* what was done */
	unsigned accepted;
	int sync; /* message ID of the search that does not end; 0: none */
};

struct played_ldap {
	struct played_ldap_server servers[PLAYED_LDAP_SERVERS];
	/* The request of this number from now on, 1 the next one; 0: none. */
	unsigned fails_at, requests;
	enum played_ldap_fault fault;
	int fault_code;
	/* Nothing comes, and somebody waits. False: time passes. */
	bool (*idle)(void);
	int64_t now_us;
	bool is_tcp;
	struct buffer heard;   /* requests, each a line */
	struct buffer options; /* that were set: "NUMBER " or "NUMBER=VALUE " */
	int install_code;      /* of TLS, which is not played */
	unsigned installed, open;
};

extern struct played_ldap played_ldap;

/* At loopback, or at UNIX sockets: there all comes at once. */
void played_ldap_begin(bool is_tcp);
void played_ldap_end(void);
/* All servers take what has come, and answer. */
void played_ldap_turn(void);
void played_ldap_fail_at(unsigned number, enum played_ldap_fault fault, int code);
bool played_ldap_has_failed(void);
/* All connections of SERVER end. */
void played_ldap_close(size_t server);
/* No one can connect to SERVER any more. */
void played_ldap_stop(size_t server);
void played_ldap_start(size_t server);

/* Messages of the search that does not end, at SERVER: COOKIE NULL: none. */
void played_ldap_entry(size_t server, enum sync_state state, uint8_t uuid, const char *dn,
		       const char *attribute, const char *value, const char *cookie);
/* Without the control that says what it is. */
void played_ldap_plain_entry(size_t server, const char *dn);
void played_ldap_refreshed(size_t server, enum sync_info info, bool is_done, const char *cookie);
void played_ldap_uuids(size_t server, bool are_deleted, const uint8_t *uuids, size_t count);
/* DATA as the value of an intermediate response of KIND (an OID). */
void played_ldap_intermediate(size_t server, const char *kind, struct str data);
void played_ldap_reference(size_t server);
/* The search ends, after all. */
void played_ldap_sync_ends(size_t server, int code, const char *text);
/* A notice that nobody has asked for. */
void played_ldap_unsolicited(size_t server);

#endif
