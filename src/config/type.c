// SPDX-License-Identifier: ISC
/* The types of settings with a single value. */
#include "config/type.h"
#include <string.h>

static struct config_complaint check_range(const struct config_setting *setting, uint64_t number)
{
	if (number < setting->min)
		return config_type_complain("too small");
	if (number > setting->max)
		return config_type_complain("too large");
	return config_type_fine;
}

struct unit {
	char letter;
	uint64_t factor;
};

static const struct unit no_units[] = {{'\0', 1}};
static const struct unit size_units[] = {
	{'T', UINT64_C(1) << 40}, {'G', 1 << 30}, {'M', 1 << 20}, {'K', 1 << 10}, {'\0', 1}};
static const struct unit time_units[] = {{'w', 7 * 86400}, {'d', 86400}, {'h', 3600},
					 {'m', 60},        {'s', 1},     {'\0', 1}};

static struct config_complaint parse_units(const struct config_setting *setting,
					   const struct unit *unit, struct str text,
					   uint64_t *number_out)
{
	char last = text.length > 0 ? text.data[text.length - 1] : '\0';
	struct config_complaint complaint;
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
	complaint = check_range(setting, number);
	if (complaint.message == NULL)
		*number_out = number;
	return complaint;
}

/* With the largest unit of which NUMBER is a multiple. */
static void print_units(const struct unit *unit, uint64_t number, struct buffer *out)
{
	while (unit->letter != '\0' && (number == 0 || number % unit->factor != 0))
		unit++;
	buffer_append_number(out, number / unit->factor);
	if (unit->letter != '\0')
		buffer_append_byte(out, unit->letter);
}

static struct config_complaint parse_number(const struct config_setting *setting,
					    const struct config *config, struct str text,
					    void *place)
{
	uint64_t number = 0;
	struct config_complaint complaint = parse_units(setting, no_units, text, &number);

	(void)config;
	if (complaint.message == NULL)
		*(uint32_t *)place = (uint32_t)number;
	return complaint;
}

static void print_plain(uint64_t number, struct buffer *out)
{
	print_units(no_units, number, out);
}

static void print_number(const struct config_setting *setting, const void *place,
			 struct buffer *out)
{
	(void)setting;
	print_plain(*(const uint32_t *)place, out);
}

const struct config_type config_type_number = {.name = "number",
					       .allowed = "a number",
					       .size = sizeof(uint32_t),
					       .is_bare = true,
					       .parse = parse_number,
					       .print = print_number,
					       .print_number = print_plain};

static struct config_complaint parse_size(const struct config_setting *setting,
					  const struct config *config, struct str text, void *place)
{
	(void)config;
	return parse_units(setting, size_units, text, place);
}

static void print_bytes(uint64_t number, struct buffer *out)
{
	print_units(size_units, number, out);
}

static void print_size(const struct config_setting *setting, const void *place, struct buffer *out)
{
	(void)setting;
	print_bytes(*(const uint64_t *)place, out);
}

const struct config_type config_type_size = {.name = "size",
					     .allowed = "a number of bytes, or of K, M, G or T,",
					     .size = sizeof(uint64_t),
					     .is_bare = true,
					     .parse = parse_size,
					     .print = print_size,
					     .print_number = print_bytes};

static struct config_complaint parse_seconds(const struct config_setting *setting,
					     const struct config *config, struct str text,
					     void *place)
{
	uint64_t number = 0;
	struct config_complaint complaint = parse_units(setting, time_units, text, &number);

	(void)config;
	if (complaint.message == NULL)
		*(uint32_t *)place = (uint32_t)number;
	return complaint;
}

static void print_time(uint64_t number, struct buffer *out)
{
	print_units(time_units, number, out);
}

static void print_seconds(const struct config_setting *setting, const void *place,
			  struct buffer *out)
{
	(void)setting;
	print_time(*(const uint32_t *)place, out);
}

#define TIME_ALLOWED "a number of seconds, or of m, h, d or w,"

const struct config_type config_type_seconds = {.name = "time",
						.allowed = TIME_ALLOWED,
						.size = sizeof(uint32_t),
						.is_bare = true,
						.parse = parse_seconds,
						.print = print_seconds,
						.print_number = print_time};

static struct config_complaint parse_duration(const struct config_setting *setting,
					      const struct config *config, struct str text,
					      void *place)
{
	uint64_t number = 0;
	struct config_complaint complaint = parse_units(setting, time_units, text, &number);

	(void)config;
	if (complaint.message == NULL)
		*(int64_t *)place = (int64_t)number * SECOND_US;
	return complaint;
}

static void print_duration(const struct config_setting *setting, const void *place,
			   struct buffer *out)
{
	(void)setting;
	print_time((uint64_t)(*(const int64_t *)place / SECOND_US), out);
}

const struct config_type config_type_duration = {.name = "time",
						 .allowed = TIME_ALLOWED,
						 .size = sizeof(int64_t),
						 .is_bare = true,
						 .parse = parse_duration,
						 .print = print_duration,
						 .print_number = print_time};

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

static struct config_complaint parse_word(const struct config_setting *setting,
					  const struct config *config, struct str text, void *place)
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
					     .parse = parse_word,
					     .print = print_word};
