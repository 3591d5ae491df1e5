// SPDX-License-Identifier: ISC
#include "directory/server/acceptor.h"
#include "directory/server/server.h"
#include "log/event.h"
#include <string.h>

static const char *find_name_in_certificate(const struct tls_connection *connection,
					    const char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (tls_connection_has_name(connection, names[i]))
			return names[i];
	return NULL;
}

static bool is_listed(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static const char *name_of_client(void *context, const struct tls_connection *connection,
				  const char **reason_out)
{
	const struct directory_acceptor *acceptor = context;
	const struct config_directory *config = acceptor->config;
	const char *name =
		find_name_in_certificate(connection, config->changers, config->changer_count);

	*reason_out = "no name of the certificate is among readers and changers";
	return name != NULL ? name
			    : find_name_in_certificate(connection, config->readers,
						       config->reader_count);
}

static void on_peer_accepted(void *context, const struct directory_transport *transport,
			     const char *name, const char *peer)
{
	const struct directory_acceptor *acceptor = context;
	unsigned roles = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST;

	if (is_listed(name, acceptor->config->changers, acceptor->config->changer_count))
		roles |= DIRECTORY_ROLE_SECRET | DIRECTORY_ROLE_CHANGE;
	acceptor->accepted(acceptor->context, transport, roles, peer);
}

static void on_peer_refused(void *context, const char *address, const char *name,
			    const char *reason, int64_t unsaid)
{
	(void)context;
	log_event(EVENT_DIRECTORY_REFUSED, log_string(peer, address), log_string(name, name),
		  log_string(reason, reason), log_number(unsaid, unsaid));
}

static void on_peer_failed(void *context, int error)
{
	(void)context;
	log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "accept"), log_error(error));
}

const struct transport_acceptor_handler directory_acceptor_handler = {
	name_of_client, on_peer_accepted, on_peer_refused, on_peer_failed};
