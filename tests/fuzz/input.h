// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/input.h - a fuzzer's bytes as the choices and texts of a target that
 * does more with them than to parse them; and what many targets ask of texts.
 */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include "base/buffer.h"
#include "common/line_ends.h"

struct input {
	struct str rest;
};

/* The next byte; 0 once there are none. */
unsigned input_byte(struct input *input);
/* Little-endian, of as many bytes. */
uint32_t input_u32(struct input *input);
/* A length byte, then that many bytes, or as many as there are: a view. 255 stands for
 * all that are left. */
struct str input_text(struct input *input);

/* Panics unless A and B are the same bytes; WHAT names them. */
void check_equal(struct str a, struct str b, const char *what);
/* Panics at a CR without LF or an LF without CR. */
void check_line_ends(struct str text);
/* Panics unless TEXT is lines that end in LF and hold nothing but printable ASCII. */
void check_printable_lines(struct str text);

/* MESSAGE as it arrives: its last line ended, and an empty line before a first one
 * that would continue our Received line. */
void append_arrived(struct buffer *out, struct str message);

#endif
