// SPDX-License-Identifier: ISC
/* How a connection ends, and what is tried next. */
#include "directory/store/postgresql/link.h"
#include "log/event.h"
#include <errno.h>
#include <string.h>
#include <utlist.h>

const char *postgresql_link_label(const struct postgresql_link *link)
{
	return link->databases->list[link->position].label;
}

static void log_reason(struct postgresql_link *link, enum log_name event, const char *reason)
{
	char line[POSTGRESQL_REASON_SIZE];
	char *known = link->reasons[link->position];

	snprintf(line, sizeof line, STR_FORMAT, STR_ARGUMENTS(str_trim(str_from(reason))));
	for (char *byte = line; *byte != '\0'; byte++)
		if (*byte == '\n' || *byte == '\t')
			*byte = ' ';
	if (event != EVENT_STORE_LOST && strcmp(line, known) == 0)
		return;
	memcpy(known, line, sizeof line);
	log_event_like(log_write, event, EVENT_STORE_LOST, log_string(role, link->name),
		       log_string(database, postgresql_link_label(link)),
		       log_str(reason, str_trim(str_from(line))));
}

void postgresql_link_close(struct postgresql_link *link)
{
	os_watch_free(link->watch);
	link->watch = NULL;
	dns_search_free(link->search);
	link->search = NULL;
	if (link->connection != NULL)
		PQfinish(link->connection);
	link->connection = NULL;
	link->statements = 0;
	link->is_broken = false;
	os_task_cancel(link->loop, &link->losing);
}

/* Tries the next database; after the last one, pauses first. */
static void advance_to_next_database(struct postgresql_link *link)
{
	link->state = POSTGRESQL_LINK_WAITING;
	link->address_count = 0;
	link->position = (link->position + 1) % link->databases->count;
	if (++link->tried < link->databases->count) {
		os_timer_start(link->timer, 0);
		return;
	}
	link->tried = 0;
	os_timer_start(link->timer, link->wait_us);
	link->wait_us *= 2;
	if (link->wait_us > link->may_wait_us)
		link->wait_us = link->may_wait_us;
}

void postgresql_link_fail_requests(struct postgresql_link *link)
{
	const struct postgresql_failure lost = {
		.error = -ENOTCONN, .is_lost = true, .text = "the connection was lost"};

	while (link->requests != NULL) {
		struct postgresql_request *request = link->requests;

		DL_DELETE(link->requests, request);
		request->done(request, request->failure.error != 0 ? &request->failure : &lost);
	}
}

void postgresql_link_lose(struct postgresql_link *link, const char *reason)
{
	bool was_accepted = link->is_accepted;
	bool was_open = link->state == POSTGRESQL_LINK_OPEN;

	if (reason != NULL)
		log_reason(link, was_accepted ? EVENT_STORE_LOST : EVENT_STORE_REFUSED, reason);
	link->is_accepted = false;
	postgresql_link_close(link);
	advance_to_next_database(link);
	if (was_accepted) {
		link->tried = 0;
		link->wait_us = POSTGRESQL_LINK_WAIT_MIN_US;
		os_timer_start(link->timer, 0);
	}
	postgresql_link_fail_requests(link);
	if (was_open)
		link->handler.lost(link->context);
}

void postgresql_link_lose_broken(void *context)
{
	struct postgresql_link *link = context;
	char reason[POSTGRESQL_REASON_SIZE];

	snprintf(reason, sizeof reason, "%s", PQerrorMessage(link->connection));
	postgresql_link_lose(link, reason);
}
