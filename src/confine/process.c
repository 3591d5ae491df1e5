// SPDX-License-Identifier: ISC
#include "confine/process.h"
#include "base/attributes.h"
#include "filing/decode/protocol.h"
#include <string.h>

static const struct confine_process processes[] = {
	{"smtpd", .sockets = {"listen"},
	 .targets = {"queue", "directory", "names", "keys", "auth"}},
	{"qmtpd", .sockets = {"qmtp"}, .targets = {"queue", "directory", "names", "keys"}},
	{"noded", .sockets = {"node"}, .targets = {"queue", "send", "directory", "keys"}},
	{"queue", .sockets = {"queue", "submit"}},
	{"send", .sockets = {"send", "notify"}, .targets = {"queue"}},
	{"resolve", .targets = {"send", "directory"}},
	{"remote", .targets = {"send", "keys", "policy"}},
	{"lmtp", .targets = {"send", "keys"}},
	{"handover", .targets = {"send", "directory", "keys"}},
	{"local", .targets = {"send", "directory"}},
	{"mailbox", .files = {"mailbox", "mailbox-postgresql", "mailbox-mariadb"},
	 .targets = {"send", "directory", "decode", "decode2"}},
	{"pipe", .targets = {"send", "launch"}},
	{"list", .targets = {"send", "queue", "directory"}},
	{"names", .sockets = {"names"}},
	{"keys", .sockets = {"keys"}},
	{"auth", .files = {"auth", "auth-ldap"}, .sockets = {"auth"}, .targets = {"directory"}},
	{"policy", .sockets = {"policy"}, .targets = {"queue"}},
	{"decode", .sockets = DECODE_SOCKETS},
	{"launch", .sockets = {"launch"}},
	{"directory", .files = {"directory", "directory-postgresql", "directory-ldap"},
	 .sockets = {"directory", "socketmap"}, .targets = {"keys"}},
};

const struct confine_process *confine_process_at(size_t i)
{
	return i < COUNT_OF(processes) ? &processes[i] : NULL;
}

const struct confine_process *confine_process_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(processes); i++)
		if (strcmp(processes[i].name, name) == 0)
			return &processes[i];
	return NULL;
}

const char *confine_process_file(const struct confine_process *process, size_t i)
{
	if (process->files[0] == NULL)
		return i == 0 ? process->name : NULL;
	return i < PROCESS_FILES_MAX ? process->files[i] : NULL;
}

const struct confine_process *confine_process_of(const char *file)
{
	for (size_t i = 0; i < COUNT_OF(processes); i++) {
		const char *own;

		for (size_t k = 0; (own = confine_process_file(&processes[i], k)) != NULL; k++)
			if (strcmp(own, file) == 0)
				return &processes[i];
	}
	return NULL;
}

ptrdiff_t confine_process_socket(const struct confine_process *process, struct str socket)
{
	for (size_t i = 0; i < PROCESS_SOCKETS_MAX && process->sockets[i] != NULL; i++)
		if (str_equal(str_from(process->sockets[i]), socket))
			return (ptrdiff_t)i;
	return -1;
}

bool confine_process_has_target(const struct confine_process *process, const char *socket)
{
	for (size_t i = 0; i < PROCESS_TARGETS_MAX && process->targets[i] != NULL; i++)
		if (strcmp(process->targets[i], socket) == 0)
			return true;
	return false;
}

static bool is_client_of(const struct confine_process *client, const struct confine_process *server)
{
	for (size_t i = 0; i < PROCESS_SOCKETS_MAX && server->sockets[i] != NULL; i++)
		if (confine_process_has_target(client, server->sockets[i]))
			return true;
	return false;
}

bool confine_process_may_connect(const struct confine_process *left,
				 const struct confine_process *right)
{
	return is_client_of(left, right) || is_client_of(right, left);
}
