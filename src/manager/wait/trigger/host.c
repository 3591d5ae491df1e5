// SPDX-License-Identifier: ISC
/* Triggers of servers, by the server's name: "host.NAME" or "host.NAME:PORT". */
#include "base/hash.h"
#include "base/panic.h"
#include "manager/wait/trigger/internal.h"

static bool is_same_host_or_below(struct str server, struct str host)
{
	if (str_equal_nocase(server, host))
		return true;
	return str_ends_with_nocase(server, host) && server.length > host.length &&
	       server.data[server.length - host.length - 1] == '.';
}

/* An address has '-' for ':', so a colon begins the port. */
static bool is_trigger_of_host(const struct trigger *trigger, struct str host)
{
	static const char prefix[] = "host.";
	struct str server = str_from(trigger->name);
	struct str name;

	if (queue_trigger_kind(server) != QUEUE_TRIGGER_HOST)
		return false;
	server = str_skip(server, sizeof prefix - 1);
	return str_split(&server, ':', &name) && is_same_host_or_below(name, host);
}

static bool has_noted(const struct trigger *trigger, uint64_t domain)
{
	for (unsigned i = 0; i < trigger->domain_count; i++)
		if (trigger->domains[i] == domain)
			return true;
	return false;
}

void trigger_note_domain(struct trigger *trigger, struct str domain)
{
	uint64_t hash = hash_own(domain.data, domain.length);
	unsigned count = trigger->domain_count;

	if (queue_trigger_kind(str_from(trigger->name)) != QUEUE_TRIGGER_HOST ||
	    count == TRIGGER_DOMAINS_MAX || has_noted(trigger, hash))
		return;
	if ((count & (count - 1)) == 0) /* a power of two is full */
		trigger->domains =
			memory_resize(trigger->domains, (count > 0 ? 2 * count : 1) * sizeof hash);
	trigger->domains[trigger->domain_count++] = hash;
}

void triggers_release_domain(struct triggers *triggers, struct str domain)
{
	uint64_t hash = hash_own(domain.data, domain.length);
	struct trigger *trigger;
	struct trigger *next;

	if (domain.length == 0)
		return;
	HASH_ITER (hh, triggers->by_name, trigger, next)
		if (is_trigger_of_host(trigger, domain) || has_noted(trigger, hash) ||
		    trigger->domain_count == TRIGGER_DOMAINS_MAX)
			triggers_release(triggers, trigger);
}
