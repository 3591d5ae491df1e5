// SPDX-License-Identifier: ISC
/* Creates the directories of a node with the rights that their processes need. */
#include "log/event.h"
#include "os/file/rights.h"
#include "supervisor/internal.h"
#include "supervisor/talk/good_config.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static int prepare_directory(struct supervisor *supervisor, const char *path)
{
	int error = os_file_make_directory(OS_FILE_HERE, path);

	if (error == -EEXIST)
		return 0;
	if (error == 0 && supervisor->users.node.change)
		error = os_file_set_owner(path, supervisor->users.node.uid,
					  supervisor->users.node.gid);
	if (error < 0)
		supervisor_cannot(supervisor, LOG_TEXT_directory, path, NULL, error);
	return error;
}

/* Lets others reach what is in PATH: the last good configuration, and sockets, of which each has
 * its own mode. */
static int open_to_search(const char *path)
{
	const unsigned others = 0001;
	struct os_file_info info;
	int directory;
	int error = os_file_info_behind(path, &info);

	if (error < 0 || (info.mode & others) != 0)
		return error;
	directory = os_file_open_directory(OS_FILE_HERE, path);
	if (directory < 0)
		return directory;
	error = os_file_set_mode(directory, (info.mode & 07777) | others);
	os_file_close(directory);
	return error;
}

/* The directory of sockets belongs to root, with search permission for the group: whoever could
 * change it could replace any socket. */
int supervisor_prepare_run(struct supervisor *supervisor)
{
	const char *path = supervisor->config->run;
	gid_t before;
	int error = os_process_change_group(&supervisor->users.node, &before);

	if (error == 0) {
		error = os_file_make_directory(OS_FILE_HERE, path);
		os_process_change_group_back(&supervisor->users.node, before);
	}
	if (error == -EEXIST)
		error = 0;
	if (error == 0)
		error = open_to_search(path);
	if (error < 0)
		supervisor_cannot(supervisor, LOG_TEXT_directory, path, NULL, error);
	return error;
}

void supervisor_keep_good_config(const struct supervisor *supervisor)
{
	int error = good_config_write(supervisor->config, supervisor->file);

	if (error < 0)
		log_event(EVENT_PROCESS_ERROR, log_string(run, supervisor->config->run),
			  log_string(reason, "the last good configuration cannot be written; "
					     "commands that find the file wrong will fail"),
			  log_error(error));
}

/* Makes a directory private to USER. Follows a symbolic link, but not to a directory of another
 * user. */
static int close_directory(const char *path, uid_t user)
{
	struct os_file_info info;
	int directory;
	int error = 0;

	if (os_file_info_behind(path, &info) == 0 && info.owner == user &&
	    (info.mode & 0777) == 0700)
		return 0; /* so the right to open it is not needed */
	directory = os_file_open_directory(OS_FILE_HERE, path);
	if (directory < 0)
		return directory;
	if (os_file_info(directory, &info) != 0 || info.owner != user)
		error = -EPERM;
	else
		error = os_file_set_mode(directory, 0700);
	os_file_close(directory);
	return error;
}

/* Processes with users of their own share the owner's group. */
int supervisor_prepare_queue(struct supervisor *supervisor)
{
	const char *path = supervisor->config->queue;
	int error = prepare_directory(supervisor, path);

	if (error < 0 || !supervisor->users.node.change ||
	    !config_has_process_users(supervisor->config))
		return error;
	error = close_directory(path, supervisor->users.node.uid);
	if (error < 0)
		supervisor_cannot(supervisor, LOG_TEXT_directory, path, NULL, error);
	return error;
}

int supervisor_prepare_data(struct supervisor *supervisor)
{
	const struct config_directory *directory = &supervisor->config->directory;
	const struct os_process_user *user =
		&program_users_of(&supervisor->users, "directory")->user;
	struct str path = str_from(directory->path != NULL ? directory->path : "");
	ptrdiff_t slash = str_find_last(path, '/');
	char parent[PATH_MAX];
	int error;

	if ((directory->backend != CONFIG_BACKEND_SQLITE &&
	     directory->backend != CONFIG_BACKEND_LDAP) ||
	    slash < 1 || slash >= PATH_MAX)
		return 0;
	memcpy(parent, path.data, (size_t)slash);
	parent[slash] = '\0';
	error = os_file_make_directory(OS_FILE_HERE, parent);
	if (error == -EEXIST)
		return 0;
	if (error == 0 && user->change)
		error = os_file_set_owner(parent, user->uid, user->gid);
	if (error < 0)
		supervisor_cannot(supervisor, LOG_TEXT_directory, parent, NULL, error);
	return error;
}
