// SPDX-License-Identifier: ISC
/*
 * The states of a connection, each with a time limit:
 *
 *   WAITING -> LOOKING_UP -> CONNECTING -> OPEN, and from each back to WAITING
 */
#include "directory/store/postgresql/link.h"
#include "base/panic.h"
#include "log/event.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const int64_t CONNECT_US = 2 * SECOND_US; /* there may be others to try */

static void begin_connection_attempt(struct postgresql_link *link);
static void connect_to_address(struct postgresql_link *link, const char *address);

/* ---- connecting ---- */

static void on_link_time(void *context)
{
	struct postgresql_link *link = context;

	if (link->state == POSTGRESQL_LINK_WAITING) {
		begin_connection_attempt(link);
		return;
	}
	if (link->state == POSTGRESQL_LINK_OPEN && link->requests == NULL)
		return;
	postgresql_link_lose(link, link->state == POSTGRESQL_LINK_OPEN
					   ? "no answer for 5 seconds"
					   : "no connection within 2 seconds");
}

static const char *next_address(struct postgresql_link *link, char text[OS_SOCKET_TEXT_SIZE])
{
	os_socket_address_format_host(&link->addresses[link->address++].address, text);
	return text;
}

static void try_address_of_database(struct postgresql_link *link)
{
	char text[OS_SOCKET_TEXT_SIZE];

	connect_to_address(link, next_address(link, text));
}

static void connect_failed(struct postgresql_link *link)
{
	char reason[POSTGRESQL_REASON_SIZE];

	if (link->address < link->address_count) {
		postgresql_link_close(link);
		try_address_of_database(link);
		return;
	}
	snprintf(reason, sizeof reason, "%s", PQerrorMessage(link->connection));
	postgresql_link_lose(link, reason);
}

static void open_link_pipeline(struct postgresql_link *link)
{
	os_timer_stop(link->timer);
	if (PQenterPipelineMode(link->connection) != 1 ||
	    PQsetnonblocking(link->connection, 1) != 0) {
		postgresql_link_lose(link, "libpq does not enter its pipeline mode");
		return;
	}
	link->state = POSTGRESQL_LINK_OPEN;
	link->watch = os_watch_new(link->loop, PQsocket(link->connection), OS_WATCH_READ,
				   postgresql_link_ready, link);
	link->handler.connected(link->context);
}

/* libpq may use a different socket after each step. */
static void on_connecting(void *context, unsigned events)
{
	struct postgresql_link *link = context;
	PostgresPollingStatusType status;

	(void)events;
	os_watch_free(link->watch);
	link->watch = NULL;
	status = PQconnectPoll(link->connection);
	if (status == PGRES_POLLING_OK)
		open_link_pipeline(link);
	else if (status == PGRES_POLLING_FAILED)
		connect_failed(link);
	else
		link->watch = os_watch_new(link->loop, PQsocket(link->connection),
					   status == PGRES_POLLING_READING ? OS_WATCH_READ
									   : OS_WATCH_WRITE,
					   on_connecting, link);
}

static void ignore_notice_of_link(void *context, const PGresult *result)
{
	(void)context;
	(void)result;
}

static void connect_to_address(struct postgresql_link *link, const char *address)
{
	const struct postgresql_database *database = &link->databases->list[link->position];
	const char *kept = database->values[database->address_slot];

	if (address != NULL)
		database->values[database->address_slot] = address;
	link->state = POSTGRESQL_LINK_CONNECTING;
	os_timer_start(link->timer, CONNECT_US);
	link->connection = PQconnectStartParams(database->names, database->values, 0);
	database->values[database->address_slot] = kept;
	if (link->connection == NULL)
		panic("out of memory");
	PQsetNoticeReceiver(link->connection, ignore_notice_of_link, NULL);
	if (PQstatus(link->connection) == CONNECTION_BAD)
		connect_failed(link);
	else
		link->watch = os_watch_new(link->loop, PQsocket(link->connection), OS_WATCH_WRITE,
					   on_connecting, link);
}

static void on_database_host_resolved(void *context, const struct dns_servers *servers)
{
	struct postgresql_link *link = context;

	if (servers->count == 0) {
		char reason[POSTGRESQL_REASON_SIZE];

		snprintf(reason, sizeof reason, "%s", servers->verdict.text);
		postgresql_link_lose(link, reason);
		return;
	}
	link->address = 0;
	link->address_count = servers->count;
	memcpy(link->addresses, servers->list, servers->count * sizeof *servers->list);
	dns_search_free(link->search);
	link->search = NULL;
	try_address_of_database(link);
}

static void begin_connection_attempt(struct postgresql_link *link)
{
	const struct postgresql_database *database = &link->databases->list[link->position];

	if (database->host == NULL) {
		connect_to_address(link, NULL);
		return;
	}
	link->state = POSTGRESQL_LINK_LOOKING_UP;
	os_timer_start(link->timer, CONNECT_US);
	link->search = dns_search_relay(link->databases->resolver, database->host, database->port,
					on_database_host_resolved, link);
}

/* ---- life ---- */

struct postgresql_link *postgresql_link_new(struct os_loop *loop,
					    const struct postgresql_databases *databases,
					    const char *name, int64_t may_wait_us,
					    const struct postgresql_link_handler *handler,
					    void *context)
{
	struct postgresql_link *link = memory_alloc_zero(1, sizeof *link);

	link->loop = loop;
	link->databases = databases;
	link->name = name;
	link->handler = *handler;
	link->context = context;
	link->reasons = memory_alloc_zero(databases->count, sizeof *link->reasons);
	link->wait_us = POSTGRESQL_LINK_WAIT_MIN_US;
	link->may_wait_us = may_wait_us;
	link->timer = os_timer_new(loop, on_link_time, link);
	link->losing = (struct os_task){.call = postgresql_link_lose_broken, .context = link};
	os_timer_start(link->timer, 0);
	return link;
}

void postgresql_link_free(struct postgresql_link *link)
{
	postgresql_link_close(link);
	postgresql_link_fail_requests(link);
	os_timer_free(link->timer);
	free(link->reasons);
	free(link);
}

void postgresql_link_accept(struct postgresql_link *link)
{
	link->is_accepted = true;
	link->tried = 0;
	link->wait_us = POSTGRESQL_LINK_WAIT_MIN_US;
	memset(link->reasons, 0, link->databases->count * sizeof *link->reasons);
	log_event(EVENT_STORE_CONNECTED, log_string(role, link->name),
		  log_string(database, postgresql_link_label(link)));
}

void postgresql_link_refuse(struct postgresql_link *link, const char *reason)
{
	postgresql_link_lose(link, reason);
}

void postgresql_link_move(struct postgresql_link *link, size_t position, const char *reason)
{
	postgresql_link_lose(link, reason);
	link->position = position;
}

void postgresql_link_hurry(struct postgresql_link *link)
{
	if (link->state == POSTGRESQL_LINK_WAITING) {
		link->wait_us = POSTGRESQL_LINK_WAIT_MIN_US;
		os_timer_start(link->timer, 0);
	}
}

bool postgresql_link_is_accepted(const struct postgresql_link *link)
{
	return link->is_accepted;
}

size_t postgresql_link_position(const struct postgresql_link *link)
{
	return link->position;
}
