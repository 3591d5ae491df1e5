// SPDX-License-Identifier: ISC
/*
 * supervisor/internal.h - shared by the supervisor's files.
 */
#ifndef SUPERVISOR_INTERNAL_H
#define SUPERVISOR_INTERNAL_H

#include "base/hash.h"
#include "confine/process.h"
#include "ipc/channel.h"
#include "limit/count.h"
#include "log/event.h"
#include "os/process/process.h"
#include "os/socket/address.h"
#include "supervisor/child/child.h"
#include "supervisor/program.h"
#include "supervisor/supervisor.h"
#include "supervisor/talk/request_record.h"
#include "supervisor/upgrade.h"
#include "supervisor/user.h"
#include <sys/socket.h>

enum {
	PROCESSES_MAX = 272, /* 256 workers and the others */
	/* The kernel's maximum: in a burst beyond it, each client would wait a second for its
	 * second SYN. */
	SERVE_LISTEN_BACKLOG = SOMAXCONN,
};
_Static_assert((int)PROCESSES_MAX <= (int)LIMIT_ROWS_MAX, "each process may count");

struct supervisor;
struct process;

/* Called for each message of PROCESS, of enum child_message. */
typedef void supervisor_said(struct process *process, const struct ipc_message *message);

/* The output of a process on its standard output and error. */
struct supervisor_log {
	char name[48]; /* "smtpd[4711]" */
	int from;      /* the pipe's end; -1: it writes to ours */
	struct os_watch *watch;
	struct os_timer *pause;
	struct buffer kept;  /* the beginning of an incomplete line */
	int64_t credit_from; /* monotonic, microseconds: when it may be read again */
	bool is_flood;
};

/* Where a process counts sessions. */
struct supervisor_row {
	char name[LIMIT_NAME_SIZE]; /* "": it does not */
	size_t number;              /* in supervisor->limits */
	int owner;                  /* descriptors: for writing */
	int reader;                 /* and for reading only */
};

struct process {
	struct supervisor *supervisor;
	const struct supervisor_program *program;
	unsigned number; /* among those of the program that do not exist only once */
	pid_t pid;       /* 0: not running */
	struct ipc_channel *control;
	supervisor_said *on_said; /* for messages at it */
	struct os_timer *control_pause;
	int64_t control_credit_from; /* monotonic: when it may be read again */
	bool is_control_flood;
	struct ipc_token token; /* of the running one */
	struct os_timer *restart;
	int connector; /* receives its requests for connections; */
	int asker;     /* the other end, for the process */
	struct os_watch *connector_watch;
	struct os_timer *connector_pause;
	unsigned questions;     /* requests since the last pause */
	struct os_timer *again; /* to send again what it could not receive */
	struct supervisor_log log;
	struct supervisor_row row;
	int64_t delay_us;
	int64_t started_us;
	uint32_t pending;    /* deliveries for which it waits before it ends */
	struct buffer waits; /* what it waits for, or works without; "": nothing */
	pid_t waits_since;   /* which of its processes has said so */
	bool is_wanted;      /* by the configuration */
	bool is_stopped;     /* was told to end, as it is not wanted */
	bool is_ready;
	bool is_renewed; /* it ends because it asked to be started again */
	bool is_retired; /* likewise, while its successor runs already */
};

struct bound_socket {
	char name[192];
	int kind;       /* SOCK_SEQPACKET...: in the run directory; 0: at a configured address */
	char host[112]; /* the address; or the path of a UNIX socket */
	uint16_t port;  /* 0: UNIX socket */
	int descriptor;
	uint64_t inode; /* UNIX: of the file at its path, as it was bound */
	bool is_wanted;
	bool is_shut; /* for a while, as no class of hosts has a place */
};

/* A listening socket that we did not bind. */
struct inherited_socket {
	int descriptor;
	char name[192]; /* under which the service manager keeps it; "": it does not */
};

enum {
	SERVE_EXECUTABLES_MAX = SUPERVISOR_PROGRAMS * PROCESS_FILES_MAX,
	SERVE_EXECUTABLE_PATH_SIZE = OS_PROCESS_PATH_SIZE + 32,
};

struct supervisor_executable {
	const char *file; /* its name in the directory of programs */
	int descriptor;   /* -errno: it was not there */
};

enum { SERVE_NAME_FILES = 2 };

/* What is known of a file by which the system names hosts. */
struct supervisor_name_file {
	uint64_t device, inode, size;
	int64_t modified_us, changed_us;
	uint64_t digest; /* of its text */
	bool is_unread;  /* it was written since */
};

