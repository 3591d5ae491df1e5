// SPDX-License-Identifier: ISC
/*
 * config/parse/token.h - splits the text of a configuration into tokens.
 *
 * The format is libConfuse's, without what that silently accepts: environment variables, unknown
 * characters, unclosed strings and comments.
 */
#ifndef CONFIG_PARSE_TOKEN_H
#define CONFIG_PARSE_TOKEN_H

#include "config/text.h"

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_STRING,
	TOKEN_ASSIGN, /* = += */
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_BAD, /* invalid, and reported */
};

struct config_token {
	enum token_kind kind;
	size_t start;
	size_t end;
	unsigned line;
};

struct config_reader {
	struct str text;
	size_t position;
	unsigned line;
	struct config_token token; /* the last one; the position is at its end */
	struct config_problems *problems;
};

/* Reads the next token; after TOKEN_BAD, always TOKEN_BAD. */
void config_reader_next(struct config_reader *reader);

/* The token as written. */
struct str config_token_text(const struct config_reader *reader, const struct config_token *token);
/* The text of a string or word without quotes and escapes, in ARENA. */
const char *config_token_value(const struct config_reader *reader, const struct config_token *token,
			       struct arena *arena);

#endif
