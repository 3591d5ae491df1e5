// SPDX-License-Identifier: ISC
/*
 * tests/e2e/programs/store_lines.h - a store, driven by lines.
 *
 * A line of standard input is words between tabs; what came of it is a line that begins
 * with the same ID, sooner or later:
 *
 *   ID get TABLE KEY...            ID ERROR VERSION RECORD...   RECORD: "KEY|NAME VALUE|..." or "-"
 *   ID list TABLE PREFIX AFTER LIMIT   the same
 *   ID put TABLE RECORD...         ID ERROR VERSION yes|no...   existed
 *   ID edit TABLE VERSION RECORD   the same, if the record is unchanged since VERSION
 *   ID del TABLE KEY...            the same
 *   ID missed VERSION LIMIT        ID ERROR VERSION TABLE KEY...
 *   ID bench TABLE FORMAT KEYS SECONDS DEPTH
 *                                  ID gets a second, DEPTH at a time of keys FORMAT with a number
 *   ID state                       ID up|down IDENTITY VERSION, microseconds since it was fresh
 *
 * Lines that begin with "*" tell what the handler heard: "* up", "* down",
 * "* changed VERSION TABLE KEY", "* reset IDENTITY VERSION". The program ends at the end of input.
 */
#ifndef TESTS_E2E_STORE_LINES_H
#define TESTS_E2E_STORE_LINES_H

#include "directory/store/store.h"
#include "os/loop.h"

enum { STORE_LINES_WORDS_MAX = 2000 };

/* Until the end of input; frees STORE. OTHER, or NULL, takes lines that are none of those above:
 * whether it knows what WORDS[1] is. */
void store_lines_run(struct os_loop *loop, struct directory_store *store,
		     bool (*other)(const struct str *words, size_t count));
/* A number of a line; ends the program when it is none. */
uint64_t store_lines_number(struct str text);

#endif
