// SPDX-License-Identifier: ISC
#include "fate.h"
#include "accounts.h"
#include "disk.h"
#include "files.h"
#include "mail.h"
#include "node.h"
#include "rot.h"
#include "settings.h"
#include "trouble.h"
#include "waits.h"
#include <signal.h>
#include <string.h>

static const int64_t SECOND = 1000000;
static const int64_t STORM = 60 * INT64_C(1000000);
static const int64_t SOON = 10 * INT64_C(1000000);
static const int64_t LOOK = 4000;
static const int64_t AFTER = 600000; /* outcomes are collected for a quarter of a second */
static const int64_t FILING = 50000; /* a thread, and some syncs */
static const int64_t BIRTH = 50000;  /* a start makes what is missing of the queue */

enum { RECOVERIES = 4, BIRTHS = 2, SIGNALS = 10, HOLDS = 4, FILERS = 5 };

static void thaw(void *context)
{
	pid_t pid = (pid_t)(intptr_t)context;
	struct process *process = process_find(pid);

	if (process == NULL)
		return;
	accounts_hurt(process->machine);
	waits_thawed(process);
	process_freeze(process, false);
}

static void freeze(struct process *process, int64_t duration_us)
{
	world_log("fate", "freezes %s %d", process->program->name, process->pid);
	process_freeze(process, true);
	kernel_at(kernel_now_us() + duration_us, thaw, (void *)(intptr_t)process->pid);
}

/* Somebody sees nothing happen, and sends one signal after the other. */
static void lose_patience(void *context)
{
	struct fate *fate = context;
	struct process *supervisor = node_supervisor(fate->node);
	const int number = kernel_one_in(2) ? SIGHUP : SIGTERM;

	if (supervisor == NULL || fate->signals_left == 0 || kernel_now_us() >= fate->calm_from_us)
		return;
	fate->signals_left--;
	world_log("fate", "has no patience with %s: %s", fate->node->name,
		  number == SIGHUP ? "SIGHUP" : "SIGTERM");
	if (number == SIGTERM) { /* the second one is an order to hurry: nothing is waited for */
		ledger_excuse();
		accounts_hurt(fate->node);
	}
	accounts_moved(fate->node);
	process_signal(supervisor, number);
	kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)SECOND), lose_patience, fate);
}

/* PROCESS stands still; or many do, as where memory is scarce. */
static void stand_still(struct fate *fate, struct process *process)
{
	const bool are_many = kernel_one_in(3);

	freeze(process, (int64_t)kernel_below(2 * (uint64_t)STORM));
	for (process = process_first(); are_many && process != NULL; process = process->next)
		if (process->machine == fate->node && !process->has_ended && !process->is_frozen &&
		    process->on_end == NULL && kernel_one_in(2))
			freeze(process, (int64_t)kernel_below((uint64_t)STORM));
	if (!are_many && kernel_one_in(2))
		return;
	fate->signals_left = kernel_below(SIGNALS);
	lose_patience(fate);
}

/* Before a reload somebody changes some settings, or takes that back. */
static void change_settings(const struct fate *fate)
{
	static const char two_places[] = SETTINGS_PLACES "2 }\n";
	static const char *const others[] = {
		"", /* taken back */
		"maxsessions = 10\n",
		"smtpd_workers = 1\n",
		"smtpd_workers = 3\n",
		two_places,
		"probe_delay = 60\n",
		"maxerrors = 3\n",
		"record { connections = 1  lock_timeout = 1 }\n",
	};
	const char *more = others[kernel_below(sizeof others / sizeof others[0])];
	char text[SETTINGS_SIZE];

	if (strstr(fate->settings, SETTINGS_REMOTE) != NULL &&
	    strstr(more, SETTINGS_REMOTE) != NULL)
		more = "";
	snprintf(text, sizeof text, "%s%s", fate->settings, more);
	world_log("fate", "changes settings of %s: %.*s", fate->node->name,
		  (int)strcspn(more, "\n"), more);
	node_set(fate->node, text);
}

static void cut_power(const struct fate *fate)
{
	struct machine *node = fate->node;

	ledger_excuse();
	accounts_hurt(node);
	world_log("fate", "cuts the power of %s", node->name);
	node_cut_power(node);
	mailboxes_check(node);
}

static void kill_process(struct process *process)
{
	ledger_excuse();
	accounts_hurt(process->machine);
	world_log("fate", "kills %s %d", process->program->name, process->pid);
	process_end(process, SIGKILL);
}

/* Any one; some more often than the many others whose turn it would be. */
static struct process *choose_process(const struct machine *node)
{
	struct process *process = NULL;

	if (kernel_one_in(FILERS))
		process = node_process(node, kernel_one_in(3) ? "decode" : "mailbox");
	return process != NULL ? process : node_process(node, NULL);
}

static void strike(struct fate *fate)
{
	struct machine *node = fate->node;
	struct process *process = choose_process(node);

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
	if (kernel_one_in(4)) {
		cut_power(fate);
		return;
	}
	if (!kernel_one_in(3)) {
		kill_process(process);
		return;
	}
	ledger_excuse();
	accounts_hurt(node);
	stand_still(fate, process);
}

