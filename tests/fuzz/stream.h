// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/stream.h - a fuzzer's bytes as what comes over a connection of the directory
 * (directory/wire/transport.h). What is said there is taken and forgotten.
 */
#ifndef TESTS_FUZZ_STREAM_H
#define TESTS_FUZZ_STREAM_H

#include "directory/wire/transport.h"
#include "input.h"

/* Must outlive the connection; it can always be read from, also at its end. */
struct stream {
	struct str input; /* what has not come yet */
	size_t step;      /* so many bytes at once, at most */
	int descriptor;
};

/* All that is left of INPUT; CHOICE, a byte, says how much of it comes at once. */
void stream_open(struct stream *stream, const struct input *input, unsigned choice);
void stream_close(struct stream *stream);

/* Operations of a transport whose state is a struct stream, or begins with one. */
ssize_t stream_read(void *state, void *data, size_t size);
unsigned stream_wants(void *state, bool has_output);

#endif
