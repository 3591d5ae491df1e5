// SPDX-License-Identifier: ISC
#include "letter.h"
#include "mail.h"
#include "people.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

static const int64_t LIFETIME_US = 7 * 24 * 3600 * INT64_C(1000000); /* of mail in a queue */

enum { LINES_MAX = 40, MANY_LINES_MAX = 3000, LONG_ONES = 50, TOLD_MAX = 20 };

/* What one recipient gets of a message. */
struct copy {
	char recipient[64];
	uint64_t count;
	int64_t first_us; /* when the first one came; 0: none has */
	bool is_reported; /* the sender was told that it does not come */
	bool is_excused;  /* it may come twice (accounts.h) */
	bool is_settled;  /* but not because the message is in the queue again */
};

struct entry {
	struct copy *copies; /* one for each recipient */
	size_t copy_count;
	uint64_t lines;
	bool is_promised;
	bool is_cut; /* its text was never finished */
	bool is_changed;
	int64_t began_us;
};

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

void ledger_add(uint64_t number, const char *recipient)
{
	struct entry *entry = &ledger.entries[number];
	struct copy *copy;

	/* at 1, 2, 4... */
	if ((entry->copy_count & (entry->copy_count - 1)) == 0)
		entry->copies =
			resize(entry->copies, entry->copy_count == 0 ? 1 : 2 * entry->copy_count,
			       sizeof *entry->copies);
	copy = &entry->copies[entry->copy_count++];
	*copy = (struct copy){.count = 0};
	snprintf(copy->recipient, sizeof copy->recipient, "%s", recipient);
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

/* --- copies --- */

/* Of a number that nobody has given out: one for nobody. */
static struct entry *find_entry(uint64_t number)
{
	static struct entry nothing;

	return number < ledger.count ? &ledger.entries[number] : &nothing;
}

static struct copy *find_copy(uint64_t number, const char *recipient)
{
	struct entry *entry = find_entry(number);

	for (size_t i = 0; i < entry->copy_count; i++)
		if (strcmp(entry->copies[i].recipient, recipient) == 0)
			return &entry->copies[i];
	return NULL;
}

/* Whose copy comes to PLACE: a forwarded one keeps its local part. */
static struct copy *find_copy_at(uint64_t number, const char *place)
{
	struct entry *entry = find_entry(number);
	size_t length = strcspn(place, "@") + 1;

	for (size_t i = 0; i < entry->copy_count; i++)
		if (strncmp(entry->copies[i].recipient, place, length) == 0)
			return &entry->copies[i];
	return NULL;
}

void ledger_excuse(void)
{
	ledger.killed_us = kernel_now_us();
	people_excuse();
}

void ledger_excuse_recipient(uint64_t number, const char *recipient)
{
	struct copy *copy = find_copy(number, recipient);

	if (copy != NULL)
		copy->is_excused = true;
}

void ledger_excuse_report(uint64_t number)
{
	struct entry *entry = find_entry(number);

	for (size_t i = 0; i < entry->copy_count; i++)
		entry->copies[i].is_excused |= entry->copies[i].is_reported;
}

void ledger_excuse_message(uint64_t number)
{
	struct entry *entry = find_entry(number);

	for (size_t i = 0; i < entry->copy_count; i++)
		entry->copies[i].is_excused |= !entry->copies[i].is_settled;
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

const char *ledger_recipient(uint64_t number, size_t index)
{
	const struct entry *entry = find_entry(number);

	return index < entry->copy_count ? entry->copies[index].recipient : NULL;
}

bool ledger_is_disturbed(void)
{
	return ledger.killed_us >= 0;
}

static void add_copy(struct entry *entry, struct copy *copy)
{
	if (copy->count++ > 0)
		return;
	copy->first_us = copy->first_us > 0 ? copy->first_us : kernel_now_us();
	ledger.done += entry->is_promised;
}

void ledger_take_back(uint64_t number, const char *place)
{
	struct copy *copy = find_copy_at(number, place);

	if (copy == NULL)
		return;
	if (--copy->count == 0)
		ledger.done -= ledger.entries[number].is_promised;
	world_log("ledger", "message %llu is gone", (unsigned long long)number);
}

/* --- texts --- */

size_t ledger_text(uint64_t number, char **text_out)
{
	const struct entry *entry = &ledger.entries[number];

	return letter_write(number, entry->copies[0].recipient, entry->lines, text_out);
}

static bool is_place(const struct entry *entry, const struct copy *copy, const char *place)
{
	return people_have(copy->recipient)
		       ? people_may_deliver(copy->recipient, place, entry->began_us)
		       : strcmp(copy->recipient, place) == 0;
}

/* Whether the sender may be told that the recipient gets nothing. */
static bool is_refused(const struct entry *entry, const struct copy *copy)
{
	return people_have(copy->recipient)
		       ? people_may_refuse(copy->recipient, entry->began_us)
		       : strncmp(copy->recipient, HOP_REFUSED, strlen(HOP_REFUSED)) == 0 ||
				 strncmp(copy->recipient, HOP_NEVER, strlen(HOP_NEVER)) == 0;
}

/* Whether FIELDS, which are about one recipient, say that it has been tried for long enough. */
static bool is_expired(const struct entry *entry, const char *fields)
{
	const char *end = strstr(fields, "\n\n");
	const char *status = strstr(fields, "\nStatus: 5.4.7\n");

	return status != NULL && (end == NULL || status < end) &&
	       kernel_now_us() - entry->began_us >= LIFETIME_US;
}

/* The report to the sender carries all of the message, or a part of it. Whom it names must be those
 * who get nothing. */
static bool take_report(struct entry *entry, const char *text)
{
	static const char field[] = "\nFinal-Recipient: rfc822; ";
	bool is_right = strstr(text, field) != NULL;

	for (const char *at = text; (at = strstr(at, field)) != NULL;) {
		char recipient[64];
		struct copy *copy;

		at += sizeof field - 1;
		snprintf(recipient, sizeof recipient, "%.*s", (int)strcspn(at, "\n"), at);
		copy = find_copy((uint64_t)(entry - ledger.entries), recipient);
		is_right = is_right && copy != NULL &&
			   (is_refused(entry, copy) || is_expired(entry, at));
		if (copy == NULL)
			continue;
		copy->is_reported = true;
		add_copy(entry, copy);
	}
	return is_right;
}

static bool take_text(struct entry *entry, const char *place, const char *text)
{
	uint64_t number = (uint64_t)(entry - ledger.entries);
	struct copy *copy = find_copy_at(number, place);

	if (copy == NULL)
		return false;
	add_copy(entry, copy);
	return is_place(entry, copy, place) &&
	       letter_is_whole(text, number, entry->copies[0].recipient, entry->lines);
}

uint64_t ledger_deliver(const char *place, const char *text, size_t size)
{
	char *copy = letter_without_returns(text, size);
	uint64_t number = letter_number(copy);

	world_log("ledger", "message %lld at %s", (long long)number, place);
	if (number >= ledger.count) {
		ledger.strange++;
	} else {
		struct entry *entry = &ledger.entries[number];
		bool is_right = strcmp(place, CLIENT_SENDER) == 0 ? take_report(entry, copy)
								  : take_text(entry, place, copy);

		entry->is_changed |= entry->is_cut || !is_right;
	}
	free(copy);
	return number;
}

void ledger_take(const char *place, const char *beginning)
{
	uint64_t number = letter_number(beginning);
	struct copy *copy = find_copy_at(number, place);

	world_log("ledger", "message %lld at %s, who read the beginning", (long long)number, place);
	if (copy == NULL || strcmp(copy->recipient, place) != 0 || find_entry(number)->is_cut)
		ledger.strange++;
	else
		add_copy(find_entry(number), copy);
}

/* --- the sums --- */

bool ledger_is_done(void)
{
	return ledger.done == ledger.promised;
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
			out->lost += entry->is_promised && copy->count == 0;
			out->twice += too_many(copy);
			out->unexcused += copy->is_excused ? 0 : too_many(copy);
		}
	}
}

static void tell(uint64_t number, const struct entry *entry, const struct copy *copy,
		 unsigned *told)
{
	const char *what = entry->is_promised && copy->count == 0 ? "was lost"
			   : entry->is_changed                    ? "was changed"
			   : copy->count > 1 && !copy->is_excused ? "came twice without an excuse"
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
