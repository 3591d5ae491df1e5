// SPDX-License-Identifier: ISC
/* The judge of waiting (accounts.h). */
#include "accounts.h"
#include "files.h"
#include "growth.h"
#include "judge.h"
#include "queue/control/trigger_name.h"
#include "states.h"
#include "waits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MINUTE_US = 60 * INT64_C(1000000);

static int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

/* A hold that was released may come back with a power cut: triggers are not made durable. */
static bool is_held(const struct account *account)
{
	char path[96];

	snprintf(path, sizeof path, "/var/queue/trigger/hold.%s", account->id);
	return files_exist(account->books->machine, path);
}

/* A message waits for TRIGGER, if that is there. */
static bool is_there(struct wait_trigger *trigger)
{
	if (trigger == NULL || !trigger->is_set)
		return false;
	trigger->is_awaited = true;
	return true;
}

static bool is_excused(const struct books *books, const struct wait *wait)
{
	return is_there(wait->trigger) || is_there(wait->place->trigger) ||
	       wait->place->busy_until_us > books->waits->looked_us;
}

/* Of the time since the last look: how much counts for who has waited since SINCE_US, and needs
 * PROGRAM. */
static int64_t count(const struct books *books, int64_t since_us, const char *program)
{
	const int64_t us = kernel_now_us() - later(since_us, books->waits->looked_us) -
			   waits_lost_us(books, program);

	return us > 0 ? us : 0;
}

static void object(const struct account *account, const char *where, int64_t *idle_us)
{
	judge_object(JUDGE_WAITING, "%s: message %s waits since %lld s%s",
		     account->books->machine->name, account->id, (long long)(*idle_us / 1000000),
		     where);
	*idle_us = 0;
}

static int64_t bound_us(const struct books *books)
{
	return WAITING_US + (int64_t)books->open_count * WAITING_EACH_US;
}

/* Whom it needs: where nothing was begun yet, that may have to be known first. */
static const char *program_of(const struct wait *wait)
{
	const bool may_be_handed = !wait->is_begun && accounts_are_handed_over();

	return wait->nodes != NULL || may_be_handed ? "handover" : wait->place->program;
}

static int64_t look_at_wait(struct account *account, struct wait *wait)
{
	const struct books *books = account->books;
	char where[96];

	if (is_excused(books, wait))
		return 0;
	wait->idle_us += count(books, later(later(wait->event_us, wait->due_us), account->due_us),
			       program_of(wait));
	snprintf(where, sizeof where, " for %s", wait->place->name);
	if (wait->idle_us >= bound_us(books))
		object(account, where, &wait->idle_us);
	return count(books, account->first_us, program_of(wait));
}

/* Whether a node that may have something is asked before anything is given to another one. */
static bool are_nodes_asked(const struct books *books)
{
	bool are_asked = false;

	for (struct wait_trigger *trigger = books->waits->triggers; trigger != NULL;
	     trigger = trigger->next)
		if (strncmp(trigger->name, "node.", 5) == 0)
			are_asked |= is_there(trigger);
	return are_asked;
}

/* One that is not mapped yet, or has only to end. */
static int64_t look_at_whole(struct account *account)
{
	const struct books *books = account->books;
	const char *program = accounts_are_handed_over() ? "handover" : "resolve";

	if (account->waits == NULL &&
	    (is_there(waits_find_trigger(books, "directory")) || are_nodes_asked(books)))
		return 0;
	account->idle_us += count(books, later(account->event_us, account->due_us), program);
	if (account->idle_us >= bound_us(books))
		object(account, "", &account->idle_us);
	return count(books, account->first_us, program);
}

/* How much of its time since the last look was judged. */
static int64_t look_at_account(struct account *account)
{
	const bool may_be_held = account->books->is_held || account->books->waits->has_holds;
	int64_t judged_us = 0;
	bool is_open = false;

	if ((may_be_held && is_held(account)) || account_is_damaged(account))
		return 0;
	for (struct wait *wait = account->waits; wait != NULL; wait = wait->next)
		if (wait_is_open(wait)) {
			judged_us = later(judged_us, look_at_wait(account, wait));
			is_open = true;
		}
	return is_open ? judged_us : look_at_whole(account);
}

