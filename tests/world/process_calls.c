// SPDX-License-Identifier: ISC
/* os/process/process.h: starting and ending, pipes, texts. Everybody is the same user, who may not
 * become another one. */
#include "endpoint.h"
#include "inside.h"
#include "os/process/account.h"
#include "os/process/process.h"
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OWN_USER = 1000 };

void os_process_private_mask(void)
{
}

int os_process_open_program(const char *path)
{
	(void)path;
	return -ENOENT; /* the programs of a world are never replaced */
}

void os_process_set_name(const char *name)
{
	(void)name;
}

pid_t os_process_start(const char *path, int opened, const char *const *arguments,
		       const struct os_process_user *user, int control, int output)
{
	struct process *parent = kernel_process();
	const char *slash = strrchr(path, '/');
	const struct world_program *program = world_find_program(slash != NULL ? slash + 1 : path);
	struct description *of_control = table_find(control);
	struct process *process;

	(void)user;
	(void)opened;
	if (program == NULL)
		return -ENOENT;
	if (of_control == NULL)
		return -EBADF;
	process = process_new(parent->machine, parent, program, arguments, NULL);
	for (int i = 1; i <= 2; i++) {
		struct description *description = table_find(output >= 0 ? output : i);

		if (description != NULL)
			table_put(process, i, description);
	}
	table_put(process, OS_PROCESS_CONTROL, of_control);
	return process->pid;
}

