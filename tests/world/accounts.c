// SPDX-License-Identifier: ISC
#include "accounts.h"
#include "damages.h"
#include "judge.h"
#include "recorded.h"
#include "replies.h"
#include "states.h"
#include "turns.h"
#include "waits.h"
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct books *all;

struct books *accounts_first(void)
{
	return all;
}

struct books *accounts_of(const struct machine *machine)
{
	struct books *books = all;

	while (books != NULL && books->machine != machine)
		books = books->next;
	return books;
}

static void *must(void *block)
{
	if (block == NULL)
		err(1, "no memory");
	return block;
}

/* --- the table --- */

/* By its number alone. */
static size_t place_of(const struct books *books, const char *id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *id != '\0' && *id != '-'; id++)
		hash = (hash ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
	return (size_t)(hash ^ hash >> 29) & (((size_t)1 << books->bits) - 1);
}

static void widen(struct books *books)
{
	struct account **old = books->table;
	size_t size = old == NULL ? 0 : (size_t)1 << books->bits;

	books->bits = old == NULL ? 8 : books->bits + 1;
	books->table = must(calloc((size_t)1 << books->bits, sizeof *books->table));
	for (size_t i = 0; i < size; i++)
		for (struct account *account = old[i], *next; account != NULL; account = next) {
			struct account **place = &books->table[place_of(books, account->id)];

			next = account->next;
			account->next = *place;
			*place = account;
		}
	free(old);
}

struct account *account_find(const struct books *books, const char *id)
{
	struct account *account = books->table != NULL ? books->table[place_of(books, id)] : NULL;

	while (account != NULL && strcmp(account->id, id) != 0)
		account = account->next;
	return account;
}

struct account *account_of_number(const struct books *books, uint64_t number)
{
	struct account *account;
	char id[24];
	int length = snprintf(id, sizeof id, "%llu-", (unsigned long long)number);

	account = books->table != NULL ? books->table[place_of(books, id)] : NULL;
	while (account != NULL &&
	       (account->done_us > 0 || strncmp(account->id, id, (size_t)length) != 0))
		account = account->next;
	return account;
}

const struct account *accounts_find(const struct machine *machine, const char *id)
{
	const struct books *books = accounts_of(machine);

	return books != NULL ? account_find(books, id) : NULL;
}

static struct account *account_of(struct books *books, const char *id)
{
	struct account *account = account_find(books, id);
	struct account **place;

	if (account != NULL)
		return account;
	turns_forget(account_of_number(books, strtoull(id, NULL, 10))); /* gone without a word */
	if (books->table == NULL || books->count >> books->bits > 0)
		widen(books);
	account = must(calloc(1, sizeof *account));
	snprintf(account->id, sizeof account->id, "%s", id);
	account->books = books;
	account->first_us = kernel_now_us();
	account->before = books->last_open;
	*(books->last_open != NULL ? &books->last_open->after : &books->first_open) = account;
	books->last_open = account;
	place = &books->table[place_of(books, id)];
	account->next = *place;
	*place = account;
	books->count++;
	books->open_count++;
	account->message = states_message(books->machine, strtoull(id, NULL, 10));
	account->event_us = kernel_now_us();
	waits_adopt(account);
	return account;
}

void account_drop(struct account *account)
{
	struct books *books = account->books;
	struct account **place = &books->table[place_of(books, account->id)];

	while (*place != account)
		place = &(*place)->next;
	*place = account->next;
	*(account->before != NULL ? &account->before->after : &books->first_open) = account->after;
	*(account->after != NULL ? &account->after->before : &books->last_open) = account->before;
	turns_drop(account);
	waits_drop(account);
	books->count--;
	books->open_count--;
	free(account->deliveries);
	free(account->tried);
	free(account);
}

/* --- lines --- */

/* The value of FIELD, without quotes; false: there is none. */
/* What is in quotation marks at TEXT, behind the first one. */
static void unquote(const char *text, char *out, size_t size)
{
	size_t length = 0;

	for (; *text != '"' && *text != '\0' && length + 1 < size; text++) {
		text += *text == '\\' && text[1] != '\0';
		out[length++] = *text;
	}
	out[length] = '\0';
}

static bool field(const char *line, const char *name, char *out, size_t size)
{
	char wanted[32];
	const char *found;

	snprintf(wanted, sizeof wanted, " %s=", name);
	found = strstr(line, wanted);
	if (found == NULL)
		return false;
	found += strlen(wanted);
	if (*found == '"')
		unquote(found + 1, out, size);
	else
		snprintf(out, size, "%.*s", (int)strcspn(found, " "), found);
	return true;
}

