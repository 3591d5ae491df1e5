// SPDX-License-Identifier: ISC
/*
 * mail/seven_bit/internal.h - shared by the files of the conversion.
 *
 * seven_bit.c splits the message into lines and keeps the result of the scan, walk.c tracks the
 * structure of the message, header.c parses fields, field.c encodes them, encode.c writes bodies.
 */
#ifndef MAIL_SEVEN_BIT_INTERNAL_H
#define MAIL_SEVEN_BIT_INTERNAL_H

#include "mail/seven_bit/seven_bit.h"

enum {
	SEVEN_BIT_LINE_SIZE = 4096,
	SEVEN_BIT_FIELD_SIZE = 4096,
	SEVEN_BIT_BOUNDARY_SIZE = 256, /* RFC 2046 allows 70 */
	SEVEN_BIT_DEPTH_MAX = 32,
	SEVEN_BIT_PARTS_MAX = 10000,
};

/* What to do with a part; a byte of the plan. */
enum seven_bit_action {
	SEVEN_BIT_KEEP,
	SEVEN_BIT_RELABEL, /* a multipart with a part that changes: no longer 8bit or binary */
	SEVEN_BIT_QUOTE,
	SEVEN_BIT_BASE64,
	SEVEN_BIT_QUOTE_REST,   /* quoted-printable already, except for some bytes */
	SEVEN_BIT_REMOVE_NOISE, /* base64 already, with bytes that decoders ignore */
};

/* Encodes the body of a part. All zero: before the first byte. */
struct seven_bit_encoder {
	size_t column;
	unsigned char group[3]; /* base64 */
	size_t group_length;
	bool has_line_end; /* base64: a CRLF that belongs to the body, unless a boundary follows */
	unsigned escape_left; /* remaining bytes of an "=XX" */
};

void seven_bit_encode(struct seven_bit_encoder *encoder, enum seven_bit_action action,
		      struct str text, bool ends_line, struct buffer *out);
/* IS_DELIMITED: a boundary follows, to which the last CRLF belongs. */
void seven_bit_encode_end(struct seven_bit_encoder *encoder, enum seven_bit_action action,
			  bool is_delimited, struct buffer *out);

enum seven_bit_field {
	SEVEN_BIT_FIELD_OTHER,
	SEVEN_BIT_FIELD_TYPE,
	SEVEN_BIT_FIELD_ENCODING,
	SEVEN_BIT_FIELD_VERSION,
};

enum seven_bit_class {
	SEVEN_BIT_TEXT,
	SEVEN_BIT_DATA,
	SEVEN_BIT_MULTIPART,
	SEVEN_BIT_MESSAGE,
	SEVEN_BIT_SEALED, /* multipart/signed, multipart/encrypted */
	SEVEN_BIT_OPAQUE, /* others that can have neither parts nor an encoding */
};

enum seven_bit_encoding {
	SEVEN_BIT_IDENTITY, /* also an unknown one: the data is taken as it is */
	SEVEN_BIT_IS_QUOTED,
	SEVEN_BIT_IS_BASE64,
};

struct seven_bit_header {
	bool is_message;   /* the header of a message, not of a part */
	bool is_in_digest; /* message/rfc822 is the default type */
	bool has_line;     /* the first line was seen */
	bool has_type, has_encoding, has_version;
	bool is_wide;               /* the encoding is 8bit or binary */
	enum seven_bit_field field; /* of the last line */
	char value[SEVEN_BIT_FIELD_SIZE];
	size_t value_length;
	bool is_cut; /* value is incomplete */

	enum seven_bit_class class;
	bool is_digest;
	char boundary[SEVEN_BIT_BOUNDARY_SIZE];
	size_t boundary_length; /* 0: none that is usable */
	enum seven_bit_encoding encoding;
};

void seven_bit_header_begin(struct seven_bit_header *header, bool is_message, bool is_in_digest);
/* Whether LINE, with its CRLF, can be the next line of a header. */
bool seven_bit_header_has(const struct seven_bit_header *header, struct str line);
/* The next line, or the next piece of an unfinished line. */
void seven_bit_header_line(struct seven_bit_header *header, struct str line, bool starts_line);
/* After the last line: sets class and the members after it. */
void seven_bit_header_end(struct seven_bit_header *header);

struct mail_seven_bit;

/* A line of a header, or a piece of one, that stays but for its 8-bit bytes; STARTS: it begins a
 * line. (field.c) */
void seven_bit_field_take(struct mail_seven_bit *message, struct str line, bool starts);
/* The field under way is complete. */
void seven_bit_field_end(struct mail_seven_bit *message);

enum seven_bit_region {
	SEVEN_BIT_IN_HEADER,
	SEVEN_BIT_IN_BODY,
	SEVEN_BIT_IN_GAP, /* before the first part, or after the last one */
	SEVEN_BIT_IN_SEALED,
	SEVEN_BIT_IN_OPAQUE,
};

/* A part with parts. */
struct seven_bit_level {
	size_t part; /* its index in the plan */
	bool is_digest;
	char boundary[SEVEN_BIT_BOUNDARY_SIZE];
	size_t boundary_length; /* 0: a message */
};

struct mail_seven_bit {
	/* seven_bit.c */
	char line[SEVEN_BIT_LINE_SIZE];
	size_t line_length;
	bool is_in_line;    /* LINE continues a line */
	bool is_scanned;    /* the plan is complete */
	struct buffer plan; /* an enum seven_bit_action for each part */
	bool is_changed;
	bool is_binary;
	bool has_sealed, has_opaque; /* such parts with 8-bit data */
	bool keeps_bodies;
	mail_seven_bit_encoder *encode; /* NULL: fields stay */
	bool has_address;               /* a field cannot be encoded */

	/* walk.c */
	enum seven_bit_region region;
	struct seven_bit_level levels[SEVEN_BIT_DEPTH_MAX];
	size_t depth;
	size_t part;  /* of the region */
	size_t parts; /* so far */
	struct seven_bit_header header;
	struct seven_bit_encoder encoder;
	uint64_t bytes, foreign_bytes, escapes; /* of the body being scanned */
	uint64_t line_bytes;                    /* of its line so far */
	bool has_line_end;                      /* it ends with one, as far as scanned */
	struct buffer *out;                     /* during conversion */

	/* field.c */
	struct buffer field; /* under way, to be encoded */
	bool is_field_long;  /* and it will not be */
};

void seven_bit_walk_begin(struct mail_seven_bit *message);
/* A line or a piece of one: LINE includes the CRLF if ENDS. */
void seven_bit_walk(struct mail_seven_bit *message, struct str line, bool starts, bool ends);
void seven_bit_walk_end(struct mail_seven_bit *message);

#endif
