// SPDX-License-Identifier: ISC
/* How much may wait in each place: as much as is free outside of it (wait/share.h). */
#include "manager/turn/internal.h"

size_t room_in_transport(const struct transport *transport)
{
	const struct share *share = transport->transports->share;
	size_t most = share->limit / 2;
	size_t own = transport->units < most ? most - transport->units : 0;
	size_t free = share_free(share);

	return own < free ? own : free;
}

size_t room_in_destination(const struct destination *destination)
{
	size_t free = room_in_transport(destination->transport);

	return free > destination->units ? free - destination->units : 0;
}
