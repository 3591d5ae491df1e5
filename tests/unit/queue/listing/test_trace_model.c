// SPDX-License-Identifier: ISC
/* Stories against a model: messages that cause others, in logs of any order and form; as many
 * lines, messages and fields as there may be, and one more. */
#include "base/buffer.h"
#include "chance.h"
#include "test.h"
#include "trace/story.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 30, MESSAGES = 12, TURNS = 1500, NUMBERS = 4, SESSIONS = 3 };

struct entry {
	unsigned id, made; /* MESSAGES: none */
	unsigned session;  /* SESSIONS: none */
	unsigned second, number;
	char text[300];
};

static struct entry entries[LINES];
static size_t entry_count;

/* Of NUMBERS numbers, with several births each: "7-a3". */
static void name_message(unsigned message, char out[20])
{
	out[0] = '\0';
	if (message < MESSAGES)
		snprintf(out, 20, "%u-a%u", message % NUMBERS + 7, message);
}

static void name_session(unsigned session, char out[20])
{
	out[0] = '\0';
	if (session < SESSIONS)
		snprintf(out, 20, "47%u:63f%u", session, session);
}

static void make_line(struct entry *entry)
{
	static const char *const junk[] = {"kernel: nothing", "", "time= of no use", "{\"time\":"};
	char id[20], made[20], session[20];
	const char *link = chance(2) == 0 ? "bounce" : "message";

	if (chance(8) == 0) {
		entry->id = entry->made = MESSAGES;
		entry->session = SESSIONS;
		snprintf(entry->text, sizeof entry->text, "%s", junk[chance(COUNT_OF(junk))]);
		return;
	}
	name_message(entry->id, id);
	name_message(entry->made, made);
	name_session(entry->session, session);
	snprintf(entry->text, sizeof entry->text,
		 chance(2) == 0 ? "time=2026-11-20T08:00:%02u.000000Z process=send[1] event=e "
				  "id=%s %s=%s session=%s count=%u"
				: "{\"time\":\"2026-11-20T08:00:%02u.000000Z\",\"id\":\"%s\",\"%"
				  "s\":\"%s\",\"session\":\"%s\",\"count\":%u}",
		 entry->second, id, link, made, session, entry->number);
}

static void make_logs(void)
{
	entry_count = chance(LINES + 1);
	for (unsigned i = 0; i < entry_count; i++) {
		entries[i] = (struct entry){.id = (unsigned)chance(MESSAGES + 1),
					    .made = chance(3) == 0 ? (unsigned)chance(MESSAGES)
								   : MESSAGES,
					    .session = (unsigned)chance(SESSIONS + 2),
					    .second = (unsigned)chance(6),
					    .number = i};
		if (entries[i].session > SESSIONS)
			entries[i].session = SESSIONS;
		make_line(&entries[i]);
	}
}

/* --- the model --- */

enum subject { MESSAGE, NUMBER, SESSION, SUBJECTS };

static bool is_subject(enum subject subject, unsigned wanted, unsigned message, unsigned session)
{
	if (subject == SESSION)
		return session == wanted;
	return message < MESSAGES &&
	       (subject == MESSAGE ? message == wanted : message % NUMBERS == wanted);
}

/* How many messages there are: those of the subject, and all that these cause. */
static size_t find_messages(enum subject subject, unsigned wanted, bool is_told[MESSAGES])
{
	size_t count = 0;
	bool is_new = true;

	memset(is_told, 0, MESSAGES * sizeof *is_told);
	while (is_new) {
		is_new = false;
		for (size_t i = 0; i < entry_count; i++) {
			const struct entry *entry = &entries[i];
			bool is_ours = is_subject(subject, wanted, entry->id, entry->session);
			unsigned both[] = {is_ours ? entry->id : MESSAGES, MESSAGES};

			if (is_ours || (entry->id < MESSAGES && is_told[entry->id]))
				both[1] = entry->made;
			for (size_t k = 0; k < 2; k++) {
				if (both[k] == MESSAGES || is_told[both[k]])
					continue;
				is_told[both[k]] = is_new = true;
				count++;
			}
		}
	}
	return count;
}

struct told {
	size_t count;
	unsigned second, number; /* of the last line */
	bool is_told[LINES];
};

static void take_line(void *context, const struct log_line *line)
{
	struct told *told = context;
	struct str count = log_line_get(line, "count");
	uint64_t number;

	assert_true(str_to_u64(count, &number) && number < entry_count);
	assert_false(told->is_told[number]);
	told->is_told[number] = true;
	if (told->count++ > 0) {
		assert_true(entries[number].second >= told->second);
		assert_true(entries[number].second > told->second || number > told->number);
	}
	told->second = entries[number].second;
	told->number = (unsigned)number;
}

