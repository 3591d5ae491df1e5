// SPDX-License-Identifier: ISC
/*
 * os/error_stream.h - standard error, as a place that may be slow, full or gone.
 *
 * A log that nobody reads must not stop the mail: nothing here waits for a
 * reader longer than it is told, and a broken pipe raises no signal.
 */
#ifndef OS_ERROR_STREAM_H
#define OS_ERROR_STREAM_H

#include "base/attributes.h"
#include "base/str.h"
#include <sys/types.h>

/* Looks at what standard error is. */
void os_error_stream_open(void);
/* Writes a first part of LINES, which are whole lines: how many bytes. -EAGAIN: a reader
 * has no room for more within WAIT_MS milliseconds; -EINTR; another -errno: it takes nothing any
 * more. */
MUST_CHECK ssize_t os_error_stream_write(struct str lines, int wait_ms);
/* Whether it is a stream of the journal: it says so in JOURNAL_STREAM (sd-daemon(3)). */
bool os_error_stream_is_journal(void);

#endif
