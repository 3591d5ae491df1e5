// SPDX-License-Identifier: ISC
/* Pending requests. */
#include "base/panic.h"
#include "directory/store/relay/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <utlist.h>

void relay_catch_up(struct relay *relay)
{
	if (!directory_client_is_syncing(relay->client) && relay->heard > relay->store.version)
		relay->store.version = relay->heard;
}

struct relay *relay_of(struct directory_store *store)
{
	return CONTAINER_OF(store, struct relay, store);
}

struct request *relay_request_new(struct relay *relay, void *context)
{
	struct request *request = relay->unused;

	if (request != NULL)
		LL_DELETE(relay->unused, request);
	else
		request = memory_alloc(sizeof *request);
	*request = (struct request){
		.relay = relay, .context = context, .version = UINT64_MAX, .until_us = INT64_MAX};
	DL_APPEND2(relay->requests, request, previous, next);
	return request;
}

void relay_request_free(struct request *request)
{
	struct relay *relay = request->relay;

	DL_DELETE2(relay->requests, request, previous, next);
	arena_free(request->arena);
	LL_PREPEND(relay->unused, request);
}

void relay_request_cancel(struct request *request)
{
	struct directory_client *client = request->relay->client;

	directory_question_cancel(client, &request->question);
	for (size_t i = 0; request->parts != NULL && request->parts[i].request != NULL; i++)
		directory_question_cancel(client, &request->parts[i].question);
	relay_request_free(request);
}

int relay_error(const struct directory_answer_text *answer)
{
	switch (answer->error) {
	case DIRECTORY_ERROR_NONE:
		return 0;
	case DIRECTORY_ERROR_DENIED:
		return -EACCES;
	case DIRECTORY_ERROR_LATER:
		return -ENOTCONN;
	case DIRECTORY_ERROR_CHANGED:
		return -ESTALE;
	default:
		return -EIO;
	}
}

void relay_request_note(struct request *request, const struct directory_answer_text *answer)
{
	int64_t until_us = os_clock_monotonic_us() + answer->ttl_us;
	int error = relay_error(answer);

	relay_catch_up(request->relay);
	if (request->error == 0)
		request->error = error;
	if (error == 0 && answer->version < request->version)
		request->version = answer->version;
	if (request->relay->store.version < request->version)
		request->version = request->relay->store.version;
	if (until_us < request->until_us)
		request->until_us = until_us;
}
