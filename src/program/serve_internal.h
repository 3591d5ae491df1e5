// SPDX-License-Identifier: ISC
/*
 * program/serve_internal.h - what the supervisor's files share.
 */
#ifndef PROGRAM_SERVE_INTERNAL_H
#define PROGRAM_SERVE_INTERNAL_H

#include "ipc/channel.h"
#include "os/process.h"
#include "program/child.h"
#include "program/reload_record.h"
#include "program/serve.h"
#include "program/serve_program.h"

enum { PROCESSES_MAX = 272 }; /* 256 workers and the others */

struct supervisor;
struct process;

/* What PROCESS says, of enum child_message. */
typedef void serve_said(struct process *process, const struct ipc_message *message);

/* What a process writes to its standard output and error. */
struct serve_log {
	char name[48]; /* "smtpd[4711]" */
	int from;      /* -1: it writes to ours */
	struct os_watch *watch;
	struct os_timer *pause;
	struct buffer kept;  /* the beginning of a line */
	int64_t credit_from; /* monotonic, in microseconds: what it wrote is paid for by then */
	bool is_flood;
};

struct process {
	struct supervisor *supervisor;
	const struct serve_program *program;
	pid_t pid; /* 0: not running */
	struct ipc_channel *control;
	serve_said *on_said; /* at it */
	struct os_timer *control_pause;
	int64_t control_credit_from; /* monotonic: what it said is paid for by then */
	bool is_control_flood;
	struct ipc_token token; /* of the one that runs */
	struct os_timer *restart;
	int connector; /* at which it asks for connections; */
	int asker;     /* the other end, which it is given */
	struct os_watch *connector_watch;
	struct os_timer *connector_pause;
	unsigned questions;     /* at it, since the last pause */
	struct os_timer *again; /* to send what it could not take */
	struct serve_log log;
	int64_t delay_us;
	int64_t started_us;
	uint32_t pending; /* deliveries that it waits for before it ends */
	bool is_wanted;   /* by the configuration */
	bool is_stopped;  /* it was told to end, because it was not */
	bool is_ready;
	bool is_renewed; /* it ends because it asked to be started again */
	bool is_retired; /* the same, and another one of its program runs instead */
};

struct bound_socket {
	char name[192];
	int kind;       /* SOCK_SEQPACKET...: in the run directory; 0: at an address */
	char host[112]; /* the address; or the path of a UNIX socket */
	uint16_t port;  /* 0: UNIX socket */
	int descriptor;
	bool is_wanted;
};

/* As whom a program runs; its id is told to the others, who believe only him. */
struct program_user {
	struct os_process_user user;
	gid_t groups[OS_PROCESS_GROUPS_MAX + 1];
};

struct supervisor {
	struct os_loop *loop;
	const char *file;
	struct buffer text; /* of the configuration in force */
	struct config *config;
	uid_t uid;                                 /* its own */
	struct os_process_user user;               /* of the whole: the queue's owner */
	struct program_user users[SERVE_PROGRAMS]; /* in the order of serve_programs */
	char program_directory[OS_PROCESS_PATH_SIZE];
	struct process processes[PROCESSES_MAX];
	size_t process_count;
	struct bound_socket sockets[CHILD_SOCKETS_MAX];
	size_t socket_count;
	int64_t bind_until_us; /* monotonic: till then an address in use is tried again */
	struct os_timer *patience;
	struct os_timer *mending; /* serve_watch_sockets() */
	struct os_timer *waiting; /* when it is told next what a stop waits for */
	int64_t waiting_every_us;
	int64_t stop_until_us; /* monotonic */
	bool is_stopping;
	bool was_ready;
	int exit_status;
	struct buffer failure;           /* why nothing could begin; "" otherwise */
	struct transcripts *transcripts; /* who watches sessions */
	struct reload_record reload;
};

/* serve_stop.c */
void serve_prepare_stop(struct supervisor *supervisor);
/* Stops all, as a signal does. */
void serve_stop(void *supervisor);
/* Then, after a process has ended: stops those whose turn it is. */
void serve_stop_next(struct supervisor *supervisor);
/* Tells the service manager that started it (sd_notify(3)). */
void serve_notify(const char *text);

