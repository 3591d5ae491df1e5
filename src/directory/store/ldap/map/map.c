// SPDX-License-Identifier: ISC
#include "directory/store/ldap/map/map.h"
#include "base/panic.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct words {
	char *text;         /* owned; words that end with a NUL each */
	struct str *values; /* owned; views of TEXT */
	size_t count;
	bool is_constant;
};

struct entry_map {
	struct words fields[CONFIG_MAP_FIELDS];
	char **attributes;
};

static bool is_class(enum config_map_field field)
{
	return field == CONFIG_MAP_LIST_CLASS || field == CONFIG_MAP_DOMAIN_CLASS ||
	       field == CONFIG_MAP_NODE_CLASS;
}

static void words_clear(struct words *words)
{
	free(words->text);
	free(words->values);
	*words = (struct words){0};
}

static char *copy_text(struct str text)
{
	char *copy = memory_alloc(text.length + 1);

	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	return copy;
}

/* Parses attribute names (RFC 4512 section 1.4: descriptors or OIDs), separated by spaces. */
static bool parse_attribute_names(struct str text, struct words *words)
{
	char *start;

	words->text = copy_text(text);
	words->values = memory_alloc_zero(text.length / 2 + 1, sizeof(*words->values));
	for (char *word = strtok_r(words->text, " ", &start); word != NULL;
	     word = strtok_r(NULL, " ", &start)) {
		size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789-.");

		if (word[length] != '\0')
			return false;
		words->values[words->count++] = str_slice(word, length);
	}
	return true;
}

static bool parse_map_value(struct str text, struct words *words)
{
	words_clear(words);
	if (text.length < 2 || text.data[0] != '\'' || text.data[text.length - 1] != '\'')
		return parse_attribute_names(text, words);
	if (text.length == 2)
		return true;
	words->is_constant = true;
	words->text = copy_text(str_slice(text.data + 1, text.length - 2));
	words->values = memory_alloc_zero(1, sizeof(*words->values));
	words->values[0] = str_from(words->text);
	words->count = 1;
	return true;
}

static int parse_map_setting(struct entry_map *map, const char *text, struct buffer *why)
{
	struct str rest = str_from(text);
	struct str name;
	bool has_value = str_split(&rest, '=', &name) && rest.data != NULL;
	enum config_map_field field = config_map_field_find(str_trim(name));

	if (!has_value) {
		buffer_append_format(why, "\"%s\" is not FIELD=ATTRIBUTE", text);
	} else if (field == CONFIG_MAP_FIELDS) {
		buffer_append_format(why, "there is no field \"" STR_FORMAT "\"; there are",
				     STR_ARGUMENTS(name));
		for (size_t i = 0; i < CONFIG_MAP_FIELDS; i++)
			buffer_append_format(why, "%s %s", i > 0 ? "," : "",
					     config_map_fields[i].name);
	} else if (!parse_map_value(str_trim(rest), &map->fields[field])) {
		buffer_append_format(why,
				     "\"%s\": names of attributes consist of a-z, A-Z, 0-9, "
				     "- and .",
				     text);
	} else if (is_class(field) && map->fields[field].is_constant) {
		buffer_append_format(why, "\"%s\": object classes are written without quotes",
				     text);
	} else {
		return 0;
	}
	return -EINVAL;
}

static void add_attribute(struct entry_map *map, size_t *count, struct str name)
{
	for (size_t i = 0; i < *count; i++)
		if (str_equal_nocase(str_from(map->attributes[i]), name))
			return;
	map->attributes[(*count)++] = copy_text(name);
}

static void gather_attributes(struct entry_map *map)
{
	size_t count = 0;

	for (size_t i = 0; i < CONFIG_MAP_FIELDS; i++)
		count += map->fields[i].count;
	map->attributes = memory_alloc_zero(count + 2, sizeof(*map->attributes));
	count = 0;
	add_attribute(map, &count, STR("objectClass"));
	for (size_t i = 0; i < CONFIG_MAP_FIELDS; i++)
		for (size_t k = 0; k < map->fields[i].count; k++)
			if (!map->fields[i].is_constant && !is_class((enum config_map_field)i))
				add_attribute(map, &count, map->fields[i].values[k]);
}

int entry_map_new(const char *const *texts, size_t count, struct entry_map **map_out,
		  struct buffer *why)
{
	struct entry_map *map = memory_alloc_zero(1, sizeof(*map));
	int error = 0;

