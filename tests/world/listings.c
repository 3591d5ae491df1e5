// SPDX-License-Identifier: ISC
#include "listings.h"
#include "accounts.h"
#include "damages.h"
#include "files.h"
#include "judge.h"
#include "lists.h"
#include "mail.h"
#include "queue_files.h"
#include "states.h"
#include <stdlib.h>
#include <string.h>

/* Whether the message has a control file and a text: one of them is rubbish that a crash left. */
static bool is_there(struct machine *machine, const char *number)
{
	unsigned long long folder = strtoull(number, NULL, 10) % STATES_SPLIT;
	char info[128];
	char mess[128];

	snprintf(info, sizeof info, "/var/queue/info/%llu/%s", folder, number);
	snprintf(mess, sizeof mess, "/var/queue/mess/%llu/%s", folder, number);
	return files_exist(machine, info) && files_exist(machine, mess);
}

/* What was there before and is there still, the listing must have. */
static void check_all_are_in(struct machine *machine, const char *listing, const char *before,
			     size_t size)
{
	char wanted[64];

	for (size_t i = 0; i < size; i += strlen(before + i) + 1) {
		snprintf(wanted, sizeof wanted, "\"id\":\"%s-", before + i);
		if (is_there(machine, before + i) && strstr(listing, wanted) == NULL &&
		    !queue_file_is_damaged(machine, strtoull(before + i, NULL, 10)))
			judge_object(JUDGE_COMMANDS,
				     "%s: message %s is there, and not in the listing",
				     machine->name, before + i);
	}
}

static bool has(const char *entry, size_t length, const char *address)
{
	return memmem(entry, length, address, strlen(address)) != NULL;
}

/* A list's mail is for its members, and reports about it for the owners. */
static bool is_for_list(const char *entry, size_t length)
{
	for (size_t i = 0; lists_member(i) != NULL; i++)
		if (has(entry, length, lists_member(i)))
			return true;
	for (size_t i = 0; i < LISTS; i++)
		if (has(entry, length, lists_name(i)) || has(entry, length, lists_owner(i)))
			return true;
	return false;
}

/* A report is for the sender. */
static bool is_for(const char *entry, size_t length, uint64_t message)
{
	const char *recipient = CLIENT_SENDER;
	bool has_list = false;

	if (damages_have(message, ~0u) && has(entry, length, "postmaster@"))
		return true; /* a damaged report's */

	for (size_t i = 0; recipient != NULL; i++) {
		if (has(entry, length, recipient))
			return true;
		has_list |= lists_have(recipient);
		recipient = ledger_recipient(message, i);
	}
	return has_list && is_for_list(entry, length);
}

static void check_entry(const struct machine *machine, const char *entry, size_t length,
			int64_t began_us)
{
	static const char before_id[] = "\"id\":\"";
	const char *begin = memmem(entry, length, before_id, sizeof before_id - 1);
	const struct account *account;
	char id[40];
	int64_t gone_us;

	if (begin == NULL)
		return;
	begin += sizeof before_id - 1;
	snprintf(id, sizeof id, "%.*s", (int)strcspn(begin, "\""), begin);
	account = accounts_find(machine, id);
	if (account == NULL)
		return;
	gone_us = states_gone_us(machine, strtoull(id, NULL, 10));
	if (account->done_us > 0 && account->done_us < began_us && gone_us < began_us &&
	    !states_have(machine, strtoull(id, NULL, 10)) &&
	    !books_are_hurt_between(account->books, account->done_us, INT64_MAX))
		judge_object(JUDGE_COMMANDS, "%s: message %s is in the listing, and had ended",
			     machine->name, id);
	if (account->message != UINT64_MAX && !is_for(entry, length, account->message))
		judge_object(JUDGE_COMMANDS, "%s: message %s is listed for somebody else",
			     machine->name, id);
}

void listing_check(struct machine *machine, const char *listing, const char *before, size_t size,
		   int64_t began_us)
{
	check_all_are_in(machine, listing, before, size);
	while (*listing != '\0') {
		size_t length = strcspn(listing, "\n");

		check_entry(machine, listing, length, began_us);
		listing += length + (listing[length] == '\n');
	}
}
