// SPDX-License-Identifier: ISC
/* Checks the descriptors of a process: sockets and their peers, its log, pipes. */
#include "command/rights/check.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const struct node_process *supervisor_of_node(const struct rights_check *check)
{
	return &check->node->processes[0];
}

static bool has_rights_flag(const struct rights_check *check, unsigned flag)
{
	return (check->process->rights->flags & flag) != 0;
}

/* --- network sockets --- */

static bool is_address_of_endpoint(const struct config_endpoint *endpoint,
				   const union os_socket_address *address)
{
	union os_socket_address own;
	char texts[2][OS_SOCKET_TEXT_SIZE];
	static const struct in6_addr any;
	struct in6_addr mapped;

	if (endpoint->port == 0 || endpoint->port != os_socket_address_port(address) ||
	    !os_socket_address_parse(endpoint->host, endpoint->port, &own))
		return false;
	mapped = os_socket_address_mapped(&own);
	if (memcmp(&mapped, &any, sizeof any) == 0 ||
	    (own.any.sa_family == AF_INET && own.v4.sin_addr.s_addr == 0))
		return true;
	mapped = os_socket_address_mapped(address); /* an IPv6 socket may have an IPv4 peer */
	if (own.any.sa_family == AF_INET && address->any.sa_family == AF_INET6)
		return memcmp(&mapped.s6_addr[12], &own.v4.sin_addr, 4) == 0;
	os_socket_address_format(&own, texts[0]);
	os_socket_address_format(address, texts[1]);
	return strcmp(texts[0], texts[1]) == 0;
}

static bool is_address_of_endpoints(const struct config_endpoint *list, size_t count,
				    const union os_socket_address *address)
{
	for (size_t i = 0; i < count; i++)
		if (is_address_of_endpoint(&list[i], address))
			return true;
	return false;
}

/* The name of its sockets, up to the address. */
static const char *use_of_allowed_listen(const struct config_listen *listen)
{
	return config_is_qmtp(listen) ? "qmtp" : "listen";
}

/* Whether the configuration has the process listen at ADDRESS. */
static bool listens_at(const struct rights_check *check, const union os_socket_address *address)
{
	const struct config *config = check->expected->config;
	const struct config_directory *directory = &config->directory;
	const struct rights *rights = check->process->rights;

	for (size_t i = 0; i < config->listen_count; i++)
		if (rights_may_listen(rights, use_of_allowed_listen(&config->listens[i])) &&
		    is_address_of_endpoints(config->listens[i].addresses,
					    config->listens[i].address_count, address))
			return true;
	return (rights_may_listen(rights, "directory") &&
		is_address_of_endpoints(directory->listens, directory->listen_count, address)) ||
	       (rights_may_listen(rights, "socketmap") &&
		is_address_of_endpoints(directory->socketmaps, directory->socketmap_count,
					address)) ||
	       (rights_may_listen(rights, "node") &&
		is_address_of_endpoints(config->node.listens, config->node.listen_count, address));
}

static void check_tcp(const struct rights_check *check, int number,
		      const struct os_inspect_socket *socket)
{
	char local[OS_SOCKET_TEXT_SIZE];
	char remote[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(&socket->local, local);
	os_socket_address_format(&socket->remote, remote);
	if (socket->is_listening && !listens_at(check, &socket->local))
		rights_report(check, "listening where the configuration says",
			      "descriptor %d: a TCP socket that listens at %s", number, local);
	if (socket->is_listening || has_rights_flag(check, RIGHTS_SERVERS) ||
	    (has_rights_flag(check, RIGHTS_CLIENTS) && listens_at(check, &socket->local)))
		return;
	rights_report(check, has_rights_flag(check, RIGHTS_CLIENTS) ? "clients only" : "no TCP",
		      "descriptor %d: a TCP connection from %s to %s", number, local, remote);
}

/* --- UNIX sockets --- */

static bool is_path_of_endpoints(const struct config_endpoint *list, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].port == 0 && strcmp(list[i].host, path) == 0)
			return true;
	return false;
}

