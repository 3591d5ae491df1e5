// SPDX-License-Identifier: ISC
/*
 * world/inside.h - what the part of os/ that is linked into the product asks the kernel for.
 */
#ifndef WORLD_INSIDE_H
#define WORLD_INSIDE_H

#include <sys/types.h>

/* The text that DESCRIPTOR leads to (os_process_share_text()), borrowed: its size or -EBADF. */
ssize_t world_text_read(int descriptor, const char **data_out);

#endif
