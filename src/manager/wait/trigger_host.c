// SPDX-License-Identifier: ISC
/* Triggers of servers, by the server's name: "host.NAME" or "host.NAME:PORT". */
#include "manager/wait/internal_trigger.h"

static bool is_in(struct str server, struct str host)
{
	if (str_equal_nocase(server, host))
		return true;
	return str_ends_with_nocase(server, host) && server.length > host.length &&
	       server.data[server.length - host.length - 1] == '.';
}

/* An address has '-' for ':', so a colon begins the port. */
static bool is_of_host(const struct trigger *trigger, struct str host)
{
	static const char prefix[] = "host.";
	struct str server = str_from(trigger->name);
	struct str name;

	if (queue_trigger_kind(server) != QUEUE_TRIGGER_HOST)
		return false;
	server = str_skip(server, sizeof prefix - 1);
	return str_split(&server, ':', &name) && is_in(name, host);
}

void triggers_release_hosts(struct triggers *triggers, struct str host)
{
	struct trigger *trigger;
	struct trigger *next;

	if (host.length == 0)
		return;
	HASH_ITER (hh, triggers->by_name, trigger, next)
		if (is_of_host(trigger, host))
			triggers_release(triggers, trigger);
}
