// SPDX-License-Identifier: ISC
/* directory-postgresql - the address directory in PostgreSQL. */
#include "os/process.h"
#include "program/directory_process.h"
#include "store/postgresql/postgresql.h"

/* libpq makes room for a message of whatever length a server names, and reads all of it in one
 * go; where there is no room, it gives the connection up. */
#define MEMORY_MAX (UINT64_C(512) << 20)

static struct directory_store *store;

/* The system's files about names are read here, once; it connects later. */
static int open_store(struct child *child)
{
	const struct config_directory *config = &child->config->directory;

	int error;

	os_process_limit_memory(MEMORY_MAX);
	error = store_postgresql_new(child->loop, config->database, config->database_count, &store);
	if (error == 0)
		store_postgresql_set_ttl(store, config->ttl_us);
	return error;
}

static int start(struct child *child, const struct directory_network *network,
		 struct directory_store **store_out, struct buffer *why)
{
	const struct config_directory *config = &child->config->directory;
	struct store_guard_memory seen;
	struct buffer place = {0};

	(void)network;
	(void)why;
	/* several databases are one store: they replicate each other; others are another one */
	for (size_t i = 0; i < config->database_count; i++)
		buffer_append_format(&place, "%s\n", config->database[i]);
	buffer_append_byte(&place, '\0');
	directory_process_guard(child, buffer_data(&place), &seen);
	buffer_clear(&place);
	*store_out = store;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct directory_backend backend = {"directory-postgresql", open_store, start};

	return directory_process_main(argc, argv, &backend);
}