	for (size_t i = 0; i < CONFIG_MAP_FIELDS; i++)
		if (!parse_map_value(str_from(config_map_fields[i].attributes), &map->fields[i]))
			panic("a default that is no attribute: %s",
			      config_map_fields[i].attributes);
	for (size_t i = 0; i < count && error == 0; i++)
		error = parse_map_setting(map, texts[i], why);
	if (error < 0) {
		entry_map_free(map);
		return error;
	}
	gather_attributes(map);
	*map_out = map;
	return 0;
}

void entry_map_free(struct entry_map *map)
{
	if (map == NULL)
		return;
	for (size_t i = 0; i < CONFIG_MAP_FIELDS; i++)
		words_clear(&map->fields[i]);
	for (char **name = map->attributes; name != NULL && *name != NULL; name++)
		free(*name);
	free(map->attributes);
	free(map);
}

char *const *entry_map_attributes(const struct entry_map *map)
{
	return map->attributes;
}

void entry_map_print(const struct entry_map *map, struct buffer *out)
{
	for (size_t i = 0; i < CONFIG_MAP_FIELDS; i++) {
		buffer_append_format(out, "%s=%s", config_map_fields[i].name,
				     map->fields[i].is_constant ? "'" : "");
		for (size_t k = 0; k < map->fields[i].count; k++) {
			buffer_append_string(out, k > 0 ? " " : "");
			buffer_append_str(out, map->fields[i].values[k]);
		}
		buffer_append_byte(out, '\n');
	}
}

size_t entry_map_names(const struct entry_map *map, enum config_map_field field,
		       const struct str **names_out)
{
	*names_out = map->fields[field].values;
	return map->fields[field].is_constant ? 0 : map->fields[field].count;
}

void entry_map_describe(struct buffer *out)
{
	for (size_t i = 0; i < CONFIG_MAP_FIELDS; i++)
		buffer_append_format(out, "%s=%s\t%s\n", config_map_fields[i].name,
				     config_map_fields[i].attributes, config_map_fields[i].meaning);
}

static bool is_attribute_named(const struct entry_attribute *attribute, struct str name)
{
	struct str rest = attribute->name;
	struct str base;

	(void)str_split(&rest, ';', &base);
	return str_equal_nocase(base, name);
}

/* Gets the values of the attributes WORDS in ENTRY into VALUES, unless that is NULL: their number.
 * */
static size_t gather_values(const struct words *words, const struct entry *entry,
			    struct str *values)
{
	size_t count = 0;

	for (size_t i = 0; i < words->count; i++) {
		for (size_t k = 0; k < entry->attribute_count; k++) {
			const struct entry_attribute *found = &entry->attributes[k];

			if (found->value_count == 0 || !is_attribute_named(found, words->values[i]))
				continue;
			if (values != NULL)
				memcpy(values + count, found->values,
				       found->value_count * sizeof(*values));
			count += found->value_count;
		}
	}
	return count;
}

size_t entry_map_values(const struct entry_map *map, const struct entry *entry,
			enum config_map_field field, struct arena *arena,
			const struct str **values_out)
{
	const struct words *words = &map->fields[field];
	struct str *values;

	*values_out = words->values;
	if (words->is_constant)
		return words->count;
	values = arena_alloc(arena, (gather_values(words, entry, NULL) + 1) * sizeof(*values));
	*values_out = values;
	return gather_values(words, entry, values);
}

bool entry_map_has_class(const struct entry_map *map, const struct entry *entry,
			 enum config_map_field field)
{
	const struct words *words = &map->fields[field];

	for (size_t i = 0; i < entry->attribute_count; i++) {
		const struct entry_attribute *classes = &entry->attributes[i];

		if (!is_attribute_named(classes, STR("objectClass")))
			continue;
		for (size_t k = 0; k < classes->value_count; k++)
			for (size_t n = 0; n < words->count; n++)
				if (str_equal_nocase(classes->values[k], words->values[n]))
					return true;
	}
	return false;
}

bool entry_map_uses(const struct entry_map *map, enum config_map_field field, const char *name)
{
	const struct words *words = &map->fields[field];

	for (size_t i = 0; i < words->count; i++)
		if (!words->is_constant && str_equal_nocase(words->values[i], str_from(name)))
			return true;
	return false;
}
