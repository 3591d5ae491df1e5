// SPDX-License-Identifier: ISC
/*
 * A list, portion by portion: the store is asked for the next one when the client has read the
 * last. A page of large records is tens of MiB, too much to hold for a client that does not read.
 * A record is as it was when its portion was read; a client sees the same from page to page.
 */
#include "base/panic.h"
#include "directory/server/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST = 8, /* records, as their size is still unknown */
	MOST = 200,
	GROWTH = 4,
	WANTED = SERVER_BACKLOG_MAX / 4, /* bytes of a portion */
};

void list_begin(struct question *question, struct str prefix, struct str after, size_t limit,
		directory_listed *listed)
{
	struct listing *listing = memory_alloc_zero(1, sizeof *listing + prefix.length);

	if (prefix.length > 0)
		memcpy(listing->memory, prefix.data, prefix.length);
	listing->prefix = str_slice(listing->memory, prefix.length);
	buffer_append_str(&listing->after, after);
	listing->left = limit;
	listing->listed = listed;
	listing->portion = FIRST;
	question->listing = listing;
	list_ask(question);
}

/* A store that answers at once may free QUESTION, and its texts, before this returns. */
void list_ask(struct question *question)
{
	struct directory_store *store = question->server->store;
	struct listing *listing = question->listing;
	struct buffer texts CLEANUP(buffer_clear) = {0};
	size_t prefix_length = listing->prefix.length;

	buffer_append_str(&texts, listing->prefix);
	buffer_append_str(&texts, buffer_view(&listing->after));
	listing->asked = listing->portion < listing->left ? listing->portion : listing->left;
	store->operations->list(store, question->table,
				str_slice(buffer_view(&texts).data, prefix_length),
				str_skip(buffer_view(&texts), prefix_length), listing->asked,
				listing->listed, question);
}

size_t list_portion(const struct question *question, size_t count)
{
	return count < question->listing->asked ? count : question->listing->asked;
}

static size_t next_portion(size_t count, size_t bytes)
{
	size_t fits = bytes > 0 ? count * WANTED / bytes : MOST;

	if (fits > count * GROWTH)
		fits = count * GROWTH;
	if (fits > MOST)
		fits = MOST;
	return fits > 0 ? fits : 1;
}

int list_take(struct question *question, const struct directory_record *records, size_t count,
	      size_t bytes, uint64_t *version)
{
	const char *identity = question->server->identity;
	struct listing *listing = question->listing;

	if (!listing->has_begun) {
		memcpy(listing->identity, identity, sizeof listing->identity);
		listing->version = *version;
		listing->has_begun = true;
	}
	if (strcmp(listing->identity, identity) != 0)
		return -ESTALE;
	*version = listing->version;
	listing->left -= count;
	if (count < listing->asked || listing->left == 0)
		return 1;
	listing->portion = next_portion(count, bytes);
	buffer_reset(&listing->after);
	buffer_append_str(&listing->after, records[count - 1].key.name);
	return 0;
}
