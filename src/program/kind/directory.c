// SPDX-License-Identifier: ISC
#include "program/kind/directory.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/server/acceptor.h"
#include "directory/server/server.h"
#include "directory/socketmap/socketmap.h"
#include "ipc/listener.h"
#include "log/event.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At its end: how often to check whether all questions are answered, and the time limit. */
static const int64_t IDLE_STEP_US = SECOND_US / 50;
static const int64_t IDLE_PATIENCE_US = 10 * SECOND_US;

enum {
	ROLES_OF_ALL = DIRECTORY_ROLE_READ,
	ROLES_OF_OURS = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST | DIRECTORY_ROLE_SECRET |
			DIRECTORY_ROLE_CHANGE,
	ROLES_OF_LIST = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_MEMBERS,
	ROLES_OF_AUTH = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_SECRET,
	ROLES_OF_NODES = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_NODES,
};

struct process {
	struct child *child;
	const struct directory_backend *backend;
	struct peer_network *network;
	struct directory_store *store;
	struct directory_server *server;
	struct directory_acceptor acceptor; /* of clients on other machines */
	struct directory_socketmap *socketmap;
	struct ipc_listener *listener;
	struct os_timer *idle;
	int64_t waited_us;              /* for the last answers, so far */
	char place[64 + PATH_MAX];      /* of the guarded store; "": not guarded */
	struct store_guard_memory seen; /* of it, when it was opened */
};

static struct process process; /* global, as open() is called before there is a state */

/* --- clients on this machine --- */

static bool is_privileged_user(uid_t user)
{
	return user == 0 || user == os_process_effective_user() ||
	       user == child_user(process.child, "queue");
}

static unsigned roles_of_user(uid_t user)
{
	unsigned roles = ROLES_OF_ALL;

	if (is_privileged_user(user))
		return ROLES_OF_OURS;
	if (user == child_user(process.child, "list")) /* several may have one user */
		roles |= ROLES_OF_LIST;
	if (user == child_user(process.child, "auth"))
		roles |= ROLES_OF_AUTH;
	if (user == child_user(process.child, "noded") ||
	    user == child_user(process.child, "handover"))
		roles |= ROLES_OF_NODES;
	return roles;
}

static void on_client(void *context, int socket)
{
	struct directory_transport transport;
	uid_t user = os_socket_peer_user(socket);
	char peer[32];

	(void)context;
	snprintf(peer, sizeof peer, "uid %ld", user == (uid_t)-1 ? -1L : (long)user);
	directory_transport_plain(socket, &transport);
	directory_server_accept(process.server, &transport, roles_of_user(user), peer);
}

/* --- socketmap --- */

/* The addresses to listen at may change with each configuration. */
static void start_socketmap(const struct config *config)
{
	const struct config_directory *directory = &config->directory;
	char name[192];

	directory_server_tell(process.server, NULL, NULL);
	directory_socketmap_free(process.socketmap);
	process.socketmap = NULL;
	if (directory->socketmap_count == 0)
		return;
	process.socketmap = directory_socketmap_new(process.child->loop, process.store, config);
	directory_server_tell(process.server, &directory_socketmap_handler, process.socketmap);
	for (size_t i = 0; i < directory->socketmap_count; i++) {
		int socket;

		snprintf(name, sizeof name, "socketmap %s", directory->socketmaps[i].text);
		socket = child_socket(process.child, name);
		if (socket >= 0 && !directory_socketmap_listen(process.socketmap, socket))
			log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "socketmap"),
				  log_string(address, directory->socketmaps[i].text),
				  log_string(reason, "there are too many of them"));
	}
}

/* Whether both listen at the same sockets. */
static bool has_same_socketmaps(const struct config_directory *a, const struct config_directory *b)
{
	if (a->socketmap_count != b->socketmap_count)
		return false;
	for (size_t i = 0; i < a->socketmap_count; i++)
		if (strcmp(a->socketmaps[i].text, b->socketmaps[i].text) != 0)
			return false;
	return true;
}

