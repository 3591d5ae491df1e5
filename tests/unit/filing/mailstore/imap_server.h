// SPDX-License-Identifier: ISC
/* tests/unit/filing/mailstore/imap_server.h - an IMAP server in memory, behind the functions of
 * libcurl that the store calls. What it is asked and what it answers is at once there, unless it
 * fails as it is told. */
#ifndef TESTS_UNIT_MAILSTORE_IMAP_SERVER_H
#define TESTS_UNIT_MAILSTORE_IMAP_SERVER_H

#include "base/buffer.h"
#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	IMAP_SERVER_BOXES = 64,
	IMAP_SERVER_MESSAGES = 1100,
	IMAP_SERVER_USERS = 12,
	IMAP_SERVER_SOCKET = 1000
};

struct imap_server_message {
	uint64_t uid;
	char *text;
	size_t length;
	char flags[40], date[40];
	bool is_deleted;
};

struct imap_server_box {
	char user[40], name[60]; /* as on the wire, without quotes */
	uint64_t validity, next_uid;
	struct imap_server_message *messages;
	size_t count;
};

enum imap_server_fault {
	IMAP_SERVER_FINE,
	IMAP_SERVER_CLOSES, /* before the call */
	IMAP_SERVER_LOSES,  /* the library says that the connection is lost */
	IMAP_SERVER_ANSWERS_AND_CLOSES,
	IMAP_SERVER_HANGS,
	IMAP_SERVER_SAYS_BYE,
	IMAP_SERVER_BABBLES,
	IMAP_SERVER_FAULTS,
};

struct imap_server {
	struct imap_server_box boxes[IMAP_SERVER_BOXES];
	size_t box_count;
	/* how it is */
	char separator;              /* 0: it says NIL */
	const char *namespace;       /* its answer; NULL: it has none */
	bool has_uidplus, has_quota; /* QUOTA: says QUOTA_LINE */
	bool says_uids;              /* APPENDUID */
	bool is_extended;            /* answers searches by ESEARCH */
	bool says_twice;             /* the UIDs of a search */
	const char *quota_line;      /* NULL: "" */
	const char *refuses_append, *refuses_create, *refuses_select; /* the answer; NULL: none */
	bool refuses_after_literal;
	const char *extra;  /* an untagged line before each answer; NULL: none */
	size_t chunk;       /* bytes that a call passes at most */
	uint64_t says_size; /* of each message; 0: as it is */
	CURLcode login;     /* of connections from now on */
	const char *login_words;
	/* what fails: the call of this number, from 1; 0: none */
	unsigned fails_at;
	enum imap_server_fault fault;
	/* what was done */
	unsigned calls, opened, open;
	unsigned shut; /* sockets that are to be heard no more, so that the end waits for nothing */
	struct buffer dialogue; /* commands, each without its tag; a message is "..." */
	char url[100], user[60], password[60], resolve[100], authorities[60];
	long tls, verifies[2], version, times[3];
};

extern struct imap_server imap_server;

void imap_server_begin(void);
void imap_server_end(void);
/* NULL: there is none. */
struct imap_server_box *imap_server_find(const char *user, const char *name);
struct imap_server_box *imap_server_make(const char *user, const char *name);
void imap_server_put(struct imap_server_box *box, const char *text);

#endif
