// SPDX-License-Identifier: ISC
/*
 * program/kind/mail_server.h - a process that takes in mail from clients: thousands of sessions on
 * one event loop. The processes differ in the protocols that they speak.
 */
#ifndef PROGRAM_KIND_MAIL_SERVER_H
#define PROGRAM_KIND_MAIL_SERVER_H

#include "intake/session.h"
#include "supervisor/child/child.h"

/* Implemented by program/qmtpd.c and program/smtpd.c. */
struct mail_server_kind {
	const char *sockets; /* the use of its listening sockets: "listen" */
	const struct intake_engine *engine;
	/* Whether a listen section is its own. */
	bool (*serves)(const struct config_listen *listen);
	/* How many processes of this kind there are, which share the setting maxsessions. */
	uint32_t (*count)(const struct config *config);
};

/* For struct child_program; KIND must outlive the process. mail_server_open() starts the helper
 * that looks users of this machine up, if a service needs it. */
int mail_server_open(struct child *child);
int mail_server_start(struct child *child, const struct mail_server_kind *kind);
void mail_server_reload(struct child *child, const struct config *old);
void mail_server_stop(struct child *child);
void mail_server_hurry(struct child *child);

#endif
