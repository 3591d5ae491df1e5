// SPDX-License-Identifier: ISC
/*
 * os/terminal.h - what people type.
 */
#ifndef OS_TERMINAL_H
#define OS_TERMINAL_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Asks PROMPT at the terminal of this process and appends the line that is typed, which is
 * not shown, without its end: 0; -ENOTTY when there is no terminal; -EINTR when it was broken
 * off (the terminal shows again what is typed); -EMSGSIZE over MAX bytes. */
MUST_CHECK int os_terminal_ask_secret(const char *prompt, size_t max, struct buffer *out);

#endif
