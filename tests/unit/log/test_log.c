// SPDX-License-Identifier: ISC
/* Lines of the log: any fields come back as they were, whatever they hold; no line is lost
 * uncounted, however slowly they are read; and what processes write for others to pass on. The
 * stream and the clocks are played. */
#include "base/buffer.h"
#include "base/timestamp.h"
#include "chance.h"
#include "log/internal.h"
#include "log/pass.h"
#include "test.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 3000, FIELDS = 6, VALUE = 1000, PENDING = 1024 * 1024, GATHERED = 32 * 1024 };

static struct {
	struct buffer read; /* by whoever reads standard error */
	bool is_blocked, is_broken, is_journal;
	size_t most; /* bytes at once; 0: any */
	unsigned writes;
	int64_t now_us;
} world;

ssize_t __wrap_os_error_stream_write(struct str lines, int wait_ms);
ssize_t __wrap_os_error_stream_write(struct str lines, int wait_ms)
{
	(void)wait_ms;
	assert_true(lines.length > 0 && lines.data[lines.length - 1] == '\n');
	world.writes++;
	if (world.is_blocked || world.is_broken)
		return world.is_broken ? -EPIPE : -EAGAIN;
	if (chance(10) == 0)
		return -EINTR;
	if (world.most > 0 && lines.length > world.most)
		lines.length = (size_t)str_find(str_skip(lines, world.most - 1), '\n') + world.most;
	buffer_append_str(&world.read, lines);
	return (ssize_t)lines.length;
}

bool __wrap_os_error_stream_is_journal(void);
bool __wrap_os_error_stream_is_journal(void)
{
	return world.is_journal;
}

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return world.now_us;
}

int64_t __wrap_os_clock_wall_us(void);
int64_t __wrap_os_clock_wall_us(void)
{
	return 1700000000 * SECOND_US + world.now_us;
}

static struct str next_line(struct str *rest)
{
	struct str line = STR("");

	assert_true(str_split(rest, '\n', &line));
	return line;
}

static enum log_name event_of(const char *level, bool is_any)
{
	unsigned first = is_any ? (unsigned)chance(EVENT_COUNT) : 0;

	for (unsigned i = 0; i < EVENT_COUNT; i++)
		if (strcmp(log_event_level((enum log_name)((first + i) % EVENT_COUNT)), level) == 0)
			return (enum log_name)((first + i) % EVENT_COUNT);
	fail_msg("no event of level %s", level);
	return EVENT_COUNT;
}

/* --- any fields --- */

static char texts[FIELDS][VALUE + 3];

static struct str make_text(size_t which)
{
	static const char *const some[] = {"",
					   "a",
					   "0",
					   "007",
					   "12",
					   "-5",
					   "1.5",
					   "1.",
					   ".5",
					   "-",
					   "12x",
					   "18446744073709551615",
					   "18446744073709551616",
					   "a b",
					   "a=b",
					   "\"",
					   "\\",
					   "\\\"",
					   "\n\r\t",
					   "\x01\x1f\x7f",
					   "\xc3\xa4\xff",
					   "x\xe2\x80\xae"};
	size_t length;

	if (chance(3) > 0)
		return str_from(some[chance(COUNT_OF(some))]);
	length = chance(10) > 0 ? chance(30) : VALUE - 1 + chance(3);
	for (size_t i = 0; i < length; i++)
		texts[which][i] = (char)(chance(3) > 0 ? 32 + chance(95) : chance(256));
	return str_slice(texts[which], length);
}

/* Of each kind; no key twice. */
static void make_fields(struct log_field *fields, size_t *count_out)
{
	size_t count = chance(FIELDS);
	unsigned first = (unsigned)chance(LOG_KEY_COUNT);

	for (size_t i = 0; i < count; i++) {
		enum log_key key = (enum log_key)((first + i * 7) % LOG_KEY_COUNT);

		fields[i].key = key;
		fields[i].kind = log_key_kind(key);
		switch (fields[i].kind) {
		case LOG_NUMBER:
		case LOG_SECONDS: {
			static const int64_t numbers[] = {
				0, 1, -1, 9, 10, 999, 1000, 1499, 59999999, INT64_MAX, INT64_MIN};

			fields[i].number = numbers[chance(COUNT_OF(numbers))];
			break;
		}
		case LOG_ID:
			fields[i] =
				log_field_id(key, (struct mail_id){chance(3), 1700000000000000});
			break;
		case LOG_TEXT:
			fields[i] = log_field_text(key, make_text(i));
			break;
		default:
			fields[i].text = make_text(i);
		}
	}
	fields[count] = (struct log_field){LOG_END};
	*count_out = count;
}

