// SPDX-License-Identifier: ISC
/* Binds the sockets that the supervisor passes to processes. */
#include "os/socket/socket.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "supervisor/internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t MEND_EVERY_US = SECOND_US;

static struct bound_socket *socket_find(struct supervisor *supervisor, const char *name)
{
	for (size_t i = 0; i < supervisor->socket_count; i++)
		if (strcmp(supervisor->sockets[i].name, name) == 0)
			return &supervisor->sockets[i];
	return NULL;
}

/* The part of the name after the use, if it has one. */
static const char *address_in_socket_name(const struct bound_socket *bound)
{
	const char *space = strchr(bound->name, ' ');

	return space != NULL ? space + 1 : bound->name;
}

/* Sets where NAME is: at ENDPOINT, or, without one, in the run directory. */
static void describe_bound_socket(struct bound_socket *bound, const char *name, int kind,
				  const struct config_endpoint *endpoint)
{
	snprintf(bound->name, sizeof bound->name, "%s", name);
	bound->kind = kind;
	bound->port = endpoint != NULL ? endpoint->port : 0;
	snprintf(bound->host, sizeof bound->host, "%s", endpoint != NULL ? endpoint->host : "");
}

static int use_submit_group(const struct supervisor *supervisor, struct os_process_user *owner)
{
	owner->change = true;
	return os_process_group_find(supervisor->config->submit_group, &owner->gid);
}

/* It belongs to root, like the directory, so that nobody can replace it; the processes' group may
 * connect. */
static int bind_unix(const struct supervisor *supervisor, const struct bound_socket *bound,
		     const char *path)
{
	struct os_process_user owner = supervisor->users.node;
	const struct os_process_user *user = &owner;
	gid_t before;
	int descriptor;
	int error;

	error = strcmp(bound->name, "submit") == 0 ? use_submit_group(supervisor, &owner) : 0;
	if (error < 0)
		return error;
	error = os_process_change_group(user, &before);
	if (error < 0)
		return error;
	descriptor = os_socket_listen_unix(path, bound->kind, 0660);
	os_process_change_group_back(user, before);
	return descriptor;
}

/* The address of what BOUND describes. */
static int find_address_of_socket(const struct supervisor *supervisor,
				  const struct bound_socket *bound, union os_socket_address *out)
{
	char path[sizeof bound->host + sizeof bound->name];

	if (bound->port != 0)
		return os_socket_address_parse(bound->host, bound->port, out) ? 0 : -EINVAL;
	snprintf(path, sizeof path, "%s%s%s",
		 bound->kind != 0 ? supervisor->config->run : bound->host,
		 bound->kind != 0 ? "/" : "", bound->kind != 0 ? bound->name : "");
	return os_socket_address_of_path(path, out) ? 0 : -ENAMETOOLONG;
}

/* Of the file at the path of a UNIX socket; 0: none. */
static uint64_t inode_at(const union os_socket_address *place)
{
	struct os_file_info info;

	if (place->any.sa_family != AF_UNIX ||
	    os_file_info_at(OS_FILE_HERE, place->local.sun_path, &info) < 0)
		return 0;
	return info.inode;
}

static int bind_at(const struct supervisor *supervisor, const struct bound_socket *bound,
		   const union os_socket_address *place)
{
	if (bound->kind != 0)
		return bind_unix(supervisor, bound, place->local.sun_path);
	if (bound->port == 0)
		return os_socket_listen_unix(place->local.sun_path, SOCK_STREAM, 0666);
	return os_socket_listen(place, SERVE_LISTEN_BACKLOG);
}

/* An inherited one, or a new one. */
static int bind_socket(struct supervisor *supervisor, struct bound_socket *bound)
{
	union os_socket_address place;
	int error = find_address_of_socket(supervisor, bound, &place);
	int descriptor;

	if (error < 0)
		return error;
	descriptor = supervisor_find_inherited(
		supervisor, bound->kind != 0 ? bound->kind : SOCK_STREAM, &place);
	if (descriptor < 0)
		descriptor = bind_at(supervisor, bound, &place);
	if (descriptor >= 0)
		bound->inode = inode_at(&place);
	return descriptor;
}

/* Of those that are not wanted any more, and listen at PORT. */
static size_t share_unwanted(const struct supervisor *supervisor, uint16_t port, bool is_shared)
{
	size_t count = 0;

	for (size_t i = 0; port != 0 && i < supervisor->socket_count; i++) {
		const struct bound_socket *bound = &supervisor->sockets[i];

		if (bound->is_wanted || bound->port != port)
			continue;
		os_socket_share_address(bound->descriptor, is_shared);
		count++;
	}
	return count;
}

/* In the place of a socket that is to go, and covers a part of its address or all: both listen
 * until that one is dropped, so that nobody is refused meanwhile, and it remains if this fails. */
