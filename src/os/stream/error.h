// SPDX-License-Identifier: ISC
/*
 * os/stream/error.h - standard error, whose reader may be slow or gone.
 *
 * A log that nobody reads must not stop the mail: nothing here waits longer
 * than it is told, and a broken pipe raises no signal.
 */
#ifndef OS_STREAM_ERROR_H
#define OS_STREAM_ERROR_H

#include "base/attributes.h"
#include "base/str.h"
#include <sys/types.h>

/* Finds out what kind of file standard error is. */
void os_error_stream_open(void);
/* Writes some of LINES, which are whole lines: returns the number of bytes. -EAGAIN: the reader
 * makes no room within WAIT_MS milliseconds; -EINTR; another -errno: nothing can be written any
 * more. */
MUST_CHECK ssize_t os_error_stream_write(struct str lines, int wait_ms);
/* Whether it is a stream of the journal, by JOURNAL_STREAM (sd-daemon(3)). */
bool os_error_stream_is_journal(void);

#endif
