// SPDX-License-Identifier: ISC
/*
 * tests/unit/command/rights/rights_found.h - what is found of the scene's node, as text.
 */
#ifndef TESTS_UNIT_RIGHTS_FOUND_H
#define TESTS_UNIT_RIGHTS_FOUND_H

#include "base/buffer.h"
#include "supervisor/user.h"
#include <sys/types.h>

/* A finding, and of which programs. */
struct rights_found_group {
	char text[300];
	char names[400];
};

/* What is the same is found of several. */
struct rights_found {
	struct rights_found_group list[80];
	size_t count;
};

/* Adds what is found of the process ABOUT, or of all if that is 0. USERS: as rights_check() has
 * them. */
void rights_found_add(struct rights_found *groups, const struct program_users *users, pid_t about);
/* Appends HEAD and what was found; "@" is the scene's folder. */
void rights_found_print(const char *head, const struct rights_found *groups, struct buffer *out);
/* Fails unless the file at PATH says just what was FOUND; with WRITE in the environment it does
 * then. */
void rights_found_compare(const char *path, struct str found);

#endif
