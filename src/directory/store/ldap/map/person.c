// SPDX-License-Identifier: ISC
/* What an entry with a mail address claims: a mailbox or a forward, and aliases. */
#include "directory/store/ldap/map/internal.h"

/* Whether the mailbox is that of the user whom the entry itself describes. */
static bool is_own_user(struct entry_work *work)
{
	const struct str *users;
	const struct str *names;

	return entry_values(work, CONFIG_MAP_ADDRESS_USER, &users) > 0 &&
	       entry_values(work, CONFIG_MAP_USER_KEY, &names) > 0 && str_equal(users[0], names[0]);
}

static void claim_mailbox(struct entry_work *work)
{
	struct directory_field fields[5] = {{STR("kind"), STR("mailbox")}};
	size_t count = 1;
	size_t stateless;
	bool has_service;

	entry_add_field(work, CONFIG_MAP_ADDRESS_SERVICE, "service", fields, &count);
	has_service = count > 1;
	if (!has_service) /* a service takes precedence */
		entry_add_field(work, CONFIG_MAP_ADDRESS_USER, "user", fields, &count);
	entry_add_field(work, CONFIG_MAP_ADDRESS_MAILBOX, "mailbox", fields, &count);
	entry_add_field(work, CONFIG_MAP_ADDRESS_QUOTA, "quota", fields, &count);
	stateless = count;
	entry_add_state(work, CONFIG_MAP_ADDRESS_STATE, fields, &count);
	/* the record does not name the user, whose state applies nevertheless */
	if (has_service && count == stateless && is_own_user(work))
		entry_add_state(work, CONFIG_MAP_USER_STATE, fields, &count);
	work->mail = entry_claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, count);
}

/* The mail was meant to be forwarded, but to no valid address: it must not be delivered into the
 * mailbox, and senders must not be told that there is no such user. */
static void claim_refusal(struct entry_work *work)
{
	const struct directory_field fields[] = {
		{STR("kind"), STR("refused")},
		{STR("text"), STR("Its forwarding address is not valid")},
		{STR("status"), STR("4.3.5")}};

	work->mail =
		entry_claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, COUNT_OF(fields));
}

static void claim_forward(struct entry_work *work, const struct str *values, size_t value_count)
{
	struct directory_field *fields =
		arena_alloc(work->arena, (value_count + 2) * sizeof(*fields));
	size_t count = 1;
	bool is_elsewhere = false;

	fields[0] = (struct directory_field){STR("kind"), STR("forward")};
	for (size_t i = 0; i < value_count; i++) {
		struct str target = entry_address(work, "target", values[i]);

		is_elsewhere = is_elsewhere || !str_equal(target, work->mail);
		if (target.length > 0)
			fields[count++] = (struct directory_field){STR("target"), target};
	}
	if (count == 1) {
		claim_refusal(work);
		return;
	}
	entry_add_state(work, CONFIG_MAP_ADDRESS_STATE, fields, &count);
	if (is_elsewhere)
		work->mail = entry_claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, count);
	else /* its only target is itself */
		claim_mailbox(work);
}

void entry_claim_person(struct entry_work *work)
{
	const struct str *values;
	const struct str *targets;
	size_t target_count = entry_values(work, CONFIG_MAP_ADDRESS_TARGET, &targets);

	if (entry_values(work, CONFIG_MAP_ADDRESS_KEY, &values) == 0)
		return;
	work->mail = entry_address(work, "address", values[0]);
	if (work->mail.length == 0)
		return;
	if (target_count > 0)
		claim_forward(work, targets, target_count);
	else
		claim_mailbox(work);
	if (work->mail.length == 0)
		return;
	entry_claim_aliases(work, CONFIG_MAP_ADDRESS_KEY, 1);
	entry_claim_aliases(work, CONFIG_MAP_ADDRESS_ALIAS, 0);
}
