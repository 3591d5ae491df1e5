// SPDX-License-Identifier: ISC
#include "directory/expand/expand.h"
#include "base/panic.h"
#include "directory/expand/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

enum {
	SPARES_MAX = 64,
	ATTEMPTS_MAX = 10, /* while the data keep changing */
};

static bool key_equal(const struct directory_key *a, const struct directory_key *b)
{
	return a->table == b->table && str_equal(a->name, b->name);
}

bool expand_depends(const struct expansion *expansion, const struct directory_key *key)
{
	for (size_t i = 0; i < expansion->dependency_count && i < DIRECTORY_DEPENDENCIES_MAX; i++)
		if (key_equal(&expansion->dependencies[i], key))
			return true;
	return false;
}

static void add_dependency(struct expansion *expansion, const struct directory_key *key)
{
	if (expansion->dependency_count > DIRECTORY_DEPENDENCIES_MAX ||
	    expand_depends(expansion, key))
		return;
	if (expansion->dependency_count < DIRECTORY_DEPENDENCIES_MAX)
		expansion->dependencies[expansion->dependency_count] = *key;
	expansion->dependency_count++;
}

/* Records that some of the data were read at VERSION, and are of READ_VERSION. */
static void note_version(struct expansion *expansion, uint64_t version, uint64_t read_version)
{
	if (expansion->version != UINT64_MAX && read_version != expansion->read_version)
		expansion->is_mixed = true;
	if (version < expansion->version)
		expansion->version = version;
	expansion->read_version = read_version;
}

/* Whether KEY is one that is asked for often: a domain or its catch-all. */
static bool is_cached(const struct directory_store *store, const struct directory_key *key)
{
	return store->is_up && store->lost_us == 0 && store->until_us == 0 &&
	       (key->table == DIRECTORY_DOMAIN || key->name.data[0] == '@');
}

/* Continues with NODE as far as possible without the store. False: the store must be asked. */
static bool recall_record(struct expansion *expansion, struct expand_node *node)
{
	struct directory_expander *expander = expansion->expander;
	const struct directory_record *record = NULL;

	if (expander->store != NULL) {
		/* on a retry, a cached entry may have been the wrong one */
		if (expansion->attempts > 0 || !is_cached(expander->store, &node->key) ||
		    !expand_cache_find(expander->cache, &node->key, &record))
			return false;
		note_version(expansion, expander->store->version, expander->store->version);
	}
	expand_node_take(expansion, node, record);
	return true;
}

static void continue_expanded_node(struct expansion *expansion, struct expand_node *node)
{
	while (node->wish != EXPAND_DONE) {
		if (node->wish == EXPAND_WANTS_DOMAIN && expand_node_configure(expansion, node))
			continue;
		expand_node_wish(expansion, node);
		if (expansion->expander->store != NULL)
			add_dependency(expansion, &node->key);
		if (!recall_record(expansion, node)) {
			expand_queue_append(&expansion->pending, node);
			return;
		}
	}
}

/* Continues with NODE, and with what it leads to, as far as the cache allows. */
static void go_on_from(struct expansion *expansion, struct expand_node *node)
{
	continue_expanded_node(expansion, node);
	while (expansion->fresh.first != NULL)
		continue_expanded_node(expansion, expand_queue_take(&expansion->fresh));
}

static void begin_expansion(struct expansion *expansion)
{
	HASH_CLEAR(hh, expansion->nodes);
	expand_queue_empty(&expansion->pending);
	expand_queue_empty(&expansion->asked);
	expand_queue_empty(&expansion->fresh);
	expansion->is_stale = false;
	expansion->is_too_big = false;
	expansion->is_kept = true;
	expansion->is_mixed = false;
	expansion->version = UINT64_MAX;
	expansion->dependency_count = 0;
	expansion->node_count = 1;
	expansion->root = expand_node_root(expansion, expansion->address);
	go_on_from(expansion, expansion->root);
}

static void take_records_of_nodes(struct expansion *expansion,
				  const struct directory_record *const *records)
{
	struct directory_expander *expander = expansion->expander;

	for (; expansion->asked.first != NULL; records++) {
		struct expand_node *node = expand_queue_take(&expansion->asked);

		if (is_cached(expander->store, &node->key))
			expand_cache_keep(expander->cache, &node->key, *records);
		expand_node_take(expansion, node, *records);
		go_on_from(expansion, node);
	}
}

static void run_expansion(struct expansion *expansion);

static void on_records_of_nodes(void *context, int error,
				const struct directory_record *const *records, uint64_t version)
{
	struct expansion *expansion = context;
	const struct directory_store *store = expansion->expander->store;

	expansion->is_waiting = false;
	if (error < 0) {
		expansion->error = error;
	} else if (expansion->is_stale) {
		begin_expansion(expansion);
	} else {
		note_version(expansion, version,
			     store->read_version != 0 ? store->read_version : version);
		take_records_of_nodes(expansion, records);
	}
	run_expansion(expansion);
}

