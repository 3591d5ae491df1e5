// SPDX-License-Identifier: ISC
#include "directory/store/postgresql/postgresql.h"
#include "base/panic.h"
#include "directory/store/postgresql/internal.h"
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

static void free_postgresql_store(struct directory_store *base)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);

	postgresql_writer_stop(store);
	postgresql_reader_stop(store);
	postgresql_databases_clear(&store->databases);
	free(store);
}

/* Starts over as if nothing had been seen; no data have the identity "-", so that everything
 * reported so far becomes invalid. */
static void accept_any(struct directory_store *base)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);

	snprintf(base->identity, sizeof base->identity, "-");
	base->version = 0;
	store->reader.is_older = false;
	postgresql_link_refuse(store->reader.link, "begun again, by command");
	postgresql_link_hurry(store->reader.link);
	postgresql_link_hurry(store->writer.link);
}

static const char *followed_postgresql_server(struct directory_store *base)
{
	const struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);

	return store->reader.is_ready ? postgresql_link_label(store->reader.link) : NULL;
}

static const char *reason_postgresql_is_held(struct directory_store *base)
{
	const struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);

	if (base->is_up)
		return NULL;
	if (store->reader.is_older && base->is_known)
		return POSTGRESQL_OLDER;
	return store->reader.setup.missed != NULL ? store->reader.setup.missed
						  : store->writer.setup.missed;
}

static void name_servers(struct postgresql_store *store)
{
	const struct postgresql_databases *databases = &store->databases;
	const char **names = arena_alloc(databases->arena, databases->count * sizeof *names);

	for (size_t i = 0; i < databases->count; i++)
		names[i] = databases->list[i].label;
	store->base.servers = names;
	store->base.server_count = databases->count;
}

int store_postgresql_new(struct os_loop *loop, const char *const *databases, size_t count,
			 struct directory_store **store_out)
{
	static const struct directory_store_operations operations = {
		.get = postgresql_get,
		.list = postgresql_list,
		.change = postgresql_change,
		.missed = postgresql_missed,
		.free = free_postgresql_store,
		.count = postgresql_count,
		.accept = accept_any,
		.followed = followed_postgresql_server,
		.held = reason_postgresql_is_held,
	};
	struct postgresql_store *store = memory_alloc_zero(1, sizeof *store);
	int error = postgresql_databases_parse(loop, databases, count, &store->databases);

	if (error < 0) {
		free(store);
		return error;
	}
	/* OpenSSL reads its files now, as a sandbox may forbid that later */
	(void)OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL);
	store->base.operations = &operations;
	name_servers(store);
	store->ttl_us = INT64_MAX;
	store->loop = loop;
	for (unsigned table = DIRECTORY_NO_TABLE + 1; table < DIRECTORY_LISTED_TABLES; table++)
		store->schemas[table] = directory_schema_of(table);
	postgresql_reader_start(store);
	postgresql_writer_start(store);
	*store_out = &store->base;
	return 0;
}

void store_postgresql_set_ttl(struct directory_store *base, int64_t ttl_us)
{
	CONTAINER_OF(base, struct postgresql_store, base)->ttl_us = ttl_us;
}
