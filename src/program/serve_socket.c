// SPDX-License-Identifier: ISC
/* The sockets that the supervisor binds and hands out. */
#include "log/event.h"
#include "os/socket.h"
#include "program/serve_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As the kernel allows: a burst of clients beyond it would each wait a second for their
 * second SYN. */
enum { LISTEN_BACKLOG = SOMAXCONN };

static struct bound_socket *socket_find(struct supervisor *supervisor, const char *name)
{
	for (size_t i = 0; i < supervisor->socket_count; i++)
		if (strcmp(supervisor->sockets[i].name, name) == 0)
			return &supervisor->sockets[i];
	return NULL;
}

static int socket_keep(struct supervisor *supervisor, const char *name, int descriptor)
{
	struct bound_socket *bound = &supervisor->sockets[supervisor->socket_count];

	if (descriptor < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string("socket", name), log_error(descriptor));
		return descriptor;
	}
	if (supervisor->socket_count == CHILD_SOCKETS_MAX) {
		os_socket_close(descriptor);
		return -EMFILE;
	}
	snprintf(bound->name, sizeof bound->name, "%s", name);
	bound->descriptor = descriptor;
	bound->is_wanted = true;
	supervisor->socket_count++;
	return 0;
}

static int bind_unix(struct supervisor *supervisor, const char *name, int kind)
{
	char path[108];
	int descriptor;

	if (socket_find(supervisor, name) != NULL)
		return 0;
	if (snprintf(path, sizeof path, "%s/%s", supervisor->config->run, name) >= (int)sizeof path)
		return -ENAMETOOLONG;
	descriptor = os_socket_listen_unix(path, kind, 0660);
	if (descriptor >= 0 && supervisor->user.change &&
	    chown(path, supervisor->user.uid, supervisor->user.gid) != 0) {
		os_socket_close(descriptor);
		descriptor = -errno;
	}
	return socket_keep(supervisor, name, descriptor);
}

static int bind_endpoint(const struct config_endpoint *endpoint)
{
	union os_socket_address address;

	if (endpoint->port == 0)
		return os_socket_listen_unix(endpoint->host, SOCK_STREAM, 0666);
	if (!os_socket_address_parse(endpoint->host, endpoint->port, &address))
		return -EINVAL;
	return os_socket_listen(&address, LISTEN_BACKLOG);
}

/* USE: "listen", "directory", "socketmap". */
static int bind_listen(struct supervisor *supervisor, const char *use,
		       const struct config_endpoint *endpoint)
{
	char name[192];
	struct bound_socket *bound;
	int error;

	snprintf(name, sizeof name, "%s %s", use, endpoint->text);
	bound = socket_find(supervisor, name);
	if (bound != NULL) {
		bound->is_wanted = true;
		return 0;
	}
	error = socket_keep(supervisor, name, bind_endpoint(endpoint));
	if (error == 0)
		log_event(EVENT_LISTENING, log_string("address", endpoint->text));
	return error;
}

void serve_drop_sockets(struct supervisor *supervisor)
{
	size_t kept = 0;

	for (size_t i = 0; i < supervisor->socket_count; i++) {
		if (supervisor->sockets[i].is_wanted)
			supervisor->sockets[kept++] = supervisor->sockets[i];
		else
			os_socket_close(supervisor->sockets[i].descriptor);
	}
	supervisor->socket_count = kept;
}

static int bind_listens(struct supervisor *supervisor, const char *use,
			const struct config_endpoint *endpoints, size_t count)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < count; i++)
		error = bind_listen(supervisor, use, &endpoints[i]);
	return error;
}

int serve_bind_sockets(struct supervisor *supervisor, const struct config *config)
{
	const struct config_directory *directory = &config->directory;
	int error = 0;

	/* those of the run directory have no address in their names */
	for (size_t i = 0; i < supervisor->socket_count; i++)
		supervisor->sockets[i].is_wanted = strchr(supervisor->sockets[i].name, ' ') == NULL;
	for (size_t i = 0; error == 0 && i < config->listen_count; i++)
		error = bind_listens(supervisor, "listen", config->listens[i].addresses,
				     config->listens[i].address_count);
	if (error == 0)
		error = bind_listens(supervisor, "directory", directory->listens,
				     directory->listen_count);
	if (error == 0)
		error = bind_listens(supervisor, "socketmap", directory->socketmaps,
				     directory->socketmap_count);
	return error;
}

int serve_bind_run_sockets(struct supervisor *supervisor)
{
	int error = bind_unix(supervisor, "queue", SOCK_SEQPACKET);

	if (error == 0)
		error = bind_unix(supervisor, "send", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_unix(supervisor, "notify", SOCK_DGRAM);
	if (error == 0 && supervisor->config->directory.backend != CONFIG_BACKEND_NONE)
		error = bind_unix(supervisor, "directory", SOCK_STREAM);
	return error;
}
