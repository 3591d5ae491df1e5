// SPDX-License-Identifier: ISC
#include "changes.h"
#include "damages.h"
#include "ledger_internal.h"
#include "letter.h"
#include "lists.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 40, MANY_LINES_MAX = 3000, LONG_ONES = 50, TOLD_MAX = 20 };

static struct {
	struct entry *entries;
	uint64_t count;
	uint64_t size;
	uint64_t promised; /* recipients */
	uint64_t done;     /* promised and delivered */
	uint64_t strange;
	int64_t killed_us; /* the last time */
} ledger;

void ledger_begin(void)
{
	ledger.killed_us = -1;
}

void ledger_end(void)
{
	for (uint64_t i = 0; i < ledger.count; i++)
		free(ledger.entries[i].copies);
	free(ledger.entries);
	memset(&ledger, 0, sizeof ledger);
}

static void *resize(void *block, size_t count, size_t size)
{
	block = realloc(block, count * size);
	if (block == NULL)
		err(1, "no memory");
	return block;
}

uint64_t ledger_new(void)
{
	if (ledger.count == ledger.size) {
		ledger.size = ledger.size == 0 ? 1024 : 2 * ledger.size;
		ledger.entries = resize(ledger.entries, ledger.size, sizeof *ledger.entries);
	}
	ledger.entries[ledger.count] = (struct entry){
		.lines = kernel_below(kernel_one_in(LONG_ONES) ? MANY_LINES_MAX : LINES_MAX),
		.began_us = kernel_now_us()};
	return ledger.count++;
}

struct copy *ledger_add_copy(struct entry *entry, const char *recipient)
{
	struct copy *copy;

	/* at 1, 2, 4... */
	if ((entry->copy_count & (entry->copy_count - 1)) == 0)
		entry->copies =
			resize(entry->copies, entry->copy_count == 0 ? 1 : 2 * entry->copy_count,
			       sizeof *entry->copies);
	copy = &entry->copies[entry->copy_count++];
	*copy = (struct copy){.count = 0};
	snprintf(copy->recipient, sizeof copy->recipient, "%s", recipient);
	ledger.promised += entry->is_promised;
	return copy;
}

void ledger_add(uint64_t number, const char *recipient)
{
	ledger_add_copy(&ledger.entries[number], recipient);
}

void ledger_promise(uint64_t number)
{
	struct entry *entry = &ledger.entries[number];

	if (entry->is_promised)
		return;
	entry->is_promised = true;
	ledger.promised += entry->copy_count;
	for (size_t i = 0; i < entry->copy_count; i++)
		ledger.done += entry->copies[i].count > 0;
}

void ledger_cut(uint64_t number)
{
	ledger.entries[number].is_cut = true;
}

void ledger_complain(const char *said, int reply)
{
	world_log("ledger", "a client said %.*s and heard %d", (int)strcspn(said, "\r"), said,
		  reply);
	ledger.strange++;
}

size_t ledger_text(uint64_t number, char **text_out)
{
	const struct entry *entry = &ledger.entries[number];

	return letter_write(number, entry->copies[0].recipient, entry->lines, text_out);
}

/* --- copies --- */

void ledger_is_strange(void)
{
	ledger.strange++;
}

struct entry *ledger_entry(uint64_t number)
{
	static struct entry nothing;

	return number < ledger.count ? &ledger.entries[number] : &nothing;
}

uint64_t ledger_count(void)
{
	return ledger.count;
}

struct copy *ledger_find_copy(struct entry *entry, const char *recipient)
{
	for (size_t i = 0; i < entry->copy_count; i++)
		if (strcmp(entry->copies[i].recipient, recipient) == 0)
			return &entry->copies[i];
	return NULL;
}

static struct copy *find_copy(uint64_t number, const char *recipient)
{
	return ledger_find_copy(ledger_entry(number), recipient);
}

void ledger_excuse(void)
{
	ledger.killed_us = kernel_now_us();
	changes_excuse();
}

void ledger_excuse_recipient(uint64_t number, const char *recipient)
{
	struct copy *copy = find_copy(number, recipient);

	if (copy == NULL)
		return;
	copy->is_excused = true;
	ledger_entry(number)->is_repeated |= lists_have(recipient);
}

void ledger_excuse_doubt(uint64_t number, const char *recipient)
{
	struct copy *copy = find_copy(number, recipient);

	ledger_excuse_recipient(number, recipient);
	if (copy != NULL)
		copy->is_doubtful = true;
}

void ledger_excuse_report(uint64_t number)
{
	struct entry *entry = ledger_entry(number);

	for (size_t i = 0; i < entry->copy_count; i++)
		entry->copies[i].is_excused |= entry->copies[i].is_reported;
}

void ledger_excuse_message(uint64_t number)
{
	struct entry *entry = ledger_entry(number);
	const struct copy *list = ledger_list_copy(entry);

	for (size_t i = 0; i < entry->copy_count; i++)
		entry->copies[i].is_excused |= !entry->copies[i].is_settled;
	entry->is_repeated |= list != NULL && !list->is_settled;
}