/* The name in supervisor/child/child.h of the socket at PATH; NULL: not one of the node's. */
static const char *name_of_node_socket(const struct config *config, const char *path)
{
	const struct config_directory *directory = &config->directory;
	size_t length = strlen(config->run);

	if (strncmp(path, config->run, length) == 0 && path[length] == '/' &&
	    rights_socket_find(path + length + 1) != NULL)
		return rights_socket_find(path + length + 1);
	for (size_t i = 0; i < config->listen_count; i++)
		if (is_path_of_endpoints(config->listens[i].addresses,
					 config->listens[i].address_count, path))
			return use_of_allowed_listen(&config->listens[i]);
	if (is_path_of_endpoints(directory->listens, directory->listen_count, path))
		return "directory";
	if (is_path_of_endpoints(directory->socketmaps, directory->socketmap_count, path))
		return "socketmap";
	return NULL;
}

/* An accepted socket has the name of the listening one. */
static bool is_clients(const struct rights_check *check, const struct os_inspect_socket *socket)
{
	const char *name = name_of_node_socket(check->expected->config, socket->name);

	return has_rights_flag(check, RIGHTS_CLIENTS) && name != NULL &&
	       rights_may_listen(check->process->rights, name);
}

/* Whether this user may not see what some process of the node has open. */
static bool has_hidden(const struct node *node)
{
	for (size_t i = 0; i < node->count; i++)
		if (node_is_hidden(&node->processes[i]))
			return true;
	return false;
}

static void check_peer(const struct rights_check *check, int number,
		       const struct os_inspect_socket *socket)
{
	const struct node_process *peer =
		node_find_socket(check->node, socket->peer, check->process);
	const struct os_inspect_socket *other =
		os_inspect_sockets_find(check->node->sockets, socket->peer);

	if (peer != NULL && peer->rights != NULL) {
		if (!rights_may_connect(check->process->rights, peer->rights))
			rights_report(check, "its row in the table of rights",
				      "descriptor %d: a UNIX connection with %s", number,
				      peer->program);
		return;
	}
	/* a process that is hidden may have the other end */
	if (has_rights_flag(check, RIGHTS_OUTSIDE) || is_clients(check, socket) ||
	    has_hidden(check->node) || check->expected->config->log_target == CONFIG_LOG_SYSLOG)
		return;
	rights_report(check, "none with processes outside of the node",
		      "descriptor %d: a UNIX connection with another process (%s)", number,
		      other != NULL && other->name[0] != '\0' ? other->name : "no name");
}

static void check_unix(const struct rights_check *check, int number,
		       const struct os_inspect_socket *socket)
{
	const char *name = name_of_node_socket(check->expected->config, socket->name);

	if (socket->peer != 0) {
		check_peer(check, number, socket);
		return;
	}
	if (socket->is_bound && socket->name[0] != '@' &&
	    (name == NULL || !rights_may_listen(check->process->rights, name)))
		rights_report(check, "its row in the table of rights",
			      "descriptor %d: a UNIX socket at %s", number, socket->name);
	else if (socket->is_listening && socket->name[0] == '@')
		rights_report(check, "no abstract addresses",
			      "descriptor %d: a UNIX socket that listens at %s", number,
			      socket->name);
}

static void check_socket(const struct rights_check *check, const struct node_descriptor *descriptor)
{
	static const struct os_inspect_socket unknown = {.kind = OS_INSPECT_UNKNOWN};
	const struct os_inspect_socket *socket =
		os_inspect_sockets_find(check->node->sockets, descriptor->socket);
	int number = descriptor->number;

	switch (socket != NULL ? socket->kind : unknown.kind) {
	case OS_INSPECT_UNIX:
		check_unix(check, number, socket);
		break;
	case OS_INSPECT_TCP:
		check_tcp(check, number, socket);
		break;
	case OS_INSPECT_UDP:
		if (!has_rights_flag(check, RIGHTS_DNS))
			rights_report(check, "no UDP", "descriptor %d: a UDP socket", number);
		break;
	case OS_INSPECT_NETLINK:
		if (!has_rights_flag(check, RIGHTS_ROUTES))
			rights_report(check, "no netlink", "descriptor %d: a netlink socket",
				      number);
		break;
	case OS_INSPECT_RAW:
		rights_report(check, "no raw packets", "descriptor %d: a raw socket", number);
		break;
	case OS_INSPECT_UNKNOWN:
		if (!has_rights_flag(check, RIGHTS_SERVERS))
			rights_report(check, "connected sockets",
				      "descriptor %d: a socket that is not connected", number);
		break;
	}
}

