// SPDX-License-Identifier: ISC
/*
 * command/suggest.h - which word was meant by one that is mistyped.
 */
#ifndef COMMAND_SUGGEST_H
#define COMMAND_SUGGEST_H

#include "base/attributes.h"
#include "base/str.h"

/* Words to choose from are offered one by one; zeroed but for WORD at first. */
struct suggestion {
	struct str word;
	const char *best; /* NULL: none is alike */
	unsigned distance;
};

/* Takes NAME if it is nearer to the word than those before: by how many letters have to be
 * inserted, removed, replaced or exchanged with their neighbours; at most two, and a third of the
 * word. */
void suggestion_offer(struct suggestion *suggestion, const char *name);

#endif
