// SPDX-License-Identifier: ISC
/*
 * os/stream/terminal.h - input from a person.
 */
#ifndef OS_STREAM_TERMINAL_H
#define OS_STREAM_TERMINAL_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Prints PROMPT at the process's terminal, and appends the line that is typed, without echo and
 * without its end: 0; -ENOTTY: there is no terminal; -EINTR: the user has interrupted it (the echo
 * is restored); -EMSGSIZE: over MAX bytes. */
MUST_CHECK int os_terminal_ask_secret(const char *prompt, size_t max, struct buffer *out);

/* Whether DESCRIPTOR is a terminal, before which somebody may sit. */
bool os_terminal_is(int descriptor);

#endif
