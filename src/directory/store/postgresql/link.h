// SPDX-License-Identifier: ISC
/* directory/store/postgresql/link.h - shared by the two parts of a connection: how it is made and
 * lost (link.c), and requests on it (pipeline.c). */
#ifndef DIRECTORY_STORE_POSTGRESQL_LINK_H
#define DIRECTORY_STORE_POSTGRESQL_LINK_H

#include "directory/store/postgresql/internal.h"

enum { POSTGRESQL_REASON_SIZE = 400 };

enum postgresql_link_state {
	POSTGRESQL_LINK_WAITING,
	POSTGRESQL_LINK_LOOKING_UP,
	POSTGRESQL_LINK_CONNECTING,
	POSTGRESQL_LINK_OPEN
};

struct postgresql_link {
	struct os_loop *loop;
	const struct postgresql_databases *databases;
	const char *name;
	struct postgresql_link_handler handler;
	void *context;
	enum postgresql_link_state state;
	size_t position; /* among the databases */
	size_t tried;    /* since one was accepted or all had been tried */
	bool is_accepted;
	int64_t wait_us, may_wait_us;
	struct os_timer *timer; /* the time limit of the state */
	struct os_task losing;
	struct dns_search *search;
	struct dns_server addresses[DNS_SERVERS_MAX];
	size_t address, address_count;
	PGconn *connection;
	struct os_watch *watch;
	unsigned statements; /* of the request being written */
	bool is_broken;      /* libpq has rejected a statement */
	struct postgresql_request *requests;
	int64_t since_us;                        /* when waiting for the first one began */
	uint64_t received;                       /* bytes, before that */
	char (*reasons)[POSTGRESQL_REASON_SIZE]; /* last logged, of each database */
};

/* Before the next attempt, at first and after an accepted connection was lost; doubles. */
static const int64_t POSTGRESQL_LINK_WAIT_MIN_US = SECOND_US / 20;

/* Closes the connection, and nothing else. */
void postgresql_link_close(struct postgresql_link *link);
/* Closes the connection, fails pending requests and tries the next. REASON may be NULL. */
void postgresql_link_lose(struct postgresql_link *link, const char *reason);
/* Likewise, with libpq's error as the reason. A task. */
void postgresql_link_lose_broken(void *context);
/* Handles events of the open connection's socket. */
void postgresql_link_ready(void *context, unsigned events);
void postgresql_link_fail_requests(struct postgresql_link *link);

#endif
