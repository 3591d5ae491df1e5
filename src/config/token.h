// SPDX-License-Identifier: ISC
/*
 * config/token.h - the text of a configuration as a row of tokens.
 *
 * What is a token is libConfuse's own rule, less what it would take in silence.
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
	char *clean; /* a copy of TEXT, in which comments are blanked */
	size_t position;
	unsigned line;
	struct config_token token; /* the last one; its end is the position */
	struct config_problems *problems;
};

/* Reads the next token; stays at TOKEN_BAD once it is there. */
void config_reader_next(struct config_reader *reader);
/* Takes a piece out of the clean text; the lines stay. */
void config_reader_blank(struct config_reader *reader, size_t start, size_t end);

/* The token as it stands. */
struct str config_token_text(const struct config_reader *reader, const struct config_token *token);
/* The text of a string or word without quotes and escapes, in ARENA. */
const char *config_token_value(const struct config_reader *reader, const struct config_token *token,
			       struct arena *arena);

#endif
