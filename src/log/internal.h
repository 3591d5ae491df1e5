// SPDX-License-Identifier: ISC
/*
 * log/internal.h - what the files of this folder share.
 */
#ifndef LOG_INTERNAL_H
#define LOG_INTERNAL_H

#include "log/event.h"
#include "log/line.h"

/* Reads one flat JSON object of text and numbers, as log/event.h writes it. */
bool log_line_parse_json(struct arena *arena, struct str text, struct log_line *line_out);

/* event.c: a line as it is, without its newline, beside our own; dropped, and counted as lost, when
 * there is no room. */
void log_append(enum log_level level, struct str line);

/* rate.c: says how many lines were withheld; IS_END: however short ago it was said. */
void log_rate_tell(bool is_end);

#endif
