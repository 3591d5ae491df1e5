// SPDX-License-Identifier: ISC
#include "filing/mailstore/mailstore.h"
#include "filing/mailstore/internal.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void begin_store_operation(struct mailstore *store)
{
	store->error[0] = '\0';
	store->is_away = false;
}

void mailstore_append(struct mailstore *store, struct mailstore_append *appends, size_t count,
		      const struct mailstore_gate *gate)
{
	begin_store_operation(store);
	for (size_t i = 0; i < count; i++) {
		appends[i].is_unknown = false;
		appends[i].is_away = false;
		appends[i].is_refused = false;
		appends[i].copy[0] = '\0';
	}
	store->operations->append(store, appends, count, gate);
}

int mailstore_fence(struct mailstore *store, const struct mailstore_location *location)
{
	begin_store_operation(store);
	return store->operations->fence(store, location);
}

bool mailstore_may_append(const struct mailstore_gate *gate, struct mailstore_append *append)
{
	if (gate == NULL || gate->pass(gate->context) == 0)
		return true;
	mail_verdict_set(&append->verdict, "4.3.0", "The lock of its Message-ID was lost");
	return false;
}

int mailstore_find(struct mailstore *store, const struct mailstore_location *location,
		   struct arena *arena, struct mailstore_found **found_out, size_t *count_out)
{
	begin_store_operation(store);
	return store->operations->find(store, location, arena, found_out, count_out);
}

int mailstore_remove(struct mailstore *store, const struct mailstore_location *location,
		     const char *copy)
{
	begin_store_operation(store);
	return store->operations->remove(store, location, copy);
}

int mailstore_survey(struct mailstore *store, struct str user, struct str folder,
		     mailstore_surveyed *each, void *context)
{
	begin_store_operation(store);
	if (store->operations->survey == NULL)
		return -EOPNOTSUPP;
	return store->operations->survey(store, user, folder, each, context);
}

int mailstore_open(struct mailstore *store, struct str user, struct str folder, const char *copy,
		   struct ipc_content *content_out)
{
	begin_store_operation(store);
	if (store->operations->open == NULL)
		return -EOPNOTSUPP;
	return store->operations->open(store, user, folder, copy, content_out);
}

void mailstore_free(struct mailstore *store)
{
	if (store != NULL)
		store->operations->free(store);
}

void mailstore_error_set(struct mailstore *store, const char *format, ...)
{
	struct mail_verdict verdict;
	char text[MAIL_TEXT_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	mail_verdict_set(&verdict, "4.0.0", "%s", text); /* makes it safe */
	snprintf(store->error, sizeof store->error, "%s", verdict.text);
}