/* The predecessor's side of an upgrade. */
struct supervisor_upgrade {
	enum upgrade_state state;
	struct ipc_channel *channel; /* to the successor; NULL: there is none, or it is lost */
	pid_t pid;                   /* 0: there is none, or it has ended, */
	int status;                  /* with this; */
	pid_t group;                 /* its processes may be there still */
	struct os_timer *timer;
	struct request_record record;
};

struct supervisor {
	struct os_loop *loop;
	const char *file;
	struct buffer text; /* of the configuration in force */
	struct config *config;
	struct program_users users;
	char program_directory[OS_PROCESS_PATH_SIZE];
	struct supervisor_executable executables[SERVE_EXECUTABLES_MAX];
	size_t executable_count;
	struct process processes[PROCESSES_MAX];
	size_t process_count;
	struct bound_socket sockets[CHILD_SOCKETS_MAX];
	size_t socket_count;
	struct inherited_socket inherited[CHILD_SOCKETS_MAX]; /* until they are wanted */
	size_t inherited_count;
	struct ipc_channel *predecessor;             /* until the node is ours alone; NULL: it is */
	bool is_our_turn;                            /* it has passed the node on */
	int pid_file;                                /* open and locked */
	char own_program[OS_PROCESS_PATH_SIZE + 16]; /* the path of this one */
	struct supervisor_upgrade upgrade;
	void (*when_stopped)(struct supervisor *supervisor); /* during an upgrade */
	int64_t bind_until_us; /* monotonic: until then an address in use is retried */
	struct os_timer *patience;
	struct os_timer *mending; /* supervisor_watch_sockets() */
	struct os_timer *waiting; /* for the next log line on what a stop waits for */
	int64_t waiting_every_us;
	int64_t stop_until_us; /* monotonic */
	bool is_stopping;
	bool was_ready;
	struct os_timer *lateness; /* until processes that are not ready are named */
	bool is_late;
	int exit_status;
	struct buffer failure; /* why nothing can start; otherwise "" */
	bool is_draining;      /* takes in no mail */
	struct buffer unbound; /* the socket that could not be bound, and why */
	struct buffer faults;  /* what the start found without that; shown until all are ready */
	struct transcripts *transcripts; /* watchers of sessions */
	struct ipc_server *limits_server;
	struct hash_key rates_key;     /* of names in the rows */
	struct hash_key site_key;      /* if the configuration has none */
	int seen_error;                /* of supervisor_open_seen(), as logged; 0: none */
	struct limit_memory *limits;   /* all rows; NULL: nothing was limited so far */
	struct limit_classes *classes; /* of the configuration in force */
	struct os_timer *mail_sockets; /* runs while they are closed */
	struct request_record reload;
	struct supervisor_name_file name_files[SERVE_NAME_FILES];
};

/* site_key.c: the same after a restart, where the machine has an identifier. */
struct hash_key supervisor_make_site_key(void);

/* drain.c */
/* Before there are processes: whether RUN/draining is there from before. */
void supervisor_begin_drain(struct supervisor *supervisor);
/* Looks whether RUN/draining is there (talk/drain.h), and if that is new, tells whom it is about.
 */
void supervisor_watch_drain(struct supervisor *supervisor);

/* stop.c */
void supervisor_prepare_stop(struct supervisor *supervisor);
/* Stops everything, as a signal does. */
void supervisor_stop(void *supervisor);
/* Stops all processes, those for mail in after the deliveries; then calls STOPPED. */
void supervisor_stop_for_successor(struct supervisor *supervisor,
				   void (*stopped)(struct supervisor *supervisor));
/* After a process has ended: stops those that are next. */
void supervisor_stop_next(struct supervisor *supervisor);
bool supervisor_has_stopped(const struct supervisor *supervisor);

/* notify.c */
/* Notifies the service manager that started the node (sd_notify(3)), unless that is our
 * predecessor's still. SUPERVISOR: NULL if there is none, or none any more. */
void supervisor_notify(const struct supervisor *supervisor, const char *text);

/* upgrade.c: the predecessor's side of upgrade.h. */
/* SIGUSR2. */
void supervisor_upgrade(void *supervisor);
/* Whether the process PID, which has ended, was the successor. */
bool supervisor_upgrade_ended(struct supervisor *supervisor, pid_t pid, int status);
/* SIGTERM, SIGINT: supervisor_stop(), and gives up an upgrade. */
void supervisor_stop_all(void *supervisor);

/* upgrade_record.c */
void supervisor_begin_upgrade(struct supervisor *supervisor);
void supervisor_end_upgrade(struct supervisor *supervisor, bool is_refused);
/* Continues the record of earlier upgrades; -errno. */
MUST_CHECK int supervisor_begin_upgrade_record(struct supervisor *supervisor);
/* Records that an upgrade to this version has succeeded, if it has, and its predecessor cannot have
 * done so as it was killed. */
