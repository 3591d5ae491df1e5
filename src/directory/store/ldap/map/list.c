// SPDX-License-Identifier: ISC
/* What the entry of a list claims: the list, its owner, its members, and aliases. */
#include "directory/store/ldap/dn.h"
#include "directory/store/ldap/map/internal.h"
#include "directory/wire/route.h"

/* Appends who may post, if it is in the entry, to FIELDS. An unknown word excludes all but the
 * owner. */
static void add_post(struct entry_work *work, struct directory_field *fields, size_t *count)
{
	const struct str *values;
	const char *name;

	if (entry_values(work, CONFIG_MAP_LIST_POST, &values) == 0)
		return;
	name = directory_post_name(directory_post_find(values[0]));
	if (!str_equal_nocase(values[0], str_from(name)))
		entry_report(work, "post", values[0],
			     "is not anyone, members or owners, and is taken for owners");
	fields[(*count)++] = (struct directory_field){STR("post"), str_from(name)};
}

static struct str postmaster_of(struct entry_work *work)
{
	struct buffer text = {0};
	struct str address;

	buffer_append_string(&text, "postmaster");
	buffer_append_str(&text, str_skip(work->mail, (size_t)str_find_last(work->mail, '@')));
	address = arena_copy_str(work->arena, buffer_view(&text));
	buffer_clear(&text);
	return address;
}

/* Claims that the entry called NAME is KIND of the list; false if the name is not valid. */
static bool claim_name(struct entry_work *work, int kind, struct str name)
{
	struct buffer form = {0};
	bool is_name = dn_normalize(name, &form) == 0;

	if (is_name)
		entry_claim(work, kind, arena_copy_str(work->arena, buffer_view(&form)),
			    work->mail);
	buffer_clear(&form);
	return is_name;
}

static void claim_list(struct entry_work *work)
{
	struct directory_field fields[4] = {{STR("kind"), STR("list")},
					    {STR("owner"), postmaster_of(work)}};
	const struct str *owners;
	size_t owner_count = entry_values(work, CONFIG_MAP_LIST_OWNER, &owners);
	size_t count = 2;

	entry_add_field(work, CONFIG_MAP_LIST_VERP, "verp", fields, &count);
	add_post(work, fields, &count);
	for (size_t i = 0; i < owner_count; i++) {
		struct str owner;

		if (claim_name(work, CLAIM_OWNER_NAME, owners[i]))
			continue;
		owner = entry_address(work, "owner", owners[i]);
		if (owner.length > 0)
			fields[1].value = owner;
	}
	work->mail = entry_claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, count);
}

static void claim_member(struct entry_work *work, struct str text)
{
	struct str member = entry_address(work, "member", text);
	struct buffer key = {0};

	if (member.length == 0)
		return;
	buffer_append_str(&key, work->mail);
	buffer_append_byte(&key, ' ');
	buffer_append_str(&key, member);
	entry_claim(work, DIRECTORY_MEMBER, arena_copy_str(work->arena, buffer_view(&key)),
		    (struct str){0});
	buffer_clear(&key);
}

void entry_claim_list(struct entry_work *work)
{
	const struct str *values;
	size_t count = entry_values(work, CONFIG_MAP_LIST_KEY, &values);

	if (count > 0)
		work->mail = entry_address(work, "address", values[0]);
	if (work->mail.length > 0)
		claim_list(work);
	if (work->mail.length == 0)
		return;
	entry_claim_aliases(work, CONFIG_MAP_LIST_KEY, 1);
	entry_claim_aliases(work, CONFIG_MAP_LIST_ALIAS, 0);
	count = entry_values(work, CONFIG_MAP_LIST_MEMBER, &values);
	for (size_t i = 0; i < count; i++)
		if (!claim_name(work, CLAIM_MEMBER_NAME, values[i]))
			entry_report(work, "member", values[i], "is not the name of an entry");
	count = entry_values(work, CONFIG_MAP_LIST_TEXT, &values);
	for (size_t i = 0; i < count; i++)
		claim_member(work, values[i]);
}
