// SPDX-License-Identifier: ISC
/*
 * program/service.h - the whole of a program that delivers for services: a stage
 * and a helper for each service of the kinds it knows.
 */
#ifndef PROGRAM_SERVICE_H
#define PROGRAM_SERVICE_H

#include "config/config.h"
#include "os/loop.h"
#include "stage/helper.h"

/* What delivers for services of one kind. The functions are those of a stage, for
 * example stage/lmtp.h. */
struct child;
struct service_kind {
	enum config_service_kind kind;
	uint32_t concurrency; /* jobs at once, at most */
	void *(*new)(struct os_loop *loop, const struct config *config,
		     const struct config_service *service);
	/* What is in flight goes on. */
	void (*configure)(void *stage, const struct config *config,
			  const struct config_service *service);
	void (*deliver)(void *stage, struct stage_helper_job *job);
	/* What goes on after it needs the configuration no more. NULL: all jobs go on. */
	void (*drain)(void *stage);
	void (*lost)(void *stage);
	void (*free)(void *stage);
};

/* The whole of main(). KINDS ends with a zeroed one; OPEN is that of struct
 * child_program (program/child.h). */
int service_main(int argc, char **argv, const char *name, const struct service_kind *kinds,
		 int (*open)(struct child *child));

#endif
