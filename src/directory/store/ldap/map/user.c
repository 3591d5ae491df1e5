// SPDX-License-Identifier: ISC
/* What an entry with a login claims: a user with passwords. */
#include "directory/store/ldap/map/internal.h"

/* {CRYPT} marks a hash of crypt(5) (RFC 2307). */
static struct str password_of(struct str value)
{
	const struct str scheme = STR("{CRYPT}");

	if (value.length > scheme.length &&
	    str_equal_nocase(str_slice(value.data, scheme.length), scheme))
		return str_skip(value, scheme.length);
	return value;
}

static bool is_usable_password(struct entry_work *work, struct str password)
{
	const struct directory_field field = {STR("password"), password};
	const struct directory_record input = {.key = {.table = DIRECTORY_USER, .name = STR("x")},
					       .fields = &field,
					       .field_count = 1};
	struct directory_record record;
	const char *reason;

	return directory_record_check(&input, work->arena, &record, &reason) == 0;
}

/* All values in one field. */
static void add_senders(struct entry_work *work, struct directory_field *fields, size_t *count)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	const struct str *values;
	size_t value_count = entry_values(work, CONFIG_MAP_USER_SEND_AS, &values);

	if (value_count == 0)
		return;
	for (size_t i = 0; i < value_count; i++) {
		if (i > 0)
			buffer_append_byte(&text, ' ');
		buffer_append_str(&text, values[i]);
	}
	fields[(*count)++] = (struct directory_field){
		STR("send_as"), arena_copy_str(work->arena, buffer_view(&text))};
}

void entry_claim_user(struct entry_work *work, size_t *unusable)
{
	const struct str *names;
	const struct str *passwords;
	struct directory_field *fields;
	size_t password_count;
	size_t count = 0;

	if (entry_values(work, CONFIG_MAP_USER_KEY, &names) == 0)
		return;
	password_count = entry_values(work, CONFIG_MAP_USER_PASSWORD, &passwords);
	fields = arena_alloc(work->arena, (password_count + 4) * sizeof(*fields));
	for (size_t i = 0; i < password_count; i++) {
		struct str password = password_of(passwords[i]);

		if (is_usable_password(work, password))
			fields[count++] = (struct directory_field){STR("password"), password};
		else
			++*unusable;
	}
	entry_add_field(work, CONFIG_MAP_USER_SERVER, "server", fields, &count);
	entry_add_field(work, CONFIG_MAP_USER_NAME, "name", fields, &count);
	add_senders(work, fields, &count);
	entry_add_state(work, CONFIG_MAP_USER_STATE, fields, &count);
	(void)entry_claim_record(work, DIRECTORY_USER, names[0], fields, count);
}
