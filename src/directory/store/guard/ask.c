// SPDX-License-Identifier: ISC
/* Operations of a guarded store: passed on, or refused while it is held. */
#include "base/panic.h"
#include "directory/store/guard/internal.h"
#include <errno.h>
#include <stdlib.h>

struct guard_change {
	struct guard *guard;
	directory_changed *changed;
	void *context;
	size_t count;
	bool is_removal[]; /* whether each change removes a domain or an address */
};

static struct guard *guard_of_store(struct directory_store *base)
{
	return CONTAINER_OF(base, struct guard, base);
}

static bool lacks_one(const struct directory_record *const *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (records[i] == NULL)
			return true;
	return false;
}

static void on_guarded_records(void *context, int error,
			       const struct directory_record *const *records, uint64_t version)
{
	struct guard_get *get = context;
	struct guard *guard = get->guard;

	guard_mirror(guard);
	/* the store may have been held after the question was asked */
	if (error == 0 &&
	    (guard->is_held || (!guard_is_certain(guard) && lacks_one(records, get->count))))
		error = -ENOTCONN;
	get->got(get->context, error, error == 0 ? records : NULL, version);
	guard->base.until_us = 0;
	guard->base.read_version = 0;
	get->next = guard->unused;
	guard->unused = get;
	guard_answered(guard);
}

void guard_get(struct directory_store *base, const struct directory_key *keys, size_t count,
	       directory_got *answered, void *context)
{
	struct guard *guard = guard_of_store(base);
	struct guard_get *get = guard->unused;

	if (guard->is_held) {
		answered(context, -ENOTCONN, NULL, base->version);
		return;
	}
	if (get != NULL)
		guard->unused = get->next;
	else
		get = memory_alloc(sizeof *get);
	*get = (struct guard_get){guard, answered, context, count, NULL};
	guard->under_way++;
	guard->inner->operations->get(guard->inner, keys, count, on_guarded_records, get);
}

/* An absent record in a list refuses no mail; but an export must not list a held store. */
void guard_list(struct directory_store *base, enum directory_table table, struct str prefix,
		struct str after, size_t limit, directory_listed *listed, void *context)
{
	struct guard *guard = guard_of_store(base);

	if (guard->is_held)
		directory_list_fail(listed, context, -ENOTCONN, base->version);
	else
		guard->inner->operations->list(guard->inner, table, prefix, after, limit, listed,
					       context);
}

static void on_guarded_change(void *context, int error, const bool *existed, uint64_t version)
{
	struct guard_change *change = context;
	struct guard *guard = change->guard;

	for (size_t i = 0; i < change->count; i++) {
		guard->removing -= change->is_removal[i];
		guard->removed += error == 0 && change->is_removal[i] && existed[i];
	}
	change->changed(change->context, error, existed, version);
	free(change);
	guard_answered(guard);
}

static bool is_counted_table(enum directory_table table)
{
	return table == DIRECTORY_DOMAIN || table == DIRECTORY_ADDRESS;
}

void guard_change(struct directory_store *base, const struct directory_change *changes,
		  size_t count, directory_changed *answered, void *context)
{
	struct guard *guard = guard_of_store(base);
	struct guard_change *change;

	if (guard->is_held) {
		answered(context, -EBUSY, NULL, base->version);
		return;
	}
	change = memory_alloc(sizeof *change + count * sizeof change->is_removal[0]);
	change->guard = guard;
	change->changed = answered;
	change->context = context;
	change->count = count;
	for (size_t i = 0; i < count; i++) {
		change->is_removal[i] =
			changes[i].is_removal && is_counted_table(changes[i].record.key.table);
		guard->removing += change->is_removal[i];
	}
	guard->under_way++;
	guard->inner->operations->change(guard->inner, changes, count, on_guarded_change, change);
}

void guard_missed(struct directory_store *base, uint64_t version, size_t limit,
		  directory_missed *missed, void *context)
{
	struct guard *guard = guard_of_store(base);

	if (guard->is_held)
		missed(context, -ESTALE, NULL, NULL, 0);
	else
		guard->inner->operations->missed(guard->inner, version, limit, missed, context);
}

void guard_begin(struct directory_store *base)
{
	directory_store_begin(guard_of_store(base)->inner);
}

void guard_end(struct directory_store *base)
{
	directory_store_end(guard_of_store(base)->inner);
}

const char *guard_followed(struct directory_store *base)
{
	struct guard *guard = guard_of_store(base);
	const char *(*followed)(struct directory_store * store) =
		guard->inner->operations->followed;

	guard_mirror(guard);
	return followed != NULL ? followed(guard->inner) : NULL;
}
