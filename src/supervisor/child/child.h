// SPDX-License-Identifier: ISC
/*
 * supervisor/child/child.h - the main loop of a process that the supervisor has started.
 *
 * The supervisor has the other end of descriptor 3. It sends the configuration
 * (a sealed memfd), the sockets that the process works with, each by
 * name ("connector" is the one for requesting connections: os/socket/connector.h),
 * and CHILD_START; the process answers CHILD_READY. Later it may send
 * new sockets with a new configuration, and CHILD_START again, or CHILD_STOP. A process
 * without a free descriptor for one of them answers CHILD_AGAIN and continues as before. If the
 * supervisor dies, the process stops by itself, and waits for deliveries at most ten seconds.
 * If its sandbox does not fit any more, because of the new configuration or
 * of a mount, it sends CHILD_RENEW and stops.
 */
#ifndef SUPERVISOR_CHILD_CHILD_H
#define SUPERVISOR_CHILD_CHILD_H

#include "config/config.h"
#include "ipc/token.h"
#include "limit/memory.h"
#include "os/loop.h"

enum child_message {
	CHILD_CONFIG = 1, /* descriptor: the file's text; body: its name */
	CHILD_SOCKET,     /* descriptor; body: its name */
	CHILD_USERS,      /* (str program, u32 uid)...: the user that each runs as */
	CHILD_START,      /* all was sent: begin, or apply it */
	CHILD_READY,      /* answer to the first CHILD_START */
	CHILD_AGAIN,      /* answer to CHILD_START: send all of it again later */
	CHILD_STOP,       /* finish what is in flight and end */
	CHILD_RENEW,      /* from the process: it ends; start it again at once */
	CHILD_PENDING,    /* from the process while it stops: u32 deliveries it waits for */
	CHILD_TOKENS,     /* (str program, str token)...: its own, and those it must recognise */
	CHILD_FAILED,     /* from the process: it can never start; body: why, for people */
	CHILD_TRANSCRIPT, /* filters of all watchers of sessions */
	CHILD_SAID,       /* from the process: a line of such a session (transcript/transcript.h) */
	CHILD_NAMES,      /* the system's files of names have changed: who has read them renews */
	CHILD_HURRY,      /* the patience is over: end now */
	CHILD_ROWS,       /* descriptors: rows in which sessions are counted; body: their layout
			   * (limit/memory.h), then for each (str name, u32 whether it is its own) */
	CHILD_FULL,       /* from the process: no class of hosts can take another client */
	CHILD_WAITS,      /* from the process: body: what it waits for, for people; "": nothing */
	CHILD_REPLACE,    /* from the process: another one, whose socket the body names, does not
			   * answer it: kill that, and start its successor */
	CHILD_DRAIN,      /* u32: whether it is to take in no mail, from the next CHILD_START on */
};

/* As many addresses as a configuration may have, before a reload and after it, and the sockets in
 * the run directory. */
enum { CHILD_SOCKETS_MAX = 2 * CONFIG_ADDRESSES_MAX + 32 };

struct child_socket {
	char name[192]; /* "listen 0.0.0.0:25", "qmtp 0.0.0.0:209", "node 0.0.0.0:2626", "queue", "send", "notify",
			 * "directory", "directory 0.0.0.0:7071", "socketmap 127.0.0.1:7072" */
	int descriptor;
};

enum { CHILD_USERS_MAX = 24 };

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
	struct limit_memory *limits; /* in force with the configuration; NULL: none */
	bool is_draining;            /* takes in no mail */
	struct ipc_tokens tokens;    /* may change at any time */
	void *state;                 /* of the program */
};

struct child_program {
	const char *name; /* in logs, and of its sandbox */
	/* Opens what the sandbox would forbid, without reading foreign data. -EAGAIN: not possible
	 * yet, try again soon. Another -errno ends the process; the reason must have been
	 * logged. May be NULL. */
	int (*open)(struct child *child);
	/* Called with everything received and the sandbox entered: builds everything, then calls
	 * child_ready(). -errno as above. */
	int (*start)(struct child *child);
	/* child->config is new; OLD is valid during the call. */
	void (*reload)(struct child *child, const struct config *old);
	/* Finishes, then calls os_loop_stop(). */
	void (*stop)(struct child *child);
	/* The number of deliveries for which a stop waits, at most stop_timeout. NULL: none,
	 * and the process has 20 seconds. */
	size_t (*pending)(const struct child *child);
	/* Ends at once, whether stopped before or not. NULL: the process ends anyway, together
	 * with those for which it waits. */
	void (*hurry)(struct child *child);
};

/* The main() of a program. */
int child_main(int argc, char **argv, const struct child_program *program);

void child_ready(struct child *child);
/* Reports that the process cannot start until the configuration or the machine is changed, because
 * of REASON: then the node cannot start either. It must have been logged. */
void child_cannot_start(struct child *child, struct str reason);
/* Reports what the process waits for, or works without, until REASON is another one; "": nothing.
 * The service manager shows it. It must have been logged. */
void child_waits(struct child *child, struct str reason);
/* Reports that no class of hosts can take another client. */
void child_full(struct child *child);
/* Reports that the process at the socket RUN/NAME does not answer, or not as it should. */
void child_replace(const struct child *child, const char *name);
/* Stops; the supervisor starts it again at once. For changes that need a new process. */
void child_renew(struct child *child);
/* The descriptor of the socket called NAME, or -1. */
int child_socket(const struct child *child, const char *name);
/* Closes those listening sockets that are not wanted any more: clients are refused there from now
 * on, and others may listen there. */
void child_close_sockets(struct child *child,
			 bool (*is_wanted)(const void *context, const struct child_socket *socket),
			 const void *context);
/* The user that PROGRAM runs as; -1, which is nobody's uid, if unknown. */
uid_t child_user(const struct child *child, const char *program);
/* The token by which this process authenticates as PROGRAM. */
struct str child_token(const struct child *child, const char *program);
/* Puts RUN/NAME into PATH; exits if it is too long. */
void child_path(const struct child *child, const char *name, char path[108]);

#endif
