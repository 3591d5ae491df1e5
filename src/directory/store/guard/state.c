// SPDX-License-Identifier: ISC
/* What a guarded store shows of its inner one, and its end. */
#include "directory/store/guard/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void guard_mirror(struct guard *guard)
{
	const struct directory_store *inner = guard->inner;

	if (guard->seen.epoch == 0 || inner->identity[0] == '\0')
		memcpy(guard->base.identity, inner->identity, sizeof guard->base.identity);
	else
		snprintf(guard->base.identity, sizeof guard->base.identity, "%.50s.%u",
			 inner->identity, (unsigned)guard->seen.epoch);
	guard->base.version = inner->version;
	guard->base.fresh_us = inner->fresh_us;
	guard->base.until_us = inner->until_us;
	guard->base.read_version = inner->read_version;
	guard->base.lost_us = inner->lost_us;
	guard->base.servers = inner->servers;
	guard->base.server_count = inner->server_count;
	guard->base.change_max = inner->change_max;
}

bool guard_is_certain(const struct guard *guard)
{
	return guard->seen.count == 0 || (guard->was_counted && !guard->is_counting);
}

void guard_free_now(struct guard *guard)
{
	while (guard->unused != NULL) {
		struct guard_get *get = guard->unused;

		guard->unused = get->next;
		free(get);
	}
	free(guard->place);
	free(guard);
}

void guard_answered(struct guard *guard)
{
	guard->under_way--;
	if (guard->is_freed && guard->under_way == 0)
		guard_free_now(guard);
}