void supervisor_record_success(struct supervisor *supervisor);

/* successor.c: the other side. */
/* Takes over SOCKET, to the predecessor. */
void supervisor_meet_predecessor(struct supervisor *supervisor, int socket);
/* Says that we are prepared, and waits for our turn: false, which is logged, if it never comes. */
bool supervisor_await_turn(struct supervisor *supervisor);
/* If there is one. REASON: of UPGRADE_FAILED, for people; otherwise "". */
void supervisor_tell_predecessor(struct supervisor *supervisor, enum upgrade_message message,
				 struct str reason);

/* prepare.c: leaves the configuration in force to commands (supervisor/talk/good_config.h). */
void supervisor_keep_good_config(const struct supervisor *supervisor);

/* prepare.c: each creates its directory if it is missing, and logs problems. */
MUST_CHECK int supervisor_prepare_run(struct supervisor *supervisor);
MUST_CHECK int supervisor_prepare_queue(struct supervisor *supervisor);
/* Creates the directory of the address directory's data file, for its process alone; not the ones
 * above it. */
MUST_CHECK int supervisor_prepare_data(struct supervisor *supervisor);

/* begin.c */
/* Whether CONFIG, parsed from TEXT, works on this machine; problems are logged, and appended to
 * REASON if they prevent a start, else to FAULTS unless that is NULL. */
bool supervisor_can_work(const struct config *config, struct str text, struct buffer *reason,
			 struct buffer *faults);
/* A step of the start, or of a reload, has failed: logs FIELD=WHAT, REASON, which may be NULL, and
 * ERROR. Before there are processes, that is why nothing starts, and the exit status says whether
 * another attempt may succeed. */
void supervisor_cannot(struct supervisor *supervisor, enum log_key field, const char *what,
		       const char *reason, int error);
/* To call when a process is ready: reports when all are. */
void supervisor_announce_ready(struct supervisor *supervisor);
/* Before all processes were ready: stops, as no start can succeed because of REASON. Later it does
 * nothing, and the process is restarted. */
void supervisor_give_up(struct supervisor *supervisor, struct str reason);
/* Likewise, if PROGRAM has ended with a STATUS that it would have again and again. This is
 * logged, also later. */
void supervisor_judge_end(struct supervisor *supervisor, const char *program, int status);

/* certificates.c: whether "keys" can use the certificates of CONFIG that are not in force;
 * otherwise REASON has which one, its file, and why. */
MUST_CHECK bool supervisor_can_use_certificates(const struct supervisor *supervisor,
						const struct config *config, struct buffer *reason);

/* status.c */
/* STATE: what else the service manager is told, each line with its end; "": nothing. */
void supervisor_tell_status(const struct supervisor *supervisor, const char *state);
/* PROCESS waits for something, or works without it: tells the service manager; "": it does no
 * more. */
void supervisor_note_waits(struct process *process, struct str reason);
/* From now on, if they are not ready soon, those processes are told to the service manager. */
void supervisor_expect_ready(struct supervisor *supervisor);

/* socket.c */
/* Binds the sockets of CONFIG and marks them; keeps those that are bound. If an address is in use,
 * retries, and blocks, for PATIENCE_US. */
MUST_CHECK int supervisor_bind_sockets(struct supervisor *supervisor, const struct config *config,
				       int64_t patience_us);
/* The sockets in the run directory. */
MUST_CHECK int supervisor_bind_run_sockets(struct supervisor *supervisor);
/* A compromised process can shut down a socket that it shares with others: binds sockets of PROCESS
 * that have ended again when it is started; and those at addresses every second, in which turn the
 * files of names are looked at, too. */
void supervisor_mend_sockets(struct process *process);
void supervisor_watch_sockets(void *supervisor);
/* After others had the sockets: binds those again whose file is another one. */
void supervisor_mend_run_sockets(struct supervisor *supervisor);
/* Closes sockets that are not marked. */
void supervisor_drop_sockets(struct supervisor *supervisor);

/* inherit.c: listening sockets that were bound by a predecessor, or before a crash. */
/* Takes over DESCRIPTOR, which the service manager keeps as NAME (empty: it does not); it is used
 * if the configuration names its address. */
void supervisor_inherit(struct supervisor *supervisor, int descriptor, struct str name);
/* Likewise all that the service manager has passed to us. */
void supervisor_inherit_all(struct supervisor *supervisor, const struct supervisor_origin *origin);
/* The one of KIND at ADDRESS, which is taken out; -ENOENT: there is none that works. */
MUST_CHECK int supervisor_find_inherited(struct supervisor *supervisor, int kind,
					 const union os_socket_address *address);
