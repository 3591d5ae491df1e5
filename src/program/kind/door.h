// SPDX-License-Identifier: ISC
/*
 * program/kind/door.h - a process that takes in mail from clients: thousands of sessions on one
 * event loop. The processes differ in the protocols that they speak.
 */
#ifndef PROGRAM_KIND_DOOR_H
#define PROGRAM_KIND_DOOR_H

#include "intake/session.h"
#include "supervisor/child/child.h"

struct door_kind {
	const char *sockets; /* the use of its listening sockets: "listen" */
	const struct intake_engine *engine;
	/* Whether a listen section is its own. */
	bool (*serves)(const struct config_listen *listen);
	/* How many processes of this kind there are, which share the setting maxsessions. */
	uint32_t (*count)(const struct config *config);
};

/* For struct child_program; KIND must outlive the process. door_open() starts the helper that looks
 * users of this machine up, if a service needs it. */
int door_open(struct child *child);
int door_start(struct child *child, const struct door_kind *kind);
void door_reload(struct child *child, const struct config *old);
void door_stop(struct child *child);
void door_hurry(struct child *child);

#endif
