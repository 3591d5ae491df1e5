// SPDX-License-Identifier: ISC
/* directory/socketmap/internal.h - shared by the parts of the socketmap: connections in
 * socketmap.c, netstrings in netstring.c, the maps in answer.c. */
#ifndef DIRECTORY_SOCKETMAP_INTERNAL_H
#define DIRECTORY_SOCKETMAP_INTERNAL_H

#include "directory/socketmap/socketmap.h"

/* Reads a complete netstring at the start of INPUT: 1, its content, and *LENGTH_OUT bytes that the
 * caller must consume; 0: incomplete; -EINVAL: malformed; -EMSGSIZE: over the bound. */
MUST_CHECK int socketmap_take(struct str input, struct str *content_out, size_t *length_out);
/* Appends a netstring of WORD, a space and TEXT; of "PERM" if that is over the bound. */
void socketmap_append(struct buffer *out, const char *word, struct str text);

struct socketmap_row; /* a map */

/* A pending request. */
struct socketmap_question {
	struct directory_store *store;
	struct directory_expander *expander;
	const struct config *const *config; /* the present one */
	/* Called once, perhaps before socketmap_ask() returns. TEXT is valid during the call. */
	void (*answered)(struct socketmap_question *question, const char *word, struct str text);
	const struct socketmap_row *row;
	char key[DIRECTORY_KEY_MAX]; /* in canonical form */
	size_t key_length;
};

/* REQUEST: "MAP KEY", valid during the call. */
void socketmap_ask(struct socketmap_question *question, struct str request);

#endif
