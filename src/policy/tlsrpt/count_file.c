// SPDX-License-Identifier: ISC
/* A day's results as a file. */
#include "policy/tlsrpt/internal.h"
#include <string.h>
#include <utlist.h>

static void append_lines(struct buffer *out, const char *name, struct str text, char between)
{
	struct str line;

	while (text.length > 0 && str_split(&text, between, &line)) {
		buffer_append_format(out, "%s: ", name);
		buffer_append_str(out, line);
		buffer_append_byte(out, '\n');
	}
}

void tlsrpt_day_format(const struct tlsrpt_day *day, struct buffer *out)
{
	const struct tlsrpt_applied *policy;
	const struct tlsrpt_failure *failure;

	LL_FOREACH(day->policies, policy)
	{
		buffer_append_format(out, "policy: %s ", tlsrpt_policy_names[policy->kind]);
		buffer_append_number(out, policy->successes);
		buffer_append_byte(out, '\n');
		append_lines(out, "string", str_from(policy->text), '\n');
		append_lines(out, "mx", str_from(policy->hosts), ' ');
		LL_FOREACH(policy->failures, failure)
		{
			if (strcmp(failure->greeting, "-") != 0)
				buffer_append_format(out, "greeting: %s\n", failure->greeting);
			buffer_append_string(out, "failure: ");
			buffer_append_number(out, failure->count);
			buffer_append_format(out, " %s %s %s %s %s\n",
					     tlsrpt_result_name(failure->result), failure->host,
					     failure->server_address, failure->own_address,
					     failure->reason);
		}
	}
}

struct reader {
	struct tlsrpt_day *day;
	/* the policy whose lines are being read */
	bool has_policy;
	bool is_added;
	enum tlsrpt_policy kind;
	uint64_t successes;
	struct buffer text;
	struct buffer hosts;
	struct tlsrpt_applied *policy; /* once it is added */
	struct str greeting;           /* for the next failure */
};

static bool add_policy(struct reader *reader)
{
	if (!reader->has_policy || reader->is_added)
		return reader->has_policy;
	reader->policy = tlsrpt_day_find(reader->day, reader->kind, buffer_view(&reader->text),
					 buffer_view(&reader->hosts));
	if (reader->policy == NULL)
		return false;
	reader->policy->successes += reader->successes;
	reader->is_added = true;
	return true;
}

static bool take_counted_policy(struct reader *reader, struct str value)
{
	struct str name;

	if (reader->has_policy && !add_policy(reader))
		return false;
	(void)str_split(&value, ' ', &name);
	reader->kind = TLSRPT_NO_POLICY;
	while (reader->kind < TLSRPT_POLICIES &&
	       !str_equal(name, str_from(tlsrpt_policy_names[reader->kind])))
		reader->kind++;
	reader->has_policy = true;
	reader->is_added = false;
	buffer_reset(&reader->text);
	buffer_reset(&reader->hosts);
	return reader->kind < TLSRPT_POLICIES && str_to_u64(value, &reader->successes);
}

static bool take_more(const struct reader *reader, struct buffer *out, struct str value,
		      char between)
{
	if (out->length > 0)
		buffer_append_byte(out, between);
	buffer_append_str(out, value);
	return reader->has_policy && !reader->is_added;
}

static struct str take_count_word(struct str *rest)
{
	struct str word = {NULL, 0};

	(void)str_split(rest, ' ', &word);
	return word;
}

static bool take_counted_failure(struct reader *reader, struct str value)
{
	struct tlsrpt_session session = {0};
	uint64_t count;

	if (!add_policy(reader) || !str_to_u64(take_count_word(&value), &count) ||
	    !tlsrpt_result_find(take_count_word(&value), &session.result))
		return false;
	session.greeting = reader->greeting;
	session.host = take_count_word(&value);
	session.server_address = take_count_word(&value);
	session.own_address = take_count_word(&value);
	session.reason = value;
	tlsrpt_applied_fail(reader->policy, &session, count);
	reader->greeting = STR("");
	return session.own_address.length > 0;
}

static bool take_count_line(struct reader *reader, struct str line)
{
	struct str name;

	(void)str_split(&line, ':', &name);
	if (line.length == 0 || line.data[0] != ' ')
		return false;
	line = str_skip(line, 1);
	if (str_equal(name, STR("policy")))
		return take_counted_policy(reader, line);
	if (str_equal(name, STR("string")))
		return take_more(reader, &reader->text, line, '\n');
	if (str_equal(name, STR("mx")))
		return take_more(reader, &reader->hosts, line, ' ');
	if (str_equal(name, STR("greeting"))) {
		reader->greeting = line;
		return reader->has_policy && line.length > 0;
	}
	return str_equal(name, STR("failure")) && take_counted_failure(reader, line);
}

struct tlsrpt_day *tlsrpt_day_parse(struct str file)
{
	struct reader reader = {.day = tlsrpt_day_new()};
	bool is_good = file.length > 0 && file.length <= TLSRPT_DAY_FILE_MAX &&
		       file.data[file.length - 1] == '\n';
	struct str line;

	while (is_good && file.length > 0 && str_split(&file, '\n', &line))
		is_good = take_count_line(&reader, line);
	is_good = is_good && add_policy(&reader);
	buffer_clear(&reader.text);
	buffer_clear(&reader.hosts);
	if (is_good)
		return reader.day;
	tlsrpt_day_free(reader.day);
	return NULL;
}
