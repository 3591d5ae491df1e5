// SPDX-License-Identifier: ISC
/*
 * program/child.h - being a process that the supervisor started.
 *
 * The supervisor holds the other end of descriptor 3. It sends the
 * configuration (a sealed memfd), the sockets the process works with, each by
 * name ("connector" is the one at which it asks for connections: os/connector.h),
 * and CHILD_START; the process answers CHILD_READY. Later it may send
 * new sockets with a new configuration, and CHILD_START again, or CHILD_STOP. A process that
 * had no descriptor free for one of them says CHILD_AGAIN and goes on with what it
 * has. When the supervisor is gone the
 * process stops by itself, and waits for no delivery longer than ten seconds.
 * One whose sandbox does not fit any more, because of the new configuration or
 * of what was mounted, says CHILD_RENEW and stops.
 */
#ifndef PROGRAM_CHILD_H
#define PROGRAM_CHILD_H

#include "config/config.h"
#include "ipc/token.h"
#include "os/loop.h"

enum child_message {
	CHILD_CONFIG = 1, /* descriptor: the file's text; body: its name */
	CHILD_SOCKET,     /* descriptor; body: its name */
	CHILD_USERS,      /* (str program, u32 uid)...: as whom each runs */
	CHILD_START,      /* all is there: begin, or take it over */
	CHILD_READY,      /* answer to the first CHILD_START */
	CHILD_AGAIN,      /* answer to CHILD_START: all of it is to be sent again, later */
	CHILD_STOP,       /* finish what is in flight and end */
	CHILD_RENEW,      /* from the process: it ends, and is to be started again at once */
	CHILD_PENDING,    /* from the process while it stops: u32 deliveries it waits for */
	CHILD_TOKENS,     /* (str program, str token)...: its own, and whose it is shown */
	CHILD_FAILED,     /* from the process: it can never start; body: why, for people */
	CHILD_TRANSCRIPT, /* filters of who watches sessions, all of them */
	CHILD_SAID,       /* from the process: a line of such a session (transcript/transcript.h) */
	CHILD_HURRY,      /* waiting is over: who waits for deliveries, or clients, ends now */
};

enum { CHILD_SOCKETS_MAX = 256 };

struct child_socket {
	char name[192]; /* "listen 0.0.0.0:25", "queue", "send", "notify", "directory",
			 * "directory 0.0.0.0:7071", "socketmap 127.0.0.1:7072" */
	int descriptor;
};

enum { CHILD_USERS_MAX = 16 };

struct child_user {
	char program[16];
	uid_t uid;
};

struct child {
	struct os_loop *loop;
	struct config *config; /* in force */
	struct child_socket sockets[CHILD_SOCKETS_MAX];
	size_t socket_count;
	struct child_user users[CHILD_USERS_MAX];
	size_t user_count;
	struct ipc_tokens tokens; /* changed at any time */
	void *state;              /* of the program */
};

struct child_program {
	const char *name; /* in logs, and of its sandbox */
	/* Opens what the sandbox would not let it open, and reads nothing that came from
	 * others. -EAGAIN: not yet, to be called again soon. Another -errno ends the
	 * process; the reason is logged by then. May be NULL. */
	int (*open)(struct child *child);
	/* All is there, the sandbox is entered: build everything, then call child_ready().
	 * -errno as above. */
	int (*start)(struct child *child);
	/* child->config is new; OLD lives until the call returns. */
	void (*reload)(struct child *child, const struct config *old);
	/* Finish, then os_loop_stop(). */
	void (*stop)(struct child *child);
	/* How many deliveries a stop waits for, stop_timeout at most. NULL: it waits for none,
	 * and has 20 seconds. */
	size_t (*pending)(const struct child *child);
	/* Ends at once, stopped before or not: nobody waits any longer. NULL: whom this
	 * process waits for ends, and so does it. */
	void (*hurry)(struct child *child);
};

/* The whole of a program's main(). */
int child_main(int argc, char **argv, const struct child_program *program);

void child_ready(struct child *child);
/* Says that no start of the process can succeed until the configuration or the machine is another
 * one, because of REASON: then neither can that of the whole. It is logged by then. */
void child_cannot_start(struct child *child, struct str reason);
/* Stops; the supervisor starts another one at once. For what a process cannot change as long as
 * it lives. */
void child_renew(struct child *child);
/* The descriptor of the socket called NAME, or -1. */
int child_socket(const struct child *child, const char *name);
/* As whom PROGRAM runs; -1, which is nobody's, when that was not told. */
uid_t child_user(const struct child *child, const char *program);
/* By what this process shows that it is PROGRAM. */
struct str child_token(const struct child *child, const char *program);
/* RUN/NAME as a path in PATH; exits when it is too long. */
void child_path(const struct child *child, const char *name, char path[108]);

#endif