static int bind_beside_unwanted(const struct supervisor *supervisor,
				const struct bound_socket *bound)
{
	union os_socket_address place;
	int descriptor = -EADDRINUSE;

	if (share_unwanted(supervisor, bound->port, true) > 0 &&
	    find_address_of_socket(supervisor, bound, &place) == 0)
		descriptor = os_socket_listen_beside(&place, SERVE_LISTEN_BACKLOG);
	share_unwanted(supervisor, bound->port, false);
	return descriptor;
}

enum { BIND_PAUSE_MS = 50 };

static int bind_until(struct supervisor *supervisor, struct bound_socket *bound)
{
	int descriptor = bind_socket(supervisor, bound);

	if (descriptor == -EADDRINUSE)
		descriptor = bind_beside_unwanted(supervisor, bound);
	if (descriptor == -EADDRINUSE)
		supervisor_drop_inherited_at(supervisor, bound->port);
	if (descriptor == -EADDRINUSE && os_clock_monotonic_us() < supervisor->bind_until_us)
		log_event(EVENT_LISTEN_WAITS, log_string(address, address_in_socket_name(bound)),
			  log_error(descriptor));
	while (descriptor == -EADDRINUSE && os_clock_monotonic_us() < supervisor->bind_until_us) {
		os_clock_pause_ms(BIND_PAUSE_MS);
		descriptor = bind_socket(supervisor, bound);
	}
	return descriptor;
}

/* Why WANTED cannot be bound, if ERROR alone does not tell it. No two listeners of a configuration
 * are at the same address. */
static const char *explain_unbound(const struct bound_socket *wanted, int error)
{
	if (error == -EADDRNOTAVAIL)
		return "this machine does not have the address";
	return error == -EADDRINUSE && wanted->port != 0 ? "another program listens there" : NULL;
}

/* Binds the entry at the end of the table, and keeps it on success. */
static int keep_bound_socket(struct supervisor *supervisor, struct bound_socket *wanted)
{
	struct bound_socket *bound = &supervisor->sockets[supervisor->socket_count];
	int descriptor = supervisor->socket_count < CHILD_SOCKETS_MAX
				 ? bind_until(supervisor, wanted)
				 : -EMFILE;

	if (descriptor < 0) {
		const char *reason = explain_unbound(wanted, descriptor);

		buffer_append_format(&supervisor->unbound, "%s: %s", wanted->name,
				     reason != NULL ? reason : strerror(-descriptor));
		supervisor_cannot(supervisor, LOG_TEXT_socket, wanted->name, reason, descriptor);
		return descriptor;
	}
	*bound = *wanted;
	bound->descriptor = descriptor;
	bound->is_wanted = true;
	supervisor->socket_count++;
	supervisor_store_socket(supervisor, bound);
	return 0;
}

/* USE: "listen", "qmtp", "node", "directory", "socketmap". */
static int bind_listen(struct supervisor *supervisor, const char *use,
		       const struct config_endpoint *endpoint)
{
	struct bound_socket wanted = {0};
	struct bound_socket *bound;
	char name[sizeof wanted.name];
	int error;

	snprintf(name, sizeof name, "%s %s", use, endpoint->text);
	bound = socket_find(supervisor, name);
	if (bound != NULL) {
		bound->is_wanted = true;
		return 0;
	}
	describe_bound_socket(&wanted, name, 0, endpoint);
	error = keep_bound_socket(supervisor, &wanted);
	if (error == 0)
		log_event(EVENT_LISTENING, log_string(address, endpoint->text));
	return error;
}

static int bind_run_socket(struct supervisor *supervisor, const char *name, int kind)
{
	struct bound_socket wanted = {0};

	if (socket_find(supervisor, name) != NULL)
		return 0;
	describe_bound_socket(&wanted, name, kind, NULL);
	return keep_bound_socket(supervisor, &wanted);
}

