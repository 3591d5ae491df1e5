// SPDX-License-Identifier: ISC
/* directory/socketmap/internal.h - between the parts of the socketmap: connections in
 * socketmap.c, netstrings in netstring.c, what the maps answer in answer.c. */
#ifndef DIRECTORY_SOCKETMAP_INTERNAL_H
#define DIRECTORY_SOCKETMAP_INTERNAL_H

#include "directory/socketmap/socketmap.h"

/* The content of the netstring at the front of INPUT, whole: 1, and *LENGTH_OUT bytes to be
 * consumed; 0: more is needed; -EINVAL: it is none; -EMSGSIZE: over the bound. */
MUST_CHECK int socketmap_take(struct str input, struct str *content_out, size_t *length_out);
/* Appends one with WORD, a space and TEXT; "PERM" where that is over the bound. */
void socketmap_append(struct buffer *out, const char *word, struct str text);

struct socketmap_row; /* of the table of maps */

/* A request that is being answered. */
struct socketmap_question {
	struct directory_store *store;
	struct directory_expander *expander;
	const struct config *const *config; /* the one in force */
	/* Called once, perhaps before socketmap_ask() returns. TEXT is valid during the call. */
	void (*answered)(struct socketmap_question *question, const char *word, struct str text);
	const struct socketmap_row *row;
	char key[DIRECTORY_KEY_MAX]; /* in its one form */
	size_t key_length;
};

/* REQUEST: "MAP KEY", valid during the call. */
void socketmap_ask(struct socketmap_question *question, struct str request);

#endif
