// SPDX-License-Identifier: ISC
/*
 * world/streams.h - stdio's standard streams, of whichever process runs: what commands print.
 */
#ifndef WORLD_STREAMS_H
#define WORLD_STREAMS_H

/* Once, before the first process runs. */
void streams_begin(void);

#endif
