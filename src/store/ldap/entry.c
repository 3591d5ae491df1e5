// SPDX-License-Identifier: ISC
/* Maps an LDAP entry to its claims. */
#include "directory/record/key.h"
#include "directory/wire/route.h"
#include "store/ldap/claim.h"
#include "store/ldap/dn.h"

/* An entry being mapped. */
struct work {
	const struct entry_map *map;
	const struct entry *entry;
	struct arena *arena;
	mapping_bad *bad;
	void *context;
	struct buffer claims; /* an array of struct claim */
	struct str mail;
};

static void report(struct work *work, const char *what, struct str value, const char *reason)
{
	struct buffer text = {0};

	buffer_append_format(
		&text, "%s \"" STR_FORMAT "\": %s", what,
		STR_ARGUMENTS(str_slice(value.data, value.length > 200 ? 200 : value.length)),
		reason);
	work->bad(work->context, work->entry->dn, arena_copy(work->arena, buffer_view(&text)));
	buffer_clear(&text);
}

static void add_claim(struct work *work, int table, struct str key, struct str fields)
{
	struct claim claim = {.table = table, .key = key, .fields = fields};

	buffer_append(&work->claims, &claim, sizeof(claim));
}

/* Claims the record of TABLE and KEY, if it passes the check; returns the key in canonical form, or
 * empty if it was refused. */
static struct str claim_record(struct work *work, enum directory_table table, struct str key,
			       const struct directory_field *fields, size_t count)
{
	struct directory_record input = {
		.key = {.table = table, .name = key}, .fields = fields, .field_count = count};
	struct directory_record record;
	const char *reason;

	if (directory_record_check(&input, work->arena, &record, &reason) < 0) {
		report(work, directory_table_name(table), key, reason);
		return (struct str){0};
	}
	add_claim(work, (int)table, record.key.name, claim_fields_text(work->arena, &record));
	return record.key.name;
}

static size_t values_of(struct work *work, enum config_map_field field,
			const struct str **values_out)
{
	return entry_map_values(work->map, work->entry, field, work->arena, values_out);
}

/* Appends the first value of FIELD, if there is one, to FIELDS as NAME. */
static void add_field(struct work *work, enum config_map_field field, const char *name,
		      struct directory_field *fields, size_t *count)
{
	const struct str *values;

	if (values_of(work, field, &values) > 0)
		fields[(*count)++] = (struct directory_field){str_from(name), values[0]};
}

/* Appends the state in FIELD, if there is one, to FIELDS. An unknown state means deferred: its
 * author did not mean the default. */
static void add_state(struct work *work, enum config_map_field field,
		      struct directory_field *fields, size_t *count)
{
	static const struct str states[] = {STR("active"), STR("deferred"), STR("disabled")};
	struct str state = STR("deferred");
	const struct str *values;
	bool is_known = false;

	if (values_of(work, field, &values) == 0)
		return;
	for (size_t i = 0; i < COUNT_OF(states) && !is_known; i++) {
		is_known = str_equal_nocase(values[0], states[i]);
		if (is_known)
			state = states[i];
	}
	if (!is_known)
		report(work, "state", values[0],
		       "is not active, deferred or disabled, and is taken for deferred");
	fields[(*count)++] = (struct directory_field){STR("state"), state};
}

/* Likewise for who may post: an unknown word excludes all but the owner. */
static void add_post(struct work *work, struct directory_field *fields, size_t *count)
{
	const struct str *values;
	const char *name;

	if (values_of(work, CONFIG_MAP_LIST_POST, &values) == 0)
		return;
	name = directory_post_name(directory_post_find(values[0]));
	if (!str_equal_nocase(values[0], str_from(name)))
		report(work, "post", values[0],
		       "is not anyone, members or owners, and is taken for owners");
	fields[(*count)++] = (struct directory_field){STR("post"), str_from(name)};
}

/* TEXT as an address in canonical form, in the arena; empty if it is not valid, which is reported
 * as WHAT. */
static struct str address_of(struct work *work, const char *what, struct str text)
{
	struct buffer form = {0};
	struct str address = {0};

	if (directory_key_address(text, &form) == 0)
		address = arena_copy_str(work->arena, buffer_view(&form));
	else
		report(work, what, text, "is not an address, LOCAL@DOMAIN");
	buffer_clear(&form);
	return address;
}

static void claim_aliases(struct work *work, enum config_map_field field, size_t first)
{
	struct directory_field fields[] = {{STR("kind"), STR("alias")},
					   {STR("target"), work->mail}};
	const struct str *values;
	size_t count = values_of(work, field, &values);

	for (size_t i = first; i < count; i++) {
		struct str alias = address_of(work, "address", values[i]);

		if (alias.length > 0 && !str_equal(alias, work->mail))
			(void)claim_record(work, DIRECTORY_ADDRESS, alias, fields,
					   COUNT_OF(fields));
	}
}

