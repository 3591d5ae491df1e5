// SPDX-License-Identifier: ISC
/* The ledger: mail that is filed once, and recorded. */
#include "damages.h"
#include "ledger_internal.h"
#include <string.h>

bool ledger_is_filed_once(const struct copy *copy)
{
	return strstr(copy->recipient, "@" MAIL_ONCE) != NULL;
}

static bool are_apart;

void ledger_file_apart(bool is_so)
{
	are_apart = is_so;
}

bool ledger_may_be_filed_again(uint64_t number, const struct copy *copy)
{
	return copy->is_doubtful ||
	       (are_apart && damages_have(number, DAMAGE_RECORDS | DAMAGE_NAME));
}

bool ledger_is_denied(const struct copy *copy)
{
	return ledger_is_filed_once(copy) && copy->is_reported && copy->has_text;
}

bool ledger_record(uint64_t number, const char *recipient)
{
	struct copy *copy = ledger_find_copy(ledger_entry(number), recipient);
	const bool is_right = copy != NULL && ledger_is_filed_once(copy) && copy->has_text &&
			      (!copy->is_recorded || ledger_may_be_filed_again(number, copy));

	if (is_right)
		copy->is_recorded = true;
	return is_right;
}

void ledger_note_move(uint64_t number)
{
	ledger_entry(number)->has_moved = true;
}

bool ledger_has_moved(uint64_t number)
{
	return ledger_entry(number)->has_moved;
}

static bool is_unrecorded(const struct copy *copy)
{
	return ledger_is_filed_once(copy) && copy->has_text && !copy->is_recorded;
}

uint64_t ledger_unrecorded(void)
{
	uint64_t count = 0;

	for (uint64_t number = 0; number < ledger_count(); number++) {
		const struct entry *entry = ledger_entry(number);

		for (size_t i = 0; i < entry->copy_count; i++)
			count += is_unrecorded(&entry->copies[i]);
	}
	return count;
}
