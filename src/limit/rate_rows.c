// SPDX-License-Identifier: ISC
/* The rates' areas of the rows, and what they tell to people. */
#include "base/buffer.h"
#include "limit/internal_rate.h"

enum {
	CLASSES = 2 * CONFIG_CLASSES_MAX, /* so that few are in the same buckets */
	ALIGNMENT = 64,
	LARGE_TABLES = 3, /* for addresses, users and domains of senders */
};

static size_t round_up(size_t size)
{
	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t header_size(void)
{
	return round_up(sizeof(struct limit_rate_header));
}

size_t limit_rates_area_size(const struct config *config)
{
	if (config->rate_count == 0)
		return 0;
	return header_size() + round_up(limit_keyed_size(CLASSES)) + round_up(limit_keyed_size(1)) +
	       LARGE_TABLES * round_up(limit_keyed_size(config->rate_keys));
}

struct limit_rate_header *limit_rate_header(const struct limit_memory *memory, size_t row)
{
	return limit_memory_area(memory, row, LIMIT_AREA_RATES, header_size());
}

struct limit_rate_tables limit_rate_tables(const struct limit_memory *memory, size_t row)
{
	size_t size = limit_memory_area_size(memory, LIMIT_AREA_RATES);
	size_t classes = round_up(limit_keyed_size(CLASSES));
	size_t all = round_up(limit_keyed_size(1));
	size_t large =
		(size - header_size() - classes - all) / LARGE_TABLES / ALIGNMENT * ALIGNMENT;
	char *at = (char *)limit_memory_area(memory, row, LIMIT_AREA_RATES, size) + header_size();

	return (struct limit_rate_tables){{
		[CONFIG_RATE_PER_CLASS] = limit_keyed_view(at, classes),
		[CONFIG_RATE_PER_ALL] = limit_keyed_view(at + classes, all),
		[CONFIG_RATE_PER_ADDRESS] = limit_keyed_view(at + classes + all, large),
		[CONFIG_RATE_PER_USER] = limit_keyed_view(at + classes + all + large, large),
		[CONFIG_RATE_PER_SENDER_DOMAIN] =
			limit_keyed_view(at + classes + all + 2 * large, large),
	}};
}

uint64_t limit_rate_unit(uint64_t limit)
{
	uint64_t unit = 1;

	while (limit / unit > UINT32_MAX / 4)
		unit *= 2;
	return unit;
}

limit_rule_key limit_rate_key(struct hash_key key, const struct config_rate *rule)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	uint64_t unit = limit_rate_unit(rule->limit);
	limit_rule_key hash;

	buffer_append_string(&text, rule->name);
	buffer_append(&text, &rule->interval_us, sizeof rule->interval_us);
	buffer_append(&text, &unit, sizeof unit);
	hash = hash_keyed(key, buffer_data(&text), text.length);
	return hash != 0 ? hash : 1;
}

uint64_t limit_rate_exceeded(const struct limit_rate_header *header, limit_rule_key rule)
{
	for (size_t i = 0; i < CONFIG_RATES_MAX; i++)
		if (atomic_load(&header->rules[i].key) == rule)
			return atomic_load(&header->rules[i].exceeded);
	return 0;
}

void limit_rates_prepare(const struct limit_memory *memory, size_t row, struct hash_key key)
{
	struct limit_rate_header *header = limit_rate_header(memory, row);

	if (header != NULL)
		header->key = key;
}

void limit_rate_total_of(const struct limit_memory *memory, struct hash_key key,
			 const struct config_rate *rule, struct limit_rate_total *total_out)
{
	limit_rule_key rule_key = limit_rate_key(key, rule);

	*total_out = (struct limit_rate_total){0};
	for (size_t row = 0; row < limit_memory_count(memory); row++) {
		struct limit_keyed_view view = limit_rate_tables(memory, row).per[rule->per];
		size_t keys = limit_keyed_used(view);

		if (keys > total_out->keys)
			total_out->keys = keys;
		total_out->exceeded +=
			limit_rate_exceeded(limit_rate_header(memory, row), rule_key);
	}
}
