// SPDX-License-Identifier: ISC
/*
 * mail/seven_bit_internal.h - what the files of the conversion share.
 *
 * seven_bit.c cuts the message into lines and keeps what the scan found, seven_bit_walk.c
 * knows where in the message a line is, seven_bit_header.c reads fields,
 * seven_bit_encode.c writes bodies.
 */
#ifndef MAIL_SEVEN_BIT_INTERNAL_H
#define MAIL_SEVEN_BIT_INTERNAL_H

#include "mail/seven_bit.h"

enum {
	SEVEN_BIT_LINE_SIZE = 4096,
	SEVEN_BIT_FIELD_SIZE = 4096,
	SEVEN_BIT_BOUNDARY_SIZE = 256, /* RFC 2046 allows 70 */
	SEVEN_BIT_DEPTH_MAX = 32,
	SEVEN_BIT_PARTS_MAX = 10000,
};

/* What happens to a part; a byte of the plan. */
enum seven_bit_action {
	SEVEN_BIT_KEEP,
	SEVEN_BIT_RELABEL, /* it has parts, one of which changes: no longer 8bit or binary */
	SEVEN_BIT_QUOTE,
	SEVEN_BIT_BASE64,
	SEVEN_BIT_QUOTE_REST,   /* it is quoted-printable, but for some bytes */
	SEVEN_BIT_REMOVE_NOISE, /* it is base64, with bytes that decoders skip */
};

/* The body of one part as it is written. All zeroes: before its first byte. */
struct seven_bit_encoder {
	size_t column;
	unsigned char group[3]; /* base64 */
	size_t group_length;
	bool has_line_end; /* base64: a CRLF that belongs to the body, unless a boundary follows */
	unsigned escape_left; /* bytes of "=XX" that follow */
};

void seven_bit_encode(struct seven_bit_encoder *encoder, enum seven_bit_action action,
		      struct str text, bool ends_line, struct buffer *out);
/* IS_DELIMITED: a boundary follows, which the last line end belongs to. */
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
	SEVEN_BIT_OPAQUE, /* other that may have neither parts nor an encoding */
};

enum seven_bit_encoding {
	SEVEN_BIT_IDENTITY, /* also one that nobody knows: its data is taken as it is */
	SEVEN_BIT_IS_QUOTED,
	SEVEN_BIT_IS_BASE64,
};

struct seven_bit_header {
	bool is_message;   /* of a message, not only of a part of one */
	bool is_in_digest; /* message/rfc822 when it does not say what it is */
	bool has_line;     /* one of it was seen */
	bool has_type, has_encoding, has_version;
	enum seven_bit_field field; /* that the last line belongs to */
	char value[SEVEN_BIT_FIELD_SIZE];
	size_t value_length;
	bool is_cut; /* value is not all of it */

	enum seven_bit_class class;
	bool is_digest;
	char boundary[SEVEN_BIT_BOUNDARY_SIZE];
	size_t boundary_length; /* 0: none that can be used */
	enum seven_bit_encoding encoding;
};

void seven_bit_header_begin(struct seven_bit_header *header, bool is_message, bool is_in_digest);
/* Whether LINE, with its CRLF, can be the next line of a header. */
bool seven_bit_header_has(const struct seven_bit_header *header, struct str line);
/* The next line, or the next piece of a line that did not END yet. */
void seven_bit_header_line(struct seven_bit_header *header, struct str line, bool starts_line);
/* After the last line: class and all after it are known. */
void seven_bit_header_end(struct seven_bit_header *header);

enum seven_bit_region {
	SEVEN_BIT_IN_HEADER,
	SEVEN_BIT_IN_BODY,
	SEVEN_BIT_IN_GAP, /* before the first part, or after the last one */
	SEVEN_BIT_IN_SEALED,
	SEVEN_BIT_IN_OPAQUE,
};

/* A part that has parts. */
struct seven_bit_level {
	size_t part; /* its place in the plan */
	bool is_digest;
	char boundary[SEVEN_BIT_BOUNDARY_SIZE];
	size_t boundary_length; /* 0: it is a message */
};

struct mail_seven_bit {
	/* seven_bit.c */
	char line[SEVEN_BIT_LINE_SIZE];
	size_t line_length;
	bool is_in_line;    /* what is in LINE continues a line */
	bool is_scanned;    /* the plan is complete */
	struct buffer plan; /* an enum seven_bit_action for each part */
	bool is_changed;
	bool has_sealed, has_opaque; /* with 8-bit data */

	/* seven_bit_walk.c */
	enum seven_bit_region region;
	struct seven_bit_level levels[SEVEN_BIT_DEPTH_MAX];
	size_t depth;
	size_t part;  /* that the region belongs to */
	size_t parts; /* that began */
	struct seven_bit_header header;
	struct seven_bit_encoder encoder;
	uint64_t bytes, high_bytes, escapes; /* of the body that is scanned */
	struct buffer *out;                  /* while it converts */
};

void seven_bit_walk_begin(struct mail_seven_bit *message);
/* A line or a piece of one: LINE has the CRLF when it ENDS. */
void seven_bit_walk(struct mail_seven_bit *message, struct str line, bool starts, bool ends);
void seven_bit_walk_end(struct mail_seven_bit *message);

#endif
