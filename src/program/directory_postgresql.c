// SPDX-License-Identifier: ISC
/* directory-postgresql - the address directory in PostgreSQL. */
#include "program/directory_process.h"
#include "store/postgresql.h"

static int start(struct child *child, const struct directory_network *network,
		 struct directory_store **store_out, struct buffer *why)
{
	const struct config_directory *config = &child->config->directory;
	int error = store_postgresql_new(child->loop, config->database, config->database_count,
					 store_out);

	(void)network;
	if (error < 0)
		buffer_append_string(why, "a connection string of setting database is malformed");
	return error;
}

int main(int argc, char **argv)
{
	static const struct directory_backend backend = {"directory-postgresql", NULL, start};

	return directory_process_main(argc, argv, &backend);
}