static bool is_storm(const struct fate *fate)
{
	return kernel_now_us() < fate->calm_from_us && kernel_now_us() < fate->storm_until_us;
}

static bool may_strike(struct fate *fate)
{
	if (*fate->strikes_left == 0 || kernel_now_us() >= fate->calm_from_us)
		return false;
	--*fate->strikes_left;
	return true;
}

static void strike_now(void *context)
{
	struct fate *fate = context;

	if (may_strike(fate))
		strike(fate);
}

static void cut_now(void *context)
{
	struct fate *fate = context;

	if (node_process(fate->node, NULL) != NULL && may_strike(fate))
		cut_power(fate);
}

/* Who is filing a message dies before that is recorded, or the machine does. */
static void strike_filing(void *context)
{
	struct fate *fate = context;
	struct process *process = node_process(fate->node, "mailbox");

	if (process == NULL || kernel_one_in(3))
		cut_now(fate);
	else if (may_strike(fate))
		kill_process(process);
}

/* Whether what the fault waits for has happened. */
static bool is_moment(const struct fate *fate)
{
	const struct books *books = accounts_of(fate->node);

	if (fate->moment == FATE_PROMISED)
		return books->promised_us >= fate->strike_from_us;
	if (fate->moment == FATE_OUTCOME)
		return books->outcome_us >= fate->strike_from_us;
	if (fate->moment == FATE_FILING)
		return books->filing_us >= fate->strike_from_us;
	if (fate->moment == FATE_BORN)
		return files_inode(fate->node, "/var/queue/format") != 0;
	return disk_undecided(fate->node->disk) > fate->strike_undecided;
}

/* What follows a promise or an outcome on the disk comes within a while. */
static void strike_at_moment(void *context)
{
	struct fate *fate = context;

	if (kernel_now_us() < fate->strike_until_us && !is_moment(fate))
		kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)LOOK), strike_at_moment,
			  fate);
	else if (fate->moment == FATE_BUSY)
		kernel_one_in(2) ? cut_now(fate) : strike_now(fate);
	else if (fate->moment == FATE_FILING)
		kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)FILING), strike_filing,
			  fate);
	else if (fate->moment == FATE_BORN)
		kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)BIRTH), cut_now, fate);
	else
		kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)AFTER),
			  kernel_one_in(4) ? strike_now : cut_now, fate);
}

static void wait_for(struct fate *fate, enum fate_moment moment)
{
	fate->moment = moment;
	fate->strike_from_us = kernel_now_us();
	fate->strike_until_us = kernel_now_us() + SOON;
	fate->strike_undecided = disk_undecided(fate->node->disk);
	strike_at_moment(fate);
}

/* Who is to take mail that comes stands still, while others accept it: from the beginning, or when
 * there is a queue already. */
static void hold_manager_back(void *context)
{
	struct fate *fate = context;
	struct process *process = node_process(fate->node, "send");

	if (process == NULL) {
		kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)LOOK),
			  hold_manager_back, fate);
		return;
	}
	if (process->is_frozen)
		return;
	ledger_excuse();
	accounts_hurt(fate->node);
	freeze(process, SOON + (int64_t)kernel_below((uint64_t)SOON));
	wait_for(fate, FATE_PROMISED);
}

static enum fate_moment choose_wait(const struct fate *fate)
{
	const enum fate_moment moment = (enum fate_moment)kernel_below(FATE_BORN);

	return moment == FATE_FILING && node_process(fate->node, "mailbox") == NULL ? FATE_BUSY
										    : moment;
}

/* Now, or soon. */
static void choose_moment(struct fate *fate)
{
	if (kernel_one_in(2))
		strike_now(fate);
	else if (!kernel_one_in(HOLDS))
		wait_for(fate, choose_wait(fate));
	else if (may_strike(fate))
		hold_manager_back(fate);
}

/* The first start is one of which little is durable. */
static void plan_birth(struct fate *fate)
{
	if (fate->rarity != FATE_OFTEN || !kernel_one_in(BIRTHS) || !may_strike(fate))
		return;
	if (kernel_one_in(2))
		wait_for(fate, FATE_BORN);
	else
		hold_manager_back(fate);
}

static void start_now(void *context)
{
	struct fate *fate = context;

	fate->is_repairing = false;
	world_log("fate", "starts %s", fate->node->name);
	waits_started(fate->node);
	node_start(fate->node);
	accounts_moved(fate->node);
	if (kernel_now_us() < fate->calm_from_us && fate->rarity == FATE_OFTEN &&
	    kernel_one_in(RECOVERIES))
		kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)AFTER), cut_now, fate);
}

static void start(struct fate *fate)
{
	fate->is_repairing = rot_repairs(fate->node, start_now, fate);
	if (!fate->is_repairing)
		start_now(fate);
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
		if (!fate->is_repairing)
			start(fate);
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
	plan_birth(fate);
}
