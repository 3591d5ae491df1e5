// SPDX-License-Identifier: ISC
/* The judge of attempts (waits.h). */
#include "base/panic.h"
#include "judge.h"
#include "queue/control/trigger_name.h"
#include "waits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of lines and packets on their way, and of times in whole seconds. */
static const int64_t SLACK_US = 2 * INT64_C(1000000);

enum { SKIP_REMOTE = 20, SKIP_LOCAL = 10 };

/* The shortest wait after an attempt at AGE_US. */
static int64_t shortest_us(int64_t age_us, unsigned skip)
{
	const double root = age_us > 0 ? sqrt((double)age_us / 1e6) : 0;
	const double wait = 2 * root * skip + (double)skip * skip;

	return (int64_t)(wait * 0.9 * 7 / 8 * 1e6) - SLACK_US;
}

static struct wait_try *find_try(struct account *account, unsigned number)
{
	size_t low = 0;
	size_t high = account->try_count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (account->tries[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return &account->tries[low];
}

static struct wait_try *try_of(struct account *account, unsigned number)
{
	struct wait_try *found = account->try_count > 0 ? find_try(account, number) : NULL;
	const size_t place = found != NULL ? (size_t)(found - account->tries) : 0;

	if (found != NULL && place < account->try_count && found->number == number)
		return found;
	account->tries =
		memory_resize(account->tries, (account->try_count + 1) * sizeof *account->tries);
	found = &account->tries[place];
	memmove(found + 1, found, (account->try_count - place) * sizeof *found);
	account->try_count++;
	*found = (struct wait_try){.number = number};
	return found;
}

void tries_report(struct account *account, const struct wait_place *place,
		  const struct wait_report *report)
{
	const struct machine *machine = account->books->machine;
	const char *dash = strchr(account->id, '-');
	const int64_t born_us = dash != NULL ? (int64_t)strtoull(dash + 1, NULL, 16) : 0;
	const int64_t now_us = kernel_now_us();
	struct wait_try *try;

	if (!str_starts_with(report->status, STR("4."))) /* its job has made it free */
		return;
	try = try_of(account, report->number);
	try->tried_us = now_us;
	try->early_us = 0;
	if (queue_trigger_kind(report->trigger) != QUEUE_TRIGGER_CLASS)
		try->early_us =
			now_us + shortest_us(now_us + machine->wall_offset_us - born_us,
					     place->name[0] == ':' ? SKIP_LOCAL : SKIP_REMOTE);
}

static bool was_there(const struct wait_trigger *trigger, int64_t from_us)
{
	return trigger != NULL && (trigger->is_set || trigger->there_us >= from_us);
}

/* All that waits of a message is due once its trigger is released. */
static bool has_trigger(const struct account *account, int64_t from_us)
{
	for (const struct wait *wait = account->waits; wait != NULL; wait = wait->next)
		if (was_there(wait->trigger, from_us) || was_there(wait->place->trigger, from_us))
			return true;
	return false;
}

static bool is_excused(const struct account *account, const struct wait_try *try)
{
	const struct books *books = account->books;
	const struct waits *waits = books->waits;
	const int64_t from_us = try->tried_us - SLACK_US;

	return account_is_damaged(account) || waits->is_ordering || waits->ordered_us >= from_us ||
	       waits->cut_us >= from_us || waits->clock_us >= from_us ||
	       books->machine->disk_fails_until_us >= from_us ||
	       books_are_hurt_between(books, from_us, try->tried_us + ACCOUNT_RECORD_US) ||
	       has_trigger(account, from_us);
}

void waits_try(struct account *account, struct wait_place *place, unsigned number)
{
	struct wait_try *try = account->try_count > 0 ? find_try(account, number) : NULL;
	const int64_t now_us = kernel_now_us();

	if (try == NULL || try == &account->tries[account->try_count] || try->number != number)
		return;
	if (now_us < try->early_us && !is_excused(account, try))
		judge_object(JUDGE_ATTEMPTS,
			     "%s: delivery %u of message %s at %s is tried after %lld s, "
			     "%lld s too early",
			     account->books->machine->name, number, account->id, place->name,
			     (long long)((now_us - try->tried_us) / 1000000),
			     (long long)((try->early_us - now_us) / 1000000));
	try->early_us = 0;
}
