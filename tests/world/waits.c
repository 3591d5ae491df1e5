// SPDX-License-Identifier: ISC
/* Where the mail of a machine goes, and what it waits for there. */
#include "waits.h"
#include "base/panic.h"
#include "queue/control/trigger_name.h"
#include <stdlib.h>
#include <string.h>

enum { HELPERS_MAX = 64 }; /* those of processes that have ended are not told apart */

void waits_new(struct books *books)
{
	books->waits = memory_alloc_zero(1, sizeof *books->waits);
	books->waits->looked_us = kernel_now_us();
}

static void free_waits(struct wait *wait)
{
	while (wait != NULL) {
		struct wait *next = wait->next;

		free(wait);
		wait = next;
	}
}

void waits_drop(struct account *account)
{
	free_waits(account->waits);
	account->waits = NULL;
	free(account->tries);
	account->tries = NULL;
	account->try_count = 0;
}

static void drop_stray(struct wait_stray **at)
{
	struct wait_stray *stray = *at;

	*at = stray->next;
	free_waits(stray->waits);
	free(stray);
}

static void drop_last_helper(struct waits *waits)
{
	struct wait_helper **last = &waits->helpers;

	while ((*last)->next != NULL)
		last = &(*last)->next;
	free(*last);
	*last = NULL;
	waits->helper_count--;
}

void waits_end(struct books *books)
{
	struct waits *waits = books->waits;

	while (waits->strays != NULL)
		drop_stray(&waits->strays);
	while (waits->helpers != NULL)
		drop_last_helper(waits);
	while (waits->places != NULL) {
		struct wait_place *place = waits->places;

		waits->places = place->next;
		free(place);
	}
	while (waits->triggers != NULL) {
		struct wait_trigger *trigger = waits->triggers;

		waits->triggers = trigger->next;
		free(trigger);
	}
	free(waits);
}

/* --- places and helpers --- */

static struct wait_place *find_place(struct waits *waits, const char *name)
{
	struct wait_place *place = waits->places;

	while (place != NULL && strcmp(place->name, name) != 0)
		place = place->next;
	if (place != NULL)
		return place;
	place = memory_alloc_zero(1, sizeof *place);
	snprintf(place->name, sizeof place->name, "%s", name);
	place->program = name[0] == ':' ? NULL : "remote";
	place->next = waits->places;
	waits->places = place;
	return place;
}

struct wait_place *waits_place_of_service(struct books *books, struct str service)
{
	char name[64];

	snprintf(name, sizeof name, ":" STR_FORMAT, STR_ARGUMENTS(service));
	return find_place(books->waits, name);
}

struct wait_place *waits_place_of_domain(struct books *books, struct str domain)
{
	char name[64];

	snprintf(name, sizeof name, STR_FORMAT, STR_ARGUMENTS(domain));
	return find_place(books->waits, name);
}

const struct wait_helper *waits_find_helper(const struct books *books, uint64_t end)
{
	const struct wait_helper *helper = books->waits->helpers;

	while (helper != NULL && helper->end != end)
		helper = helper->next;
	return helper;
}

struct wait_place *waits_place(struct books *books, struct str destination, uint64_t end)
{
	const struct wait_helper *helper = waits_find_helper(books, end);

	if (helper != NULL && helper->place != NULL)
		return helper->place;
	return destination.length > 0 && str_find(destination, ':') < 0
		       ? waits_place_of_domain(books, destination)
		       : NULL;
}

void waits_helper(struct books *books, uint64_t end, struct str service, const char *program)
{
	const bool is_remote = str_equal(service, STR("remote"));
	const bool is_resolver = str_equal(service, STR("resolve"));
	struct wait_helper *helper = memory_alloc_zero(1, sizeof *helper);

	if (books->waits->helper_count++ == HELPERS_MAX)
		drop_last_helper(books->waits);
	helper->end = end;
	helper->is_resolver = is_resolver;
	if (!is_remote && !is_resolver) {
		helper->place = waits_place_of_service(books, service);
		helper->place->program = program;
	}
	helper->next = books->waits->helpers;
	books->waits->helpers = helper;
}

/* --- triggers --- */

struct wait_trigger *waits_find_trigger(const struct books *books, const char *name)
{
	struct wait_trigger *trigger = books->waits->triggers;

	while (trigger != NULL && strcmp(trigger->name, name) != 0)
		trigger = trigger->next;
	return trigger;
}

struct wait_trigger *waits_trigger(struct books *books, const char *name)
{
	struct wait_trigger *trigger = waits_find_trigger(books, name);

	if (trigger != NULL)
		return trigger;
	trigger = memory_alloc_zero(1, sizeof *trigger);
	snprintf(trigger->name, sizeof trigger->name, "%s", name);
	trigger->next = books->waits->triggers;
	books->waits->triggers = trigger;
	return trigger;
}

void waits_trigger_released(struct books *books, const char *name)
{
	struct wait_trigger *trigger = waits_find_trigger(books, name);

	if (trigger == NULL)
		return;
	trigger->there_us = kernel_now_us();
	for (struct wait_place *place = books->waits->places; place != NULL; place = place->next)
		if (place->trigger == trigger)
			place->trigger = NULL;
}

static void try_trigger(struct wait_trigger *trigger)
{
	if (trigger == NULL)
		return;
	trigger->tried_us = kernel_now_us();
	trigger->idle_us = 0;
}

/* --- where a message goes --- */

static struct wait **waits_of_number(struct books *books, uint64_t number)
{
	struct account *account = account_of_number(books, number);
	struct wait_stray *stray = books->waits->strays;

