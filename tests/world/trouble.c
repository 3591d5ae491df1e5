// SPDX-License-Identifier: ISC
#include "trouble.h"
#include "accounts.h"
#include "mail.h"
#include "node.h"
#include "waits.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SECOND = 1000000;
static const int64_t LONGEST = 300 * INT64_C(1000000);
static const int64_t JUMP_MAX = 36 * 3600 * INT64_C(1000000);

enum { FEW_DESCRIPTORS = 24, MORE_DESCRIPTORS = 64, A_FEW = 4, RARE_ERRORS = 200 };

/* What is undone at the end. */
struct trouble {
	struct machine *machine;
	int64_t jump_us;
	size_t descriptors; /* fewer */
	bool breaks_disk;
	pid_t lacking; /* the process that has fewer; 0: none */
	struct trouble *next;
};

static struct trouble *troubles;

static void drop(struct trouble *trouble)
{
	struct trouble **place = &troubles;

	while (*place != trouble)
		place = &(*place)->next;
	*place = trouble->next;
	free(trouble);
}

void trouble_end(void)
{
	while (troubles != NULL)
		drop(troubles);
}

static void end_trouble(void *context)
{
	struct trouble *trouble = context;
	struct machine *machine = trouble->machine;
	struct process *process;

	if (trouble->jump_us != 0)
		world_log("trouble", "the clock of %s is right again", machine->name);
	machine->wall_offset_us -= trouble->jump_us;
	machine->descriptors += trouble->descriptors;
	process = trouble->lacking != 0 ? process_find(trouble->lacking) : NULL;
	if (process != NULL)
		process->descriptors_lacking = 0;
	accounts_moved(machine);
	if (trouble->breaks_disk) {
		waits_trouble(machine, false);
		mailboxes_check(machine); /* what could not be made durable is taken away */
	}
	if (trouble->jump_us != 0)
		waiting_clock_is_right(machine, trouble->jump_us);
	drop(trouble);
	if (!machine->disk_has_stopped)
		return;
	world_log("trouble", "%s is started again: its disk took no changes", machine->name);
	ledger_excuse();
	accounts_hurt(machine);
	node_cut_power(machine);
	mailboxes_check(machine);
}

static struct trouble *last_until(struct machine *machine, int64_t when_us)
{
	struct trouble *trouble = calloc(1, sizeof *trouble);

	if (trouble == NULL)
		abort();
	trouble->machine = machine;
	trouble->next = troubles;
	troubles = trouble;
	kernel_at(when_us, end_trouble, trouble);
	return trouble;
}

static void jump(struct machine *machine, int64_t until_us)
{
	int64_t most = kernel_one_in(2) ? JUMP_MAX : 10 * SECOND;
	int64_t jump_us = (int64_t)kernel_below(2 * (uint64_t)most) - most;

	world_log("trouble", "the clock of %s jumps by %lld seconds", machine->name,
		  (long long)(jump_us / SECOND));
	last_until(machine, until_us)->jump_us = jump_us;
	machine->wall_offset_us += jump_us;
}

/* A server may hardly have more than it has open: A_FEW more. */
static void take_last_descriptors(struct process *server, size_t a_few, int64_t until_us)
{
	const size_t left = server->open_count + a_few;

	if (server->machine->descriptors <= left)
		return;
	world_log("trouble", "%s %d may have %zu descriptors", server->program->name, server->pid,
		  left);
	last_until(server->machine, until_us)->lacking = server->pid;
	server->descriptors_lacking = server->machine->descriptors - left;
}

static void take_descriptors(struct machine *machine, int64_t until_us)
{
	size_t left = FEW_DESCRIPTORS + kernel_below(MORE_DESCRIPTORS);

	if (machine->descriptors <= left)
		return;
	world_log("trouble", "processes of %s may have %zu descriptors", machine->name, left);
	last_until(machine, until_us)->descriptors = machine->descriptors - left;
	machine->descriptors = left;
}

static void note_error(const struct machine *machine)
{
	ledger_excuse();
	accounts_hurt(machine);
}

/* An error of the disk is an excuse: what was delivered may not be known to be. */
static void break_disk(struct machine *machine, int64_t until_us)
{
	machine->disk_error = kernel_one_in(2) ? EIO : ENOSPC;
	machine->disk_odds = 1 + kernel_below(kernel_one_in(2) ? RARE_ERRORS : 2);
	machine->disk_fails_until_us = until_us;
	machine->disk_failed = note_error;
	last_until(machine, until_us)->breaks_disk = true;
	waits_trouble(machine, true);
	world_log("trouble", "the disk of %s: %s, once in %llu calls", machine->name,
		  strerror(machine->disk_error), (unsigned long long)machine->disk_odds);
}

void trouble_begin(struct machine *machine, int64_t end_us)
{
	int64_t until_us = kernel_now_us() + SECOND + (int64_t)kernel_below((uint64_t)LONGEST);
	struct process *server = node_process(machine, "smtpd");

	if (until_us > end_us)
		until_us = end_us;
	accounts_moved(machine);
	if (kernel_one_in(4))
		jump(machine, until_us);
	else if (kernel_one_in(3) && server != NULL && kernel_one_in(2))
		take_last_descriptors(server, kernel_below(A_FEW), until_us);
	else if (kernel_one_in(3))
		take_descriptors(machine, until_us);
	else
		break_disk(machine, until_us);
}

void trouble_let_nobody_in(struct machine *machine, int64_t until_us)
{
	for (struct process *process = process_first(); process != NULL; process = process->next)
		if (process->machine == machine && !process->has_ended &&
		    strcmp(process->program->name, "smtpd") == 0)
			take_last_descriptors(process, 0, until_us);
	accounts_moved(machine);
}
