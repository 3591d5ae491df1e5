// SPDX-License-Identifier: ISC
/*
 * tests/unit/mailbox/mbox_disk.h - the calls of a delivery to an mbox file, on their way to the
 * disk (the linker's --wrap): one fails, or the process dies at one, or they are written down.
 */
#ifndef TESTS_UNIT_MAILBOX_MBOX_DISK_H
#define TESTS_UNIT_MAILBOX_MBOX_DISK_H

#include "base/buffer.h"
#include <stdbool.h>
#include <stddef.h>

/* From now on all calls are made, and the list of calls is empty. */
void mbox_disk_reset(void);
/* The CALLth call (1 is the next) does nothing, or writes half, and returns ERROR. */
void mbox_disk_fail(size_t call, int error);
/* As if the process died there: so do all calls after it. */
void mbox_disk_die(size_t call);
/* Whether that call was reached. */
bool mbox_disk_is_reached(void);
/* What changed the disk or made something durable, a word each: "write:NAME sync:NAME". */
const char *mbox_disk_calls(void);

#endif
