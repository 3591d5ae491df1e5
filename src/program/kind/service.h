// SPDX-License-Identifier: ISC
/*
 * program/kind/service.h - the main() of programs that deliver: a transport and a helper for
 * each service of the kinds that a program knows, or for what always exists ("remote", "list").
 */
#ifndef PROGRAM_KIND_SERVICE_H
#define PROGRAM_KIND_SERVICE_H

#include "config/config.h"
#include "deliver/helper.h"
#include "os/loop.h"

struct child;

/* The transport for services of one kind; what is called with TRANSPORT are the functions of, for
 * example, deliver/lmtp/lmtp.h. */
struct service_kind {
	enum config_service_kind kind;
	const char *name;     /* of one that always exists, and is no service: SERVICE is NULL */
	uint32_t concurrency; /* maximum of jobs at once */
	void *(*new)(struct child *child, const struct config *config,
		     const struct config_service *service);
	/* Jobs in flight continue. */
	void (*configure)(void *transport, const struct config *config,
			  const struct config_service *service);
	/* With TRANSPORT as their context. After drain() no job needs the configuration. */
	struct deliver_helper_handler jobs;
	void (*free)(void *transport);
};

struct service_program {
	const char *name; /* of the process, by which others know it */
	const char *file; /* which of its programs this is, as in the log; NULL: there is one */
	const struct service_kind *kinds; /* the last one is zeroed */
	/* Of struct child_program (supervisor/child/child.h); or NULL. */
	int (*open)(struct child *child);
	/* A new configuration, before it is applied to the transports. False: it needs a new
	 * process, which will be started. May be NULL. */
	bool (*fits)(struct child *child, const struct config *config);
};

/* Calls CALL with each transport: those of services that a reload removed, too. */
void service_each(void (*call)(void *transport));

/* The main() of a program. */
int service_main(int argc, char **argv, const struct service_program *service);

#endif
