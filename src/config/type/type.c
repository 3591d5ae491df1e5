// SPDX-License-Identifier: ISC
/* The types of settings with a single value. */
#include "config/type/type.h"
#include <string.h>

static struct config_complaint check_range(const struct config_setting *setting, uint64_t number)
{
	if (number < setting->min)
		return config_type_complain("too small");
	if (number > setting->max)
		return config_type_complain("too large");
	return config_type_fine;
}

struct config_unit {
	char letter;
	uint64_t factor;
};

static const struct config_unit no_units[] = {{'\0', 1}};
static const struct config_unit size_units[] = {
	{'T', UINT64_C(1) << 40}, {'G', 1 << 30}, {'M', 1 << 20}, {'K', 1 << 10}, {'\0', 1}};
static const struct config_unit time_units[] = {{'w', 7 * 86400}, {'d', 86400}, {'h', 3600},
						{'m', 60},        {'s', 1},     {'\0', 1}};

static struct config_complaint parse_units(const struct config_setting *setting, struct str text,
					   uint64_t *number_out)
{
	const struct config_unit *unit = setting->type->units;
	char last = text.length > 0 ? text.data[text.length - 1] : '\0';
	uint64_t number;

	while (unit->letter != '\0' && unit->letter != last)
		unit++;
	if (unit->letter != '\0')
		text.length--;
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return config_type_complain("not a number");
	if (text.length == 0)
		return config_type_complain("not a number");
	if (!str_to_u64(text, &number) || __builtin_mul_overflow(number, unit->factor, &number))
		return config_type_complain("too large");
	*number_out = number;
	return check_range(setting, number);
}

static struct config_complaint parse_number(const struct config_setting *setting,
					    const struct config *config, struct str text,
					    void *place)
{
	uint64_t number = 0;
	struct config_complaint complaint = parse_units(setting, text, &number);

	(void)config;
	number *= setting->type->scale;
	if (complaint.message == NULL && setting->type->size == sizeof(uint32_t))
		*(uint32_t *)place = (uint32_t)number;
	else if (complaint.message == NULL)
		*(uint64_t *)place = number;
	return complaint;
}

/* With the largest unit of which NUMBER is a multiple. */
void config_type_print_number(const struct config_type *type, uint64_t number, struct buffer *out)
{
	const struct config_unit *unit = type->units;

	while (unit->letter != '\0' && (number == 0 || number % unit->factor != 0))
		unit++;
	buffer_append_number(out, number / unit->factor);
	if (unit->letter != '\0')
		buffer_append_byte(out, unit->letter);
}

static void print_number(const struct config_setting *setting, const void *place,
			 struct buffer *out)
{
	const struct config_type *type = setting->type;
	uint64_t number = type->size == sizeof(uint32_t) ? *(const uint32_t *)place
							 : *(const uint64_t *)place;

	config_type_print_number(type, number / type->scale, out);
}

#define NUMBER(field, list, times)                                                 \
	.size = sizeof(field), .is_bare = true, .units = (list), .scale = (times), \
	.parse = parse_number, .print = print_number
#define TIME "a number of seconds, or of m, h, d or w,"

const struct config_type config_type_number = {
	.name = "number", .allowed = "a number", NUMBER(uint32_t, no_units, 1)};
const struct config_type config_type_size = {.name = "size",
					     .allowed = "a number of bytes, or of K, M, G or T,",
					     NUMBER(uint64_t, size_units, 1)};
const struct config_type config_type_seconds = {
	.name = "time", .allowed = TIME, NUMBER(uint32_t, time_units, 1)};
const struct config_type config_type_duration = {
	.name = "time", .allowed = TIME, NUMBER(int64_t, time_units, SECOND_US)};

static struct config_complaint parse_boolean(const struct config_setting *setting,
					     const struct config *config, struct str text,
					     void *place)
{
	static const char *const words[] = {"no", "yes", "off", "on", "false", "true"};

	(void)setting;
	(void)config;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (str_equal(text, str_from(words[i]))) {
			*(bool *)place = i % 2 == 1;
			return config_type_fine;
		}
	}
	return config_type_complain("neither yes nor no");
}

static void print_boolean(const struct config_setting *setting, const void *place,
			  struct buffer *out)
{
	(void)setting;
	buffer_append_string(out, *(const bool *)place ? "yes" : "no");
}

const struct config_type config_type_boolean = {.name = "yes or no",
						.allowed = "yes, no, on, off, true, false",
						.size = sizeof(bool),
						.is_bare = true,
						.parse = parse_boolean,
						.print = print_boolean};

static struct config_complaint parse_word_setting(const struct config_setting *setting,
						  const struct config *config, struct str text,
						  void *place)
{
	(void)config;
	for (const struct config_word *word = setting->words; word->name != NULL; word++) {
		if (str_equal(text, str_from(word->name))) {
			memcpy(place, &word->value, sizeof word->value);
			return config_type_fine;
		}
	}
	return config_type_complain("unknown word");
}

static void print_word(const struct config_setting *setting, const void *place, struct buffer *out)
{
	unsigned value;

	memcpy(&value, place, sizeof value);
	for (const struct config_word *word = setting->words; word->name != NULL; word++)
		if (word->value == value)
			buffer_append_string(out, word->name);
}

const struct config_type config_type_word = {.name = "word",
					     .size = sizeof(unsigned),
					     .is_bare = true,
					     .parse = parse_word_setting,
					     .print = print_word};
