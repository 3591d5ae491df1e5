// SPDX-License-Identifier: ISC
#include "deliver/shape/room.h"
#include "base/timestamp.h"

bool shape_room_less(struct shape_room *room, uint32_t others, int64_t now_us)
{
	bool is_less = room->most == 0 || others < room->most;

	if (room->most == 0)
		room->free_from = 2 * others;
	if (is_less)
		room->most = others;
	room->stepped_us = now_us;
	return is_less;
}

bool shape_room_recover(struct shape_room *room, int64_t now_us)
{
	while (room->most > 0 && now_us - room->stepped_us >= MINUTE_US) {
		room->stepped_us += MINUTE_US;
		room->most += room->most > 1 ? room->most / 2 : 1;
		if (room->most >= room->free_from) {
			room->most = 0;
			return true;
		}
	}
	return false;
}
