// SPDX-License-Identifier: ISC
#include "os/inspect/inspect.h"
#include "base/str.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INSPECT_LINE_SIZE = 4096 };

static const char *const capability_lines[OS_INSPECT_SETS] = {
	[OS_INSPECT_INHERITABLE] = "CapInh:", [OS_INSPECT_PERMITTED] = "CapPrm:",
	[OS_INSPECT_EFFECTIVE] = "CapEff:",   [OS_INSPECT_BOUNDING] = "CapBnd:",
	[OS_INSPECT_AMBIENT] = "CapAmb:",
};

/* What follows NAME in LINE; NULL: LINE does not begin with NAME. */
static const char *value_of_status_line(const char *line, const char *name)
{
	size_t length = strlen(name);

	return strncmp(line, name, length) == 0 ? line + length : NULL;
}

static void read_four(const char *text, unsigned out[4])
{
	(void)sscanf(text, "%u %u %u %u", &out[0], &out[1], &out[2], &out[3]);
}

static void read_others(const char *text, struct os_inspect_status *out)
{
	char *end;

	for (;; text = end) {
		unsigned long group = strtoul(text, &end, 10);

		if (end == text)
			return;
		if (out->other_count < OS_INSPECT_GROUPS_MAX)
			out->others[out->other_count] = (gid_t)group;
		out->other_count++;
	}
}

static void read_status_line(const char *line, struct os_inspect_status *out)
{
	const char *value;

	if ((value = value_of_status_line(line, "PPid:")) != NULL)
		out->parent = (pid_t)strtol(value, NULL, 10);
	else if ((value = value_of_status_line(line, "Uid:")) != NULL)
		read_four(value, out->users);
	else if ((value = value_of_status_line(line, "Gid:")) != NULL)
		read_four(value, out->groups);
	else if ((value = value_of_status_line(line, "Groups:")) != NULL)
		read_others(value, out);
	else if ((value = value_of_status_line(line, "NoNewPrivs:")) != NULL)
		out->may_not_gain = strtoul(value, NULL, 10) != 0;
	else if ((value = value_of_status_line(line, "Seccomp:")) != NULL)
		out->seccomp = (unsigned)strtoul(value, NULL, 10);
	else if ((value = value_of_status_line(line, "Seccomp_filters:")) != NULL)
		out->filters = (unsigned)strtoul(value, NULL, 10);
	for (size_t i = 0; i < OS_INSPECT_SETS; i++)
		if ((value = value_of_status_line(line, capability_lines[i])) != NULL)
			out->capabilities[i] = strtoull(value, NULL, 16);
}

static FILE *open_text(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
	return fopen(path, "re");
}

/* The /proc files of an undumpable process belong to root (proc(5)). */
static bool is_root_only(pid_t pid)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
	return stat(path, &status) == 0 && status.st_uid == 0;
}

int os_inspect_status(pid_t pid, struct os_inspect_status *out)
{
	char line[INSPECT_LINE_SIZE];
	FILE *file = open_text(pid, "status");

	if (file == NULL)
		return -errno;
	*out = (struct os_inspect_status){0};
	while (fgets(line, sizeof line, file) != NULL)
		read_status_line(line, out);
	fclose(file);
	out->may_be_trapped = out->users[1] != 0 && !is_root_only(pid);
	return out->parent > 0 ? 0 : -ESRCH;
}

static int read_link(const char *path, char out[OS_PROCESS_PATH_SIZE])
{
	ssize_t length = readlink(path, out, OS_PROCESS_PATH_SIZE - 1);

	if (length < 0)
		return -errno;
	out[length] = '\0';
	return 0;
}

int os_inspect_program(pid_t pid, char path_out[OS_PROCESS_PATH_SIZE])
{
	static const char deleted[] = " (deleted)";
	char path[64];
	size_t length;
	int error;

	snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
	error = read_link(path, path_out);
	length = error == 0 ? strlen(path_out) : 0;
	if (length > strlen(deleted) && strcmp(path_out + length - strlen(deleted), deleted) == 0)
		path_out[length - strlen(deleted)] = '\0';
	return error;
}

static unsigned read_flags(pid_t pid, const char *number)
{
	char name[sizeof "fdinfo/" + NAME_MAX];
	char line[INSPECT_LINE_SIZE];
	unsigned flags = 0;
	FILE *file;

	snprintf(name, sizeof name, "fdinfo/%s", number);
	file = open_text(pid, name);
	if (file == NULL)
		return 0;
	while (fgets(line, sizeof line, file) != NULL) {
		const char *value = value_of_status_line(line, "flags:");

		if (value != NULL)
			flags = (unsigned)strtoul(value, NULL, 8);
	}
	fclose(file);
	return flags;
}

/* NULL: there are no more (*ERROR_OUT: 0), or -errno. */
static const struct dirent *next_proc_entry(DIR *directory, int *error_out)
{
	const struct dirent *entry;

	errno = 0;
	entry = readdir(directory);
	*error_out = entry == NULL ? -errno : 0;
	return entry;
}

int os_inspect_descriptors(pid_t pid, os_inspect_each *each, void *context)
{
	char target[OS_PROCESS_PATH_SIZE];
	char path[64 + NAME_MAX];
	const struct dirent *entry;
	DIR *directory;
	int error;

	snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
	directory = opendir(path);
	if (directory == NULL)
		return -errno;
	while ((entry = next_proc_entry(directory, &error)) != NULL) {
		snprintf(path, sizeof path, "/proc/%ld/fd/%s", (long)pid, entry->d_name);
		if (entry->d_name[0] != '.' && read_link(path, target) == 0)
			each(context, (int)strtol(entry->d_name, NULL, 10), target,
			     read_flags(pid, entry->d_name));
	}
	closedir(directory);
	return error;
}

bool os_inspect_may_change_user(const struct os_inspect_status *status)
{
	const uint64_t identities = 1U << CAP_SETUID | 1U << CAP_SETGID;

	return status->users[1] == 0 ||
	       (status->capabilities[OS_INSPECT_EFFECTIVE] & identities) == identities;
}

int os_inspect_processes(void (*each)(void *context, pid_t pid, pid_t parent), void *context)
{
	const struct dirent *entry;
	DIR *directory = opendir("/proc");
	int error;

	if (directory == NULL)
		return -errno;
	while ((entry = next_proc_entry(directory, &error)) != NULL) {
		struct os_inspect_status status = {0};
		uint64_t pid;

		if (str_to_u64(str_from(entry->d_name), &pid) && pid <= INT_MAX &&
		    os_inspect_status((pid_t)pid, &status) == 0)
			each(context, (pid_t)pid, status.parent);
	}
	closedir(directory);
	return error;
}
