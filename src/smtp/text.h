// SPDX-License-Identifier: ISC
/*
 * smtp/text.h - the text of a message on its way in, as the queue keeps it: CRLF lines, no dots of
 * a protocol, no NUL; after the header of a BINARY one any bytes. What its header says of hops,
 * of where it has been, and its Message-ID are read as it passes.
 */
#ifndef SMTP_TEXT_H
#define SMTP_TEXT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "header/edit.h"
#include "header/loop.h"
#include "mail/verdict.h"

enum smtp_text_form {
	SMTP_TEXT_STUFFED, /* DATA: dots are stuffed, and a dot alone in a line ends it */
	SMTP_TEXT_COUNTED, /* BDAT, QMTP: the end is known by counting, lines end with CRLF */
	SMTP_TEXT_BINARY,  /* BDAT with BINARYMIME: so is the header; the body is kept as it is */
	SMTP_TEXT_FEEDS,   /* QMTP, QMQP: the same, but lines end with LF */
};

struct smtp_text_rules {
	enum smtp_text_form form;
	uint64_t size;      /* bytes; 0: no limit */
	uint32_t hops;      /* Received header lines, and marks above HEADER_LOOP_MAX */
	bool is_normalized; /* a bare LF ends a line; a bare CR becomes a space, or nothing before a
			     * line end; otherwise they are refused with 5.6.11 */
	bool removes_nul;   /* otherwise it is refused with 5.6.0 */
};

/* The position of the scanner. */
enum smtp_scan {
	SMTP_SCAN_START,     /* at the start of a line */
	SMTP_SCAN_DOT,       /* after a dot that starts a line */
	SMTP_SCAN_DOT_CR,    /* after such a dot and a CR */
	SMTP_SCAN_MIDDLE,    /* in a line */
	SMTP_SCAN_MIDDLE_CR, /* after a CR in a line, which is not yet in the body */
	SMTP_SCAN_END,
};

enum { SMTP_MESSAGE_ID_MAX = 250 }; /* bytes; the rest of a longer one is dropped */

/* What is known of the message's header (header.c). */
struct smtp_header {
	uint32_t hops;                    /* Received fields */
	size_t position;                  /* bytes of this line, counted as far as needed */
	char start[HEADER_LOOP_LINE_MAX]; /* these bytes */
	struct header_loop *loop;         /* its marks; NULL: none yet */
	char *id;                         /* the value of Message-ID; NULL: none yet */
	size_t id_length;
	bool has_resent; /* there was a field Resent- */
	bool is_value;   /* this line is part of the value */
	bool has_id;     /* it is complete; only the first counts */
	bool is_over;    /* the body has begun */
};

/* Zeroed at first, but for rules, arena and body. */
struct smtp_text {
	struct smtp_text_rules rules;
	struct arena *arena;      /* for what is known of the header */
	struct buffer *body;      /* what is kept is appended to it */
	struct header_edit *edit; /* changes it on the way; NULL: unchanged */
	uint64_t kept;            /* bytes appended to BODY */
	bool is_kept;           /* becomes false when the message is to be refused: the rest is only
				 * counted, and what BODY has is of no use any more */
	bool has_bare_line_end; /* a bare CR or LF */
	bool has_nul;           /* and is refused because of it */
	enum smtp_scan scan;
	uint64_t size; /* bytes so far, also when they are not kept */
	struct smtp_header header;
};

/* How many bytes may be given at once: more could become too large by the edit. */
size_t smtp_text_piece(const struct smtp_text *text);
/* STUFFED: takes bytes up to the end of the message; returns whether it is complete. */
bool smtp_text_take(struct smtp_text *text, const char *data, size_t length, size_t *taken_out);
/* The other forms: takes all bytes. */
void smtp_text_take_all(struct smtp_text *text, const char *data, size_t length);
/* And the end of the message: ends its last line. */
void smtp_text_end(struct smtp_text *text);

/* Why a message must be refused as received so far: its size, its hops; NULL: it need not. */
const struct mail_verdict *smtp_text_refusal_so_far(const struct smtp_text *text);
/* The same at its end: also bare line ends and NULs. */
const struct mail_verdict *smtp_text_refusal(const struct smtp_text *text);
/* The value of Message-ID so far, unfolded, with its brackets, or of the one that was added; empty:
 * none. */
struct str smtp_text_message_id(const struct smtp_text *text);
/* Whether its header, as far as it came, shows that it has been through ADDRESS (header/loop.h). */
bool smtp_text_loops(const struct smtp_text *text, struct hash_key key, struct str address);
/* Whether it has been through each recipient of ENVELOPE. Where it is only some, they fail when it
 * is delivered: one reply cannot refuse them alone. */
bool smtp_text_loops_everywhere(const struct smtp_text *text, struct hash_key key,
				const struct mail_envelope *envelope);
/* The refusal then. */
extern const struct mail_verdict smtp_text_loop;

#endif
