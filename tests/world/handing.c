// SPDX-License-Identifier: ISC
/* What the log says of mail that one node hands over to another, and what excuses that it comes
 * twice (accounts.h). */
#include "accounts.h"
#include "base/panic.h"
#include "mail.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of lines on their way to the log, and of times in whole seconds. */
static const int64_t SLACK_US = 2000000;

static bool hand_over;

void accounts_hand_over(bool is_so)
{
	hand_over = is_so;
}

bool accounts_are_handed_over(void)
{
	return hand_over;
}

bool handing_is_told(const char *text)
{
	static const char end[] = " has it";
	const size_t length = strlen(text);

	return (strncmp(text, "node ", 5) == 0 || strncmp(text, "another node ", 13) == 0) &&
	       length >= sizeof end && strcmp(text + length - (sizeof end - 1), end) == 0;
}

enum { BITS = 64 };

void handing_try(struct account *account, unsigned number)
{
	const size_t size = number / BITS + 1;

	if (!hand_over)
		return;
	if (size > account->tried_size) {
		account->tried = memory_resize(account->tried, size * sizeof *account->tried);
		memset(account->tried + account->tried_size, 0,
		       (size - account->tried_size) * sizeof *account->tried);
		account->tried_size = size;
	}
	account->tried[number / BITS] |= UINT64_C(1) << number % BITS;
}

bool handing_is_clean(const struct account *account, const struct account_delivery *delivery)
{
	const size_t word = delivery->number / BITS;
	const bool was_tried = word < account->tried_size &&
			       (account->tried[word] >> delivery->number % BITS & 1) != 0;

	return delivery->is_handed && !was_tried;
}

void handing_doubt(const struct books *books, int64_t patience_us)
{
	const int64_t from_us = kernel_now_us() - patience_us + SLACK_US;

	for (struct account *account = books->first_open; account != NULL; account = account->after)
		if (account->first_us <= from_us)
			account->doubt_us = kernel_now_us();
}

/* The newest one that had that number. */
static const struct account *last_of_number(const struct books *books, uint64_t number)
{
	const struct account *found = NULL;
	char id[24];
	const int length = snprintf(id, sizeof id, "%llu-", (unsigned long long)number);

	for (const struct account *account = books->first_open; account != NULL;
	     account = account->after)
		if (strncmp(account->id, id, (size_t)length) == 0)
			found = account;
	return found;
}

void accounts_returned(const struct machine *machine, uint64_t number, uint64_t message)
{
	const struct books *books = accounts_of(machine);
	const struct account *account;

	if (!hand_over) {
		ledger_excuse_message(message);
		return;
	}
	account = books != NULL ? last_of_number(books, number) : NULL;
	for (size_t i = 0; account != NULL && i < account->delivery_count; i++)
		if (!handing_is_clean(account, &account->deliveries[i]))
			ledger_excuse_recipient(message, account->deliveries[i].recipient);
}
