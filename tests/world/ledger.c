// SPDX-License-Identifier: ISC
#include "mail.h"
#include "people.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 40, MANY_LINES_MAX = 3000, LONG_ONES = 50, TOLD_MAX = 20 };

struct entry {
	char recipient[64];
	uint64_t lines;
	bool is_promised;
	bool is_cut; /* its text was never finished */
	bool is_changed;
	uint64_t copies;
	int64_t began_us;
	int64_t first_us; /* when the first copy came */
	bool is_excused;  /* it may come twice (accounts.h) */
};

static struct {
	struct entry *entries;
	uint64_t count;
	uint64_t size;
	uint64_t promised;
	uint64_t done; /* promised and delivered */
	uint64_t strange;
	int64_t killed_us; /* the last time */
} ledger;

void ledger_begin(void)
{
	ledger.killed_us = -1;
}

void ledger_end(void)
{
	free(ledger.entries);
	memset(&ledger, 0, sizeof ledger);
}

uint64_t ledger_new(const char *recipient)
{
	struct entry *entry;

	if (ledger.count == ledger.size) {
		ledger.size = ledger.size == 0 ? 1024 : 2 * ledger.size;
		ledger.entries = realloc(ledger.entries, ledger.size * sizeof *ledger.entries);
		if (ledger.entries == NULL)
			err(1, "no memory");
	}
	entry = &ledger.entries[ledger.count];
	*entry = (struct entry){
		.lines = kernel_below(kernel_one_in(LONG_ONES) ? MANY_LINES_MAX : LINES_MAX),
		.began_us = kernel_now_us()};
	snprintf(entry->recipient, sizeof entry->recipient, "%s", recipient);
	return ledger.count++;
}

static void count_done(const struct entry *entry)
{
	ledger.done += entry->is_promised && entry->copies > 0;
}

