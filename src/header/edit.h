// SPDX-License-Identifier: ISC
/*
 * header/edit.h - changes the header of a message while it passes.
 *
 * A message of a user's program is completed as RFC 6409 section 8 allows, and its authors are
 * read, so that they can be compared with who the user is. In one that is only relayed nothing is
 * removed: not even Return-Path, which who delivers replaces (RFC 5321 section 4.4;
 * mailbox/copy.h).
 *
 * One field is kept in memory at a time, up to HEADER_FIELD_MAX bytes; a longer one passes
 * unchanged, or is removed. The header ends at the first line that is no part of a field.
 *
 * An address without a domain may get one of 255 bytes, and a byte that is not ASCII becomes an
 * encoded word of 22. So all fields together grow by up to HEADER_ADDED_MAX bytes: thirty times
 * what a domain of 35 bytes for each of 1,000 recipients takes. What would exceed that passes
 * unchanged.
 */
#ifndef HEADER_EDIT_H
#define HEADER_EDIT_H

#include "base/arena.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/envelope.h"

enum {
	HEADER_FIELD_MAX = 16384,   /* bytes */
	HEADER_ADDED_MAX = 1 << 20, /* bytes */
	HEADER_AUTHORS_MAX = 50,
	HEADER_BAD_MAX = 100, /* bytes */
};

/* The texts must outlive the edit. */
struct header_edit_settings {
	bool completes; /* adds Date, From and Message-ID if they lack, and @DOMAIN to addresses
			 * that have no domain; removes Bcc and Return-Path */
	bool repairs; /* breaks lines of more than 998 bytes (header/lines.h); encodes 8-bit text in
		       * fields, unless ALLOWS_UTF8 */
	bool allows_utf8;
	bool has_authors; /* reads them; a field that has them, and that others may read in another
			   * way, is left with one reading. With this or COMPLETES, a body without
			   * an empty line before it gets one */
	struct str domain;
	struct str hostname; /* of Message-ID */
	struct str from;     /* the author's address, for From; empty: unknown */
	struct mail_id id;   /* for Date and Message-ID */
};

/* What prevents that all authors are known. */
enum header_edit_fault {
	HEADER_EDIT_GOOD,
	HEADER_EDIT_SEVERAL, /* fields From, or Sender; those that begin with Resent- may be many */
	HEADER_EDIT_BAD,     /* such a field has something that is not an address */
	HEADER_EDIT_NONE,    /* such a field has no address */
	HEADER_EDIT_LARGE,   /* such a field has too many, or is too long; or some field would grow
			      * more than all may */
};

struct header_authors {
	enum header_edit_fault fault; /* the first one */
	struct str field;             /* and the name of its field */
	struct str text;              /* of BAD: what that is, its first HEADER_BAD_MAX bytes */
	const struct str *addresses;  /* that somebody may read (header/authors.h), each once */
	const struct str *fields;     /* of each the name, as written, of the first that has it */
	size_t count;
};

struct header_edit;

/* ARENA: for the authors; it outlives the edit. */
struct header_edit *header_edit_new(const struct header_edit_settings *settings,
				    struct arena *arena);
/* NULL is allowed. */
void header_edit_free(struct header_edit *edit);

/* The next piece of the message, whose lines end with CRLF. Appends what becomes of it to OUT; what
 * is not decided yet comes later. Besides HEADER_ADDED_MAX, REPAIRS adds 3 bytes to 995 that are
 * one line. */
void header_edit_take(struct header_edit *edit, struct str text, struct buffer *out);
/* The message is complete. */
void header_edit_end(struct header_edit *edit, struct buffer *out);

/* After the end: the Message-ID that was added, with its brackets; empty: the message had one. */
struct str header_edit_message_id(const struct header_edit *edit);
/* After the end: what was changed was signed, by DKIM or as multipart/signed: the signature is not
 * valid any more. */
bool header_edit_has_broken_signature(const struct header_edit *edit);
/* After the end: the addresses of From and Sender, and of Resent-From and Resent-Sender;
 * those of a field in a row. The arrays are EDIT's, the texts of the arena. */
struct header_authors header_edit_authors(const struct header_edit *edit);

#endif