/* Of those that wait for a server or the directory one tries, at least as often. */
static void look_at_probes(const struct books *books)
{
	for (struct wait_trigger *trigger = books->waits->triggers; trigger != NULL;
	     trigger = trigger->next) {
		const enum queue_trigger_kind kind = queue_trigger_kind(str_from(trigger->name));

		if (!trigger->is_set || !trigger->is_awaited ||
		    (kind != QUEUE_TRIGGER_HOST && kind != QUEUE_TRIGGER_SERVICE &&
		     kind != QUEUE_TRIGGER_DIRECTORY))
			continue;
		trigger->idle_us += count(books, trigger->tried_us, NULL);
		if (trigger->idle_us < WAITING_PROBE_US + bound_us(books))
			continue;
		judge_object(JUDGE_WAITING, "%s: nobody has tried %s since %lld s",
			     books->machine->name, trigger->name,
			     (long long)(trigger->idle_us / 1000000));
		trigger->idle_us = 0;
	}
}

static void look_at(struct books *books)
{
	struct waits *waits = books->waits;

	waits_look(books);
	waits_look_at_triggers(books);
	for (struct account *account = books->first_open; account != NULL; account = account->after)
		if (account->done_us == 0) {
			waits->all_us +=
				kernel_now_us() - later(account->first_us, waits->looked_us);
			waits->judged_us += look_at_account(account);
		}
	look_at_probes(books);
	waits_looked(books);
}

void waiting_look(void)
{
	for (struct books *books = accounts_first(); books != NULL; books = books->next)
		look_at(books);
}

static void look(void *context)
{
	(void)context;
	accounts_close();
	waiting_look();
	for (struct books *books = accounts_first(); books != NULL; books = books->next)
		if (books->open_count > 0) /* else there is none */
			growth_look_at_controls(books->machine);
	kernel_at(kernel_now_us() + MINUTE_US, look, NULL);
}

void waiting_begin(void)
{
	look(NULL);
}

/* From an attempt at AGE_US to the next: birth + (sqrt(age) + skip)^2. */
static int64_t pause_at(int64_t age_us)
{
	const double skip = 20; /* of the service with the longest pauses */

	return (int64_t)((2 * skip * sqrt((double)age_us / 1e6) + skip * skip) * 1e6);
}

void waiting_sum(int64_t *all_us_out, int64_t *judged_us_out)
{
	*all_us_out = *judged_us_out = 0;
	for (struct books *books = accounts_first(); books != NULL; books = books->next) {
		*all_us_out += books->waits->all_us;
		*judged_us_out += books->waits->judged_us;
	}
}

void waiting_clock_is_right(const struct machine *machine, int64_t jump_us)
{
	const int64_t now_us = kernel_now_us();
	struct books *books = accounts_of(machine);

	if (books == NULL)
		return;
	for (struct account *account = books->first_open; account != NULL;
	     account = account->after) {
		const int64_t pause_us =
			pause_at(now_us - account->first_us + llabs((long long)jump_us));
		const int64_t more_us = jump_us < 0 ? 0 : jump_us < pause_us ? jump_us : pause_us;

		account->due_us = later(account->due_us, now_us + pause_us + more_us);
	}
}

void waiting_check_client(uint32_t address, int64_t since_us, const char *what)
{
	struct books *books = accounts_first();

	while (books != NULL && books->machine->address != address)
		books = books->next;
	if (books == NULL)
		return;
	since_us = later(since_us, books->moved_us);
	if (kernel_now_us() - since_us >= WAITING_US + (int64_t)books->open_count * WAITING_EACH_US)
		judge_object(JUDGE_WAITING, "%s: a client waits for %s since %lld s",
			     books->machine->name, what,
			     (long long)((kernel_now_us() - since_us) / 1000000));
}
