// SPDX-License-Identifier: ISC
#include "dns/alive.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "dns/resolver.h"
#include <errno.h>
#include <stdlib.h>
#include <unbound.h>

/* In turns of our own timer: a process that was suspended has not been silent meanwhile. */
enum { ALIVE_CLASS_IN = 1, PROBED_AFTER = 3, ENDED_AFTER = 13 };

static const int64_t TURN_US = SECOND_US;

struct dns_alive {
	struct os_timer *timer;
	struct ub_ctx *unbound;
	size_t open;     /* questions */
	unsigned silent; /* turns without an answer */
	int probe;       /* libunbound's number of it */
	bool is_probing;
};

static void on_unbound_probe(void *context, int error, struct ub_result *result)
{
	struct dns_alive *alive = context;

	alive->is_probing = false;
	alive->silent = 0;
	if (error == 0)
		ub_resolve_free(result);
}

static void probe_unbound(struct dns_alive *alive)
{
	if (!alive->is_probing)
		alive->is_probing =
			ub_resolve_async(alive->unbound, "localhost.", DNS_TYPE_A, ALIVE_CLASS_IN,
					 alive, on_unbound_probe, &alive->probe) == 0;
}

static void on_turn(void *context)
{
	struct dns_alive *alive = context;

	if (alive->open == 0) {
		alive->silent = 0;
		return;
	}
	if (++alive->silent >= ENDED_AFTER)
		cannot_begin("libunbound's thread has ended", -ESRCH);
	if (alive->silent >= PROBED_AFTER)
		probe_unbound(alive);
	os_timer_start(alive->timer, TURN_US);
}

struct dns_alive *dns_alive_new(struct os_loop *loop, struct ub_ctx *unbound)
{
	struct dns_alive *alive = memory_alloc_zero(1, sizeof *alive);

	alive->unbound = unbound;
	alive->timer = os_timer_new(loop, on_turn, alive);
	return alive;
}

void dns_alive_free(struct dns_alive *alive)
{
	if (alive == NULL)
		return;
	if (alive->is_probing)
		(void)ub_cancel(alive->unbound, alive->probe);
	os_timer_free(alive->timer);
	free(alive);
}

void dns_alive_asked(struct dns_alive *alive)
{
	alive->open++;
	if (!os_timer_is_running(alive->timer))
		os_timer_start(alive->timer, TURN_US);
}

void dns_alive_answered(struct dns_alive *alive)
{
	alive->open--;
	alive->silent = 0;
}

void dns_alive_cancelled(struct dns_alive *alive)
{
	alive->open--;
}
