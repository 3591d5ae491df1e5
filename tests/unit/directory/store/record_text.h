// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/record_text.h - records as tests write them:
 * "TABLE KEY|NAME VALUE|NAME VALUE". */
#ifndef TESTS_UNIT_RECORD_TEXT_H
#define TESTS_UNIT_RECORD_TEXT_H

#include "directory/record/record.h"

/* Views into TEXT, unchecked; the fields in memory of ARENA. */
struct directory_record record_of_text(struct arena *arena, const char *text);
void record_append_text(struct buffer *out, const struct directory_record *record);

#endif
