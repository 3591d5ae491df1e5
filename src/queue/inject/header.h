// SPDX-License-Identifier: ISC
/*
 * queue/inject/header.h - the header of a message from a user's program: read, searched for
 * recipients, completed.
 */
#ifndef QUEUE_INJECT_HEADER_H
#define QUEUE_INJECT_HEADER_H

#include "header/addresses.h"
#include "header/field.h"
#include "mail/envelope.h"
#include "queue/inject/reader.h"

enum { INJECT_HEADER_MAX = 1 << 20 }; /* bytes */

struct inject_header {
	struct buffer text; /* whole fields, each with its CRLF */
	struct buffer body; /* what was read after the header, from the empty line on */
};

/* Reads into *HEADER (zeroed by the caller) up to the first line that is not part of a field. A
 * "From " line at the start is dropped. -EFBIG when the header exceeds INJECT_HEADER_MAX; errors
 * of the reader. */
MUST_CHECK int inject_header_read(struct inject_reader *reader, struct inject_header *header);
void inject_header_clear(struct inject_header *header);

/* Takes the next field from *REST, which is a header's text at first. */
bool inject_header_next(struct str *rest, struct header_field *field_out);
/* How many fields have NAME, ignoring case. */
size_t inject_header_count(const struct inject_header *header, struct str name);

/* FIELD: the name of the field that has ELEMENT. 0: go on. */
typedef int inject_element_taker(void *context, struct str field,
				 const struct header_element *element);

/* Calls TAKE with the elements (header/addresses.h) of To, Cc and Bcc; or, if there are fields
 * Resent-To, -Cc or -Bcc, with theirs (RFC 5322 section 3.6.6), but only those of the last
 * resending, which come before the Received fields of the one before. What TAKE returns, if it is
 * not 0. */
MUST_CHECK int inject_header_recipients(const struct inject_header *header,
					const struct header_addresses_rules *rules,
					inject_element_taker *take, void *context);

struct inject_completion {
	struct str hostname;  /* of Message-ID */
	struct str domain;    /* of addresses without a domain */
	struct str from;      /* address of the author */
	struct str full_name; /* the author's; may be empty */
	struct mail_id id;
};

/* Appends the header to OUT: without Bcc, Resent-Bcc and Return-Path, with @DOMAIN after
 * addresses that have no domain, and with Date, From and Message-ID if they are missing. */
void inject_header_complete(const struct inject_header *header,
			    const struct inject_completion *completion, struct buffer *out);

#endif
