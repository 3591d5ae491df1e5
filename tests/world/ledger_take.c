// SPDX-License-Identifier: ISC
/* The ledger: what comes to a place, and what is right there (mail.h). */
#include "damages.h"
#include "ledger_internal.h"
#include "letter.h"
#include "lists.h"
#include "people.h"
#include <stdlib.h>
#include <string.h>

static const int64_t LIFETIME_US = 7 * 24 * 3600 * INT64_C(1000000); /* of mail in a queue */

#define REPORTED "\nFinal-Recipient: rfc822; "

/* A forwarded copy keeps its local part. */
struct copy *ledger_copy_at(struct entry *entry, const char *place)
{
	const size_t length = strcspn(place, "@") + 1;

	for (size_t i = 0; i < entry->copy_count; i++)
		if (strncmp(entry->copies[i].recipient, place, length) == 0)
			return &entry->copies[i];
	return ledger_member_copy(entry, place);
}

static bool is_place(const struct entry *entry, const struct copy *copy, const char *place)
{
	return people_have(copy->recipient)
		       ? people_may_deliver(copy->recipient, place, entry->began_us)
		       : strcmp(copy->recipient, place) == 0;
}

/* Whether it may be reported that the recipient gets nothing. A list that another one has in it is
 * a member like others, when it came after the lists had been looked for; it may refuse what the
 * other's owner sends. */
static bool is_refused(const struct entry *entry, const struct copy *copy)
{
	if (ledger_is_filed_once(copy))
		return false;
	if (lists_have(copy->recipient))
		return copy->is_member || lists_may_refuse(copy->recipient, entry->began_us);
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

/* Whom a report names: a recipient, or a member of a list. */
static struct copy *reported_copy(struct entry *entry, const char *at)
{
	char recipient[64];
	struct copy *copy;

	snprintf(recipient, sizeof recipient, "%.*s", (int)strcspn(at, "\n"), at);
	copy = ledger_find_copy(entry, recipient);
	return copy != NULL ? copy : ledger_member_copy(entry, recipient);
}

/* The sender is told what fails of the recipients, the owner of a list what does of its members. */
static bool may_be_told(struct entry *entry, const struct copy *copy, const char *place)
{
	return copy->is_member ? ledger_may_tell_owner(entry, copy, place)
			       : strcmp(place, CLIENT_SENDER) == 0;
}

/* A report that is damaged is reported to the postmaster, and nobody else hears more of it. */
static bool is_of_damaged_report(uint64_t number, const char *place)
{
	return mail_is_postmaster(place) && damages_excuse_report(number);
}

/* A report carries all of the message, or a part of it. Whom it names must be those who get
 * nothing. */
static bool take_report(struct entry *entry, uint64_t number, const char *place, const char *text)
{
	const bool is_damaged = damages_excuse_report(number);
	bool is_right = true;

	for (const char *at = text; (at = strstr(at, REPORTED)) != NULL;) {
		struct copy *copy;

		at += strlen(REPORTED);
		copy = reported_copy(entry, at);
		is_right = is_right && copy != NULL && may_be_told(entry, copy, place) &&
			   (is_damaged || is_refused(entry, copy) || is_expired(entry, at));
		if (copy == NULL)
			continue;
		copy->is_reported = true;
		ledger_count_copy(entry, copy);
	}
	return is_right;
}

static bool take_text(struct entry *entry, uint64_t number, const char *place, const char *text)
{
	struct copy *copy = ledger_copy_at(entry, place);
	bool is_right;

	if (copy == NULL)
		return false;
	ledger_count_copy(entry, copy);
	copy->has_text = true;
	is_right = is_place(entry, copy, place) &&
		   letter_is_whole(text, number, entry->copies[0].recipient, entry->lines);
	if (copy->is_member)
		ledger_member_has(entry, place);
	return is_right;
}

/* What is quoted of a damaged message may say anything, or nothing. */
static uint64_t number_of(const char *text)
{
	const uint64_t reported = damages_reported(text, false);
	const uint64_t said = letter_number(text);

	if (reported != UINT64_MAX)
		return reported;
	return said != UINT64_MAX ? said : damages_reported(text, true);
}

uint64_t ledger_deliver(const char *place, const char *text, size_t size)
{
	char *copy = letter_without_returns(text, size);
	const uint64_t number = number_of(copy);
	struct entry *entry = ledger_entry(number);

	world_log("ledger", "message %lld at %s", (long long)number, place);
	if (entry->copy_count == 0)
		ledger_is_strange();
	else if (strstr(copy, REPORTED) != NULL && is_of_damaged_report(number, place))
		damages_part(number);
	else if (strstr(copy, REPORTED) != NULL ? !take_report(entry, number, place, copy)
						: !take_text(entry, number, place, copy))
		entry->is_changed = true;
	entry->is_changed |= entry->is_cut;
	free(copy);
	return number;
}

void ledger_take(const char *place, const char *beginning)
{
	const uint64_t number = letter_number(beginning);
	struct entry *entry = ledger_entry(number);
	struct copy *copy = ledger_copy_at(entry, place);

	world_log("ledger", "message %lld at %s, who read the beginning", (long long)number, place);
	if (copy == NULL || strcmp(copy->recipient, place) != 0 || entry->is_cut)
		ledger_is_strange();
	else
		ledger_count_copy(entry, copy);
	if (copy != NULL)
		copy->has_text = true;
	if (copy != NULL && copy->is_member)
		ledger_member_has(entry, place);
}
