// SPDX-License-Identifier: ISC
/* Counts domains and addresses, on the connection of the gets, so that the counts are in order with
 * earlier questions. */
#include "base/panic.h"
#include "directory/store/postgresql/internal.h"
#include "log/event.h"
#include <errno.h>
#include <stdlib.h>

struct postgresql_counting {
	struct postgresql_store *store;
	struct postgresql_request request;
	directory_counted *counted;
	void *context;
	uint64_t count;
};

static void on_count_result(struct postgresql_request *request, unsigned statement,
			    const PGresult *result)
{
	struct postgresql_counting *counting = request->context;

	if (statement == 0 && PQntuples(result) == 1 && PQnfields(result) == 1)
		counting->count = strtoull(postgresql_link_value(result, 0, 0), NULL, 10);
	else
		postgresql_link_doubt(request, "a count of another shape than was asked for");
}

static void on_count_done(struct postgresql_request *request,
			  const struct postgresql_failure *failure)
{
	struct postgresql_counting *counting = request->context;
	struct postgresql_reader *reader = &counting->store->reader;

	if (failure != NULL && !failure->is_lost && !reader->has_failed_count)
		log_event(EVENT_STORE_ERROR, log_string(role, "count"),
			  log_string(state, failure->state), log_string(reason, failure->text));
	if (failure == NULL || !failure->is_lost)
		reader->has_failed_count = failure != NULL;
	counting->counted(counting->context, failure != NULL ? -EIO : 0, counting->count);
	free(counting);
}

void postgresql_count(struct directory_store *base, directory_counted *counted, void *context)
{
	struct postgresql_store *store = CONTAINER_OF(base, struct postgresql_store, base);
	struct postgresql_counting *counting;

	if (!postgresql_link_is_accepted(store->reader.link)) {
		counted(context, -ENOTCONN, 0);
		return;
	}
	counting = memory_alloc_zero(1, sizeof *counting);
	counting->store = store;
	counting->counted = counted;
	counting->context = context;
	counting->request = (struct postgresql_request){
		.result = on_count_result, .done = on_count_done, .context = counting};
	postgresql_link_query(
		store->reader.link,
		"SELECT (SELECT count(*) FROM domain) + (SELECT count(*) FROM address)", NULL, 0);
	postgresql_link_end(store->reader.link, &counting->request);
}