/* What a value reads as. In JSON what is no UTF-8 is replaced, and nothing is cut. */
static void append_expected(const struct log_field *field, bool is_json, struct buffer *out)
{
	uint64_t ms = field->number > 0 ? (uint64_t)field->number / 1000 : 0;

	switch (field->kind) {
	case LOG_NUMBER:
		buffer_append_format(out, "%" PRId64, field->number);
		break;
	case LOG_SECONDS:
		buffer_append_format(out, "%" PRIu64 ".%03u", ms / 1000, (unsigned)(ms % 1000));
		break;
	case LOG_ID: {
		char text[MAIL_ID_SIZE];

		mail_id_format(field->id, text);
		buffer_append_string(out, text);
		break;
	}
	default:
		buffer_append(out, field->text.data,
			      is_json || field->text.length <= VALUE ? field->text.length : VALUE);
		buffer_append_string(out, is_json || field->text.length <= VALUE ? "" : "...");
	}
}

static bool is_ascii(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.data[i] >= 0x7f || text.data[i] == '\0')
			return false;
	return true;
}

static void check_line(struct str text, enum log_name name, const struct log_field *fields,
		       size_t count, bool is_json)
{
	struct arena *arena = arena_new();
	struct log_line line;
	size_t at = 4;

	for (size_t i = 0; i < text.length; i++)
		assert_true((unsigned char)text.data[i] >= ' ' && text.data[i] != 0x7f);
	assert_true(log_line_parse(arena, text, &line));
	assert_true(str_equal(line.pairs[3].value, str_from(log_event_name(name))));
	assert_true(str_equal(line.pairs[1].value, str_from(log_event_level(name))));
	for (size_t i = 0; i < count; i++) {
		struct buffer expected = {0};

		if (fields[i].kind == LOG_NONE)
			continue;
		append_expected(&fields[i], is_json, &expected);
		assert_true(at < line.count);
		assert_true(str_equal(line.pairs[at].key, str_from(log_key_name(fields[i].key))));
		if (!(is_json && !is_ascii(buffer_view(&expected))) &&
		    !str_equal(line.pairs[at].value, buffer_view(&expected)))
			fail_msg(STR_FORMAT ": " STR_FORMAT, STR_ARGUMENTS(text),
				 STR_ARGUMENTS(buffer_view(&expected)));
		assert_int_equal(line.pairs[at].is_number,
				 fields[i].kind == LOG_NUMBER || fields[i].kind == LOG_SECONDS);
		at++;
		buffer_clear(&expected);
	}
	assert_int_equal(line.count, at);
	arena_free(arena);
}

/* Only one of those could have been written by that process. */
static void check_passing(struct str text, struct str process)
{
	static const char *const added[] = {" event=x", " time=1", "\n", " ", " a=\"b"};
	struct buffer changed = {0};
	const char *end = added[chance(COUNT_OF(added))];

	assert_true(log_pass(process, text));
	assert_false(log_pass(STR("smtpd[1]"), text));
	buffer_append_str(&changed, text);
	buffer_append_string(&changed, end);
	assert_false(log_pass(process, buffer_view(&changed)));
	buffer_reset(&changed);
	buffer_append_str(&changed, text);
	buffer_data(&changed)[chance(text.length)] = (char)chance(32);
	assert_false(log_pass(process, buffer_view(&changed)));
	buffer_clear(&changed);
}

static struct str process_name(void)
{
	static char name[30];

	snprintf(name, sizeof name, "test[%d]", (int)getpid());
	return str_from(name);
}