static void claim_mailbox(struct work *work)
{
	struct directory_field fields[5] = {{STR("kind"), STR("mailbox")}};
	size_t count = 1;

	add_field(work, CONFIG_MAP_ADDRESS_SERVICE, "service", fields, &count);
	if (count == 1) /* a service takes precedence */
		add_field(work, CONFIG_MAP_ADDRESS_USER, "user", fields, &count);
	add_field(work, CONFIG_MAP_ADDRESS_MAILBOX, "mailbox", fields, &count);
	add_field(work, CONFIG_MAP_ADDRESS_QUOTA, "quota", fields, &count);
	add_state(work, CONFIG_MAP_ADDRESS_STATE, fields, &count);
	work->mail = claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, count);
}

/* The mail was meant to be forwarded, but to no valid address: it must not be delivered into the
 * mailbox, and senders must not be told that there is no such user. */
static void claim_refusal(struct work *work)
{
	const struct directory_field fields[] = {
		{STR("kind"), STR("refused")},
		{STR("text"), STR("Its forwarding address is not valid")},
		{STR("status"), STR("4.3.5")}};

	work->mail = claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, COUNT_OF(fields));
}

static void claim_forward(struct work *work, const struct str *values, size_t value_count)
{
	struct directory_field *fields =
		arena_alloc(work->arena, (value_count + 2) * sizeof(*fields));
	size_t count = 1;
	bool is_elsewhere = false;

	fields[0] = (struct directory_field){STR("kind"), STR("forward")};
	for (size_t i = 0; i < value_count; i++) {
		struct str target = address_of(work, "target", values[i]);

		is_elsewhere = is_elsewhere || !str_equal(target, work->mail);
		if (target.length > 0)
			fields[count++] = (struct directory_field){STR("target"), target};
	}
	if (count == 1) {
		claim_refusal(work);
		return;
	}
	add_state(work, CONFIG_MAP_ADDRESS_STATE, fields, &count);
	if (is_elsewhere)
		work->mail = claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, count);
	else /* its only target is itself */
		claim_mailbox(work);
}

static void map_person(struct work *work)
{
	const struct str *values;
	const struct str *targets;
	size_t target_count = values_of(work, CONFIG_MAP_ADDRESS_TARGET, &targets);

	if (values_of(work, CONFIG_MAP_ADDRESS_KEY, &values) == 0)
		return;
	work->mail = address_of(work, "address", values[0]);
	if (work->mail.length == 0)
		return;
	if (target_count > 0)
		claim_forward(work, targets, target_count);
	else
		claim_mailbox(work);
	if (work->mail.length == 0)
		return;
	claim_aliases(work, CONFIG_MAP_ADDRESS_KEY, 1);
	claim_aliases(work, CONFIG_MAP_ADDRESS_ALIAS, 0);
}

/* {CRYPT} marks a hash of crypt(5) (RFC 2307). */
static struct str password_of(struct str value)
{
	const struct str scheme = STR("{CRYPT}");

	if (value.length > scheme.length &&
	    str_equal_nocase(str_slice(value.data, scheme.length), scheme))
		return str_skip(value, scheme.length);
	return value;
}

static bool is_usable(struct work *work, struct str password)
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
static void add_senders(struct work *work, struct directory_field *fields, size_t *count)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	const struct str *values;
	size_t value_count = values_of(work, CONFIG_MAP_USER_SEND_AS, &values);

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

static void map_user(struct work *work, size_t *unusable)
{
	const struct str *names;
	const struct str *passwords;
	struct directory_field *fields;
	size_t password_count;
	size_t count = 0;

	if (values_of(work, CONFIG_MAP_USER_KEY, &names) == 0)
		return;
	password_count = values_of(work, CONFIG_MAP_USER_PASSWORD, &passwords);
	fields = arena_alloc(work->arena, (password_count + 4) * sizeof(*fields));
	for (size_t i = 0; i < password_count; i++) {
		struct str password = password_of(passwords[i]);

		if (is_usable(work, password))
			fields[count++] = (struct directory_field){STR("password"), password};
		else
			++*unusable;
	}
	add_field(work, CONFIG_MAP_USER_SERVER, "server", fields, &count);
	add_field(work, CONFIG_MAP_USER_NAME, "name", fields, &count);
	add_senders(work, fields, &count);
	add_state(work, CONFIG_MAP_USER_STATE, fields, &count);
	(void)claim_record(work, DIRECTORY_USER, names[0], fields, count);
}

static struct str postmaster_of(struct work *work)
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
static bool claim_name(struct work *work, int kind, struct str name)
{
	struct buffer form = {0};
	bool is_name = dn_normalize(name, &form) == 0;

	if (is_name)
		add_claim(work, kind, arena_copy_str(work->arena, buffer_view(&form)), work->mail);
	buffer_clear(&form);
	return is_name;
}