	if (account != NULL)
		return &account->waits;
	while (stray != NULL && stray->number != number)
		stray = stray->next;
	if (stray != NULL)
		return &stray->waits;
	stray = memory_alloc_zero(1, sizeof *stray);
	stray->number = number;
	stray->next = books->waits->strays;
	books->waits->strays = stray;
	return &stray->waits;
}

void waits_adopt(struct account *account)
{
	const uint64_t number = strtoull(account->id, NULL, 10);
	struct wait_stray **at = &account->books->waits->strays;

	while (*at != NULL && (*at)->number != number)
		at = &(*at)->next;
	if (*at == NULL)
		return;
	account->waits = (*at)->waits;
	(*at)->waits = NULL;
	drop_stray(at);
}

void waits_ask(struct books *books, uint64_t number)
{
	struct account *account = account_of_number(books, number);
	struct wait **waits = waits_of_number(books, number);

	free_waits(*waits);
	*waits = NULL;
	try_trigger(waits_find_trigger(books, "directory"));
	if (account == NULL)
		return;
	waits_drop(account);
	for (size_t i = 0; i < account->delivery_count; i++)
		account->deliveries[i].is_told = false;
	account->event_us = kernel_now_us();
	account->idle_us = 0;
}

struct wait_place *waits_place_of_nodes(struct books *books, struct str group)
{
	char name[64];
	struct wait_place *place;

	snprintf(name, sizeof name, ">" STR_FORMAT, STR_ARGUMENTS(group));
	place = find_place(books->waits, name);
	place->program = "handover";
	return place;
}

static struct wait *wait_at(struct wait **waits, struct wait_place *place)
{
	struct wait *wait = *waits;

	while (wait != NULL && wait->place != place)
		wait = wait->next;
	if (wait != NULL)
		return wait;
	wait = memory_alloc_zero(1, sizeof *wait);
	wait->place = place;
	wait->event_us = kernel_now_us();
	wait->next = *waits;
	*waits = wait;
	return wait;
}

void waits_map(struct books *books, uint64_t number, struct wait_place *place)
{
	wait_at(waits_of_number(books, number), place)->expected++;
}

bool wait_is_open(const struct wait *wait)
{
	return wait->ended < wait->expected;
}

/* --- attempts --- */

static void note_event(struct wait *wait)
{
	wait->event_us = kernel_now_us();
	wait->idle_us = 0;
}

void waits_begin(struct account *account, struct wait_place *place)
{
	struct wait *wait = wait_at(&account->waits, place);

	if (wait->expected == 0)
		wait->expected = 1; /* it was mapped before anybody watched */
	wait->is_begun = true;
	wait->nodes = NULL;
	note_event(wait);
	try_trigger(wait->trigger);
	try_trigger(place->trigger);
}

void waits_hand(struct account *account, struct wait_place *nodes, struct wait_place *place)
{
	waits_begin(account, place);
	wait_at(&account->waits, place)->nodes = nodes;
}

void waits_hand_unmapped(struct account *account, struct wait_place *nodes,
			 struct wait_place *stage, unsigned count)
{
	struct wait *wait = wait_at(&account->waits, stage);

	if (wait->expected < wait->ended + count)
		wait->expected = wait->ended + count;
	waits_hand(account, nodes, stage);
}

/* What a pipe's program or a list names, others of its service do not wait for. */
static bool is_of_place(struct str trigger)
{
	const enum queue_trigger_kind kind = queue_trigger_kind(trigger);

	return kind == QUEUE_TRIGGER_HOST || kind == QUEUE_TRIGGER_SERVICE ||
	       kind == QUEUE_TRIGGER_CLASS;
}

static void report_wait(struct account *account, struct wait *wait,
			const struct wait_report *report)
{
	const struct str trigger = report->trigger;
	char name[96];

	note_event(wait);
	if (!str_starts_with(report->status, STR("4.")))
		return;
	wait->trigger = NULL;
	if (trigger.length == 0 || trigger.length >= sizeof name)
		return;
	snprintf(name, sizeof name, STR_FORMAT, STR_ARGUMENTS(trigger));
	wait->trigger = waits_trigger(account->books, name);
	wait->trigger->there_us = kernel_now_us();
	try_trigger(wait->trigger);
	if (is_of_place(trigger))
		wait->place->trigger = wait->trigger;
}

void waits_report(struct account *account, struct wait_place *place,
		  const struct wait_report *report)
{
	struct wait *wait = account->waits;

	if (place->name[0] != '>') {
		wait = wait_at(&account->waits, place);
		tries_report(account, place, report);
		report_wait(account, wait, report);
		return;
	}
	for (; wait != NULL; wait = wait->next)
		if (wait->nodes == place)
			report_wait(account, wait, report);
}

void waits_busy(struct wait_place *place, int64_t us)
{
	const int64_t until_us = kernel_now_us() + us;

	if (place != NULL && place->busy_until_us < until_us)
		place->busy_until_us = until_us;
}

/* --- what the log says --- */

void waits_hear(struct account *account, const char *by, const char *to, int64_t due_us)
{
	const char *at = strrchr(to, '@');
	struct books *books = account->books;
	const bool is_remote = strcmp(by, "remote") == 0;
	struct wait_place *place =
		is_remote ? waits_place_of_domain(books, str_from(at != NULL ? at + 1 : to))
			  : waits_place_of_service(books, str_from(by));
	struct wait *wait = account->waits;

	while (wait != NULL && wait->place != place)
		wait = wait->next;
	if (wait == NULL) {
		if (account->due_us < due_us)
			account->due_us = due_us;
		return;
	}
	note_event(wait);
	if (due_us == 0)
		wait->ended++;
	else if (wait->due_us < due_us)
		wait->due_us = due_us;
}
