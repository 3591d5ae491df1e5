// SPDX-License-Identifier: ISC
/*
 * header/field.h - one field of a message's header, RFC 5322 section 2.2.
 */
#ifndef HEADER_FIELD_H
#define HEADER_FIELD_H

#include "base/attributes.h"
#include "base/buffer.h"

struct header_field {
	struct str whole; /* including the CRLF at its end */
	struct str name;
	struct str body; /* after the colon, folds included, without the last CRLF */
};

/* Bytes of a name, with the spaces behind it: a longer one begins no field, as the colon must be in
 * the first line, whoever breaks that (RFC 5322 section 2.1.1). */
enum { HEADER_NAME_MAX = 900 };

/* How many times as long a field becomes that is encoded, besides what a single encoded word or
 * parameter takes: of "X,", where X is a byte that is no UTF-8, the 23 bytes
 * "=?unknown-8bit?Q?=A9?=,". Parameters grow less: three bytes for one, and a name as long as a
 * third of each of its sections. */
enum { HEADER_ENCODED_GROWTH = 12, HEADER_ENCODED_MORE = 64 };

/* Takes the next line of the header that TEXT begins with, without its CRLF or LF; false at the end
 * of the header. */
bool header_next_line(struct str *text, struct str *line_out);

/* WHOLE: a line with its CRLF, and those that continue it. False: no field begins so. */
bool header_field_parse(struct str whole, struct header_field *field_out);

/* Whether the body of such a field is an address list. */
bool header_field_has_addresses(struct str name);
/* Whether a message must not have it on its way: Bcc, Resent-Bcc, Return-Path. */
bool header_field_is_private(struct str name);

/* Appends FIELD with @DOMAIN after addresses that have no domain. One that is not an address list
 * is appended unchanged. */
void header_field_complete(const struct header_field *field, struct str domain, struct buffer *out);

/* Whether it has bytes that are not ASCII. */
bool header_field_is_8bit(const struct header_field *field);
/* Appends FIELD with 8-bit text as encoded words (RFC 2047), where these are allowed: in
 * unstructured fields, display names and comments; and in parameters of Content-Type and
 * Content-Disposition as RFC 2231 says. Elsewhere it stays: in addresses, identifiers and fields
 * of unknown syntax. It grows by HEADER_ENCODED_GROWTH at most. */
void header_field_encode(const struct header_field *field, struct buffer *out);
/* The same without any byte that is not ASCII, for a host without SMTPUTF8: domains become
 * A-labels, and what has no encoding, as in trace fields and identifiers, "=C3=A9". False: an
 * address needs UTF-8, and has it still. */
bool header_field_to_ascii(const struct header_field *field, struct buffer *out);

#endif
