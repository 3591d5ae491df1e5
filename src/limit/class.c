// SPDX-License-Identifier: ISC
#include "limit/class.h"
#include "base/hash.h"
#include "base/panic.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IPV4_PREFIX = 96 };

struct entry {
	struct limit_class class;
	enum config_class_kind kind;
	struct str name;
	struct config_network network;
};

struct limit_classes {
	struct arena *arena;
	size_t count;
	struct entry *entries;
};

void limit_class_trigger(const struct limit_class *class, char trigger[LIMIT_TRIGGER_SIZE])
{
	bool is_any = class->mask[0] == '*';
	int length = snprintf(trigger, LIMIT_TRIGGER_SIZE, "class.%s%s", is_any ? "[any]" : "",
			      class->mask + is_any);

	if (length >= LIMIT_TRIGGER_SIZE - 1)
		snprintf(trigger, LIMIT_TRIGGER_SIZE, "class.%016" PRIx64, class->key);
	for (char *c = trigger; *c != '\0'; c++)
		if (*c == '/')
			*c = '_';
}

/* Not secret: masks are the operator's. */
static uint64_t key_of_class_mask(const char *mask)
{
	const struct hash_key key = {0};
	uint64_t hash = hash_keyed(key, mask, strlen(mask));

	return hash != 0 ? hash : 1;
}

static void fill_class_entry(struct limit_classes *classes, struct entry *entry,
			     const struct config_class *class)
{
	const char *mask = arena_copy(classes->arena, str_from(class->mask));

	entry->class = (struct limit_class){.mask = mask,
					    .key = key_of_class_mask(mask),
					    .queue = class->queue,
					    .refuse = class->refuse,
					    .counts_idle = class->count == CONFIG_CLASS_COUNT_OPEN};
	entry->kind = class->kind;
	entry->network = class->network;
	if (class->name != NULL)
		entry->name = str_from(arena_copy(classes->arena, str_from(class->name)));
}

struct limit_classes *limit_classes_new(const struct config *config)
{
	struct arena *arena;
	struct limit_classes *classes;

	if (config->class_count == 0)
		return NULL;
	arena = arena_new();
	classes = arena_alloc(arena, sizeof *classes);
	classes->arena = arena;
	classes->count = config->class_count;
	classes->entries = arena_alloc(arena, classes->count * sizeof *classes->entries);
	for (size_t i = 0; i < classes->count; i++)
		fill_class_entry(classes, &classes->entries[i], &config->classes[i]);
	return classes;
}

void limit_classes_free(struct limit_classes *classes)
{
	if (classes != NULL)
		arena_free(classes->arena);
}

size_t limit_classes_count(const struct limit_classes *classes)
{
	return classes != NULL ? classes->count : 0;
}

const struct limit_class *limit_classes_at(const struct limit_classes *classes, size_t index)
{
	return &classes->entries[index].class;
}

/* "::/0" has no IPv4 host. */
static bool network_has(const struct config_network *network, const struct in6_addr *address)
{
	if (IN6_IS_ADDR_V4MAPPED(address) && network->prefix < IPV4_PREFIX)
		return false;
	return config_network_has(network, address);
}

static bool is_client_below_domain(struct str name, struct str domain)
{
	return name.length > domain.length && name.data[name.length - domain.length - 1] == '.' &&
	       str_ends_with_nocase(name, domain);
}

static bool is_by_name(const struct entry *entry)
{
	return entry->kind == CONFIG_CLASS_HOST || entry->kind == CONFIG_CLASS_DOMAIN;
}

static bool has_host(const struct entry *entry, struct str name, const struct in6_addr *address)
{
	if (is_by_name(entry)) {
		if (name.length > 0 && name.data[name.length - 1] == '.') /* as in the DNS */
			name.length--;
		return str_equal_nocase(name, entry->name) ||
		       (entry->kind == CONFIG_CLASS_DOMAIN &&
			is_client_below_domain(name, entry->name));
	}
	return entry->kind == CONFIG_CLASS_ALL || network_has(&entry->network, address);
}

size_t limit_classes_find(const struct limit_classes *classes, struct str name,
			  const struct in6_addr *address)
{
	for (size_t i = 0; i < classes->count; i++)
		if (has_host(&classes->entries[i], name, address))
			return i;
	panic("the last class does not have all hosts");
}

bool limit_classes_need_name(const struct limit_classes *classes, const struct in6_addr *address)
{
	for (size_t i = 0; i < classes->count; i++) {
		if (is_by_name(&classes->entries[i]))
			return true;
		if (has_host(&classes->entries[i], STR(""), address))
			return false;
	}
	return false;
}