static void check_story(enum subject subject, unsigned wanted)
{
	bool is_told[MESSAGES];
	size_t messages = find_messages(subject, wanted, is_told);
	struct told told = {0};
	struct trace_story *story;
	unsigned passes = 0;
	char id[20];

	if (subject == NUMBER)
		snprintf(id, sizeof id, "%u", wanted + 7);
	else if (subject == MESSAGE)
		name_message(wanted, id);
	else
		name_session(wanted, id);
	story = trace_story_new(str_from(id));
	assert_non_null(story);
	do {
		trace_story_begin(story);
		for (size_t i = 0; i < entry_count; i++)
			assert_int_equal(trace_story_offer(story, str_from(entries[i].text)), 0);
		assert_true(passes++ <= MESSAGES);
	} while (!trace_story_is_whole(story));
	assert_int_equal(trace_story_id_count(story), messages);
	trace_story_each(story, take_line, &told);
	for (size_t i = 0; i < entry_count; i++) {
		const struct entry *entry = &entries[i];
		bool is_expected =
			is_subject(subject, wanted, entry->id, entry->session) ||
			(entry->id < MESSAGES && is_told[entry->id]) ||
			(subject != SESSION && is_subject(subject, wanted, entry->made, SESSIONS));

		if (told.is_told[i] != is_expected)
			fail_msg("%s: %s: %d", id, entry->text, told.is_told[i]);
	}
	trace_story_free(story);
}

static void any_logs(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		static const unsigned bounds[SUBJECTS] = {MESSAGES, NUMBERS, SESSIONS};
		enum subject subject = (enum subject)chance(SUBJECTS);

		make_logs();
		check_story(subject, (unsigned)chance(bounds[subject]));
	}
	trace_story_free(NULL);
}

/* --- bounds --- */

static void a_story_has_so_many_lines(void **state)
{
	struct trace_story *story = trace_story_new(STR("7-a"));

	(void)state;
	trace_story_begin(story);
	for (unsigned i = 0; i < TRACE_LINES_MAX; i++)
		assert_int_equal(trace_story_offer(story, STR("time=1 id=7-a")), 0);
	assert_int_equal(trace_story_offer(story, STR("time=1 id=7-a")), -E2BIG);
	assert_int_equal(trace_story_offer(story, STR("time=1 id=8-a")), 0);
	trace_story_begin(story);
	assert_int_equal(trace_story_offer(story, STR("time=1 id=7-a")), 0);
	trace_story_free(story);
}

static void a_story_has_so_many_messages(void **state)
{
	struct trace_story *story = trace_story_new(STR("7-a"));
	char line[60];

	(void)state;
	trace_story_begin(story);
	for (unsigned i = 1; i <= TRACE_IDS_MAX; i++) {
		snprintf(line, sizeof line, "time=1 id=7-a message=8-%x", i);
		assert_int_equal(trace_story_offer(story, str_from(line)),
				 i < TRACE_IDS_MAX ? 0 : -E2BIG);
	}
	assert_int_equal(trace_story_id_count(story), TRACE_IDS_MAX);
	assert_int_equal(trace_story_offer(story, STR("time=1 id=7-a message=8-1")), 0);
	trace_story_free(story);
}

static void a_line_has_so_many_fields(void **state)
{
	(void)state;
	for (unsigned fields = LOG_LINE_FIELDS_MAX - 1; fields <= LOG_LINE_FIELDS_MAX + 1; fields++)
		for (int is_json = 0; is_json < 2; is_json++) {
			struct arena *arena = arena_new();
			struct buffer text = {0};
			struct log_line line;

			buffer_append_string(&text, is_json ? "{\"time\":\"1\"" : "time=1");
			for (unsigned i = 1; i < fields; i++)
				buffer_append_format(
					&text, is_json ? ",\"f%u\":\"v%u\"" : " f%u=v%u", i, i);
			buffer_append_string(&text, is_json ? "}" : "");
			if (log_line_parse(arena, buffer_view(&text), &line)) {
				assert_int_equal(line.count, fields < LOG_LINE_FIELDS_MAX
								     ? fields
								     : LOG_LINE_FIELDS_MAX);
				assert_true(str_equal(log_line_get(&line, "f30"), STR("v30")));
				assert_true(str_equal(log_line_get(&line, "f32"), STR("")));
			} else {
				assert_true(fields > LOG_LINE_FIELDS_MAX);
			}
			buffer_clear(&text);
			arena_free(arena);
		}
}

static void what_has_no_story(void **state)
{
	static const char *const ids[] = {
		"", "x", "7-", "-7", "7:", ":7", "7:x", "x:7", "7 ", "7-g"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		struct trace_story *story = trace_story_new(str_from(ids[i]));

		if (story != NULL)
			fail_msg("%s", ids[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_logs),
		cmocka_unit_test(a_story_has_so_many_lines),
		cmocka_unit_test(a_story_has_so_many_messages),
		cmocka_unit_test(a_line_has_so_many_fields),
		cmocka_unit_test(what_has_no_story),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
