// SPDX-License-Identifier: ISC
/* What is left of a node that is to go. */
#include "os/file/file.h"
#include "queue/handed.h"
#include "queue/listing/listing.h"
#include "queue/peers.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct left_packages {
	const struct queue_store *store;
	uint64_t count;
};

static int count_package(void *context, const char *name)
{
	uint64_t *count = context;

	*count += strncmp(name, "run.", 4) != 0;
	return 0;
}

static int count_packages_of_node(void *context, const char *name)
{
	struct left_packages *left = context;
	char path[QUEUE_PATH_SIZE];
	int result;

	if (!mail_node_is_valid(str_from(name)))
		return 0;
	snprintf(path, sizeof path, QUEUE_HANDED_FOLDER "/%s", name);
	result =
		os_file_list(queue_store_directory(left->store), path, count_package, &left->count);
	return result == -ENOTDIR || result == -ENOENT ? 0 : result;
}

static int count_peer(void *context, struct str node)
{
	uint64_t *count = context;

	(void)node;
	(*count)++;
	return 0;
}

int listing_count_left(struct queue_store *store, struct listing_left *left_out)
{
	struct left_packages packages = {.store = store};
	struct listing_left left = {.messages = 0};
	int result = listing_count_messages(store, &left.messages);

	if (result == 0)
		result = os_file_list(queue_store_directory(store), QUEUE_HANDED_FOLDER,
				      count_packages_of_node, &packages);
	if (result == -ENOENT) /* of an earlier version */
		result = 0;
	if (result == 0)
		result = queue_peers_each(store, count_peer, &left.peers);
	if (result == -ENOENT)
		result = 0;
	left.packages = packages.count;
	if (result == 0)
		*left_out = left;
	return result;
}
