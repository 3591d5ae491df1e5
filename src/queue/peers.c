// SPDX-License-Identifier: ISC
#include "queue/peers.h"
#include "mail/package.h"
#include "os/file/file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define PEERS "peers"
#define RUN   ":run."

struct peers_listing {
	int (*each)(void *context, struct str node); /* NULL: only runs are looked at */
	void *context;
	uint64_t highest; /* run */
};

static int on_name_in_peers(void *context, const char *name)
{
	struct peers_listing *listing = context;
	struct str text = str_from(name);
	uint64_t run;

	if (str_starts_with(text, STR(RUN))) {
		if (str_to_u64(str_skip(text, sizeof RUN - 1), &run) && run > listing->highest)
			listing->highest = run;
		return 0;
	}
	if (listing->each == NULL || !mail_node_is_valid(text))
		return 0;
	return listing->each(listing->context, text);
}

int queue_peers_each(const struct queue_store *store, int (*each)(void *context, struct str node),
		     void *context)
{
	struct peers_listing listing = {.each = each, .context = context};

	return os_file_list(queue_store_directory(store), PEERS, on_name_in_peers, &listing);
}

/* Makes an empty file and its name durable; one that is there may not be. */
static int make_durable_name(const struct queue_store *store, const char *path)
{
	int directory = queue_store_directory(store);
	int file = os_file_open(directory, path, OS_FILE_WRITE | OS_FILE_CREATE);

	if (file < 0 && file != -EEXIST)
		return file;
	os_file_close(file);
	return os_file_sync_directory(directory, PEERS);
}

static int remove_name(const struct queue_store *store, const char *path)
{
	int error = os_file_unlink(queue_store_directory(store), path);

	return error == -ENOENT ? 0 : error;
}

int queue_peers_add(const struct queue_store *store, struct str node)
{
	char path[QUEUE_PATH_SIZE];

	if (!mail_node_is_valid(node))
		return -EINVAL;
	snprintf(path, sizeof path, PEERS "/" STR_FORMAT, STR_ARGUMENTS(node));
	return make_durable_name(store, path);
}

int queue_peers_remove(const struct queue_store *store, struct str node)
{
	char path[QUEUE_PATH_SIZE];

	if (!mail_node_is_valid(node))
		return -EINVAL;
	snprintf(path, sizeof path, PEERS "/" STR_FORMAT, STR_ARGUMENTS(node));
	return remove_name(store, path);
}

int queue_peers_begin_run(const struct queue_store *store, uint64_t *run_out)
{
	struct peers_listing listing = {0};
	char path[QUEUE_PATH_SIZE];
	int error = os_file_list(queue_store_directory(store), PEERS, on_name_in_peers, &listing);

	if (error < 0)
		return error;
	*run_out = listing.highest + 1;
	snprintf(path, sizeof path, PEERS "/" RUN "%" PRIu64, *run_out);
	error = make_durable_name(store, path);
	if (error < 0 || listing.highest == 0)
		return error;
	snprintf(path, sizeof path, PEERS "/" RUN "%" PRIu64, listing.highest);
	return remove_name(store, path);
}
