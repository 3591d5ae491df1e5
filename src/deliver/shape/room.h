// SPDX-License-Identifier: ISC
/*
 * deliver/shape/room.h - how many connections a server gets that has refused one because it has too
 * many. Pure; times are monotonic.
 *
 *   state     event                        becomes
 *   FREE      it refuses one               NARROW: as many as it has besides, at least one
 *   NARROW    it refuses one               as many as it has besides, if that is less
 *   NARROW    a minute without a refusal   half as many again; FREE from twice of what it had when
 *                                          it first refused one
 */
#ifndef DELIVER_SHAPE_ROOM_H
#define DELIVER_SHAPE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Zeros: FREE. */
struct shape_room {
	uint32_t most; /* connections; 0: FREE */
	uint32_t free_from;
	int64_t stepped_us; /* when MOST was set */
};

/* It has refused a connection besides OTHERS, more than 0. Whether it gets fewer than before. */
bool shape_room_less(struct shape_room *room, uint32_t others, int64_t now_us);
/* Recovers as far as it is time for. Whether it has become FREE. */
bool shape_room_recover(struct shape_room *room, int64_t now_us);

#endif
