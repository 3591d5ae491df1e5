// SPDX-License-Identifier: ISC
/* The expander: what it is notified of, and the effect on expansions under way. */
#include "base/panic.h"
#include "directory/expand/internal.h"
#include <stdlib.h>
#include <utlist.h>

struct directory_expander *directory_expander_new(struct directory_store *store,
						  const struct config *config)
{
	struct directory_expander *expander = memory_alloc_zero(1, sizeof *expander);

	expander->store = store;
	expander->config = config;
	expander->cache = expand_cache_new();
	return expander;
}

void directory_expander_configure(struct directory_expander *expander, const struct config *config)
{
	struct expansion *expansion;

	expander->config = config;
	DL_FOREACH (expander->under_way, expansion)
		expansion->is_stale = true;
}

void directory_expander_changed(struct directory_expander *expander,
				const struct directory_key *key)
{
	struct expansion *expansion;

	expand_cache_forget(expander->cache, key);
	DL_FOREACH (expander->under_way, expansion) {
		if (expansion->is_kept && expand_depends(expansion, key)) {
			expansion->is_kept = false;
			expansion->is_mixed = true;
		}
	}
}

void directory_expander_reset(struct directory_expander *expander)
{
	struct expansion *expansion;

	expand_cache_empty(expander->cache);
	DL_FOREACH (expander->under_way, expansion)
		expansion->is_kept = false;
}

void directory_expander_free(struct directory_expander *expander)
{
	if (expander->under_way != NULL)
		panic("an expander is freed with something under way");
	while (expander->spare != NULL) {
		struct expansion *expansion = expander->spare;

		expander->spare = expansion->next;
		expand_free(expansion);
	}
	expand_cache_free(expander->cache);
	free(expander);
}
