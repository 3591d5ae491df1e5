// SPDX-License-Identifier: ISC
/* Sockets that listen, and such that connect. */
#include "endpoint.h"
#include "image.h"
#include "links.h"
#include "os/process/process.h"
#include "os/socket/connector.h"
#include "os/socket/inherited.h"
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DELAY_MIN_US = 50, DELAY_MAX_US = 60000, BACKLOG_MAX = 4096, LOOPBACK = 127 };

static struct listener *listeners;

static unsigned poll_listener(struct description *description)
{
	struct listener *listener = (void *)description;

	if (listener->datagrams != NULL)
		return description_poll(&listener->datagrams->description);
	return listener->waiting_count > 0 ? OS_WATCH_READ : OS_WATCH_NONE;
}

static void close_listener(struct description *description)
{
	struct listener *listener = (void *)description;
	struct listener **place = &listeners;

	while (*place != listener)
		place = &(*place)->next;
	*place = listener->next;
	for (size_t i = 0; i < listener->waiting_count; i++)
		description_drop(&listener->waiting[i]->description);
	if (listener->datagrams != NULL) {
		listener->datagrams->front = NULL;
		description_drop(&listener->datagrams->description);
	}
	free(listener->waiting);
	free(listener);
}

const struct description_kind listener_description = {"listener", poll_listener, close_listener,
						      NULL,       NULL,          S_IFSOCK};

static struct listener *new_listener(int kind, size_t backlog)
{
	struct listener *listener = calloc(1, sizeof *listener);

	if (listener == NULL)
		err(1, "no memory");
	description_init(&listener->description, &listener_description);
	listener->machine = kernel_process()->machine;
	listener->kind = kind;
	listener->backlog = backlog < BACKLOG_MAX ? backlog : BACKLOG_MAX;
	if (kind == SOCK_DGRAM) {
		listener->datagrams = endpoint_new(ENDPOINT_DATAGRAM, false);
		listener->datagrams->front = &listener->description;
	}
	listener->next = listeners;
	listeners = listener;
	return listener;
}

static bool is_here(const struct machine *machine, const union os_socket_address *address)
{
	uint32_t host = ntohl(address->v4.sin_addr.s_addr);

	return host >> 24 == LOOPBACK || host == machine->address;
}

/* Of TCP: a listener at 127.0.0.0/8 is heard on its own machine only. */
static struct listener *find_tcp(const struct machine *from, const union os_socket_address *address)
{
	for (struct listener *listener = listeners; listener != NULL; listener = listener->next) {
		if (listener->path[0] != '\0' ||
		    listener->address.v4.sin_port != address->v4.sin_port)
			continue;
		if (listener->machine == from
			    ? is_here(from, address)
			    : ntohl(address->v4.sin_addr.s_addr) == listener->machine->address)
			return listener;
	}
	return NULL;
}

static struct listener *find_unix(const char *path, int kind)
{
	for (struct listener *listener = listeners; listener != NULL; listener = listener->next)
		if (listener->machine == kernel_process()->machine && listener->kind == kind &&
		    strcmp(listener->path, path) == 0)
			return listener;
	return NULL;
}

/* --- to listen --- */

int os_socket_listen(const union os_socket_address *address, int backlog)
{
	struct listener *listener;

	if (address->any.sa_family != AF_INET)
		return -EAFNOSUPPORT;
	if (find_tcp(kernel_process()->machine, address) != NULL)
		return -EADDRINUSE;
	listener = new_listener(SOCK_STREAM, (size_t)backlog);
	listener->address = *address;
	return table_add(&listener->description);
}

/* Here nobody listens beside another. */
int os_socket_listen_beside(const union os_socket_address *address, int backlog)
{
	return os_socket_listen(address, backlog);
}

void os_socket_share_address(int listening, bool is_shared)
{
	(void)listening;
	(void)is_shared;
}

int os_socket_listen_unix(const char *path, int kind, unsigned mode)
{
	struct listener *listener;
	struct listener *old = find_unix(path, kind);

	(void)mode;
	if (strlen(path) >= LISTENER_PATH_SIZE)
		return -ENAMETOOLONG;
	if (old != NULL)
		old->path[0] = '/', old->path[1] = '\0'; /* nobody finds it any more */
	listener = new_listener(kind, SOMAXCONN);
	snprintf(listener->path, sizeof listener->path, "%s", path);
	return table_add(&listener->description);
}

int os_socket_accept(int listening, union os_socket_address *peer_out)
{
	struct listener *listener = (void *)table_of_kind(listening, &listener_description);
	struct endpoint *endpoint;
	int descriptor;

	if (listener == NULL)
		return -EBADF;
	if (listener->waiting_count == 0)
		return -EAGAIN;
	if (kernel_process()->open_count + kernel_process()->descriptors_lacking >=
	    kernel_process()->machine->descriptors)
		return -EMFILE;
	endpoint = listener->waiting[0];
	listener->waiting_count--;
	memmove(listener->waiting, listener->waiting + 1,
		listener->waiting_count * sizeof(struct endpoint *));
	*peer_out = endpoint->remote;
	descriptor = table_add(&endpoint->description);
	return descriptor;
}

/* Nobody upgrades a node of a world. */
unsigned os_inherited_count(struct buffer *names_out)
{
	(void)names_out;
	return 0;
}

bool os_inherited_is_bound_to(int socket, int kind, const union os_socket_address *address)
{
	(void)socket;
	(void)kind;
	(void)address;
	return false;
}

uint16_t os_inherited_port(int socket)
{
	(void)socket;
	return 0;
}

void os_inherited_adopt(int socket)
{
	(void)socket;
}

