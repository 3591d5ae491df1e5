// SPDX-License-Identifier: ISC
/*
 * header/name.h - text in header fields that plain characters cannot say: display names, and
 * encoded words (RFC 2047).
 */
#ifndef HEADER_NAME_H
#define HEADER_NAME_H

#include "base/buffer.h"

/* Appends NAME as a display name, RFC 5322 section 3.2.5: quoted or as encoded words (RFC 2047)
 * if necessary. */
void header_name_append(struct buffer *out, struct str name);

/* Whether it is only printable ASCII; has a byte that is not ASCII; is UTF-8. */
bool header_name_is_ascii(struct str name);
bool header_name_is_8bit(struct str text);
bool header_name_is_utf8(struct str text);

/* Whether WORD, without spaces, has the form of an encoded word, RFC 2047 section 2. */
bool header_name_is_encoded_word(struct str word);
/* Appends TEXT, words with spaces between them, as a display name. Words that are encoded already
 * stay, but for characters that they may not have there (section 5). */
void header_name_append_mixed(struct buffer *out, struct str text);

/* Appends TEXT as encoded words, folded: as UTF-8 if it is that, or else with the charset
 * unknown-8bit (RFC 1428). TEXT is not empty. */
void header_name_append_encoded(struct buffer *out, struct str text);

#endif