static void claim_list(struct work *work)
{
	struct directory_field fields[4] = {{STR("kind"), STR("list")},
					    {STR("owner"), postmaster_of(work)}};
	const struct str *owners;
	size_t owner_count = values_of(work, CONFIG_MAP_LIST_OWNER, &owners);
	size_t count = 2;

	add_field(work, CONFIG_MAP_LIST_VERP, "verp", fields, &count);
	add_post(work, fields, &count);
	for (size_t i = 0; i < owner_count; i++) {
		struct str owner;

		if (claim_name(work, CLAIM_OWNER_NAME, owners[i]))
			continue;
		owner = address_of(work, "owner", owners[i]);
		if (owner.length > 0)
			fields[1].value = owner;
	}
	work->mail = claim_record(work, DIRECTORY_ADDRESS, work->mail, fields, count);
}

static void claim_member(struct work *work, struct str text)
{
	struct str member = address_of(work, "member", text);
	struct buffer key = {0};

	if (member.length == 0)
		return;
	buffer_append_str(&key, work->mail);
	buffer_append_byte(&key, ' ');
	buffer_append_str(&key, member);
	add_claim(work, DIRECTORY_MEMBER, arena_copy_str(work->arena, buffer_view(&key)),
		  (struct str){0});
	buffer_clear(&key);
}

static void map_list(struct work *work)
{
	const struct str *values;
	size_t count = values_of(work, CONFIG_MAP_LIST_KEY, &values);

	if (count > 0)
		work->mail = address_of(work, "address", values[0]);
	if (work->mail.length > 0)
		claim_list(work);
	if (work->mail.length == 0)
		return;
	claim_aliases(work, CONFIG_MAP_LIST_KEY, 1);
	claim_aliases(work, CONFIG_MAP_LIST_ALIAS, 0);
	count = values_of(work, CONFIG_MAP_LIST_MEMBER, &values);
	for (size_t i = 0; i < count; i++)
		if (!claim_name(work, CLAIM_MEMBER_NAME, values[i]))
			report(work, "member", values[i], "is not the name of an entry");
	count = values_of(work, CONFIG_MAP_LIST_TEXT, &values);
	for (size_t i = 0; i < count; i++)
		claim_member(work, values[i]);
}

static void map_domain(struct work *work)
{
	struct directory_field fields[2] = {{STR("kind"), STR("local")}};
	const struct str *values;
	size_t value_count = values_of(work, CONFIG_MAP_DOMAIN_KEY, &values);
	struct buffer form = {0};
	struct buffer name = {0};
	size_t count = 1;

	add_field(work, CONFIG_MAP_DOMAIN_SERVICE, "service", fields, &count);
	if (value_count > 0 && entry_map_uses(work->map, CONFIG_MAP_DOMAIN_KEY, "dc") &&
	    dn_normalize(work->entry->dn, &form) == 0) {
		dn_domain(buffer_view(&form), &name);
		(void)claim_record(work, DIRECTORY_DOMAIN, buffer_view(&name), fields, count);
		value_count = 0;
	}
	for (size_t i = 0; i < value_count; i++)
		(void)claim_record(work, DIRECTORY_DOMAIN, values[i], fields, count);
	buffer_clear(&form);
	buffer_clear(&name);
}

static void map_server(struct work *work)
{
	struct directory_field fields[2];
	const struct str *values;
	size_t value_count = values_of(work, CONFIG_MAP_SERVER_KEY, &values);
	size_t count = 0;

	add_field(work, CONFIG_MAP_SERVER_SERVICE, "service", fields, &count);
	add_field(work, CONFIG_MAP_SERVER_ADDRESS, "address", fields, &count);
	for (size_t i = 0; i < value_count; i++)
		(void)claim_record(work, DIRECTORY_SERVER, values[i], fields, count);
}

void entry_map_apply(const struct entry_map *map, const struct entry *entry, struct arena *arena,
		     mapping_bad *bad, void *context, struct mapping *mapping_out)
{
	struct work work = {
		.map = map, .entry = entry, .arena = arena, .bad = bad, .context = context};
	struct mapping mapping = {0};

	if (entry_map_has_class(map, entry, CONFIG_MAP_LIST_CLASS)) {
		map_list(&work);
	} else {
		map_person(&work);
		map_user(&work, &mapping.passwords_unusable);
	}
	if (entry_map_has_class(map, entry, CONFIG_MAP_DOMAIN_CLASS))
		map_domain(&work);
	map_server(&work);
	mapping.mail = work.mail;
	claim_sort(&work.claims, arena, &mapping);
	buffer_clear(&work.claims);
	*mapping_out = mapping;
}