/* --- listening sockets that a reload removes --- */

/* Whether NAME is "USE ADDRESS" with one of the addresses. */
static bool is_socket_name_of_use(const char *name, const char *use,
				  const struct config_endpoint *endpoints, size_t count)
{
	char wanted[192];

	for (size_t i = 0; i < count; i++) {
		snprintf(wanted, sizeof wanted, "%s %s", use, endpoints[i].text);
		if (strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

/* The sockets in the run directory, whose names have no space, are there always. */
static bool is_socket_wanted(const void *context, const struct child_socket *socket)
{
	const struct config_directory *config = context;

	return strchr(socket->name, ' ') == NULL ||
	       is_socket_name_of_use(socket->name, "socketmap", config->socketmaps,
				     config->socketmap_count) ||
	       is_socket_name_of_use(socket->name, "directory", config->listens,
				     config->listen_count);
}

static void close_unwanted(struct child *child)
{
	child_close_sockets(child, is_socket_wanted, &child->config->directory);
}

/* --- other machines --- */

static void on_remote_client(void *context, const struct directory_transport *transport,
			     unsigned roles, const char *peer)
{
	(void)context;
	directory_server_accept(process.server, transport, roles, peer);
}

static const char *authority_of_directory(const struct config *config)
{
	return config->directory.authority;
}

static const struct config_endpoint *listens_of_directory(const struct config *config,
							  size_t *count_out)
{
	*count_out = config->directory.backend != CONFIG_BACKEND_NONE
			     ? config->directory.listen_count
			     : 0;
	return config->directory.listens;
}

static bool does_directory_dial(const struct config *config)
{
	return config_directory_dials(&config->directory);
}

static void complain_about_network(const char *operation, const char *reason)
{
	log_event(EVENT_DIRECTORY_ERROR, log_string(operation, operation),
		  log_string(reason, reason));
}

static const struct peer_network_kind network_kind = {
	.socket = "directory",
	.certificate = CONFIG_DIRECTORY_CERTIFICATE,
	.protocol = DIRECTORY_TLS_PROTOCOL,
	.authority = authority_of_directory,
	.listens = listens_of_directory,
	.dials = does_directory_dial,
	.handler = &directory_acceptor_handler,
	.complain = complain_about_network,
};

/* --- the process --- */

static int open_directory_process(struct child *child)
{
	int error = 0;

	process.child = child;
	if (process.network == NULL)
		error = peer_network_open(child, &network_kind, &process.network);
	if (error == 0 && process.backend->open != NULL)
		error = process.backend->open(child);
	return error;
}

int directory_process_guard(const struct child *child, const char *place,
			    struct store_guard_memory *seen_out, struct buffer *why)
{
	int error;

	snprintf(process.place, sizeof process.place, "%s", place);
	error = store_guard_read(child_socket(child, "directory_seen"), place, &process.seen);
	if (error < 0)
		buffer_append_string(why, "what was seen of the data cannot be read");
	*seen_out = process.seen;
	return error;
}

static void tell_unopened(struct child *child, struct buffer *why, int error)
{
	log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "open"),
		  log_str(reason, buffer_view(why)), log_error(error));
	buffer_append_format(why, " (%s); it is tried again", strerror(-error));
	child_waits(child, buffer_view(why));
}

static int start_directory_process(struct child *child)
{
	struct buffer why = {0};
	int listening = child_socket(child, "directory");
	int error = process.backend->start(child, process.network, &process.store, &why);

	if (error < 0)
		tell_unopened(child, &why, error);
	buffer_clear(&why);
	if (error < 0)
		return error;
	if (process.place[0] != '\0')
		process.store = store_guard_new(child->loop, process.store,
						child_socket(child, "directory_seen"),
						process.place, &process.seen);
	process.server = directory_server_new(child->loop, process.store, child->config);
	start_socketmap(child->config);
	if (listening >= 0)
		process.listener = ipc_listener_new(child->loop, listening, on_client, NULL);
	process.acceptor = (struct directory_acceptor){&child->config->directory, on_remote_client,
						       NULL};
	peer_network_listen(process.network, &process.acceptor);
	close_unwanted(child); /* those that a reload before the start has removed */
	child_ready(child);
	return 0;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same_list(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

/* Whether the settings that stores of remote data get when they are created are equal. */
static bool has_same_terms(const struct config_directory *a, const struct config_directory *b)
{
	if (a->backend == CONFIG_BACKEND_LDAP && !is_same_text(a->authority, b->authority))
		return false;
	return a->ttl_us == b->ttl_us || a->backend == CONFIG_BACKEND_SQLITE ||
	       a->backend == CONFIG_BACKEND_SERVERS;
}

/* Whether the data come from the same place. */
static bool has_same_store(const struct config_directory *a, const struct config_directory *b)
{
	return a->backend == b->backend && has_same_terms(a, b) && is_same_text(a->path, b->path) &&
	       is_same_text(a->bind_dn, b->bind_dn) && is_same_text(a->base, b->base) &&
	       is_same_text(a->password_file, b->password_file) &&
	       is_same_list(a->database, a->database_count, b->database, b->database_count) &&
	       is_same_list(a->urls, a->url_count, b->urls, b->url_count) &&
	       is_same_list(a->map, a->map_count, b->map, b->map_count) &&
	       is_same_list(a->servers, a->server_count, b->servers, b->server_count);
}

/* Whether names of other servers are looked up in the same way. */
static bool has_same_resolver(const struct config *a, const struct config *b)
{
	return !config_directory_dials(&b->directory) || strcmp(a->dns_server, b->dns_server) == 0;
}

/* Whether the clients on other machines may stay connected. */
static bool has_same_names(const struct config_directory *a, const struct config_directory *b)
{
	return is_same_list(a->readers, a->reader_count, b->readers, b->reader_count) &&
	       is_same_list(a->changers, a->changer_count, b->changers, b->changer_count);
}

static void reload_directory_process(struct child *child, const struct config *old)
{
	directory_server_configure(process.server, child->config);
	if (has_same_socketmaps(&old->directory, &child->config->directory) &&
	    process.socketmap != NULL)
		directory_socketmap_configure(process.socketmap, child->config);
	else
		start_socketmap(child->config);
	process.acceptor.config = &child->config->directory;
	peer_network_configure(process.network);
	close_unwanted(child);
	if (!has_same_store(&old->directory, &child->config->directory) ||
	    !has_same_resolver(old, child->config) ||
	    !has_same_names(&old->directory, &child->config->directory))
		child_renew(child);
}

static void end_directory_process(void)
{
	directory_server_tell(process.server, NULL, NULL);
	directory_socketmap_free(process.socketmap);
	directory_server_free(process.server);
	process.store->operations->free(process.store);
	peer_network_free(process.network);
	ipc_listener_free(process.listener);
	os_timer_free(process.idle);
	os_loop_stop(process.child->loop);
}

static void end_when_idle(void *context)
{
	(void)context;
	process.waited_us += IDLE_STEP_US;
	if (directory_server_is_idle(process.server) || process.waited_us > IDLE_PATIENCE_US)
		end_directory_process();
	else
		os_timer_start(process.idle, IDLE_STEP_US);
}

static void stop_directory_process(struct child *child)
{
	if (process.listener != NULL)
		ipc_listener_stop(process.listener);
	peer_network_stop(process.network);
	directory_server_stop(process.server);
	process.idle = os_timer_new(child->loop, end_when_idle, NULL);
	os_timer_start(process.idle, 0);
}

int directory_process_main(int argc, char **argv, const struct directory_backend *backend)
{
	const struct child_program program = {backend->program, open_directory_process,
					      start_directory_process, reload_directory_process,
					      stop_directory_process};

	process.backend = backend;
	return child_main(argc, argv, &program);
}
