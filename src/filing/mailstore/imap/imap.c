// SPDX-License-Identifier: ISC
#include "filing/mailstore/imap.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/mailstore/imap/internal.h"
#include <stdlib.h>

/* The kernel still sends what a process wrote before it died, for two minutes (tcp_orphan_retries)
 * and more if the network is slow, and then the server takes its time. */
#define LAST_WORDS_US (5 * MINUTE_US)

static void free_imap_store(struct mailstore *mailstore)
{
	struct imap_store *store = (struct imap_store *)mailstore;
	struct imap_settings *settings = &store->settings;

	for (size_t i = 0; i < IMAP_CONNECTIONS; i++)
		imap_connection_close(store->connections[i]);
	explicit_bzero(settings->password, strlen(settings->password));
	free(settings->host);
	free(settings->address);
	free(settings->authorities);
	free(settings->login);
	free(settings->password);
	free(settings->prefix);
	free(store);
	curl_global_cleanup();
}

/* A server cannot be told to forget what it was sent: append_max_us. */
static int fence_imap_place(struct mailstore *store, const struct mailstore_location *location)
{
	(void)store;
	(void)location;
	return 0;
}

struct mailstore *mailstore_imap_new(const struct mailstore_imap_settings *settings)
{
	static const struct mailstore_operations operations = {
		.append = imap_append_all,
		.fence = fence_imap_place,
		.find = imap_find,
		.remove = imap_remove,
		.free = free_imap_store,
	};
	struct imap_store *store = memory_alloc_zero(1, sizeof *store);

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		panic("libcurl cannot be used");
	store->store.operations = &operations;
	store->settings = (struct imap_settings){
		.host = memory_copy_string(settings->host),
		.address = memory_copy_string(settings->address),
		.authorities = memory_copy_string(settings->authorities),
		.login = memory_copy_string(settings->login),
		.password = memory_copy_string(settings->password),
		.prefix = memory_copy_string(settings->prefix),
		.port = settings->port,
		.tls = settings->tls,
		.timeout_us = (int64_t)settings->timeout_s * SECOND_US,
	};
	store->store.append_max_us = store->settings.timeout_us + LAST_WORDS_US;
	return &store->store;
}