static void any_fields_come_back(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LINES; i++) {
		struct log_field fields[FIELDS + 1];
		enum log_name name = (enum log_name)chance(EVENT_COUNT);
		bool is_json = chance(2) == 0;
		struct str rest, line;
		size_t count;

		make_fields(fields, &count);
		log_configure(is_json ? LOG_FORMAT_JSON : LOG_FORMAT_LOGFMT, LOG_TARGET_STDERR);
		buffer_reset(&world.read);
		log_write(name, fields);
		while (log_flush())
			;
		rest = buffer_view(&world.read);
		line = next_line(&rest);
		assert_int_equal(rest.length, 0);
		check_line(line, name, fields, count, is_json);
		{
			struct buffer copy = {0};

			buffer_append_str(&copy, line);
			check_passing(buffer_view(&copy), process_name());
			while (log_flush())
				;
			rest = buffer_view(&world.read);
			(void)next_line(&rest);
			assert_true(str_equal(next_line(&rest), buffer_view(&copy)));
			buffer_clear(&copy);
		}
	}
	log_configure(LOG_FORMAT_LOGFMT, LOG_TARGET_STDERR);
}

static void numbers_are_numbers(void **state)
{
	static const struct {
		const char *number;
		bool passes;
	} rows[] = {{"1", true},
		    {"0", true},
		    {"-1", true},
		    {"1.482", true},
		    {"0.000", true},
		    {"", false},
		    {"-", false},
		    {".", false},
		    {"1.", false},
		    {".1", false},
		    {"1.2.3", false},
		    {"--1", false},
		    {"1-2", false},
		    {"01", false},
		    {"1e5", false},
		    {"nan", false},
		    {"18446744073709551615", true}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buffer text = {0};

		buffer_append_format(&text,
				     "{\"time\":\"1\",\"level\":\"info\",\"process\":\"a[1]\","
				     "\"event\":\"e\",\"n\":%s}",
				     rows[i].number);
		if (log_pass(STR("a[1]"), buffer_view(&text)) != rows[i].passes)
			fail_msg("%s", rows[i].number);
		buffer_clear(&text);
	}
	while (log_flush())
		;
}

/* --- levels --- */

static void levels_are_from_the_lowest_on(void **state)
{
	static const char *const levels[] = {"debug", "info", "warning", "error"};

	(void)state;
	for (unsigned lowest = 0; lowest < COUNT_OF(levels); lowest++) {
		enum log_level level;

		assert_true(log_level_parse(str_from(levels[lowest]), &level));
		assert_int_equal(level, lowest);
		log_open("test", level);
		for (unsigned i = 0; i < COUNT_OF(levels); i++) {
			buffer_reset(&world.read);
			log_write(event_of(levels[i], true), &(struct log_field){LOG_END});
			/* what is bad is written at once */
			assert_int_equal(world.read.length > 0, i >= lowest && i >= 2);
			while (log_flush())
				;
			assert_int_equal(world.read.length > 0, i >= lowest);
		}
	}
	assert_false(log_level_parse(STR("loud"), &(enum log_level){LOG_INFO_LEVEL}));
	assert_false(log_level_parse(STR(""), &(enum log_level){LOG_INFO_LEVEL}));
	log_open("test", LOG_DEBUG_LEVEL);
}

static void a_journal_gets_priorities(void **state)
{
	static const char *const levels[] = {"debug", "info", "warning", "error"};
	static const char *const begins[] = {"<7>time=", "<6>time=", "<4>time=", "<3>time="};

	(void)state;
	world.is_journal = true;
	log_configure(LOG_FORMAT_LOGFMT, LOG_TARGET_STDERR);
	for (unsigned i = 0; i < COUNT_OF(levels); i++) {
		buffer_reset(&world.read);
		log_write(event_of(levels[i], false), &(struct log_field){LOG_END});
		while (log_flush())
			;
		assert_true(str_starts_with(buffer_view(&world.read), str_from(begins[i])));
	}
	world.is_journal = false;
	log_configure(LOG_FORMAT_LOGFMT, LOG_TARGET_STDERR);
}

/* --- nothing is lost uncounted --- */

static uint64_t number_in(struct str line, const char *key)
{
	struct arena *arena = arena_new();
	struct log_line parsed;
	uint64_t number = 0;

	assert_true(log_line_parse(arena, line, &parsed));
	if (!str_to_u64(log_line_get(&parsed, key), &number))
		number = 0;
	arena_free(arena);
	return number;
}

