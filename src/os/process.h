// SPDX-License-Identifier: ISC
/*
 * os/process.h - starting, watching and being a process.
 */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include "base/attributes.h"
#include "base/str.h"
#include <sys/types.h>

enum {
	OS_PROCESS_CONTROL = 3, /* the descriptor a started process finds its control socket at */
	OS_PROCESS_PATH_SIZE = 4096,
	OS_PROCESS_GROUPS_MAX = 32,
};

struct os_process_user {
	bool change;
	bool may_gain; /* what it starts may gain rights: set-user-ID programs work */
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* borrowed: the others that he has */
	size_t group_count;
	uint64_t capabilities; /* that are kept, where we have them and he is not root, and that
				* programs begin with: bits 1 << CAP_... */
};

/* A user with what is known of him. */
struct os_process_account {
	struct os_process_user user;
	char name[64];
	char home[256];
};

/* Looks the account up; -ENOENT when there is none. */
MUST_CHECK int os_process_account_find(const char *name, struct os_process_account *out);
/* Starts a process that does so for this one from now on, as USER, until this one
 * ends: for who will not be able to open what it takes. */
MUST_CHECK int os_process_account_helper(const struct os_process_user *user);
/* Looks the user up, without groups but his own; -ENOENT when there is none. */
MUST_CHECK int os_process_user_find(const char *name, struct os_process_user *out);
/* The groups of the user NAME besides his own, GID, as the system has them: how many;
 * the first of them when there are more. */
size_t os_process_groups_find(const char *name, gid_t gid, gid_t groups[OS_PROCESS_GROUPS_MAX]);
/* Becomes USER for good, with his groups and no others, and, unless he is root, with his
 * capabilities and no others. */
MUST_CHECK int os_process_become(const struct os_process_user *user);
/* What is made from now on has the group of USER, who is a change; then back to *BEFORE_OUT. */
MUST_CHECK int os_process_change_group(const struct os_process_user *user, gid_t *before_out);
void os_process_change_group_back(const struct os_process_user *user, gid_t before);
/* This process's number. */
pid_t os_process_id(void);
bool os_process_is_root(void);
/* Whether this process may become others: root, or who has the capabilities for it. */
bool os_process_may_change_user(void);
/* The user that this process acts as. */
uid_t os_process_effective_user(void);
/* From now on what this thread does to files is done as USER, with no other groups
 * and without root's power over files; the others of the process stay what they
 * are. For who may change its user; then os_process_files_as_self(), with no other groups. */
MUST_CHECK int os_process_files_as(const struct os_process_user *user);
void os_process_files_as_self(void);
struct os_process_caller {
	unsigned long id;
	char name[64];       /* "": the system knows none */
	char full_name[128]; /* first part of the GECOS field */
};

/* The user who started this program. Before os_process_become(). */
void os_process_caller_find(struct os_process_caller *out);
/* Who owns what is at PATH: 0, or -errno. */
MUST_CHECK int os_process_owner_of(const char *path, uid_t *owner_out);
/* Whether files that this process makes in the directory PATH belong to the
 * directory's owner: 1, 0 or -errno. */
MUST_CHECK int os_process_owns(const char *path);
/* Whether this program acts as another user than the one who started it, so
 * that it must not do what that one may not. */
bool os_process_is_privileged(void);
/* Whether he who started this program could see by himself what it can: root, or the user that
 * it acts as, in his group. *CALLER_OUT: his number. */
bool os_process_was_started_by_owner(unsigned long *caller_out);
/* Files get the modes that this program wants, whatever its caller set. */
void os_process_own_mask(void);
/* What this process makes from now on is its user's alone. */
void os_process_private_mask(void);
/* Ends the process with STATUS after SECONDS, whatever it does. */
MUST_CHECK int os_process_limit_time(unsigned seconds, int status);

/* Starts PATH with ARGUMENTS (ends with NULL), as USER, with standard input from
 * /dev/null, CONTROL as descriptor OS_PROCESS_CONTROL, and OUTPUT as standard output and error,
 * which are this process's where it is -1: the pid or -errno. */
MUST_CHECK pid_t os_process_start(const char *path, const char *const *arguments,
				  const struct os_process_user *user, int control, int output);
/* A pipe, close-on-exec, of whose ends neither blocks; with room for ROOM bytes, or for as many as
 * the system lets one have. ENDS_OUT: to read, to write. */
MUST_CHECK int os_process_pipe(size_t room, int ends_out[2]);
/* A child that has ended: its pid, 0 when there is none now. STATUS_OUT as of
 * waitpid(). */
pid_t os_process_ended(int *status_out);
void os_process_kill(pid_t pid, int signal);
/* The same for a process of somebody else's, if it is USER's: -ESRCH, -EPERM; -ENOTUNIQ when
 * it is another user's, or that cannot be told. May give up all capabilities for it. */
MUST_CHECK int os_process_signal_of(pid_t pid, uid_t user, int signal);
/* "exit 1", "signal 9" */
void os_process_status_format(int status, char *text, size_t size);

/* The directory that the running program's file stands in; PATH has room for
 * OS_PROCESS_PATH_SIZE bytes. */
MUST_CHECK int os_process_own_directory(char *path);

/* A pair of connected SOCK_SEQPACKET sockets, close-on-exec, not blocking. */
MUST_CHECK int os_process_socket_pair(int sockets_out[2]);

/* A read-only descriptor of TEXT that nobody can change (a sealed memfd), and
 * what such a descriptor holds (appended to OUT, at most LIMIT bytes). */
MUST_CHECK int os_process_share_text(struct str text);
struct buffer;
MUST_CHECK int os_process_read_text(int descriptor, size_t limit, struct buffer *out);

/* Descriptors that came from who started this program, above standard error: closes them, or lets
 * nothing that it starts have them. */
void os_process_close_inherited(void);
void os_process_keep_inherited(void);
/* Raises the bound on open descriptors to what is allowed. */
void os_process_raise_descriptor_limit(void);
/* That bound. */
size_t os_process_descriptor_limit(void);
/* Memory for data above BYTES is refused from now on: for a library that takes what a peer
 * names, and can live with a refusal. */
void os_process_limit_memory(uint64_t bytes);
/* What is written past a limit on the size of files fails (-EFBIG) and ends nobody; also in
 * what this process starts, but for programs (os/program.h). */
void os_process_ignore_size_signal(void);
/* Takes SIGPIPE away. */
void os_process_ignore_pipe_signal(void);
/* Takes SIGINT, SIGTERM and SIGHUP away: they are the supervisor's, even when
 * sent to the whole process group. */
void os_process_ignore_stop_signals(void);

/* What the machine calls itself (gethostname(2)), cut to SIZE - 1 bytes; 0 or -errno. */
MUST_CHECK int os_host_name(char *name, size_t size);
enum { OS_BOOT_SIZE = 17 };
/* Another text each time that the machine starts; "" where the kernel does not tell. */
void os_boot(char text_out[OS_BOOT_SIZE]);

#endif