/* --- all --- */

static bool is_pipe(const struct node_descriptor *descriptor)
{
	return strncmp(descriptor->target, "pipe:", strlen("pipe:")) == 0;
}

static bool has_target(const struct node_process *process, const char *target, int from, int to)
{
	for (size_t i = 0; i < process->count; i++)
		if (process->descriptors[i].number >= from &&
		    process->descriptors[i].number <= to &&
		    strcmp(process->descriptors[i].target, target) == 0)
			return true;
	return false;
}

/* A process with the log pipe of another could write lines in its name. */
static bool is_own_log(const struct rights_check *check, const struct node_descriptor *descriptor)
{
	const struct node *node = check->node;

	if (!is_pipe(descriptor) ||
	    !has_target(supervisor_of_node(check), descriptor->target, STDERR_FILENO + 1, INT_MAX))
		return false;
	for (size_t i = 1; i < node->count; i++)
		if (&node->processes[i] != check->process &&
		    node->processes[i].parent == supervisor_of_node(check) &&
		    has_target(&node->processes[i], descriptor->target, 0, STDERR_FILENO))
			return false;
	return true;
}

/* Standard output and error: those of the supervisor, or a pipe to it. */
static bool is_standard(const struct rights_check *check, const struct node_descriptor *descriptor)
{
	const struct node_process *supervisor = supervisor_of_node(check);

	if (descriptor->number > STDERR_FILENO)
		return false;
	if (check->process == supervisor)
		return true;
	return has_rights_flag(check, RIGHTS_LOG)
		       ? has_target(supervisor, descriptor->target, STDOUT_FILENO, STDERR_FILENO)
		       : is_own_log(check, descriptor);
}

/* A pipe of which it has both ends, to wake itself. */
static bool is_pipe_of_one_process(const struct rights_check *check,
				   const struct node_descriptor *descriptor)
{
	size_t ends = 0;

	for (size_t i = 0; i < check->process->count; i++)
		ends += strcmp(check->process->descriptors[i].target, descriptor->target) == 0;
	return ends > 1;
}

/* A pidfd, as the kernel shows it: since 6.9, and before. */
static bool is_process(const char *target)
{
	return strncmp(target, "pidfd:", strlen("pidfd:")) == 0 ||
	       strcmp(target, "anon_inode:[pidfd]") == 0;
}

static void check_descriptor(const struct rights_check *check,
			     const struct node_descriptor *descriptor)
{
	static const char *const harmless[] = {"/dev/null", "anon_inode:[eventpoll]",
					       "anon_inode:[eventfd]", "anon_inode:[timerfd]",
					       "anon_inode:[signalfd]"};
	const char *target = descriptor->target;

	for (size_t i = 0; i < COUNT_OF(harmless); i++)
		if (strcmp(target, harmless[i]) == 0)
			return;
	if (is_standard(check, descriptor) || strncmp(target, "/memfd:", strlen("/memfd:")) == 0 ||
	    (has_rights_flag(check, RIGHTS_PIPES) && is_process(target)) ||
	    (has_rights_flag(check, RIGHTS_WATCHES) && strcmp(target, "anon_inode:inotify") == 0))
		return;
	if (descriptor->socket != 0)
		check_socket(check, descriptor);
	else if (!is_pipe(descriptor))
		rights_check_file(check, descriptor);
	else if (!has_rights_flag(check, RIGHTS_PIPES) &&
		 !is_pipe_of_one_process(check, descriptor))
		rights_report(check, "no pipes with others", "descriptor %d: %s",
			      descriptor->number, target);
}

void rights_check_descriptors(const struct rights_check *check)
{
	struct rights_check one = *check;

	for (size_t i = 0; i < check->process->count; i++) {
		one.socket = check->process->descriptors[i].socket;
		check_descriptor(&one, &check->process->descriptors[i]);
	}
}
