// SPDX-License-Identifier: ISC
/*
 * auth/server/dovecot/line.h - lines of the protocol between Dovecot's authentication service and
 * its clients, versions 1.1 and 1.2: words with tabs between, in which Dovecot escapes tabs, line
 * ends, NUL and its escape, \001.
 */
#ifndef AUTH_SERVER_DOVECOT_LINE_H
#define AUTH_SERVER_DOVECOT_LINE_H

#include "base/attributes.h"
#include "base/buffer.h"

enum {
	DOVECOT_LINE_MAX = 16384, /* bytes of a line from the service, with its end */
	DOVECOT_SENT_MAX = 8192,  /* of one that it takes */
};

enum dovecot_command {
	DOVECOT_OTHER, /* to be ignored: later versions may say more */
	DOVECOT_VERSION,
	DOVECOT_MECH,
	DOVECOT_DONE,
	DOVECOT_OK,
	DOVECOT_CONT,
	DOVECOT_FAIL,
};

/* What a line says; texts are in the buffers of the line. */
struct dovecot_line {
	enum dovecot_command command;
	uint32_t major;        /* VERSION */
	uint32_t minor;        /* VERSION */
	struct str mechanism;  /* MECH: its name */
	bool is_plaintext;     /* MECH */
	bool is_unusable;      /* MECH: anonymous, or only for the service's own use */
	uint32_t id;           /* OK, CONT, FAIL */
	bool is_temporary;     /* FAIL: the user cannot be judged now */
	bool is_barred;        /* OK: the password is right, but he may not log in */
	bool is_elsewhere;     /* OK: he logs in at another server; that decides before IS_BARRED */
	struct buffer message; /* CONT, OK: what to send, decoded */
	struct buffer user;    /* OK, FAIL */
};

/* Parses TEXT, without its end. False: malformed. To be cleared in either case. */
MUST_CHECK bool dovecot_line_parse(struct str text, struct dovecot_line *out);
void dovecot_line_clear(struct dovecot_line *line);
/* Appends a tab, NAME, '=' and VALUE, escaped. */
void dovecot_line_append(struct buffer *out, const char *name, struct str value);

#endif
