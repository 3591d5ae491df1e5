// SPDX-License-Identifier: ISC
/* How much may wait where: what is free outside of it (wait/share.h). */
#include "manager/turn/internal.h"

size_t room_in_transport(const struct transport *transport)
{
	enum { MOST = SHARE_UNITS / 2 };
	size_t own = transport->units < MOST ? MOST - transport->units : 0;
	size_t free = share_free(transport->transports->share);

	return own < free ? own : free;
}

size_t room_in_destination(const struct destination *destination)
{
	size_t free = room_in_transport(destination->transport);

	return free > destination->units ? free - destination->units : 0;
}
