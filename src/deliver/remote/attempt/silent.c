// SPDX-License-Identifier: ISC
#include "deliver/remote/attempt/silent.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/policy/memory.h"
#include "deliver/remote/route/peer.h"
#include "log/event.h"
#include <stdlib.h>

enum { SILENT_MAX = 1000 };

static const int64_t SILENT_US = 15 * MINUTE_US;
/* As long as one tries. */
static const int64_t TRIAL_US = 6 * MINUTE_US;
static const int64_t KNOWN_US = DAY_US;

struct remote_silent {
	struct remote_memory *passed; /* over now */
	struct remote_memory *known;  /* to be silent; not passed over: it may be tried */
};

struct remote_silent *remote_silent_new(void)
{
	struct remote_silent *silent = memory_alloc_zero(1, sizeof *silent);

	silent->passed = remote_memory_new(SILENT_MAX);
	silent->known = remote_memory_new(SILENT_MAX);
	return silent;
}

void remote_silent_free(struct remote_silent *silent)
{
	if (silent == NULL)
		return;
	remote_memory_free(silent->passed);
	remote_memory_free(silent->known);
	free(silent);
}

void remote_silent_add(struct remote_silent *silent, const struct dns_server *server,
		       const char *reason)
{
	char key[OS_SOCKET_TEXT_SIZE];
	char peer[REMOTE_PEER_SIZE];

	os_socket_address_format(&server->address, key);
	(void)remote_memory_keep(silent->passed, key, SILENT_US);
	(void)remote_memory_keep(silent->known, key, KNOWN_US);
	remote_peer_format(server, peer);
	log_event_rated(EVENT_SERVER_SILENT, log_string(host, peer), log_string(text, reason));
}

bool remote_silent_has(struct remote_silent *silent, const struct dns_server *server)
{
	char key[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(&server->address, key);
	if (remote_memory_find(silent->passed, key) != NULL)
		return true;
	if (remote_memory_find(silent->known, key) != NULL)
		(void)remote_memory_keep(silent->passed, key, TRIAL_US);
	return false;
}

void remote_silent_forget(struct remote_silent *silent, const struct dns_server *server)
{
	char key[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(&server->address, key);
	remote_memory_drop(silent->passed, key);
	remote_memory_drop(silent->known, key);
}