/* Asks for the records of pending nodes, as many as fit into one question. */
static void ask_for_pending_records(struct expansion *expansion)
{
	struct directory_store *store = expansion->expander->store;
	struct directory_key one;
	struct directory_key *keys = &one;
	size_t count = 0;

	for (const struct expand_node *node = expansion->pending.first; node != NULL;
	     node = node->next)
		count++;
	if (count > DIRECTORY_BATCH_MAX)
		count = DIRECTORY_BATCH_MAX;
	if (count > 1)
		keys = arena_alloc(expansion->arena, count * sizeof *keys);
	for (size_t i = 0; i < count; i++) {
		struct expand_node *node = expand_queue_take(&expansion->pending);

		keys[i] = node->key;
		expand_queue_append(&expansion->asked, node);
	}
	expansion->is_waiting = true;
	store->operations->get(store, keys, count, on_records_of_nodes, expansion);
}

void expand_free(struct expansion *expansion)
{
	arena_free(expansion->arena);
	buffer_clear(&expansion->scratch);
	free(expansion);
}

static void recycle_expansion(struct expansion *expansion)
{
	struct directory_expander *expander = expansion->expander;

	HASH_CLEAR(hh, expansion->nodes);
	if (expander->spare_count == SPARES_MAX) {
		expand_free(expansion);
		return;
	}
	arena_reset(expansion->arena);
	expansion->next = expander->spare;
	expander->spare = expansion;
	expander->spare_count++;
}

/* Data read partly before and partly after a change may refuse an address that existed before and
 * exists after it, as when an alias and its target are renamed in one transaction. */
static bool is_doubtful_refusal(const struct expansion *expansion)
{
	bool is_refused = false;

	for (size_t i = 0; i < expansion->route_count; i++)
		is_refused |= expansion->routes[i].kind == DIRECTORY_ROUTE_REFUSE;
	return is_refused && expansion->is_mixed;
}

/* Whether data of the store refuse it that may be outdated, as the link is lost. */
static bool is_refused_by_outdated_data(const struct expansion *expansion)
{
	const struct directory_store *store = expansion->expander->store;

	if (store == NULL || store->lost_us == 0 || expansion->dependency_count == 0)
		return false;
	for (size_t i = 0; i < expansion->route_count; i++)
		if (directory_route_is_negative(&expansion->routes[i]))
			return true;
	return false;
}

/* True: there are routes, or an error. */
static bool conclude_expansion(struct expansion *expansion)
{
	if (expansion->error < 0)
		return true;
	expand_walk(expansion);
	if (is_refused_by_outdated_data(expansion))
		expansion->error = -ENOTCONN;
	if (expansion->error < 0 || !is_doubtful_refusal(expansion))
		return true;
	if (++expansion->attempts == ATTEMPTS_MAX) {
		expansion->error = -ETIMEDOUT;
		return true;
	}
	begin_expansion(expansion);
	return false;
}

static void finish_address_expansion(struct expansion *expansion)
{
	struct directory_expander *expander = expansion->expander;
	struct directory_expansion result = {0};

	DL_DELETE(expander->under_way, expansion);
	if (expansion->error == 0) {
		if (expansion->version == UINT64_MAX)
			expansion->version = expander->store != NULL ? expander->store->version : 0;
		result = (struct directory_expansion){.routes = expansion->routes,
						      .count = expansion->route_count,
						      .dependencies = expansion->dependencies,
						      .may_keep = expansion->is_kept,
						      .version = expansion->version};
		if (expansion->dependency_count <= DIRECTORY_DEPENDENCIES_MAX)
			result.dependency_count = expansion->dependency_count;
	}
	expansion->expanded(expansion->context, expansion->error,
			    expansion->error == 0 ? &result : NULL);
	recycle_expansion(expansion);
}

static void run_expansion(struct expansion *expansion)
{
	if (expansion->is_running)
		return;
	expansion->is_running = true;
	do {
		while (!expansion->is_waiting && expansion->error == 0 && !expansion->is_too_big &&
		       expansion->pending.first != NULL)
			ask_for_pending_records(expansion);
	} while (!expansion->is_waiting && !conclude_expansion(expansion));
	expansion->is_running = false;
	if (!expansion->is_waiting)
		finish_address_expansion(expansion);
}

static struct expansion *take_spare(struct directory_expander *expander)
{
	struct expansion *expansion = expander->spare;

	if (expansion == NULL) {
		expansion = memory_alloc_zero(1, sizeof *expansion);
		expansion->arena = arena_new();
		expansion->expander = expander;
		return expansion;
	}
	expander->spare = expansion->next;
	expander->spare_count--;
	return expansion;
}

void directory_expand(struct directory_expander *expander, struct str address,
		      directory_expanded *expanded, void *context)
{
	struct expansion *expansion = take_spare(expander);

	expansion->expanded = expanded;
	expansion->context = context;
	expansion->address = arena_copy_str(expansion->arena, address);
	expansion->error = 0;
	expansion->attempts = 0;
	expansion->is_waiting = false;
	DL_APPEND(expander->under_way, expansion);
	begin_expansion(expansion);
	run_expansion(expansion);
}