int os_process_pipe(size_t room, int ends_out[2])
{
	struct endpoint *from = endpoint_new(ENDPOINT_STREAM, false);
	struct endpoint *to = endpoint_new(ENDPOINT_STREAM, false);

	endpoint_make_pipe(from, to, room);
	ends_out[0] = table_add(&from->description);
	ends_out[1] = table_add(&to->description);
	if (ends_out[0] >= 0 && ends_out[1] >= 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (ends_out[i] >= 0)
			(void)table_close(ends_out[i]);
	return -EMFILE;
}

int os_process_socket_pair(int sockets_out[2])
{
	struct endpoint *one = endpoint_new(ENDPOINT_PACKET, false);
	struct endpoint *other = endpoint_new(ENDPOINT_PACKET, false);

	endpoint_join(one, other, 0);
	sockets_out[0] = table_add(&one->description);
	sockets_out[1] = table_add(&other->description);
	if (sockets_out[0] >= 0 && sockets_out[1] >= 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (sockets_out[i] >= 0)
			(void)table_close(sockets_out[i]);
	return -EMFILE;
}

/* --- children --- */

pid_t os_process_ended(int *status_out)
{
	for (struct process *process = process_first(); process != NULL; process = process->next) {
		pid_t pid = process->pid;

		if (!process->has_ended || process->parent != kernel_process())
			continue;
		*status_out = process->status;
		process_forget(process);
		return pid;
	}
	return 0;
}

void os_process_lead_group(void)
{
}

void os_process_kill_group(pid_t pid)
{
	(void)pid; /* there are none */
}

void os_process_kill(pid_t pid, int number)
{
	struct process *process = pid > 0 ? process_find(pid) : NULL;

	if (process == NULL || process->has_ended)
		return;
	if (process == kernel_process() && number == SIGKILL)
		process_leave(SIGKILL);
	process_signal(process, number);
}

void os_process_quit(int status)
{
	process_leave((status & 0xff) << 8);
}

int os_process_signal_of(pid_t pid, uid_t user, int number)
{
	struct process *process = process_find(pid);

	(void)user;
	if (process == NULL || process->has_ended)
		return -ESRCH;
	process_signal(process, number);
	return 0;
}

void os_process_status_format(int status, char *text, size_t size)
{
	if ((status & 0x7f) != 0)
		snprintf(text, size, "signal %d", status & 0x7f);
	else
		snprintf(text, size, "exit %d", status >> 8);
}

/* --- texts --- */

struct text {
	struct description description;
	size_t size;
	char data[];
};

static void close_text(struct description *description)
{
	free(description);
}

static const struct description_kind text_description = {"text", NULL, close_text,
							 NULL,   NULL, S_IFREG};

void os_process_hide_memory(void)
{
}

int os_process_share_text(struct str value)
{
	struct text *text = calloc(1, sizeof *text + value.length);

	if (text == NULL)
		err(1, "no memory");
	description_init(&text->description, &text_description);
	text->size = value.length;
	if (value.length > 0)
		memcpy(text->data, value.data, value.length);
	return table_add(&text->description);
}

ssize_t world_text_read(int descriptor, const char **data_out)
{
	const struct text *text = (void *)table_of_kind(descriptor, &text_description);

	if (text == NULL)
		return -EBADF;
	*data_out = text->data;
	return (ssize_t)text->size;
}

/* --- signals and limits --- */

void os_process_ignore_size_signal(void)
{
	kernel_process()->ignored[SIGXFSZ] = true;
}

void os_process_ignore_pipe_signal(void)
{
	kernel_process()->ignored[SIGPIPE] = true;
}

void os_process_ignore_stop_signals(void)
{
	kernel_process()->ignored[SIGINT] = true;
	kernel_process()->ignored[SIGTERM] = true;
	kernel_process()->ignored[SIGHUP] = true;
}

void os_process_close_inherited(unsigned kept)
{
	(void)kept;
	for (int i = 3; (size_t)i < kernel_process()->descriptor_count; i++)
		(void)table_close(i);
}

void os_process_keep_inherited(void)
{
}

void os_process_raise_descriptor_limit(void)
{
}

/* Its own. What is short for a while (trouble.h) is the machine's: a process that starts meanwhile
 * has more later. */
size_t os_process_descriptor_limit(void)
{
	return WORLD_DESCRIPTORS_MAX;
}

void os_process_limit_memory(uint64_t bytes)
{
	(void)bytes;
}

int os_process_limit_time(unsigned seconds, int status)
{
	(void)seconds;
	(void)status;
	return 0;
}

/* --- users --- */

int os_process_user_find(const char *name, struct os_process_user *out)
{
	(void)name;
	*out = (struct os_process_user){.change = true, .uid = OWN_USER, .gid = OWN_USER};
	return 0;
}

int os_process_account_find(const char *name, struct os_process_account *out)
{
	if (strcmp(name, WORLD_PROGRAM_USER) != 0)
		return -ENOENT;
	*out = (struct os_process_account){
		.user = {.change = true, .uid = OWN_USER, .gid = OWN_USER}};
	snprintf(out->name, sizeof out->name, "%s", name);
	return 0;
}

int os_process_account_helper(const struct os_process_user *user)
{
	(void)user;
	return 0;
}

/* No service of a world delivers as the user of each mailbox, so nobody is asked for. */
int os_process_account_open(void)
{
	return -EOPNOTSUPP;
}

int os_process_account_ask(int socket, const char *name)
{
	(void)socket;
	(void)name;
	return -EPIPE;
}

int os_process_account_answer(int socket, int *error_out, struct os_process_account *out)
{
	(void)socket;
	(void)error_out;
	(void)out;
	return -EPIPE;
}

size_t os_process_groups_find(const char *name, gid_t gid, gid_t groups[OS_PROCESS_GROUPS_MAX])
{
	(void)name;
	(void)gid;
	(void)groups;
	return 0;
}

int os_process_become(const struct os_process_user *user)
{
	(void)user;
	return 0;
}

int os_process_change_group(const struct os_process_user *user, gid_t *before_out)
{
	(void)user;
	*before_out = OWN_USER;
	return 0;
}

void os_process_change_group_back(const struct os_process_user *user, gid_t before)
{
	(void)user;
	(void)before;
}

bool os_process_is_root(void)
{
	return false;
}

bool os_process_may_change_user(void)
{
	return false;
}

uid_t os_process_effective_user(void)
{
	return OWN_USER;
}

gid_t os_process_effective_group(void)
{
	return OWN_USER;
}

int os_process_files_as(const struct os_process_user *user)
{
	(void)user;
	return -EPERM;
}

void os_process_files_as_self(void)
{
}

void os_process_caller_find(struct os_process_caller *out)
{
	*out = (struct os_process_caller){.id = OWN_USER, .name = "world"};
}

int os_process_owner_of(const char *path, uid_t *owner_out)
{
	(void)path;
	*owner_out = OWN_USER;
	return 0;
}

int os_process_owns(const char *path)
{
	(void)path;
	return 1;
}

bool os_process_is_privileged(void)
{
	return false;
}

bool os_process_was_started_by_owner(unsigned long *caller_out)
{
	*caller_out = OWN_USER;
	return true;
}

int os_process_suspend_group(void)
{
	return 0;
}

int os_process_resume_group(void)
{
	return 0;
}

int os_process_drop_group(void)
{
	return 0;
}

int os_process_group_find(const char *name, gid_t *group_out)
{
	(void)name;
	*group_out = OWN_USER;
	return 0;
}

void os_process_own_mask(void)
{
}

int os_process_replace(const char *path, char **arguments)
{
	(void)path;
	(void)arguments;
	return -ENOSYS; /* nobody becomes another program in the world */
}

int os_process_own_directory(char *path)
{
	snprintf(path, OS_PROCESS_PATH_SIZE, "/usr/sbin");
	return 0;
}

int os_process_directory(char *path)
{
	snprintf(path, OS_PROCESS_PATH_SIZE, "/");
	return 0;
}

void os_boot(char text_out[OS_BOOT_SIZE])
{
	snprintf(text_out, OS_BOOT_SIZE, "%016llx",
		 (unsigned long long)kernel_process()->machine->boots);
}
