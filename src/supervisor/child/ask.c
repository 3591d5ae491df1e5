// SPDX-License-Identifier: ISC
/* Gives a program access to what the supervisor has sent. */
#include "base/panic.h"
#include "os/socket/socket.h"
#include "supervisor/child/child.h"
#include <stdio.h>
#include <string.h>

int child_socket(const struct child *child, const char *name)
{
	for (size_t i = child->socket_count; i > 0; i--)
		if (strcmp(child->sockets[i - 1].name, name) == 0)
			return child->sockets[i - 1].descriptor;
	return -1;
}

void child_close_sockets(struct child *child,
			 bool (*is_wanted)(const void *context, const struct child_socket *socket),
			 const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < child->socket_count; i++) {
		if (is_wanted(context, &child->sockets[i]))
			child->sockets[kept++] = child->sockets[i];
		else
			os_socket_close(child->sockets[i].descriptor);
	}
	child->socket_count = kept;
}

uid_t child_user(const struct child *child, const char *program)
{
	for (size_t i = 0; i < child->user_count; i++)
		if (strcmp(child->users[i].program, program) == 0)
			return child->users[i].uid;
	return (uid_t)-1;
}

struct str child_token(const struct child *child, const char *program)
{
	return ipc_tokens_find(&child->tokens, program);
}

void child_path(const struct child *child, const char *name, char path[108])
{
	int length = snprintf(path, 108, "%s/%s", child->config->run, name);

	if (length < 0 || length >= 108)
		panic("the run directory's path is too long for a socket");
}
