// SPDX-License-Identifier: ISC
/*
 * config/token.h - the text of a configuration as a row of tokens.
 *
 * The format is libConfuse's, less what that takes in silence: environment variables, characters
 * that it does not know, strings and comments without an end.
 */
#ifndef CONFIG_TOKEN_H
#define CONFIG_TOKEN_H

#include "config/config.h"

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_STRING,
	TOKEN_ASSIGN, /* = += */
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_BAD, /* no token: reported */
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
	struct config_token token; /* the last one; its end is the position */
	struct config_problems *problems;
};

/* Reads the next token; stays at TOKEN_BAD once it is there. */
void config_reader_next(struct config_reader *reader);

/* The token as it stands. */
struct str config_token_text(const struct config_reader *reader, const struct config_token *token);
/* The text of a string or word without quotes and escapes, in ARENA. */
const char *config_token_value(const struct config_reader *reader, const struct config_token *token,
			       struct arena *arena);

#endif
