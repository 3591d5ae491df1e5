// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/plain_expander.c - an expander (directory/expand/expand.h) for tests of what
 * is around it: an address that has a record becomes "local box ADDRESS", every other one is
 * refused.
 */
#include "base/panic.h"
#include "directory/expand/expand.h"
#include <stdlib.h>
#include <string.h>

struct directory_expander {
	struct directory_store *store;
};

struct asked {
	directory_expanded *expanded;
	void *context;
	struct str address;
	char memory[];
};

static void answer(const struct asked *asked, int error, bool exists, uint64_t version)
{
	struct str address = asked->address;
	const struct directory_route box = {
		.kind = DIRECTORY_ROUTE_LOCAL, .address = address, .service = STR("box")};
	const struct directory_route none = {.kind = DIRECTORY_ROUTE_REFUSE,
					     .address = address,
					     .status = STR("5.1.1"),
					     .text = STR("No such user here")};
	const struct directory_key on = {DIRECTORY_ADDRESS, address};
	const struct directory_expansion expansion = {
		exists ? &box : &none, 1, &on, 1, true, version};

	asked->expanded(asked->context, error, error == 0 ? &expansion : NULL);
}

static void got(void *context, int error, const struct directory_record *const *records,
		uint64_t version)
{
	struct asked *asked = context;

	answer(asked, error, error == 0 && records[0] != NULL, version);
	free(asked);
}

struct directory_expander *directory_expander_new(struct directory_store *store,
						  const struct config *config)
{
	struct directory_expander *expander = memory_alloc(sizeof *expander);

	(void)config;
	expander->store = store;
	return expander;
}

void directory_expander_configure(struct directory_expander *expander, const struct config *config)
{
	(void)expander;
	(void)config;
}

void directory_expand(struct directory_expander *expander, struct str address,
		      directory_expanded *expanded, void *context)
{
	struct asked *asked = memory_alloc(sizeof *asked + address.length);
	struct directory_key key = {DIRECTORY_ADDRESS, STR("")};

	asked->expanded = expanded;
	asked->context = context;
	memcpy(asked->memory, address.data, address.length);
	asked->address = str_slice(asked->memory, address.length);
	key.name = asked->address;
	if (expander->store != NULL) {
		expander->store->operations->get(expander->store, &key, 1, got, asked);
		return;
	}
	answer(asked, 0, true, 0);
	free(asked);
}

void directory_expander_changed(struct directory_expander *expander,
				const struct directory_key *key)
{
	(void)expander;
	(void)key;
}

void directory_expander_reset(struct directory_expander *expander)
{
	(void)expander;
}

void directory_expander_free(struct directory_expander *expander)
{
	free(expander);
}
