// SPDX-License-Identifier: ISC
#include "policy/sts/policy.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "mail/host.h"
#include "policy/sts/field.h"
#include <stdlib.h>

static const int64_t REFRESH_LEAST_US = MINUTE_US;

enum { AGE_DIGITS_MAX = 10 };

struct parser {
	struct sts_policy policy;
	struct buffer patterns;
	unsigned pattern_count;
	bool has_version;
	bool has_mode;
	bool has_max_age;
};

static const char *take_version(struct parser *parser, struct str value)
{
	if (!parser->has_version && !str_equal(value, STR("STSv1")))
		return "another version than STSv1";
	parser->has_version = true;
	return NULL;
}

static const char *take_policy_mode(struct parser *parser, struct str value)
{
	enum sts_mode mode = STS_MODE_NONE;

	if (parser->has_mode)
		return NULL;
	while (mode <= STS_MODE_ENFORCE && !str_equal(value, str_from(sts_mode_name(mode))))
		mode++;
	if (mode > STS_MODE_ENFORCE)
		return "an unknown mode";
	parser->policy.mode = mode;
	parser->has_mode = true;
	return NULL;
}

static const char *take_max_age(struct parser *parser, struct str value)
{
	uint64_t seconds;

	if (parser->has_max_age)
		return NULL;
	if (value.length > AGE_DIGITS_MAX || !str_to_u64(value, &seconds))
		return "max_age is not a number of seconds";
	if (seconds > STS_MAX_AGE_MAX)
		seconds = STS_MAX_AGE_MAX;
	parser->policy.max_age_us = (int64_t)seconds * SECOND_US;
	parser->has_max_age = true;
	return NULL;
}

static const char *take_mx(struct parser *parser, struct str value)
{
	const struct str wildcard = STR("*.");
	struct str name = value;
	size_t begin;

	if (str_starts_with(name, wildcard))
		name = str_skip(name, wildcard.length);
	if (!mail_host_is_name(name) || value.length > MAIL_HOST_MAX)
		return "an mx that is neither a host name nor \"*.\" and one";
	if (parser->pattern_count++ == STS_PATTERNS_MAX)
		return "too many mx";
	if (parser->patterns.length > 0)
		buffer_append_byte(&parser->patterns, ' ');
	begin = parser->patterns.length;
	buffer_append_str(&parser->patterns, value);
	str_lower(buffer_data(&parser->patterns) + begin, value.length);
	return NULL;
}

/* sts-policy-ext-value: visible characters, also UTF-8, and spaces amid them */
static const char *take_policy_extension(struct str value)
{
	for (size_t i = 0; i < value.length; i++)
		if ((unsigned char)value.data[i] < ' ' || value.data[i] == 0x7f)
			return "a control character";
	return value.length > 0 ? NULL : "a field without a value";
}

static const char *take_policy_line(struct parser *parser, struct str line)
{
	static const struct {
		const char *name;
		const char *(*take)(struct parser *parser, struct str value);
	} fields[] = {{"version", take_version},
		      {"mode", take_policy_mode},
		      {"max_age", take_max_age},
		      {"mx", take_mx}};
	struct str name;

	(void)str_split(&line, ':', &name);
	if (line.data == NULL)
		return "a line without \":\"";
	line = str_trim(line);
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		if (str_equal(name, str_from(fields[i].name)))
			return fields[i].take(parser, line);
	return sts_field_is_name(name) ? take_policy_extension(line)
				       : "a malformed name of a field";
}

static const char *take_policy_lines(struct parser *parser, struct str text)
{
	const char *problem = NULL;

	while (problem == NULL && text.length > 0) {
		struct str line;

		(void)str_split(&text, '\n', &line);
		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		if (str_trim(line).length > 0)
			problem = take_policy_line(parser, line);
	}
	return problem;
}

static const char *find_missing(const struct parser *parser)
{
	if (!parser->has_version)
		return "no version";
	if (!parser->has_mode)
		return "no mode";
	if (!parser->has_max_age)
		return "no max_age";
	if (parser->pattern_count == 0 && parser->policy.mode != STS_MODE_NONE)
		return "no mx";
	return NULL;
}

const char *sts_policy_parse(struct str text, struct sts_policy *policy_out)
{
	struct parser parser = {0};
	const char *problem = "too long";

	if (text.length <= STS_POLICY_MAX)
		problem = take_policy_lines(&parser, text);
	if (problem == NULL)
		problem = find_missing(&parser);
	if (problem == NULL) {
		buffer_append_byte(&parser.patterns, '\0');
		parser.policy.patterns = memory_copy_string(buffer_data(&parser.patterns));
		*policy_out = parser.policy;
	}
	buffer_clear(&parser.patterns);
	return problem;
}

void sts_policy_clear(struct sts_policy *policy)
{
	free(policy->patterns);
	policy->patterns = NULL;
}

static bool is_host_of_pattern(struct str pattern, struct str host)
{
	ptrdiff_t dot;

	if (!str_starts_with(pattern, STR("*.")))
		return str_equal_nocase(pattern, host);
	dot = str_find(host, '.');
	return dot > 0 && str_equal_nocase(str_skip(pattern, 1), str_skip(host, (size_t)dot));
}

bool sts_patterns_allow(struct str patterns, struct str host)
{
	while (patterns.length > 0) {
		struct str pattern;

		(void)str_split(&patterns, ' ', &pattern);
		if (is_host_of_pattern(pattern, host))
			return true;
	}
	return false;
}

const char *sts_mode_name(enum sts_mode mode)
{
	static const char *const names[] = {"none", "testing", "enforce"};

	return names[mode];
}

int64_t sts_policy_refresh_us(int64_t max_age_us, bool is_used)
{
	int64_t pause_us = max_age_us / 2;

	if (is_used && pause_us > DAY_US)
		pause_us = DAY_US;
	return pause_us > REFRESH_LEAST_US ? pause_us : REFRESH_LEAST_US;
}
