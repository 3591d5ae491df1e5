// SPDX-License-Identifier: ISC
/*
 * header/internal.h - shared by the files of this folder: the words of address lists (lexer.c), and
 * parameters of MIME fields (parameters.c).
 */
#ifndef HEADER_INTERNAL_H
#define HEADER_INTERNAL_H

#include "base/buffer.h"

struct header_lexer {
	struct str text;
	size_t position;
	bool has_quotes, has_comments; /* they match, as far as known; otherwise such a character is
					* one like others */
	bool has_brackets;             /* likewise, of literals */
	bool is_plain;                 /* so far (header/addresses.h) */
};

/* Atoms and quoted strings with dots between them, and at their ends. */
struct header_word {
	struct buffer text; /* without spaces and comments */
	size_t start, end;
	bool has_gap; /* there were some */
};

void header_lexer_init(struct header_lexer *lexer, struct str text);
bool header_lexer_is_at_end(const struct header_lexer *lexer);
/* The next byte; NUL also at the end. */
char header_lexer_peek(const struct header_lexer *lexer);
/* Skips comments and folding white space; whether there was any. */
bool header_lexer_space(struct header_lexer *lexer);
/* Takes the word that begins here; without one *WORD has no text. WORD.text is empty before. */
void header_lexer_word(struct header_lexer *lexer, struct header_word *word);
/* At '@': appends that and a domain to OUT. False: there is none, and nothing was taken, though
 * part of it may have been appended. */
bool header_lexer_domain(struct header_lexer *lexer, struct buffer *out);

enum header_angle_kind {
	HEADER_ANGLE_EMPTY, /* or a group without members */
	HEADER_ANGLE_LOCAL, /* a local part alone */
	HEADER_ANGLE_WHOLE, /* with a domain */
	HEADER_ANGLE_BAD,
};

struct header_angle {
	enum header_angle_kind kind;
	size_t local_end; /* of LOCAL */
};

/* At '<': takes all up to the bracket that closes it, or else up to a separator, and appends the
 * address to OUT. */
void header_lexer_angle(struct header_lexer *lexer, struct buffer *out,
			struct header_angle *angle_out);

/* Appends BODY, of Content-Type or Content-Disposition, with 8-bit text in parameters as RFC 2231
 * says; elsewhere it stays. */
void header_parameters_encode(struct str body, struct buffer *out);

bool header_is_space(char c);
/* TEXT without white space, and line ends, at both ends. */
struct str header_trim(struct str text);

#endif
