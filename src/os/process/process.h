// SPDX-License-Identifier: ISC
/*
 * os/process/process.h - starts and watches processes; users, groups and limits of this one.
 */
#ifndef OS_PROCESS_PROCESS_H
#define OS_PROCESS_PROCESS_H

#include "base/attributes.h"
#include "base/str.h"
#include <sys/types.h>

enum {
	OS_PROCESS_CONTROL = 3, /* a started process's descriptor of its control socket */
	OS_PROCESS_PATH_SIZE = 4096,
	OS_PROCESS_GROUPS_MAX = 32,
};

struct os_process_user {
	bool change;
	bool may_gain; /* programs may gain rights: set-user-ID works */
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* borrowed: supplementary groups */
	size_t group_count;
	bool keeps_groups;     /* of os_process_files_as(): has this process's own instead */
	uint64_t capabilities; /* to keep, if we have them and the user is not root, and to pass on
				* to programs, also if we were root: bits 1 << CAP_... */
};

/* A user and his account. */
struct os_process_account {
	struct os_process_user user;
	char name[64];
	char home[256];
};

/* Looks up the account; -ENOENT: there is certainly none; another -errno: that is not known. */
MUST_CHECK int os_process_account_find(const char *name, struct os_process_account *out);
/* Starts a helper process, as USER, that looks up accounts for this one until this one ends: to
 * call before losing the right to open the necessary files. One look-up then takes ten seconds at
 * most (-ETIMEDOUT), and as long as that one is not answered others fail at once. */
MUST_CHECK int os_process_account_helper(const struct os_process_user *user);
/* Looks up the user, without supplementary groups; -ENOENT: there is none. */
MUST_CHECK int os_process_user_find(const char *name, struct os_process_user *out);
/* The supplementary groups of the user NAME, whose primary group is GID: returns their number; the
 * array gets as many as fit. */
size_t os_process_groups_find(const char *name, gid_t gid, gid_t groups[OS_PROCESS_GROUPS_MAX]);
/* Becomes USER permanently, with exactly his groups and, unless he is root, exactly his
 * capabilities. */
MUST_CHECK int os_process_become(const struct os_process_user *user);
/* New files get the group of USER, if it is a change; *BEFORE_OUT is the group to restore. */
MUST_CHECK int os_process_change_group(const struct os_process_user *user, gid_t *before_out);
void os_process_change_group_back(const struct os_process_user *user, gid_t before);
/* This process's number. */
pid_t os_process_id(void);
bool os_process_is_root(void);
/* Whether this process may change its user: as root, or by capabilities. */
bool os_process_may_change_user(void);
/* The effective user of this process. */
uid_t os_process_effective_user(void);
/* Its effective group. */
gid_t os_process_effective_group(void);
/* From now on this thread accesses files as USER, with exactly his groups and without root's
 * rights; other threads are not affected. The process must have the right to change its user. Ends
 * with os_process_files_as_self(). */
MUST_CHECK int os_process_files_as(const struct os_process_user *user);
void os_process_files_as_self(void);
struct os_process_caller {
	unsigned long id;
	char name[64];       /* "": unknown */
	char full_name[128]; /* first part of the GECOS field */
};

/* The user who started this program. To call before os_process_become(). */
void os_process_caller_find(struct os_process_caller *out);
/* The owner of the file at PATH: 0, or -errno. */
MUST_CHECK int os_process_owner_of(const char *path, uid_t *owner_out);
/* Whether files that this process creates in the directory PATH belong to the
 * directory's owner: 1, 0 or -errno. */
MUST_CHECK int os_process_owns(const char *path);
/* Whether this program has another effective user than the one who started it, so
 * that it must not do what that user may not do. */
bool os_process_is_privileged(void);
/* For a program that is set-group-ID: until os_process_resume_group() it has the group of the user
 * who started it. Also cleans what he has left it: it inherits no environment and no descriptor
 * above standard error, leaves no core, and its alarm rings. Otherwise it does nothing. */
MUST_CHECK int os_process_suspend_group(void);
/* Has the program's own group again, until os_process_drop_group(). */
MUST_CHECK int os_process_resume_group(void);
/* Has only the group of the user who started it from now on. */
MUST_CHECK int os_process_drop_group(void);
/* The group NAME; -ENOENT: there is none. */
MUST_CHECK int os_process_group_find(const char *name, gid_t *group_out);
/* Whether the user who started this program could read the same files without it: root, or the
 * effective user, with his group. *CALLER_OUT: his uid. */
bool os_process_was_started_by_owner(unsigned long *caller_out);
/* Sets the umask so that files get the modes that this program requests. */
void os_process_own_mask(void);
/* Sets the umask so that new files are private to the user. */
void os_process_private_mask(void);
/* Ends the process with STATUS after SECONDS. */
MUST_CHECK int os_process_limit_time(unsigned seconds, int status);

