// SPDX-License-Identifier: ISC
/*
 * log/line.h - parsing a line written by log/event.h.
 */
#ifndef LOG_LINE_H
#define LOG_LINE_H

#include "base/arena.h"

enum { LOG_LINE_FIELDS_MAX = 32 };

struct log_pair {
	struct str key;
	struct str value; /* unescaped */
	bool is_number;   /* it was written as a number */
};

struct log_line {
	struct log_pair pairs[LOG_LINE_FIELDS_MAX];
	size_t count;
};

/* Parses TEXT, a line without its newline; anything before "time=" (a collector's own timestamp)
 * is skipped. False when it is not a line of ours. The values are in ARENA or point into TEXT. */
bool log_line_parse(struct arena *arena, struct str text, struct log_line *line_out);
/* The value of the first field with KEY; empty when there is none. */
struct str log_line_get(const struct log_line *line, const char *key);

#endif
