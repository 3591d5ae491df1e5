// SPDX-License-Identifier: ISC
/* What delays the mail of a machine, and when it was hurt (accounts.h). */
#include "accounts.h"
#include "base/panic.h"
#include "damages.h"
#include "turns.h"

void accounts_moved(const struct machine *machine)
{
	struct books *books = accounts_of(machine);

	if (books != NULL)
		books->moved_us = kernel_now_us();
}

/* Since when a process of MACHINE is frozen; if none is, now. */
static int64_t frozen_since(const struct machine *machine)
{
	int64_t since_us = kernel_now_us();

	for (const struct process *process = process_first(); process != NULL;
	     process = process->next)
		if (process->machine == machine && process->is_frozen &&
		    process->frozen_us < since_us)
			since_us = process->frozen_us;
	return since_us;
}

void accounts_hurt(const struct machine *machine)
{
	struct books *books = accounts_of(machine);

	if (books == NULL)
		return;
	accounts_moved(machine);
	if (books->hurt_count > 0 &&
	    books->hurts[books->hurt_count - 1].until_us == kernel_now_us())
		return;
	if (books->hurt_count == books->hurt_size) {
		books->hurt_size = 2 * books->hurt_size + 64;
		books->hurts = memory_resize(books->hurts, books->hurt_size * sizeof *books->hurts);
	}
	books->hurts[books->hurt_count++] =
		(struct account_hurt){frozen_since(machine), kernel_now_us()};
}

void accounts_hold(const struct machine *machine, bool is_held)
{
	struct books *books = accounts_of(machine);

	accounts_moved(machine);
	if (books != NULL)
		books->is_held = is_held;
}

void accounts_damaged(const struct machine *machine, uint64_t number)
{
	const struct books *books = accounts_of(machine);

	if (books != NULL)
		turns_forget(account_of_number(books, number));
}

bool account_is_damaged(const struct account *account)
{
	return damages_of_id(account->books->machine, account->id) != NULL;
}

bool books_are_hurt_between(const struct books *books, int64_t from_us, int64_t until_us)
{
	for (size_t i = books->hurt_count; i > 0 && books->hurts[i - 1].until_us >= from_us; i--)
		if (books->hurts[i - 1].from_us <= until_us)
			return true;
	return false;
}
