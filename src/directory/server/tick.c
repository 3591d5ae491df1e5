// SPDX-License-Identifier: ISC
/* The server's clock runs only while it has something to watch. */
#include "base/timestamp.h"
#include "directory/server/internal.h"

void server_tick_soon(struct directory_server *server)
{
	if (server->is_ticking)
		return;
	server->is_ticking = true;
	os_timer_start(server->tick, SERVER_TICK_US);
}