void supervisor_drop_sockets(struct supervisor *supervisor)
{
	size_t kept = 0;

	for (size_t i = 0; i < supervisor->socket_count; i++) {
		struct bound_socket *bound = &supervisor->sockets[i];

		if (bound->is_wanted) {
			supervisor->sockets[kept++] = *bound;
			continue;
		}
		/* whoever has it still would get connections that nobody accepts, or that are
		 * meant for another one at its address */
		if (bound->port != 0)
			os_socket_shut(bound->descriptor);
		supervisor_forget_socket(supervisor, bound);
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

/* The process whose it is. */
static const char *use_of_bound_listen(const struct config_listen *listen)
{
	return config_is_qmtp(listen) ? "qmtp" : "listen";
}

int supervisor_bind_sockets(struct supervisor *supervisor, const struct config *config,
			    int64_t patience_us)
{
	const struct config_directory *directory = &config->directory;
	int error = 0;

	supervisor->bind_until_us = os_clock_monotonic_us() + patience_us;
	buffer_reset(&supervisor->unbound);
	/* names of sockets in the run directory have no address */
	for (size_t i = 0; i < supervisor->socket_count; i++)
		supervisor->sockets[i].is_wanted = strchr(supervisor->sockets[i].name, ' ') == NULL;
	for (size_t i = 0; error == 0 && i < config->listen_count; i++)
		error = bind_listens(supervisor, use_of_bound_listen(&config->listens[i]),
				     config->listens[i].addresses,
				     config->listens[i].address_count);
	if (error == 0)
		error = bind_listens(supervisor, "node", config->node.listens,
				     config->node.listen_count);
	if (error == 0)
		error = bind_listens(supervisor, "directory", directory->listens,
				     directory->listen_count);
	if (error == 0)
		error = bind_listens(supervisor, "socketmap", directory->socketmaps,
				     directory->socketmap_count);
	return error;
}

int supervisor_bind_run_sockets(struct supervisor *supervisor)
{
	int error = bind_run_socket(supervisor, "queue", SOCK_SEQPACKET);

	if (error == 0)
		error = bind_run_socket(supervisor, "send", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "notify", SOCK_DGRAM);
	if (error == 0)
		error = bind_run_socket(supervisor, "launch", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "names", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "keys", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "policy", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "auth", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "decode", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "decode2", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "transcript", SOCK_SEQPACKET);
	if (error == 0)
		error = bind_run_socket(supervisor, "limits", SOCK_SEQPACKET);
	if (error == 0 && supervisor->config->submit_group[0] != '\0')
		error = bind_run_socket(supervisor, "submit", SOCK_SEQPACKET);
	if (error == 0 && supervisor->config->directory.backend != CONFIG_BACKEND_NONE)
		error = bind_run_socket(supervisor, "directory", SOCK_STREAM);
	return error;
}

/* --- sockets that have ended --- */

/* Whether it was replaced. Connections that waited at the old one are lost. */
static bool bind_again(struct supervisor *supervisor, struct bound_socket *bound)
{
	int descriptor;

	log_event(EVENT_LISTENER_LOST, log_string(address, address_in_socket_name(bound)));
	descriptor = bind_socket(supervisor, bound);
	if (descriptor < 0) {
		log_event(EVENT_PROCESS_ERROR, log_string(socket, bound->name),
			  log_error(descriptor));
		return false;
	}
	supervisor_forget_socket(supervisor, bound);
	bound->descriptor = descriptor;
	supervisor_store_socket(supervisor, bound);
	log_event(EVENT_LISTENING, log_string(address, address_in_socket_name(bound)));
	return true;
}

static bool mend_bound_socket(struct supervisor *supervisor, struct bound_socket *bound)
{
	return !bound->is_shut && os_socket_has_ended(bound->descriptor) &&
	       bind_again(supervisor, bound);
}

void supervisor_mend_run_sockets(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->socket_count; i++) {
		struct bound_socket *bound = &supervisor->sockets[i];
		union os_socket_address place;

		if (bound->port == 0 && find_address_of_socket(supervisor, bound, &place) == 0 &&
		    inode_at(&place) != bound->inode)
			(void)bind_again(supervisor, bound);
	}
}

void supervisor_mend_sockets(struct process *process)
{
	struct supervisor *supervisor = process->supervisor;

	for (size_t i = 0; i < supervisor->socket_count; i++)
		if (supervisor_program_has_socket(process->program, process->number,
						  supervisor->sockets[i].name))
			(void)mend_bound_socket(supervisor, &supervisor->sockets[i]);
}

static void hand_out_bound_socket(struct supervisor *supervisor, const struct bound_socket *bound)
{
	for (size_t i = 0; i < supervisor->process_count; i++) {
		struct process *process = &supervisor->processes[i];

		if (process->control != NULL &&
		    supervisor_program_has_socket(process->program, process->number, bound->name))
			supervisor_set_up(process);
	}
}

/* Only shared ones: sockets in the run directory belong to one process, and are renewed with it. */
void supervisor_watch_sockets(void *context)
{
	struct supervisor *supervisor = context;

	for (size_t i = 0; !supervisor->is_stopping && i < supervisor->socket_count; i++)
		if (supervisor->sockets[i].kind == 0 &&
		    mend_bound_socket(supervisor, &supervisor->sockets[i]))
			hand_out_bound_socket(supervisor, &supervisor->sockets[i]);
	if (!supervisor->is_stopping) {
		supervisor_watch_names(supervisor);
		supervisor_watch_drain(supervisor);
	}
	os_timer_start(supervisor->mending, MEND_EVERY_US);
}