/* serve_prepare.c: each makes its directory unless it is there, and logs what is wrong. */
MUST_CHECK int serve_prepare_run(struct supervisor *supervisor);
MUST_CHECK int serve_prepare_queue(struct supervisor *supervisor);
/* Makes the directory of the file of the address directory, for its process alone; not what is
 * above it. */
MUST_CHECK int serve_prepare_data(struct supervisor *supervisor);

/* serve_begin.c */
/* Whether CONFIG, of TEXT, can work on this machine; what is missing is logged, and what nothing
 * can begin without also appended to REASON. */
bool serve_can_work(const struct config *config, struct str text, struct buffer *reason);
/* When a process has said that it is ready: are all? */
void serve_announce_ready(struct supervisor *supervisor);
/* Before all were ready: stops, because of REASON no start can succeed. Later: nothing, the process
 * that it is about is started again. */
void serve_give_up(struct supervisor *supervisor, struct str reason);
/* The same, when PROGRAM has ended with STATUS in a way that it would again and again. That is
 * logged, later too. */
void serve_judge_end(struct supervisor *supervisor, const char *program, int status);

/* serve_socket.c */
/* Binds what CONFIG wants and marks it; what was bound before stays. For PATIENCE_US it tries
 * again, and blocks, where an address is in use. */
MUST_CHECK int serve_bind_sockets(struct supervisor *supervisor, const struct config *config,
				  int64_t patience_us);
/* The sockets in the run directory. */
MUST_CHECK int serve_bind_run_sockets(struct supervisor *supervisor);
/* Who shares a socket with others, and was taken over, can end it for all: binds those of PROCESS
 * anew that have ended, as it is started; and, each second, those at addresses. */
void serve_mend_sockets(struct process *process);
void serve_watch_sockets(void *supervisor);
/* Closes what is not marked. */
void serve_drop_sockets(struct supervisor *supervisor);

/* serve_user.c */
/* Looks up as whom the processes of a supervisor run that is UID's, and MAY_CHANGE its user; logs
 * which user there is none of. */
MUST_CHECK int serve_find_users(struct supervisor *supervisor, uid_t uid, bool may_change);
const struct program_user *serve_user(const struct supervisor *supervisor, const char *program);

/* serve_process.c */
void serve_add_processes(struct supervisor *supervisor);
/* After a change of the configuration: starts and ends those that only some want. */
void serve_choose_processes(struct supervisor *supervisor);
void serve_process_start(void *process);
void serve_process_ended(struct process *process, int status);

/* serve_control.c */
/* SAID gets what PROCESS says at SOCKET, which is taken over. */
void serve_control_begin(struct process *process, int socket, serve_said *said);
void serve_control_end(struct process *process);

/* serve_setup.c */
#define SERVE_SET_UP_AGAIN_US SECOND_US
/* Gives it the configuration and its sockets; what cannot be given now, or be taken, in a second.
 */
void serve_set_up(void *process);

/* serve_token.c, serve_seen.c */
/* Tells PROCESS, which is about to start or does, the tokens that it needs. */
void serve_send_tokens(struct process *process);
/* To the directory: the file of what was seen of its data. */
void serve_send_seen(struct process *process);
/* PROCESS gets a new token, and those who believe it are told. */
void serve_renew_token(struct process *process);

/* serve_connect.c */
/* Makes connections for a process that was just started, until it has ended. */
MUST_CHECK int serve_start_connecting(struct process *process);
void serve_stop_connecting(struct process *process);

/* serve_log.c */
/* A pipe for the standard error of PROCESS, which is about to be started: 0 or -errno. *TO_OUT: the
 * end that is its; -1: it may write to ours, without being heard. */
MUST_CHECK int serve_log_open(struct process *process, int *to_out);
/* It runs as FILE: its lines are passed on. */
void serve_log_begin(struct process *process, const char *file);
/* It has ended: what it had written is passed on. */
void serve_log_end(struct process *process);

/* serve_transcript.c */
/* Lets operators in who watch sessions. */
void serve_watch_transcripts(struct supervisor *supervisor);
/* PROCESS, which starts, is told who watches. */
void serve_send_transcript(struct process *process);
/* What PROCESS says of a session goes to those who watch it. */
void serve_pass_transcript(struct process *process, struct str said);

/* serve_reload.c: on SIGHUP. */
void serve_reload(void *supervisor);

#endif
