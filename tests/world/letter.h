// SPDX-License-Identifier: ISC
/*
 * world/letter.h - what a message says: its number, for whom it is, and some lines that nobody on
 * its way may change.
 */
#ifndef WORLD_LETTER_H
#define WORLD_LETTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For SMTP, with CRLF and the final dot; the caller frees it. Returns its length. */
size_t letter_write(uint64_t number, const char *recipient, uint64_t lines, char **text_out);
/* Whether the body of TEXT, whose lines end with LF, is that of this letter. */
bool letter_is_whole(const char *text, uint64_t number, const char *recipient, uint64_t lines);
/* The number of the letter that TEXT is, or is a report about; UINT64_MAX: it does not say. */
uint64_t letter_number(const char *text);
/* A copy without CR, and with a NUL at its end. */
char *letter_without_returns(const char *text, size_t size);

#endif
