// SPDX-License-Identifier: ISC
/* What the mapping of every kind of entry needs: its values, checked, and its claims. */
#include "directory/record/key.h"
#include "directory/store/ldap/map/claim.h"
#include "directory/store/ldap/map/internal.h"

void entry_report(struct entry_work *work, const char *what, struct str value, const char *reason)
{
	struct buffer text = {0};

	buffer_append_format(
		&text, "%s \"" STR_FORMAT "\": %s", what,
		STR_ARGUMENTS(str_slice(value.data, value.length > 200 ? 200 : value.length)),
		reason);
	work->bad(work->context, work->entry->dn, arena_copy(work->arena, buffer_view(&text)));
	buffer_clear(&text);
}

void entry_claim(struct entry_work *work, int table, struct str key, struct str fields)
{
	struct claim claim = {.table = table, .key = key, .fields = fields};

	buffer_append(&work->claims, &claim, sizeof(claim));
}

struct str entry_claim_record(struct entry_work *work, enum directory_table table, struct str key,
			      const struct directory_field *fields, size_t count)
{
	struct directory_record input = {
		.key = {.table = table, .name = key}, .fields = fields, .field_count = count};
	struct directory_record record;
	const char *reason;

	if (directory_record_check(&input, work->arena, &record, &reason) < 0) {
		entry_report(work, directory_table_name(table), key, reason);
		return (struct str){0};
	}
	entry_claim(work, (int)table, record.key.name, claim_fields_text(work->arena, &record));
	return record.key.name;
}

size_t entry_values(struct entry_work *work, enum config_map_field field,
		    const struct str **values_out)
{
	return entry_map_values(work->map, work->entry, field, work->arena, values_out);
}

void entry_add_field(struct entry_work *work, enum config_map_field field, const char *name,
		     struct directory_field *fields, size_t *count)
{
	const struct str *values;

	if (entry_values(work, field, &values) > 0)
		fields[(*count)++] = (struct directory_field){str_from(name), values[0]};
}

void entry_add_state(struct entry_work *work, enum config_map_field field,
		     struct directory_field *fields, size_t *count)
{
	static const struct str states[] = {STR("active"), STR("deferred"), STR("disabled")};
	struct str state = STR("deferred");
	const struct str *values;
	bool is_known = false;

	if (entry_values(work, field, &values) == 0)
		return;
	for (size_t i = 0; i < COUNT_OF(states) && !is_known; i++) {
		is_known = str_equal_nocase(values[0], states[i]);
		if (is_known)
			state = states[i];
	}
	if (!is_known)
		entry_report(work, "state", values[0],
			     "is not active, deferred or disabled, and is taken for deferred");
	fields[(*count)++] = (struct directory_field){STR("state"), state};
}

struct str entry_address(struct entry_work *work, const char *what, struct str text)
{
	struct buffer form = {0};
	struct str address = {0};

	if (directory_key_address(text, &form) == 0)
		address = arena_copy_str(work->arena, buffer_view(&form));
	else
		entry_report(work, what, text, "is not an address, LOCAL@DOMAIN");
	buffer_clear(&form);
	return address;
}

void entry_claim_aliases(struct entry_work *work, enum config_map_field field, size_t first)
{
	struct directory_field fields[] = {{STR("kind"), STR("alias")},
					   {STR("target"), work->mail}};
	const struct str *values;
	size_t count = entry_values(work, field, &values);

	for (size_t i = first; i < count; i++) {
		struct str alias = entry_address(work, "address", values[i]);

		if (alias.length > 0 && !str_equal(alias, work->mail))
			(void)entry_claim_record(work, DIRECTORY_ADDRESS, alias, fields,
						 COUNT_OF(fields));
	}
}
