// SPDX-License-Identifier: ISC
/* Listening sockets that this process did not bind: from a predecessor (upgrade.h), or from the
 * service manager, which keeps them while the service is started again. They are known by their
 * addresses. */
#include "log/event.h"
#include "os/file/file.h"
#include "os/notify.h"
#include "os/socket/inherited.h"
#include "os/socket/socket.h"
#include "supervisor/internal.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* Closes it, here and in the service manager. */
static void discard_inherited_socket(const struct supervisor *supervisor,
				     const struct inherited_socket *socket)
{
	char text[sizeof socket->name + 40];

	os_socket_close(socket->descriptor);
	if (socket->name[0] == '\0')
		return;
	snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", socket->name);
	supervisor_notify(supervisor, text);
}

void supervisor_inherit(struct supervisor *supervisor, int descriptor, struct str name)
{
	struct inherited_socket socket = {.descriptor = descriptor};

	snprintf(socket.name, sizeof socket.name, STR_FORMAT, STR_ARGUMENTS(name));
	if (supervisor->inherited_count == COUNT_OF(supervisor->inherited)) {
		discard_inherited_socket(supervisor, &socket);
		return;
	}
	os_inherited_adopt(descriptor);
	supervisor->inherited[supervisor->inherited_count++] = socket;
}

void supervisor_inherit_all(struct supervisor *supervisor, const struct supervisor_origin *origin)
{
	struct str names = origin->names;

	for (unsigned i = 0; i < origin->inherited; i++) {
		struct str name = STR("");

		(void)str_split(&names, ':', &name);
		supervisor_inherit(supervisor, OS_INHERITED_FIRST + (int)i, name);
	}
}

/* A UNIX socket whose file is gone hears of nobody; one that was shut down never will again. */
static bool is_usable_socket(int descriptor, int kind, const union os_socket_address *address)
{
	struct os_file_info info;

	if (address->any.sa_family == AF_UNIX)
		return os_file_info_at(OS_FILE_HERE, address->local.sun_path, &info) == 0 &&
		       S_ISSOCK(info.mode) && !os_socket_has_ended(descriptor);
	return kind == SOCK_STREAM && os_socket_listen_again(descriptor, SERVE_LISTEN_BACKLOG) == 0;
}

int supervisor_find_inherited(struct supervisor *supervisor, int kind,
			      const union os_socket_address *address)
{
	for (size_t i = 0; i < supervisor->inherited_count; i++) {
		struct inherited_socket found = supervisor->inherited[i];

		if (!os_inherited_is_bound_to(found.descriptor, kind, address))
			continue;
		supervisor->inherited[i] = supervisor->inherited[--supervisor->inherited_count];
		if (is_usable_socket(found.descriptor, kind, address))
			return found.descriptor;
		discard_inherited_socket(supervisor, &found);
		return -ENOENT;
	}
	return -ENOENT;
}

/* The name that the service manager has for it: an address has what it allows in none. */
static void name_for_manager(const struct bound_socket *bound, char name[sizeof bound->name])
{
	snprintf(name, sizeof bound->name, "%s", bound->name);
	for (char *at = name; *at != '\0'; at++)
		if (*at == ':' || *at < ' ' || *at > '~')
			*at = '_';
}

static void log_unstored(const struct bound_socket *bound, int error)
{
	log_event(EVENT_PROCESS_ERROR, log_string(socket, bound->name),
		  log_string(reason, "the service manager cannot be given it"), log_error(error));
}

void supervisor_store_socket(const struct supervisor *supervisor, const struct bound_socket *bound)
{
	char name[sizeof bound->name];
	int error;

	if (supervisor->predecessor != NULL)
		return;
	name_for_manager(bound, name);
	error = os_notify_store(name, bound->descriptor);
	if (error < 0)
		log_unstored(bound, error);
}

void supervisor_forget_socket(const struct supervisor *supervisor, const struct bound_socket *bound)
{
	char name[sizeof bound->name];
	char text[sizeof bound->name + 40];

	name_for_manager(bound, name);
	snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", name);
	supervisor_notify(supervisor, text);
	os_socket_close(bound->descriptor);
}

void supervisor_store_sockets(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->socket_count; i++)
		supervisor_store_socket(supervisor, &supervisor->sockets[i]);
}

void supervisor_drop_inherited_at(struct supervisor *supervisor, uint16_t port)
{
	size_t kept = 0;

	for (size_t i = 0; i < supervisor->inherited_count; i++) {
		const struct inherited_socket *one = &supervisor->inherited[i];

		if (port != 0 && os_inherited_port(one->descriptor) == port)
			discard_inherited_socket(supervisor, one);
		else
			supervisor->inherited[kept++] = *one;
	}
	supervisor->inherited_count = kept;
}

void supervisor_drop_inherited(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->inherited_count; i++)
		discard_inherited_socket(supervisor, &supervisor->inherited[i]);
	supervisor->inherited_count = 0;
}
