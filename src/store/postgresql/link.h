// SPDX-License-Identifier: ISC
/* store/postgresql/link.h - between the two halves of a connection: the making and losing of it
 * (link.c), and what is said on it (pipeline.c). */
#ifndef STORE_POSTGRESQL_LINK_H
#define STORE_POSTGRESQL_LINK_H

#include "store/postgresql/internal.h"

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
	struct os_timer *timer; /* of the state */
	struct os_task losing;
	struct dns_search *search;
	struct dns_server addresses[DNS_SERVERS_MAX];
	size_t address, address_count;
	PGconn *connection;
	struct os_watch *watch;
	unsigned statements; /* of the request that is being said */
	bool is_broken;      /* libpq took a statement no more */
	struct postgresql_request *requests;
	int64_t since_us;                        /* the first of them is waited for */
	uint64_t received;                       /* bytes, until then */
	char (*reasons)[POSTGRESQL_REASON_SIZE]; /* of each database, that was logged last */
};

/* Closes, fails what was under way, tries the next. REASON may be NULL. */
void postgresql_link_lose(struct postgresql_link *link, const char *reason);
/* The same, for what libpq says. A task. */
void postgresql_link_lose_broken(void *context);
/* Of the socket while it is open. */
void postgresql_link_ready(void *context, unsigned events);
void postgresql_link_fail_requests(struct postgresql_link *link);

#endif
