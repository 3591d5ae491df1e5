// SPDX-License-Identifier: ISC
/* unit/frame/frame.h - what a test says to the frame around it (frame.c). */
#ifndef UNIT_FRAME_FRAME_H
#define UNIT_FRAME_FRAME_H

/* This test leaves what the product keeps for the life of a process, as it says in a header. It
 * still fails if it leaves nothing. */
void frame_leaves_for_life(void);

#endif