bool os_socket_has_ended(int listening)
{
	(void)listening;
	return false;
}

static int offer(struct listener *listener, struct endpoint *endpoint)
{
	if (listener->waiting_count >= listener->backlog)
		return -EAGAIN;
	listener->waiting = realloc(listener->waiting,
				    (listener->waiting_count + 1) * sizeof(struct endpoint *));
	if (listener->waiting == NULL)
		err(1, "no memory");
	listener->waiting[listener->waiting_count++] = endpoint;
	description_changed(&listener->description);
	return 0;
}

/* --- to connect --- */

struct attempt {
	struct attempt *next;
	struct endpoint *client;
	struct machine *from;
	int64_t delay_us;
};

static struct attempt *attempts;

static void end_attempt(struct attempt *attempt)
{
	struct attempt **place = &attempts;

	while (*place != attempt)
		place = &(*place)->next;
	*place = attempt->next;
	description_drop(&attempt->client->description);
	free(attempt);
}

void listen_end(void)
{
	while (attempts != NULL)
		end_attempt(attempts);
}

static void decide(void *context)
{
	struct attempt *attempt = context;
	struct endpoint *client = attempt->client;
	struct listener *listener = find_tcp(attempt->from, &client->remote);
	struct endpoint *server;

	client->is_connecting = false;
	if (listener == NULL) {
		client->error = -ECONNREFUSED;
	} else if (client->description.references > 1) {
		server = endpoint_new(ENDPOINT_STREAM, true);
		server->local = client->remote;
		server->remote = client->local;
		endpoint_join(client, server, attempt->delay_us);
		if (offer(listener, server) < 0) {
			description_drop(&server->description);
			client->error = -ECONNREFUSED;
		}
	}
	kernel_mix_number(listener != NULL);
	description_changed(&client->description);
	end_attempt(attempt);
}

/* When it is known whether somebody listens. */
static int64_t connection_us(uint32_t from, uint32_t to, int64_t delay_us)
{
	const int64_t asked_us = links_arrival(from, to, kernel_now_us() + delay_us);

	return links_arrival(to, from, asked_us + delay_us);
}

static int connect_tcp(const union os_socket_address *address)
{
	static uint16_t port;
	struct machine *machine = kernel_process()->machine;
	struct endpoint *client = endpoint_new(ENDPOINT_STREAM, true);
	struct attempt *attempt = malloc(sizeof *attempt);
	int64_t delay_us = DELAY_MIN_US;

	if (attempt == NULL)
		err(1, "no memory");
	if (!is_here(machine, address))
		delay_us += (int64_t)kernel_below(DELAY_MAX_US);
	port = (uint16_t)(port < 20000 ? 20000 : port + 1);
	client->remote = *address;
	client->local.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	client->local.v4.sin_addr.s_addr =
		htonl(ntohl(address->v4.sin_addr.s_addr) >> 24 == LOOPBACK ? INADDR_LOOPBACK
									   : machine->address);
	client->is_connecting = true;
	client->description.references++;
	*attempt = (struct attempt){attempts, client, machine, delay_us};
	attempts = attempt;
	kernel_at(connection_us(machine->address, ntohl(address->v4.sin_addr.s_addr), delay_us),
		  decide, attempt);
	return table_add(&client->description);
}

static int connect_unix(const char *path, int kind)
{
	struct listener *listener = find_unix(path, kind);
	enum endpoint_kind which = kind == SOCK_STREAM ? ENDPOINT_STREAM : ENDPOINT_PACKET;
	struct endpoint *client;
	struct endpoint *server;

	if (strlen(path) >= LISTENER_PATH_SIZE)
		return -ENAMETOOLONG;
	if (listener == NULL)
		return -ENOENT;
	if (listener->waiting_count >= listener->backlog)
		return -EAGAIN;
	client = endpoint_new(kind == SOCK_DGRAM ? ENDPOINT_DATAGRAM : which, false);
	if (kind == SOCK_DGRAM) {
		client->peer = listener->datagrams;
		client->peer->description.references++;
		endpoint_become_asker(client);
		return table_add(&client->description);
	}
	server = endpoint_new(which, false);
	endpoint_join(client, server, 0);
	server->peer_user = 1000;
	client->peer_user = 1000;
	if (offer(listener, server) < 0)
		err(1, "no room"); /* it was looked for above */
	return table_add(&client->description);
}

/* The connector of the running process; NULL: it connects by itself. */
static int (*connector(void))(const char *path, int kind)
{
	const struct world_image *image = kernel_process()->image;

	return image != NULL && image->asks() ? image->connect : NULL;
}

int os_socket_connect(const union os_socket_address *address)
{
	if (address->any.sa_family == AF_INET)
		return connect_tcp(address);
	if (address->any.sa_family != AF_UNIX)
		return -ENETUNREACH;
	return os_socket_connect_unix(address->local.sun_path, SOCK_STREAM);
}

int os_socket_connect_from(const struct in6_addr *source, const union os_socket_address *address)
{
	(void)source;
	return os_socket_connect(address);
}

int os_socket_connect_unix(const char *path, int kind)
{
	int (*connect)(const char *, int) = connector();

	return connect != NULL ? connect(path, kind) : connect_unix(path, kind);
}

int os_connector_connect_as(const struct os_process_user *user, const char *path, int kind)
{
	(void)user;
	return connect_unix(path, kind);
}

int os_socket_ask_unix(const char *path)
{
	return connect_unix(path, SOCK_DGRAM);
}

int os_socket_connect_udp(const union os_socket_address *address)
{
	(void)address;
	return -ENETUNREACH;
}