void ledger_promise(uint64_t number)
{
	struct entry *entry = &ledger.entries[number];

	if (entry->is_promised)
		return;
	entry->is_promised = true;
	ledger.promised++;
	count_done(entry);
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

void ledger_excuse(void)
{
	ledger.killed_us = kernel_now_us();
	people_excuse();
}

void ledger_excuse_message(uint64_t number)
{
	if (number < ledger.count)
		ledger.entries[number].is_excused = true;
}

int64_t ledger_first_us(uint64_t number)
{
	const struct entry *entry = &ledger.entries[number];

	return entry->first_us > 0 ? entry->first_us : -1;
}

bool ledger_has(uint64_t number)
{
	return ledger.entries[number].copies > 0;
}

const char *ledger_recipient(uint64_t number)
{
	return ledger.entries[number].recipient;
}

bool ledger_is_disturbed(void)
{
	return ledger.killed_us >= 0;
}

void ledger_take_back(uint64_t number)
{
	struct entry *entry;

	if (number >= ledger.count)
		return;
	entry = &ledger.entries[number];
	if (--entry->copies == 0)
		ledger.done -= entry->is_promised;
	world_log("ledger", "message %llu is gone", (unsigned long long)number);
}

/* --- texts --- */

static size_t append(char **text, size_t used, const char *line)
{
	size_t length = strlen(line);

	*text = realloc(*text, used + length + 1);
	if (*text == NULL)
		err(1, "no memory");
	memcpy(*text + used, line, length + 1);
	return used + length;
}

/* The lines that nobody on the way may change. */
static size_t append_body(char **text, size_t used, uint64_t number, const char *end)
{
	const struct entry *entry = &ledger.entries[number];
	char line[160];

	for (uint64_t i = 0; i < entry->lines; i++) {
		snprintf(line, sizeof line, "line %llu of %llu for %s%s", (unsigned long long)i,
			 (unsigned long long)number, entry->recipient, end);
		used = append(text, used, line);
	}
	snprintf(line, sizeof line, "end of %llu%s", (unsigned long long)number, end);
	return append(text, used, line);
}

size_t ledger_text(uint64_t number, char **text_out)
{
	char line[200];
	char *text = NULL;
	size_t used;

	snprintf(line, sizeof line,
		 "From: <world@client.example>\r\nTo: <%s>\r\nX-World: %llu\r\n\r\n",
		 ledger.entries[number].recipient, (unsigned long long)number);
	used = append(&text, 0, line);
	used = append_body(&text, used, number, "\r\n");
	used = append(&text, used, ".\r\n");
	*text_out = text;
	return used;
}

static bool has_body(const char *text, uint64_t number)
{
	const char *body = strstr(text, "\n\n");
	char *wanted = NULL;
	bool is_equal;

	if (body == NULL)
		return false;
	append_body(&wanted, 0, number, "\n");
	is_equal = strcmp(body + 2, wanted) == 0;
	free(wanted);
	return is_equal;
}

static char *without_returns(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	size_t used = 0;

	if (copy == NULL)
		err(1, "no memory");
	for (size_t i = 0; i < size; i++)
		if (text[i] != '\r')
			copy[used++] = text[i];
	copy[used] = '\0';
	return copy;
}

static bool is_place(const struct entry *entry, const char *recipient)
{
	return people_have(entry->recipient)
		       ? people_may_deliver(entry->recipient, recipient, entry->began_us)
		       : strcmp(entry->recipient, recipient) == 0;
}

/* Whether the sender may be told that RECIPIENT gets nothing. */
static bool is_refused(const struct entry *entry)
{
	return people_have(entry->recipient)
		       ? people_may_refuse(entry->recipient, entry->began_us)
		       : strncmp(entry->recipient, HOP_REFUSED, strlen(HOP_REFUSED)) == 0;
}

/* Whether RECIPIENT is to have TEXT: the report to the sender carries all of the message, or a part
 * of it. */
static bool is_right(const struct entry *entry, const char *recipient, const char *text)
{
	if (strcmp(recipient, CLIENT_SENDER) == 0 && is_refused(entry))
		return strstr(text, entry->recipient) != NULL;
	return is_place(entry, recipient) && has_body(text, (uint64_t)(entry - ledger.entries));
}

uint64_t ledger_deliver(const char *recipient, const char *text, size_t size)
{
	char *copy = without_returns(text, size);
	const char *header = strstr(copy, "\nX-World: ");
	uint64_t number = header != NULL ? strtoull(header + 10, NULL, 10) : UINT64_MAX;

	world_log("ledger", "message %lld at %s", (long long)number, recipient);
	if (number >= ledger.count) {
		ledger.strange++;
	} else {
		struct entry *entry = &ledger.entries[number];

		if (entry->is_cut || !is_right(entry, recipient, copy))
			entry->is_changed = true;
		if (entry->copies++ == 0) {
			entry->first_us = entry->first_us > 0 ? entry->first_us : kernel_now_us();
			count_done(entry);
		}
	}
	free(copy);
	return number;
}

/* --- the sums --- */

bool ledger_is_done(void)
{
	return ledger.done == ledger.promised;
}

void ledger_sum(struct ledger_sums *out)
{
	*out = (struct ledger_sums){.promised = ledger.promised, .changed = ledger.strange};
	for (uint64_t i = 0; i < ledger.count; i++) {
		const struct entry *entry = &ledger.entries[i];
		uint64_t more = entry->copies > 1 ? entry->copies - 1 : 0;

		out->delivered += entry->copies > 0;
		out->lost += entry->is_promised && entry->copies == 0;
		out->changed += entry->is_changed;
		out->twice += more;
		out->unexcused += entry->is_excused ? 0 : more;
	}
}

void ledger_tell(void)
{
	unsigned told = 0;

	for (uint64_t i = 0; i < ledger.count && told < TOLD_MAX; i++) {
		const struct entry *entry = &ledger.entries[i];
		const char *what = entry->is_promised && entry->copies == 0 ? "was lost"
				   : entry->is_changed                      ? "was changed"
				   : entry->copies > 1 && !entry->is_excused
					   ? "came twice without an excuse"
					   : NULL;

		if (what == NULL)
			continue;
		world_log("ledger", "message %llu for %s %s", (unsigned long long)i,
			  entry->recipient, what);
		told++;
	}
}