/* The delivery NUMBER, which may be new. */
static struct account_delivery *delivery_of(struct account *account, unsigned number)
{
	struct account_delivery *list = account->deliveries;
	size_t place = account->delivery_count;

	while (place > 0 && list[place - 1].number > number)
		place--;
	if (place > 0 && list[place - 1].number == number)
		return &list[place - 1];
	list = must(realloc(list, (account->delivery_count + 1) * sizeof *list));
	memmove(&list[place + 1], &list[place], (account->delivery_count - place) * sizeof *list);
	list[place] = (struct account_delivery){.number = number, .end_us = kernel_now_us()};
	account->deliveries = list;
	account->delivery_count++;
	return &list[place];
}

static void tell_waits(struct account *account, const char *line, int64_t due_us)
{
	char by[64];
	char to[64];

	if (field(line, "by", by, sizeof by) && field(line, "to", to, sizeof to))
		waits_hear(account, by, to, due_us);
}

static void end_delivery(struct account *account, const char *line, bool is_failed)
{
	char value[128];
	struct account_delivery *delivery;

	if (account->done_us > 0)
		account_object(account, "has a delivery after its end");
	if (!field(line, "delivery", value, sizeof value))
		return;
	turns_forget(account); /* a line about its deferral may have come late */
	delivery = delivery_of(account, (unsigned)atoi(value));
	delivery->ends++;
	delivery->last_us = kernel_now_us();
	if (!delivery->is_told)
		tell_waits(account, line, 0);
	delivery->is_told = true;
	delivery->is_his_own =
		!field(line, "original", delivery->recipient, sizeof delivery->recipient);
	if (delivery->is_his_own)
		(void)field(line, "to", delivery->recipient, sizeof delivery->recipient);
	delivery->is_failed |= is_failed;
	account->is_failed |= is_failed;
	delivery->is_handed |= !is_failed && strstr(line, " status=2.0.0 ") != NULL &&
			       field(line, "text", value, sizeof value) && handing_is_told(value);
	/* what was sent on may wait for its turn */
	if (!is_failed && strstr(line, "queued as ") == NULL && strstr(line, " by=list ") == NULL &&
	    !delivery->is_handed) {
		delivery->is_here = true;
		delivery->is_at_hop |= strstr(line, " by=remote ") != NULL;
	}
}

/* The report is about the same message. */
static void report(struct account *account, const char *line)
{
	char id[64];

	account->reported++;
	if (!account->is_failed)
		account_object(account, "has a report, and has not failed");
	if (field(line, "bounce", id, sizeof id))
		account_of(account->books, id)->message = account->message;
}

/* When a deferred delivery is tried again, by the world's clock. */
static int64_t read_due(const struct machine *machine, const char *line)
{
	char text[64];
	struct tm broken = {0};

	if (!field(line, "until", text, sizeof text) ||
	    strptime(text, "%Y-%m-%dT%H:%M:%SZ", &broken) == NULL)
		return 0;
	return timegm(&broken) * INT64_C(1000000) - machine->wall_offset_us;
}

static void note_deferral(struct account *account, const char *line)
{
	const int64_t due_us = read_due(account->books->machine, line);
	char to[64];

	tell_waits(account, line, due_us);
	if (strstr(line, " by=remote ") != NULL && field(line, "to", to, sizeof to))
		turns_deferred(account, to, due_us);
}

/* Another part of a message may come to the node, or the same part come back, and get the number of
 * what has ended: it has the same id then. What has ended is judged as usual, under another name.
 */
static struct account *account_of_line(struct books *books, const char *event, const char *id)
{
	struct account *account = account_of(books, id);

	if (strcmp(event, "message_queued") != 0 || account->done_us == 0 ||
	    !accounts_are_handed_over())
		return account;
	snprintf(account->id, sizeof account->id, "%.38s'", id);
	return account_of(books, id);
}

static void enter(struct account *account, const char *event, const char *line)
{
	account->last_us = kernel_now_us();
	account->event_us = kernel_now_us();
	account->idle_us = 0;
	if (event[0] == 'd' || event[0] == 'f')
		account->books->outcome_us = kernel_now_us();
	if (strcmp(event, "message_queued") == 0)
		account->queued++;
	else if (strcmp(event, "message_accepted") == 0)
		account->accepted++;
	else if (strcmp(event, "deferred") == 0)
		note_deferral(account, line);
	else if (strcmp(event, "delivered") == 0 || strcmp(event, "failed") == 0)
		end_delivery(account, line, event[0] == 'f');
	else if (strcmp(event, "bounced") == 0)
		report(account, line);
	else if (strcmp(event, "message_done") == 0 && account->done_us > 0)
		account_object(account, "is done twice");
	if (strcmp(event, "message_done") == 0 && account->done_us == 0) {
		account->done_us = kernel_now_us();
		turns_forget(account);
		account_settle(account);
	}
}