/* The program at PATH, to be started from this file also when another one has its name: a
 * descriptor, or -errno. */
MUST_CHECK int os_process_open_program(const char *path);
/* Starts the program that was opened as PROGRAM (-1: the one at PATH) with ARGUMENTS (ends with
 * NULL), as USER, with standard input from /dev/null, CONTROL as descriptor OS_PROCESS_CONTROL, and
 * OUTPUT as standard output and error; if that is -1, it inherits them: the pid or -errno. */
MUST_CHECK pid_t os_process_start(const char *path, int program, const char *const *arguments,
				  const struct os_process_user *user, int control, int output);
/* The process's name for people (ps(1)): the kernel has none for a program that was not started by
 * its path. */
void os_process_set_name(const char *name);
/* This process, and all that it starts from now on, can be killed together. */
void os_process_lead_group(void);
/* A pipe, close-on-exec and non-blocking, with a capacity of ROOM bytes, or as much as the system
 * allows. ENDS_OUT: for reading, for writing. */
MUST_CHECK int os_process_pipe(size_t room, int ends_out[2]);
/* A child that has ended: its pid, or 0 if there is none. STATUS_OUT as of
 * waitpid(). */
pid_t os_process_ended(int *status_out);
void os_process_kill(pid_t pid, int signal);
/* Kills all who are in the group that process PID leads or, if it has ended, has led. */
void os_process_kill_group(pid_t pid);
/* Sends a signal to a process that is not a child, if it is USER's: -ESRCH, -EPERM; -ENOTUNIQ if it
 * is another user's, or the owner is unknown. May drop all capabilities. */
MUST_CHECK int os_process_signal_of(pid_t pid, uid_t user, int signal);
/* "exit 1", "signal 9" */
void os_process_status_format(int status, char *text, size_t size);

/* The directory of the running program's file; PATH has room for
 * OS_PROCESS_PATH_SIZE bytes. */
MUST_CHECK int os_process_own_directory(char *path);
/* The present directory; PATH likewise. */
MUST_CHECK int os_process_directory(char *path);
/* A variable of the environment, or NULL: also if the program has rights that its caller lacks. */
const char *os_process_environment(const char *name);
/* Runs the program at PATH in place of this one, with ARGUMENTS, which end with NULL. -errno. */
MUST_CHECK int os_process_replace(const char *path, char **arguments);

/* A pair of connected SOCK_SEQPACKET sockets, close-on-exec and non-blocking. */
MUST_CHECK int os_process_socket_pair(int sockets_out[2]);

/* From now on nobody of its user can trace this process or look into its memory, and it leaves no
 * core. Programs that it starts are as any other. */
void os_process_hide_memory(void);

/* A read-only descriptor of TEXT that nobody can change (a sealed memfd); and
 * the text of such a descriptor (appended to OUT, at most LIMIT bytes). */
MUST_CHECK int os_process_share_text(struct str text);
struct buffer;
MUST_CHECK int os_process_read_text(int descriptor, size_t limit, struct buffer *out);

/* Descriptors above standard error that were inherited: closes them but the first KEPT; or makes
 * them close-on-exec. */
void os_process_close_inherited(unsigned kept);
void os_process_keep_inherited(void);
/* Raises the limit on open descriptors to the maximum allowed. */
void os_process_raise_descriptor_limit(void);
/* The limit on open descriptors. */
size_t os_process_descriptor_limit(void);
/* Makes allocations above BYTES fail: for libraries that allocate what a peer announces, and handle
 * a failure. */
void os_process_limit_memory(uint64_t bytes);
/* Ignores SIGXFSZ: a write beyond the file size limit fails (-EFBIG). Also applies to processes
 * that this one starts, except programs (os/process/program.h). */
void os_process_ignore_size_signal(void);
/* Ends the process at once: no library tidies up, nothing is flushed. */
_Noreturn void os_process_quit(int status);
/* Ignores SIGPIPE. */
void os_process_ignore_pipe_signal(void);
/* Ignores SIGINT, SIGTERM and SIGHUP: they are for the supervisor, even if
 * sent to the whole process group. */
void os_process_ignore_stop_signals(void);

/* The machine's name (gethostname(2)), cut to SIZE - 1 bytes; 0 or -errno. */
MUST_CHECK int os_host_name(char *name, size_t size);
enum { OS_BOOT_SIZE = 17 };
/* A text that differs for each boot of the machine; "" if the kernel does not provide it. */
void os_boot(char text_out[OS_BOOT_SIZE]);

#endif
