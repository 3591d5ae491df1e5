// SPDX-License-Identifier: ISC
/* directory-postgresql - serves the address directory from PostgreSQL. */
#include "directory/store/postgresql/postgresql.h"
#include "os/process/process.h"
#include "program/kind/directory.h"

/* libpq allocates memory for whatever length of a message a server announces, and reads all of it;
 * if the allocation fails, it closes the connection. */
#define MEMORY_MAX (UINT64_C(512) << 20)

static struct directory_store *store;

/* Reads the system's files for name look-ups once, as connections are made later. */
static int make_postgresql_store(struct child *child)
{
	const struct config_directory *config = &child->config->directory;

	int error;

	os_process_limit_memory(MEMORY_MAX);
	error = store_postgresql_new(child->loop, config->database, config->database_count, &store);
	if (error == 0)
		store_postgresql_set_ttl(store, config->ttl_us);
	return error;
}

static int open_postgresql_store(struct child *child, const struct peer_network *network,
				 struct directory_store **store_out, struct buffer *why)
{
	const struct config_directory *config = &child->config->directory;
	struct store_guard_memory seen;
	struct buffer place = {0};
	int error;

	(void)network;
	/* databases that replicate each other are one store; another list is another store */
	for (size_t i = 0; i < config->database_count; i++)
		buffer_append_format(&place, "%s\n", config->database[i]);
	buffer_append_byte(&place, '\0');
	error = directory_process_guard(child, buffer_data(&place), &seen, why);
	buffer_clear(&place);
	if (error < 0)
		store->operations->free(store);
	else
		*store_out = store;
	return error;
}

int main(int argc, char **argv)
{
	static const struct directory_backend backend = {
		"directory-postgresql", make_postgresql_store, open_postgresql_store};

	return directory_process_main(argc, argv, &backend);
}
