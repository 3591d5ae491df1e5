// SPDX-License-Identifier: ISC
/*
 * filing/decode/internal.h - what the author of a content wrote, without what its deliveries added.
 *
 * Left out: the fields Received, Return-Path, Delivered-To, X-Original-To and X-Stagepost-Loop, a
 * first line "From " as in an mbox, and CRs before an LF. The last line gets an LF if it has none.
 * So it is the same whichever form a mailbox has given to a copy.
 */
#ifndef FILING_DECODE_INTERNAL_H
#define FILING_DECODE_INTERNAL_H

#include "base/buffer.h"
#include "header/field.h"

/* Implemented by filing/decode/identity.c. */
struct decode_essence_handler {
	/* The next bytes of what was written. */
	void (*wrote)(void *context, struct str text);
	/* The next bytes of fields Received, which are left out. */
	void (*received)(void *context, struct str text);
	/* Whether the field NAME that begins is to be handed up, beside those that
	 * filing/decode/essence.c has; or NULL: none is. */
	bool (*wants)(void *context, struct str name);
	/* The first field of its name, for the names that filing/decode/essence.c hands up, and
	 * those that are wanted. Its lines end in LF, but for the last one; of a field that is too
	 * long, the first DECODE_HEADER_MAX bytes. None that begins after so many bytes of header.
	 */
	void (*field)(void *context, const struct header_field *field);
};

enum decode_essence_place {
	DECODE_ESSENCE_UNDECIDED, /* in a line whose first bytes are in START */
	DECODE_ESSENCE_FIELD,     /* in a field's line, after its name */
	DECODE_ESSENCE_SKIPPED,   /* in a line "From " */
	DECODE_ESSENCE_BODY,
};

/* Zeroed at first, but for handler and context. */
struct decode_essence {
	const struct decode_essence_handler *handler;
	void *context;
	enum decode_essence_place place;
	uint64_t returns; /* CRs that are held back: an LF may follow */
	bool is_open;     /* the last line has no LF yet */
	struct buffer start;
	bool has_line;      /* the first line is over */
	bool has_field;     /* there is a field that may be continued */
	bool is_trace;      /* that field is left out */
	bool is_received;   /* that field is Received */
	bool is_kept;       /* that field is collected in FIELD */
	struct buffer kept; /* that field */
	unsigned seen;      /* kinds of fields that were collected */
	uint64_t written;   /* bytes of header that were not left out */
};

void decode_essence_take(struct decode_essence *essence, struct str bytes);
/* The content is complete. Frees what the essence has. */
void decode_essence_end(struct decode_essence *essence);

#endif