static bool is_of_message(const char *event)
{
	static const char *const events[] = {
		"message_queued", "message_accepted", "message_found", "message_preprocessed",
		"deferred",       "delivered",        "failed",        "bounced",
		"message_done"};

	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
		if (strcmp(event, events[i]) == 0)
			return true;
	return false;
}

static void check_process(const struct books *books, const char *event, const char *line)
{
	char status[64];

	if ((strcmp(event, "process_ended") == 0 || strcmp(event, "process_stopped") == 0) &&
	    field(line, "status", status, sizeof status) && strncmp(status, "signal ", 7) == 0 &&
	    strcmp(status, "signal 9") != 0)
		judge_object(JUDGE_LOG, "%s: a process ended by %s", books->machine->name, status);
}

static void hear_trigger(struct books *books, const char *event, const char *line)
{
	char name[96];

	turns_forget_all(books);
	if (event[8] == 'r' && field(line, "trigger", name, sizeof name))
		waits_trigger_released(books, name);
}

/* A file of a message could not be read or written: it is looked at again after a while. */
static void hear_error(struct books *books, const char *line)
{
	struct account *account = NULL;
	char value[40];

	if (field(line, "id", value, sizeof value))
		account = account_find(books, value);
	else if (field(line, "number", value, sizeof value))
		account = account_of_number(books, strtoull(value, NULL, 10));
	if (account != NULL && account->due_us < kernel_now_us() + WAITING_FAILED_US)
		account->due_us = kernel_now_us() + WAITING_FAILED_US;
}

static void hear_doubt(const struct books *books, const char *line)
{
	char seconds[24];

	if (field(line, "seconds", seconds, sizeof seconds))
		handing_doubt(books, atoll(seconds) * INT64_C(1000000));
}

static void hear_throttle(const struct machine *machine, const char *line)
{
	char name[64] = "";
	char text[512];

	(void)field(line, "host", name, sizeof name);
	replies_judge(machine, name, field(line, "text", text, sizeof text) ? text : NULL);
}

static void hear(struct machine *machine, const char *line)
{
	struct books *books = accounts_of(machine);
	char event[64];
	char id[40];

	if (!field(line, "event", event, sizeof event))
		return;
	damages_hear(machine, event, line);
	if (strcmp(event, "log_lost") == 0 || strcmp(event, "log_withheld") == 0)
		accounts_hurt(machine);
	else if (is_of_message(event) && field(line, "id", id, sizeof id))
		enter(account_of_line(books, event, id), event, line);
	else if (strcmp(event, "requeued") == 0 && field(line, "id", id, sizeof id))
		turns_forget(account_of(books, id));
	else if (strcmp(event, "trigger_set") == 0 || strcmp(event, "trigger_released") == 0)
		hear_trigger(books, event, line);
	else if (strcmp(event, "serve_stopping") == 0 || strcmp(event, "serve_ready") == 0)
		waits_down(books, event[6] == 's');
	else if (strcmp(event, "host_throttled") == 0)
		hear_throttle(machine, line);
	else if (strcmp(event, "node_doubt") == 0)
		hear_doubt(books, line);
	else if (strcmp(event, "sent_given_up") == 0)
		recorded_given_up(machine, line);
	else if (strcmp(event, "queue_error") == 0)
		hear_error(books, line);
	else
		check_process(books, event, line);
}

void accounts_promised(uint32_t address, const char *id, uint64_t message)
{
	struct books *books = all;
	char text[40];

	while (books != NULL && books->machine->address != address)
		books = books->next;
	if (books == NULL)
		return;
	snprintf(text, sizeof text, "%.*s", (int)strcspn(id, " \r"), id);
	account_of(books, text)->message = message;
	account_of(books, text)->is_promised = true;
	books->promised_us = kernel_now_us();
}

void accounts_watch(struct machine *machine)
{
	struct books *books = must(calloc(1, sizeof *books));

	books->machine = machine;
	books->next = all;
	all = books;
	machine->heard = hear;
	waits_new(books);
	turns_watch(books);
}

void accounts_end(void)
{
	while (all != NULL) {
		struct books *books = all;

		while (books->first_open != NULL)
			account_drop(books->first_open);
		all = books->next;
		turns_end(books);
		waits_end(books);
		free(books->table);
		free(books->hurts);
		free(books);
	}
}
