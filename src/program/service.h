// SPDX-License-Identifier: ISC
/*
 * program/service.h - the whole of a program that delivers: a transport and a helper for
 * each service of the kinds it knows, or for what is always there ("remote", "list").
 */
#ifndef PROGRAM_SERVICE_H
#define PROGRAM_SERVICE_H

#include "config/config.h"
#include "deliver/helper.h"
#include "os/loop.h"

struct child;

/* What delivers for services of one kind. The functions are those of a transport, for
 * example deliver/lmtp.h. */
struct service_kind {
	enum config_service_kind kind;
	const char *name;     /* of what is always there, and no service: SERVICE is NULL then */
	uint32_t concurrency; /* jobs at once, at most */
	void *(*new)(struct os_loop *loop, const struct config *config,
		     const struct config_service *service);
	/* What is in flight goes on. */
	void (*configure)(void *transport, const struct config *config,
			  const struct config_service *service);
	void (*deliver)(void *transport, struct deliver_helper_job *job);
	/* What goes on after it needs the configuration no more. NULL: all jobs go on. */
	void (*drain)(void *transport);
	void (*lost)(void *transport);
	void (*free)(void *transport);
};

/* The whole of main(). KINDS ends with a zeroed one; OPEN is that of struct
 * child_program (program/child.h). */
int service_main(int argc, char **argv, const char *name, const struct service_kind *kinds,
		 int (*open)(struct child *child));

#endif
