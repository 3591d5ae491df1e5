// SPDX-License-Identifier: ISC
/*
 * world/inside.h - what the part of os/ that is linked into the product asks the kernel for.
 */
#ifndef WORLD_INSIDE_H
#define WORLD_INSIDE_H

#include <stdint.h>
#include <sys/types.h>

/* The text that DESCRIPTOR leads to (os_process_share_text()), borrowed: its size or -EBADF. */
ssize_t world_text_read(int descriptor, const char **data_out);
/* The number of what DESCRIPTOR leads to, and its S_IF...: 0 or -EBADF. */
int world_description(int descriptor, uint64_t *number_out, mode_t *mode_out);
/* The running task sleeps for so long. */
void world_sleep_us(int64_t time_us);

#endif