/* Lines that were read, and those that are said to be lost. */
static void count_lines(const char *event, uint64_t *read_out, uint64_t *lost_out)
{
	struct str rest = buffer_view(&world.read);
	char lost[40];

	snprintf(lost, sizeof lost, "event=%s ", event);
	*read_out = *lost_out = 0;
	while (rest.length > 0) {
		struct str line = next_line(&rest);

		if (memmem(line.data, line.length, lost, strlen(lost)) != NULL)
			*lost_out += number_in(line, "lines");
		else
			++*read_out;
	}
}

static void what_is_lost_is_counted(void **state)
{
	enum log_name name = event_of("info", false);
	uint64_t written = 0, read, lost;
	bool is_full = false;

	(void)state;
	buffer_reset(&world.read);
	for (unsigned turn = 0; turn < 4; turn++) {
		world.is_blocked = true;
		for (unsigned i = 0; i < 20000; i++, written++)
			log_write(name, &(struct log_field){LOG_END});
		is_full |= !log_pass_has_room();
		world.is_blocked = false;
		world.is_broken = turn == 2;
		world.most = turn == 1 ? 1000 : 0;
		while (log_flush() && turn != 2)
			;
		world.is_broken = false;
		while (log_flush())
			;
		assert_true(log_pass_has_room());
	}
	log_write(name, &(struct log_field){LOG_END});
	while (log_flush())
		;
	count_lines("log_lost", &read, &lost);
	assert_true(is_full && lost > 0);
	assert_int_equal(read + lost, written + 1);
}

/* Few calls of the system for many lines; up to a MiB is kept. */
static void lines_are_gathered(void **state)
{
	enum log_name name = event_of("info", false);
	size_t length, kept;

	(void)state;
	buffer_reset(&world.read);
	log_write(name, &(struct log_field){LOG_END});
	while (log_flush())
		;
	length = world.read.length;
	world.writes = 0;
	for (size_t i = 0; i < GATHERED / length; i++)
		log_write(name, &(struct log_field){LOG_END});
	assert_int_equal(world.writes, 0);
	log_write(name, &(struct log_field){LOG_END});
	assert_true(world.writes > 0);
	while (log_flush())
		;
	world.is_blocked = true;
	buffer_reset(&world.read);
	for (size_t i = 0; i < PENDING / length + 500; i++)
		log_write(name, &(struct log_field){LOG_END});
	world.is_blocked = false;
	while (log_flush())
		;
	kept = world.read.length;
	assert_in_range(kept, PENDING, PENDING + 3 * length);
}

/* --- rates --- */

/* A bucket of fifty, in which there is another one each second. */
static void so_many_at_once(void **state)
{
	enum log_name name = event_of("warning", false);
	int64_t told_us = -1;
	double places = LOG_RATE_BURST;
	uint64_t passed = 0, asked = 0, read, withheld;

	(void)state;
	world.now_us = 1000 * SECOND_US;
	buffer_reset(&world.read);
	for (unsigned turn = 0; turn < 3000; turn++) {
		uint64_t before, told;
		int64_t later_us = chance(4) > 0 ? 0 : (int64_t)chance(40) * SECOND_US / 4;

		world.now_us += later_us;
		places += (double)later_us / SECOND_US;
		places = places > LOG_RATE_BURST ? LOG_RATE_BURST : places;
		count_lines("log_withheld", &before, &told);
		log_write_rated(name, &(struct log_field){LOG_END});
		asked++;
		while (log_flush())
			;
		count_lines("log_withheld", &read, &withheld);
		assert_int_equal(read - before, places >= 1);
		if (withheld > told) {
			assert_true(told_us < 0 || world.now_us - told_us >= 10 * SECOND_US);
			told_us = world.now_us;
		}
		if (places >= 1) {
			places--;
			passed++;
		}
	}
	world.now_us += 20 * SECOND_US;
	while (log_flush())
		;
	count_lines("log_withheld", &read, &withheld);
	assert_int_equal(read, passed);
	assert_true(withheld > 0);
	assert_int_equal(read + withheld, asked);
}

static int set_up(void **state)
{
	(void)state;
	log_open("test", LOG_DEBUG_LEVEL);
	log_configure(LOG_FORMAT_LOGFMT, LOG_TARGET_STDERR);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buffer_clear(&world.read);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_fields_come_back),
		CASE(numbers_are_numbers),
		CASE(levels_are_from_the_lowest_on),
		CASE(a_journal_gets_priorities),
		CASE(what_is_lost_is_counted),
		CASE(lines_are_gathered),
		CASE(so_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
