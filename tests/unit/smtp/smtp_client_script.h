// SPDX-License-Identifier: ISC
/*
 * tests/unit/smtp/smtp_client_script.h - dialogues for the SMTP client engine.
 *
 * A script has a step a line: "S: text" the server sends a line (in which "|" stands for CRLF, all
 * of it at once), "C: text" the client must have sent exactly this since the last step, "B: text"
 * the same without a line end (\r and \n stand for bytes), "D" the message is given, "N" the next
 * transaction begins, "X" the connection is lost, "T" the server takes too long, "Q" the client is
 * told to quit, "F" the message has another form of seven bytes, "R" it has none, "H" the handshake
 * is done, "h" it failed, "L: MECHANISM" the login begins, or "L: MECHANISM MESSAGE" with a message
 * ('_' is empty, '|' a NUL), "M: TEXT MESSAGE" the challenge is TEXT and answered, "A" the login is
 * accepted, "K" it is given up.
 */
#ifndef SMTP_CLIENT_SCRIPT_H
#define SMTP_CLIENT_SCRIPT_H

#include "smtp/client/client.h"

struct smtp_client_script {
	const char *name;
	const char *recipients; /* one letter each: a@d.example ...; a capital
				 * has an accent: \xc3\xa9A@d.example; '*': u@b\xc3\xbc.example */
	const char *message;
	const char *script;
	const char *verdicts; /* "ok 2.0.0 fail 5.1.1" of the last transaction */
	enum smtp_client_status status;
	bool is_8bit;
	bool is_lmtp;
	bool is_stale;
	bool is_unserved;
	enum smtp_client_tls tls;
	bool is_insecure;
	bool is_tls_refused;
	bool is_injected;
	bool wants_login;
	bool may_login_plainly;
	bool is_login_refused;
	bool gives_whole; /* the message, also byte by byte: each piece is a chunk */
	bool avoids_chunks;
	bool is_used_up;
	const char *secret; /* is in no verdict, and in nothing that is watched; NULL: none */
	const char *again;  /* 'l', 'e', 'h' or 'n' of each recipient, as enum smtp_client_again;
			     * NULL:  not seen to */
	uint64_t size;      /* 0: of the message */

	const char *sender; /* NULL: s@s.example */
	bool is_binary;
	bool is_utf8;
	bool needs_utf8;
	bool requires_tls;
	int priority;
	struct mail_deadline deadline;
	int64_t deadline_left;
	bool is_timed; /* like is_passed_on */
	const struct smtp_client_origin *origin;
	enum mail_ret ret;
	const char *envid;    /* NULL: none */
	const char *original; /* of every recipient; NULL: none */
	unsigned notify;      /* of every recipient */
	bool is_passed_on;    /* the last transaction's first recipient */
};

/* Plays each script whole and byte by byte. */
void smtp_client_scripts_run(const struct smtp_client_script *scripts, size_t count);

#endif
