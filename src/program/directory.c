// SPDX-License-Identifier: ISC
/* directory - serves the address directory from an SQLite file or from other servers. */
#include "program/kind/directory.h"
#include "directory/store/relay/relay.h"
#include "directory/store/sqlite/sqlite.h"

static int open_sqlite_or_relay_store(struct child *child, const struct peer_network *network,
				      struct directory_store **store_out, struct buffer *why)
{
	const struct config_directory *config = &child->config->directory;
	struct store_guard_memory seen;

	if (config->backend != CONFIG_BACKEND_SERVERS) {
		int error = directory_process_guard(child, config->path, &seen, why);

		if (error < 0)
			return error;
		return store_sqlite_open_followed(child->loop, config->path, seen.count > 0,
						  store_out, why);
	}
	*store_out = store_relay_new(child->loop, config->servers, config->server_count,
				     peer_network_dialer(network));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct directory_backend backend = {"directory", NULL,
							 open_sqlite_or_relay_store};

	return directory_process_main(argc, argv, &backend);
}
