// SPDX-License-Identifier: ISC
#include "fate.h"
#include "accounts.h"
#include "disk.h"
#include "mail.h"
#include "node.h"
#include "trouble.h"
#include <signal.h>
#include <string.h>

static const int64_t SECOND = 1000000;
static const int64_t STORM = 60 * INT64_C(1000000);
static const int64_t SOON = 10 * INT64_C(1000000);
static const int64_t LOOK = 4000;

static void thaw(void *context)
{
	pid_t pid = (pid_t)(intptr_t)context;
	struct process *process = process_find(pid);

	if (process == NULL)
		return;
	accounts_hurt(process->machine);
	process_freeze(process, false);
}

/* Before a reload somebody changes some settings, or takes that back. */
static void change_settings(const struct fate *fate)
{
	static const char *const others[] = {
		"",
		"maxsessions = 10\n",
		"smtpd_workers = 1\n",
		"smtpd_workers = 3\n",
		"transport remote { concurrency = 2 }\n",
		"probe_delay = 60\n",
		"maxerrors = 3\n",
	};
	const char *more = others[kernel_below(sizeof others / sizeof others[0])];
	char text[4096];

	snprintf(text, sizeof text, "%s%s", fate->settings, more);
	world_log("fate", "changes settings of %s: %.*s", fate->node->name,
		  (int)strcspn(more, "\n"), more);
	node_set(fate->node, text);
}

static void strike(const struct fate *fate)
{
	struct machine *node = fate->node;
	struct process *process = node_process(node, NULL);

	if (process == NULL || process->is_frozen)
		return;
	if (kernel_one_in(3)) {
		trouble_begin(node, fate->calm_from_us);
		return;
	}
	if (kernel_one_in(4)) {
		bool is_reload = kernel_one_in(2);

		process = node_supervisor(node);
		if (is_reload && kernel_one_in(2))
			change_settings(fate);
		world_log("fate", "%s %s", is_reload ? "reloads" : "stops", node->name);
		if (process != NULL)
			process_signal(process, is_reload ? SIGHUP : SIGTERM);
		accounts_moved(node);
		return; /* which excuses nothing */
	}
	ledger_excuse();
	accounts_hurt(node);
	if (kernel_one_in(4)) {
		world_log("fate", "cuts the power of %s", node->name);
		node_cut_power(node);
		mailboxes_check(node);
		return;
	}
	if (kernel_one_in(3)) {
		world_log("fate", "freezes %s %d", process->program->name, process->pid);
		process_freeze(process, true);
		kernel_at(kernel_now_us() + (int64_t)kernel_below(120 * (uint64_t)SECOND), thaw,
			  (void *)(intptr_t)process->pid);
		return;
	}
	world_log("fate", "kills %s %d", process->program->name, process->pid);
	process_end(process, SIGKILL);
}

static bool is_storm(const struct fate *fate)
{
	return kernel_now_us() < fate->calm_from_us && kernel_now_us() < fate->storm_until_us;
}

/* Where most can go wrong: while something changes on the disk. */
static void strike_busy(void *context)
{
	struct fate *fate = context;

	if (kernel_now_us() < fate->strike_until_us &&
	    disk_undecided(fate->node->disk) <= fate->strike_undecided) {
		kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)LOOK), strike_busy,
			  fate);
		return;
	}
	if (*fate->strikes_left == 0)
		return;
	--*fate->strikes_left;
	strike(fate);
}

/* Now, or soon. */
static void choose_moment(struct fate *fate)
{
	fate->strike_until_us = kernel_one_in(2) ? 0 : kernel_now_us() + SOON;
	fate->strike_undecided = disk_undecided(fate->node->disk);
	strike_busy(fate);
}

/* Faults come alone, and in storms. */
static int64_t next_look(struct fate *fate)
{
	if (!is_storm(fate)) {
		if (kernel_one_in(12 * fate->rarity))
			fate->storm_until_us = kernel_now_us() + STORM;
		return 5 * SECOND + (int64_t)kernel_below(20 * (uint64_t)SECOND);
	}
	return (int64_t)kernel_below((uint64_t)SECOND);
}

/* A machine whose supervisor is gone starts it again, as a service manager does. */
static void mind(void *context)
{
	struct fate *fate = context;

	if (node_supervisor(fate->node) == NULL) {
		world_log("fate", "starts %s", fate->node->name);
		node_start(fate->node);
		accounts_moved(fate->node);
	} else if (kernel_now_us() < fate->calm_from_us &&
		   kernel_one_in(is_storm(fate) ? FATE_OFTEN : fate->rarity)) {
		choose_moment(fate);
	}
	if (fate->read_changes != disk_changes(fate->node->disk)) {
		fate->read_changes = disk_changes(fate->node->disk);
		mailboxes_read(fate->node, "/var/mail");
	}
	kernel_at(kernel_now_us() + next_look(fate), mind, fate);
}

void fate_begin(struct fate *fate)
{
	mind(fate);
}