void ledger_settle(uint64_t number, const char *recipient)
{
	struct copy *copy = find_copy(number, recipient);

	if (copy != NULL)
		copy->is_settled = true;
}

int64_t ledger_first_us(uint64_t number, const char *recipient)
{
	const struct copy *copy = find_copy(number, recipient);

	return copy != NULL && copy->first_us > 0 ? copy->first_us : -1;
}

bool ledger_has(uint64_t number, const char *recipient)
{
	const struct copy *copy = find_copy(number, recipient);

	return copy != NULL && copy->count > 0;
}

bool ledger_has_text(uint64_t number, const char *recipient)
{
	const struct copy *copy = find_copy(number, recipient);

	return copy != NULL && copy->has_text;
}

const char *ledger_recipient(uint64_t number, size_t index)
{
	const struct entry *entry = ledger_entry(number);

	return index < entry->copy_count ? entry->copies[index].recipient : NULL;
}

bool ledger_is_disturbed(void)
{
	return ledger.killed_us >= 0;
}

void ledger_count_copy(struct entry *entry, struct copy *copy)
{
	if (copy->count++ > 0)
		return;
	copy->first_us = copy->first_us > 0 ? copy->first_us : kernel_now_us();
	ledger.done += entry->is_promised;
}

void ledger_take_back(uint64_t number, const char *place)
{
	struct entry *entry = ledger_entry(number);
	struct copy *copy = ledger_copy_at(entry, place);

	if (copy == NULL)
		return;
	if (--copy->count == 0) {
		ledger.done -= entry->is_promised;
		copy->has_text = false;
	}
	world_log("ledger", "message %llu is gone", (unsigned long long)number);
}

/* --- the sums --- */

static bool is_lost(uint64_t number, const struct copy *copy)
{
	return ledger.entries[number].is_promised && copy->count == 0 &&
	       !damages_excuse_loss(number);
}

static uint64_t count_lost(uint64_t number)
{
	const struct entry *entry = &ledger.entries[number];
	uint64_t count = 0;

	for (size_t i = 0; i < entry->copy_count; i++)
		count += is_lost(number, &entry->copies[i]);
	return count;
}

bool ledger_is_done(void)
{
	uint64_t lost = 0;

	if (ledger.done == ledger.promised || !damages_are_there())
		return ledger.done == ledger.promised;
	for (uint64_t i = 0; i < ledger.count && lost == 0; i++)
		lost = count_lost(i);
	return lost == 0;
}

/* Whether COPY may come twice. */
static bool is_excused(uint64_t number, const struct copy *copy)
{
	if (ledger_is_filed_once(copy)) /* a report counts as a copy */
		return ledger_may_be_filed_again(number, copy) ||
		       (copy->count == 2 && copy->is_reported && damages_excuse_report(number));
	return copy->is_excused || (copy->is_member && ledger.entries[number].is_repeated) ||
	       damages_have(number, DAMAGE_RECORDS | DAMAGE_NAME);
}

static uint64_t too_many(const struct copy *copy)
{
	return copy->count > 1 ? copy->count - 1 : 0;
}

void ledger_sum(struct ledger_sums *out)
{
	*out = (struct ledger_sums){.promised = ledger.promised, .changed = ledger.strange};
	for (uint64_t i = 0; i < ledger.count; i++) {
		const struct entry *entry = &ledger.entries[i];

		out->messages += entry->is_promised;
		out->changed += entry->is_changed;
		for (size_t k = 0; k < entry->copy_count; k++) {
			const struct copy *copy = &entry->copies[k];

			out->delivered += copy->count > 0;
			out->twice += too_many(copy);
			out->unexcused += is_excused(i, copy) ? 0 : too_many(copy);
			out->changed += ledger_is_denied(copy) && !damages_excuse_report(i);
		}
		out->lost += count_lost(i);
	}
}

static void tell(uint64_t number, const struct entry *entry, const struct copy *copy,
		 unsigned *told)
{
	const char *what = is_lost(number, copy) ? "was lost"
			   : entry->is_changed   ? "was changed"
			   : copy->count > 1 && !is_excused(number, copy)
				   ? "came twice without an excuse"
			   : ledger_is_denied(copy) && !damages_excuse_report(number)
				   ? "was filed, and reported as failed"
				   : NULL;

	if (what != NULL && (*told)++ < TOLD_MAX)
		world_log("ledger", "message %llu for %s %s", (unsigned long long)number,
			  copy->recipient, what);
}

void ledger_tell(void)
{
	unsigned told = 0;

	for (uint64_t i = 0; i < ledger.count; i++)
		for (size_t k = 0; k < ledger.entries[i].copy_count; k++)
			tell(i, &ledger.entries[i], &ledger.entries[i].copies[k], &told);
}
