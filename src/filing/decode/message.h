// SPDX-License-Identifier: ISC
/*
 * filing/decode/message.h - what is in a message: subject, participants, parts (RFC 5322, 2045 to
 * 2047, 2231, 6532), as plain values. All text is UTF-8 without control characters.
 */
#ifndef FILING_DECODE_MESSAGE_H
#define FILING_DECODE_MESSAGE_H

#include "base/arena.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DECODE_TEXT_MAX = 998, /* bytes of a subject, name, file name; longer ones are cut */
	DECODE_WORD_MAX = 255, /* of a type, charset, disposition, number of a part; likewise */
	DECODE_PARTICIPANT_MAX = 1000, /* of one message; more are left out, with a problem */
	DECODE_PART_MAX = 1000,        /* likewise */
	DECODE_DEPTH_MAX = 50,         /* of parts within parts */
	DECODE_DIGEST_SIZE = 32,       /* SHA-256 */
	DECODE_PROBLEM_MAX = 998,      /* bytes of what could not be decoded */
};

enum decode_role {
	DECODE_FROM,
	DECODE_SENDER,
	DECODE_REPLY_TO,
	DECODE_TO,
	DECODE_CC,
	DECODE_BCC,
	DECODE_ROLES,
};

/* "from", "reply_to" and so on. */
const char *decode_role_name(enum decode_role role);

struct decode_participant {
	enum decode_role role;
	struct str address; /* LOCAL@DOMAIN, the domain in lower case */
	struct str name;    /* "": none */
};

struct decode_part {
	struct str number;      /* as in IMAP's BODYSTRUCTURE: "1", "2.1"; for a multipart that has
				 * none, because a message begins with it: "TEXT", "2.TEXT" */
	struct str type;        /* "text/plain", lower case; multiparts are listed, too */
	struct str charset;     /* as declared, lower case; "": none */
	struct str disposition; /* "attachment", "inline", lower case; "": none */
	struct str filename;    /* "": none */
	uint64_t size;          /* of its content without transfer encoding; multiparts: 0. Lines
				 * of text end in CRLF, also where the message has LF */
	unsigned char digest[DECODE_DIGEST_SIZE]; /* of that content */
};

/* Everything in it belongs to one arena. */
struct decode_message {
	struct str subject;
	int64_t date_us; /* by the field Date, since 1970; 0: none that is valid */
	struct decode_participant *participants;
	size_t participant_count;
	struct decode_part *parts;
	size_t part_count;
	struct str problem; /* what could not be decoded, for people; "": nothing. What was
			     * decoded is there all the same. */
};

/* A copy of MESSAGE in ARENA. */
void decode_message_copy(const struct decode_message *message, struct arena *arena,
			 struct decode_message *out);

#endif
