// SPDX-License-Identifier: ISC
/* Maps an LDAP entry to its claims. */
#include "directory/store/ldap/dn.h"
#include "directory/store/ldap/map/claim.h"
#include "directory/store/ldap/map/internal.h"

static void map_domain(struct entry_work *work)
{
	struct directory_field fields[2] = {{STR("kind"), STR("local")}};
	const struct str *values;
	size_t value_count = entry_values(work, CONFIG_MAP_DOMAIN_KEY, &values);
	struct buffer form = {0};
	struct buffer name = {0};
	size_t count = 1;

	entry_add_field(work, CONFIG_MAP_DOMAIN_SERVICE, "service", fields, &count);
	if (value_count > 0 && entry_map_uses(work->map, CONFIG_MAP_DOMAIN_KEY, "dc") &&
	    dn_normalize(work->entry->dn, &form) == 0) {
		dn_domain(buffer_view(&form), &name);
		(void)entry_claim_record(work, DIRECTORY_DOMAIN, buffer_view(&name), fields, count);
		value_count = 0;
	}
	for (size_t i = 0; i < value_count; i++)
		(void)entry_claim_record(work, DIRECTORY_DOMAIN, values[i], fields, count);
	buffer_clear(&form);
	buffer_clear(&name);
}

static void map_server(struct entry_work *work)
{
	struct directory_field fields[2];
	const struct str *values;
	size_t value_count = entry_values(work, CONFIG_MAP_SERVER_KEY, &values);
	size_t count = 0;

	entry_add_field(work, CONFIG_MAP_SERVER_SERVICE, "service", fields, &count);
	entry_add_field(work, CONFIG_MAP_SERVER_ADDRESS, "address", fields, &count);
	for (size_t i = 0; i < value_count; i++)
		(void)entry_claim_record(work, DIRECTORY_SERVER, values[i], fields, count);
}

/* An unknown state means draining: its author did not mean the default. */
static struct str node_state(struct entry_work *work, struct str value)
{
	static const struct str states[] = {STR("active"), STR("draining"), STR("away")};

	for (size_t i = 0; i < COUNT_OF(states); i++)
		if (str_equal_nocase(value, states[i]))
			return states[i];
	entry_report(work, "state", value,
		     "is not active, draining or away, and is taken for draining");
	return STR("draining");
}

static void map_node(struct entry_work *work)
{
	const struct str *names;
	const struct str *values;
	size_t name_count = entry_values(work, CONFIG_MAP_NODE_KEY, &names);
	size_t group_count;
	struct directory_field *fields;
	size_t count = 0;

	group_count = entry_values(work, CONFIG_MAP_NODE_GROUP, &values);
	fields = arena_alloc(work->arena, (group_count + 3) * sizeof(*fields));
	for (size_t i = 0; i < group_count; i++)
		fields[count++] = (struct directory_field){STR("group"), values[i]};
	entry_add_field(work, CONFIG_MAP_NODE_ADDRESS, "address", fields, &count);
	entry_add_field(work, CONFIG_MAP_NODE_WEIGHT, "weight", fields, &count);
	if (entry_values(work, CONFIG_MAP_NODE_STATE, &values) > 0)
		fields[count++] =
			(struct directory_field){STR("state"), node_state(work, values[0])};
	for (size_t i = 0; i < name_count; i++)
		(void)entry_claim_record(work, DIRECTORY_NODE, names[i], fields, count);
}

void entry_map_apply(const struct entry_map *map, const struct entry *entry, struct arena *arena,
		     mapping_bad *bad, void *context, struct mapping *mapping_out)
{
	struct entry_work work = {
		.map = map, .entry = entry, .arena = arena, .bad = bad, .context = context};
	struct mapping mapping = {0};

	if (entry_map_has_class(map, entry, CONFIG_MAP_LIST_CLASS)) {
		entry_claim_list(&work);
	} else {
		entry_claim_person(&work);
		entry_claim_user(&work, &mapping.passwords_unusable);
	}
	if (entry_map_has_class(map, entry, CONFIG_MAP_DOMAIN_CLASS))
		map_domain(&work);
	map_server(&work);
	if (entry_map_has_class(map, entry, CONFIG_MAP_NODE_CLASS))
		map_node(&work);
	mapping.mail = work.mail;
	claim_sort(&work.claims, arena, &mapping);
	buffer_clear(&work.claims);
	*mapping_out = mapping;
}