/* Closes those at PORT: an earlier configuration had it at other addresses. */
void supervisor_drop_inherited_at(struct supervisor *supervisor, uint16_t port);
/* Closes those that nobody has wanted. */
void supervisor_drop_inherited(struct supervisor *supervisor);
/* Gives the service manager a copy of BOUND for the next start, also after a crash; closes it here
 * and there. */
void supervisor_store_socket(const struct supervisor *supervisor, const struct bound_socket *bound);
void supervisor_forget_socket(const struct supervisor *supervisor,
			      const struct bound_socket *bound);
/* To call when the service manager listens to us: gives it all of them. */
void supervisor_store_sockets(const struct supervisor *supervisor);

/* executable.c */
void supervisor_open_executables(struct supervisor *supervisor);
/* Starts the executable called FILE, as it was when the supervisor began: the pid or -errno. */
MUST_CHECK pid_t supervisor_run_executable(const struct supervisor *supervisor, const char *file,
					   const struct os_process_user *user, int control,
					   int output);

/* process.c */
void supervisor_add_processes(struct supervisor *supervisor);
/* After a reload: starts and stops the processes that depend on the configuration. */
void supervisor_choose_processes(struct supervisor *supervisor);
void supervisor_process_start(void *process);
void supervisor_process_ended(struct process *process, int status);

/* control.c */
/* Calls SAID for messages of PROCESS at SOCKET, which is taken over. */
void supervisor_control_begin(struct process *process, int socket, supervisor_said *said);
void supervisor_control_end(struct process *process);

/* setup.c */
#define SERVE_SET_UP_AGAIN_US SECOND_US
/* Sends the process its configuration and sockets; what cannot be sent or received now, in a
 * second. */
void supervisor_set_up(void *process);

/* token.c, seen.c */
/* Sends the tokens to PROCESS, which is starting or running. */
void supervisor_send_tokens(struct process *process);
/* Opens the file of what was seen of the directory's data, for the process: a descriptor that the
 * caller closes, or -errno, which is logged once. */
MUST_CHECK int supervisor_open_seen(struct process *process);
/* Gives PROCESS a new token, and tells the processes that check it. */
void supervisor_renew_token(struct process *process);

/* connect.c */
/* Makes connections for a process that was just started, until it ends. */
MUST_CHECK int supervisor_start_connecting(struct process *process);
void supervisor_stop_connecting(struct process *process);

/* log.c */
/* Creates the pipe for the standard error of PROCESS, which will be started: 0 or -errno. *TO_OUT:
 * its end; -1: it may write to ours directly. */
MUST_CHECK int supervisor_log_open(struct process *process, int *to_out);
/* PROCESS runs as FILE: passes on its lines. */
void supervisor_log_begin(struct process *process, const char *file);
/* PROCESS has ended: passes on the rest of its output. */
void supervisor_log_end(struct process *process);

/* transcript.c */
/* Accepts operators who watch sessions. */
void supervisor_watch_transcripts(struct supervisor *supervisor);
/* Does so no more, and disconnects those who do. */
void supervisor_end_transcripts(struct supervisor *supervisor);
/* Tells PROCESS, which is starting, what is watched. */
void supervisor_send_transcript(struct process *process);
/* Sends a line of a session from PROCESS to its watcher. */
void supervisor_pass_transcript(struct process *process, struct str said);

/* limits.c */
/* Makes the rows that processes need by CONFIG, if there are none, or smaller ones; 0 or -errno,
 * which was logged. */
MUST_CHECK int supervisor_prepare_limits(struct supervisor *supervisor,
					 const struct config *config);
/* The classes of the configuration in force are those that count from now on. */
void supervisor_use_limits(struct supervisor *supervisor);
/* Sends PROCESS its row and those of the others. */
void supervisor_send_rows(const struct process *process);
/* PROCESS is a new one: makes its row, and sends it to the others. */
void supervisor_give_row(struct process *process);
/* PROCESS has ended, and its sessions with it. */
void supervisor_clear_row(const struct process *process);

/* mail_sockets.c */
/* Closes the TCP sockets for mail, if no class of hosts can take another client. */
void supervisor_close_mail_sockets(struct supervisor *supervisor);
/* Opens them again. */
void supervisor_open_mail_sockets(struct supervisor *supervisor);

/* names.c */
/* Before any process is started: notes what the files of names say. */
void supervisor_know_names(struct supervisor *supervisor);
/* To call every second: tells the processes once they say something else. */
void supervisor_watch_names(struct supervisor *supervisor);

/* limits_talk.c */
/* Accepts operators who look at the limits; no more. */
void supervisor_show_limits(struct supervisor *supervisor);
void supervisor_hide_limits(struct supervisor *supervisor);

/* reload.c: handles SIGHUP. */
void supervisor_reload(void *supervisor);

#endif
