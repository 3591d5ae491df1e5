// SPDX-License-Identifier: ISC
/* The judge of the log, and excuses: when a message is gone, what was said of it (accounts.h). */
#include "accounts.h"
#include "judge.h"
#include "lists.h"
#include "mail.h"
#include "states.h"
#include <stdlib.h>
#include <string.h>

/* An account is closed when what was on its way has arrived: lines, replies, looks at mailboxes. */
static const int64_t SETTLE_US = 60 * INT64_C(1000000);
/* Of lines on their way to the log, and of bytes on their way to the next hop. */
static const int64_t SLACK_US = 1000000;
/* Processes live on so long when their supervisor was killed, and nobody hears them. */
static const int64_t UNHEARD_US = 5 * INT64_C(1000000);

/* One whose beginning is not known began before a fault: the line about it was lost. */
static int64_t beginning(const struct account *account)
{
	return account->queued > 0 ? account->first_us : 0;
}

static bool is_hurt(const struct account *account)
{
	return books_are_hurt_between(account->books, beginning(account) - UNHEARD_US, INT64_MAX);
}

void account_object(const struct account *account, const char *what)
{
	if (!is_hurt(account) && !account_is_damaged(account))
		judge_object(JUDGE_LOG, "%s: message %s %s", account->books->machine->name,
			     account->id, what);
}

/* --- the end of an account --- */

static void check_ends(const struct account *account)
{
	for (size_t i = 0; i < account->delivery_count; i++)
		if (account->deliveries[i].ends > 1)
			account_object(account, "has a delivery that ended twice");
	if (account->delivery_count == 0)
		account_object(account, "is done, and no delivery has ended");
	if (account->queued != 1)
		account_object(account, "was not queued once");
	if (account->accepted > 1)
		account_object(account, "was accepted more than once");
	if (account->is_promised && account->accepted != 1)
		account_object(account, "was promised, and not accepted once");
	if (account->reported != (unsigned)account->is_failed)
		account_object(account, "has not one report of its failures");
}

static uint64_t number_of(const struct account *account)
{
	return strtoull(account->id, NULL, 10);
}

/* --- excuses --- */

/* Whether it may have ended with the message, without a record. */
static bool is_last(const struct account *account, const struct account_delivery *delivery)
{
	return account->done_us == 0 || delivery->end_us + ACCOUNT_RECORD_US >= account->done_us;
}

/* A report has another way than a message: its end is the message's. */
static bool is_recorded(const struct account *account, const struct account_delivery *delivery)
{
	return !delivery->is_failed && !is_last(account, delivery);
}

static int64_t end_of_excuse(const struct account *account, const struct account_delivery *delivery)
{
	int64_t gone_us = states_gone_us(account->books->machine, number_of(account));

	if (is_recorded(account, delivery))
		return delivery->end_us + ACCOUNT_RECORD_US;
	return (gone_us > account->done_us ? gone_us : account->done_us) + SLACK_US;
}

/* Whether reports go there: from the list whose owner he is, too, and of reports that are damaged.
 */
static bool is_told(const char *address)
{
	return strcmp(address, CLIENT_SENDER) == 0 || lists_own(address) ||
	       mail_is_postmaster(address);
}

/* What comes to the sender may be a report, or a copy as of a member of a list. */
static void excuse_delivery(const struct account *account, const struct account_delivery *delivery)
{
	const bool was_in_doubt = account->doubt_us > 0 && delivery->last_us >= account->doubt_us;
	int64_t from_us = delivery->is_at_hop
				  ? ledger_first_us(account->message, delivery->recipient)
				  : beginning(account);

	if (is_told(delivery->recipient))
		from_us = beginning(account);
	if (!was_in_doubt && (handing_is_clean(account, delivery) || from_us < 0 ||
			      !books_are_hurt_between(account->books, from_us - SLACK_US,
						      end_of_excuse(account, delivery))))
		return;
	if (is_told(delivery->recipient))
		ledger_excuse_report(account->message);
	if (was_in_doubt || delivery->is_handed)
		ledger_excuse_doubt(account->message, delivery->recipient);
	else
		ledger_excuse_recipient(account->message, delivery->recipient);
}

void account_settle(const struct account *account)
{
	for (size_t i = 0; i < account->delivery_count; i++) {
		const struct account_delivery *delivery = &account->deliveries[i];

		if (is_recorded(account, delivery) &&
		    !books_are_hurt_between(account->books, delivery->end_us - SLACK_US,
					    delivery->end_us + ACCOUNT_RECORD_US))
			ledger_settle(account->message, delivery->recipient);
	}
}

static void close_delivery(const struct account *account, const struct account_delivery *delivery)
{
	if (delivery->is_here && !is_told(delivery->recipient) &&
	    !ledger_has(account->message, delivery->recipient))
		account_object(account, "was delivered, says the log, and somebody has nothing");
	if (delivery->is_handed && !handing_is_clean(account, delivery))
		ledger_note_move(account->message);
	/* an alias may lead to several, of whom one has it */
	if (delivery->is_failed && delivery->is_his_own && !is_told(delivery->recipient) &&
	    ledger_has_text(account->message, delivery->recipient))
		account_object(account, "has failed, says the log, and somebody has it");
	excuse_delivery(account, delivery);
}

static void close_account(struct account *account)
{
	check_ends(account);
	for (size_t i = 0; i < account->delivery_count && account->message != UINT64_MAX; i++)
		close_delivery(account, &account->deliveries[i]);
	account_drop(account);
}

bool machine_is_frozen(const struct machine *machine)
{
	for (const struct process *process = process_first(); process != NULL;
	     process = process->next)
		if (process->machine == machine && process->is_frozen)
			return true;
	return false;
}

/* Those that are done, or gone without a word, since a while. */
static void close_some(struct books *books, int64_t before_us)
{
	if (books->moved_us >= before_us || machine_is_frozen(books->machine))
		return; /* lines may be late */
	for (struct account *account = books->first_open, *next; account != NULL; account = next) {
		next = account->after;
		if (states_have(books->machine, number_of(account)))
			continue;
		if (account->done_us > 0 && account->done_us < before_us) {
			close_account(account);
		} else if (account->done_us == 0 && account->last_us < before_us) {
			account_object(account, "has ended without a word");
			account->done_us = kernel_now_us();
		}
	}
}

void accounts_close(void)
{
	for (struct books *books = accounts_first(); books != NULL; books = books->next)
		close_some(books, kernel_now_us() - SETTLE_US);
}

void accounts_look_at_end(void)
{
	for (struct books *books = accounts_first(); books != NULL; books = books->next) {
		close_some(books, INT64_MAX);
		close_some(books, INT64_MAX);
		for (struct account *account = books->first_open; account != NULL;
		     account = account->after)
			account_object(account, "is there still, says the log");
	}
}
