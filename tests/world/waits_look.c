// SPDX-License-Identifier: ISC
/* What delays all mail of a machine, and for how long. */
#include "files.h"
#include "judge.h"
#include "waits.h"
#include <string.h>

static int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

/* Before the first packet nothing is known. */
void waits_notice(struct books *books)
{
	struct waits *waits = books->waits;
	const struct machine *machine = books->machine;

	if (waits->heard_us > 0 && waits->boots != machine->boots)
		waits->cut_us = kernel_now_us();
	if (waits->heard_us > 0 && waits->wall_offset_us != machine->wall_offset_us)
		waits->clock_us = kernel_now_us();
	waits->boots = machine->boots;
	waits->wall_offset_us = machine->wall_offset_us;
	waits->heard_us = kernel_now_us();
}

void waits_order(const struct machine *machine, bool begins)
{
	struct books *books = accounts_of(machine);

	if (books == NULL)
		return;
	books->waits->is_ordering = begins;
	books->waits->ordered_us = kernel_now_us();
}

/* --- what could not work --- */

static void add_loss(struct waits *waits, const char *program, int64_t from_us)
{
	const int64_t us = kernel_now_us() - later(from_us, waits->looked_us);
	struct wait_loss *loss = waits->losses;

	while (loss < waits->losses + waits->loss_count && strcmp(loss->program, program) != 0)
		loss++;
	if (loss == waits->losses + sizeof waits->losses / sizeof waits->losses[0])
		return; /* there are fewer programs of a node that mail needs */
	if (loss == waits->losses + waits->loss_count)
		waits->losses[waits->loss_count++] = (struct wait_loss){.program = program};
	loss->us += us;
}

void waits_thawed(const struct process *process)
{
	struct books *books = accounts_of(process->machine);

	if (books != NULL)
		add_loss(books->waits, process->program->name, process->frozen_us);
}

void waits_trouble(const struct machine *machine, bool begins)
{
	struct books *books = accounts_of(machine);
	struct waits *waits = books != NULL ? books->waits : NULL;

	if (waits == NULL)
		return;
	if (waits->troubles == 0)
		waits->troubled_us = kernel_now_us();
	waits->troubles += begins ? 1 : -1U;
	if (waits->troubles == 0)
		waits->lost_us += kernel_now_us() - later(waits->troubled_us, waits->looked_us);
}

void waits_down(struct books *books, bool is_down)
{
	struct waits *waits = books->waits;

	if (is_down && waits->down_us == 0)
		waits->down_us = kernel_now_us();
	if (is_down || waits->down_us == 0)
		return;
	waits->lost_us += kernel_now_us() - later(waits->down_us, waits->looked_us);
	waits->down_us = 0;
}

void waits_started(const struct machine *machine)
{
	struct books *books = accounts_of(machine);

	if (books != NULL && books->waits->down_us == 0 && books->waits->heard_us > 0)
		books->waits->down_us = books->waits->heard_us;
}

int64_t waits_lost_us(const struct books *books, const char *program)
{
	const struct waits *waits = books->waits;
	int64_t lost_us = 0;

	for (size_t i = 0; i < waits->loss_count; i++)
		if (strcmp(waits->losses[i].program, "send") == 0 ||
		    strcmp(waits->losses[i].program, "queue") == 0 ||
		    (program != NULL && strcmp(waits->losses[i].program, program) == 0) ||
		    (program != NULL && strcmp(program, "pipe") == 0 &&
		     strcmp(waits->losses[i].program, "launch") == 0))
			lost_us += waits->losses[i].us;
	return waits->lost_us + lost_us;
}

void waits_look(struct books *books)
{
	struct waits *waits = books->waits;
	const struct process *process = process_first();

	for (; process != NULL; process = process->next)
		if (process->machine == books->machine && process->is_frozen)
			add_loss(waits, process->program->name, process->frozen_us);
	if (waits->strange_us > 0)
		add_loss(waits, "handover", waits->strange_us);
	if (waits->troubles > 0)
		waits->lost_us += kernel_now_us() - later(waits->troubled_us, waits->looked_us);
	if (waits->down_us > 0)
		waits->lost_us += kernel_now_us() - later(waits->down_us, waits->looked_us);
}

void waits_looked(struct books *books)
{
	books->waits->looked_us = kernel_now_us();
	books->waits->lost_us = 0;
	books->waits->loss_count = 0;
}

/* --- who hands over --- */

void waits_groups(struct books *books, bool are_known)
{
	struct waits *waits = books->waits;

	if (are_known && waits->strange_us > 0)
		add_loss(waits, "handover", waits->strange_us);
	if (are_known)
		waits->strange_us = 0;
	else if (waits->strange_us == 0)
		waits->strange_us = kernel_now_us();
}

/* --- decoders --- */

/* Whether something stands still that mail needs. */
static bool is_delayed(const struct machine *machine)
{
	for (const struct process *process = process_first(); process != NULL;
	     process = process->next)
		if (process->machine == machine && process->is_frozen &&
		    strcmp(process->program->name, "decode") != 0)
			return true;
	return false;
}

void waits_filed(const struct books *books, const struct wait_place *place, int64_t took_us)
{
	if (place->program != NULL && strcmp(place->program, "mailbox") == 0 &&
	    took_us > WAITS_FILING_US && !is_delayed(books->machine))
		judge_object(JUDGE_WAITING, "%s: a message was filed after %lld seconds",
			     books->machine->name, (long long)(took_us / 1000000));
}

/* --- triggers --- */

void waits_look_at_triggers(struct books *books)
{
	struct waits *waits = books->waits;
	size_t size = 0;
	char *names;

	waits->has_holds = false;
	for (struct wait_trigger *trigger = waits->triggers; trigger != NULL;
	     trigger = trigger->next)
		trigger->is_set = trigger->is_awaited = false;
	names = files_names(books->machine, "/var/queue/trigger", &size);
	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		struct wait_trigger *trigger;

		waits->has_holds |= strncmp(names + i, "hold.", 5) == 0;
		trigger = strncmp(names + i, "hold.", 5) != 0 ? waits_trigger(books, names + i)
							      : NULL;
		if (trigger == NULL)
			continue;
		trigger->is_set = true;
		trigger->there_us = kernel_now_us();
	}
	if (names != NULL)
		disk_list_free(names);
}
