// SPDX-License-Identifier: ISC
/* Mailboxes are nobody's: another message's transaction may make the same one. */
#include "filing/record/internal.h"
#include <errno.h>

static void add_mailbox_row(struct record_subset *subset, const struct record_mailbox *mailbox,
			    size_t which)
{
	struct record_value *values = record_subset_add(subset, which);

	values[0] = (struct record_value){.kind = RECORD_TEXT, .bytes = mailbox->user};
	values[1] = (struct record_value){.kind = RECORD_TEXT, .bytes = mailbox->folder};
}

struct found {
	struct record_subset subset;
	int64_t *numbers;
};

static void take_mailbox_number(void *context, const struct record_value *values, size_t count)
{
	struct found *found = context;

	(void)count;
	found->numbers[record_subset_at(&found->subset)] = values[0].number;
}

/* Those that were there, or were made for another one of the group. */
static int find_mailboxes(struct record_sql *sql, struct record_attempt **attempts, size_t count,
			  int64_t *numbers)
{
	struct found found = {.numbers = numbers};
	int error;

	record_subset_begin(&found.subset, sql, RECORD_MAILBOX_FIND, 2, count);
	found.subset.call.row = take_mailbox_number;
	found.subset.call.context = &found;
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == 0)
			add_mailbox_row(&found.subset, &attempts[i]->mailbox, i);
	error = record_subset_run(&found.subset);
	for (size_t i = 0; error == 0 && i < count; i++)
		if (numbers[i] == 0)
			return record_sql_fail(sql, -EDEADLK,
					       "a mailbox was neither there nor new");
	return error;
}

int record_mailboxes_make(struct record_sql *sql, struct record_attempt **attempts, size_t count,
			  int64_t *numbers)
{
	struct record_subset subset;
	int error;

	record_subset_begin(&subset, sql, RECORD_MAILBOX_INSERT, 2, count);
	subset.wants_outcomes = true;
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == 0)
			add_mailbox_row(&subset, &attempts[i]->mailbox, i);
	error = record_subset_run(&subset);
	for (size_t i = 0; error == 0 && i < subset.count; i++)
		numbers[subset.which[i]] = subset.outcomes[i].inserted;
	return error == 0 ? find_mailboxes(sql, attempts, count, numbers) : error;
}

static void take_number_of_one_mailbox(void *context, const struct record_value *values,
				       size_t count)
{
	(void)count;
	*(int64_t *)context = values[0].number;
}

int record_sql_new_folders(struct record *record, const struct record_mailbox *mailbox,
			   int64_t since_us, unsigned *count_out)
{
	struct record_sql *sql = record_sql_of(record);
	const struct record_value names[] = {{.kind = RECORD_TEXT, .bytes = mailbox->user},
					     {.kind = RECORD_TEXT, .bytes = mailbox->folder}};
	const struct record_value since[] = {names[0], record_number(since_us)};
	struct record_call find = RECORD_CALL(RECORD_MAILBOX_FIND, names);
	struct record_call new = RECORD_CALL(RECORD_MAILBOX_NEW, since);
	int64_t known = 0;
	int64_t count = 0;
	int error = record_sql_check(sql);

	if (error != 0)
		return error;
	if (!record_text_is_valid(mailbox->user, RECORD_ADDRESS_MAX) ||
	    !record_text_is_valid(mailbox->folder, RECORD_FOLDER_MAX))
		return -EINVAL;
	find.row = new.row = take_number_of_one_mailbox;
	find.context = &known;
	new.context = &count;
	error = record_run(sql, &find);
	if (error == 0 && known == 0)
		error = record_run(sql, &new);
	if (error != 0)
		return error;
	*count_out = (unsigned)count;
	return known != 0;
}
