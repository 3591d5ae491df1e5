// SPDX-License-Identifier: ISC
#include "base/buffer.h"
#include "log/event.h"
#include "log/line.h"
#include "log/pass.h"
#include "os/loop.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int saved_error = -1;
static char text[2 * 1024 * 1024];

/* Lets DESCRIPTOR be standard error. */
static void redirect(int descriptor)
{
	saved_error = dup(STDERR_FILENO);
	assert_true(saved_error >= 0 && dup2(descriptor, STDERR_FILENO) == STDERR_FILENO);
	log_open("test", LOG_INFO_LEVEL);
}

static void restore(void)
{
	dup2(saved_error, STDERR_FILENO);
	close(saved_error);
}

/* What is in the pipe, without waiting. */
static struct str read_pipe(int descriptor)
{
	ssize_t count;
	size_t length = 0;

	fcntl(descriptor, F_SETFL, O_NONBLOCK);
	while ((count = read(descriptor, text + length, sizeof text - length)) > 0)
		length += (size_t)count;
	return str_slice(text, length);
}

/* The fields after event=NAME of the only line in LINES. */
static struct str fields_of(struct str lines)
{
	const char *event;

	assert_true(lines.length > 0 && lines.data[lines.length - 1] == '\n');
	lines.length--;
	assert_int_equal(str_find(lines, '\n'), -1);
	event = memmem(lines.data, lines.length, "event=", 6);
	assert_non_null(event);
	return str_slice(event, (size_t)(lines.data + lines.length - event));
}

static void values_are_escaped(void **state)
{
	static const struct {
		const char *value;
		const char *line;
	} cases[] = {
		{"plain", "event=delivered text=plain"},
		{"", "event=delivered"},
		{"two words", "event=delivered text=\"two words\""},
		{"a\"b", "event=delivered text=\"a\\\"b\""},
		{"a\\b", "event=delivered text=\"a\\\\b\""},
		{"a=b", "event=delivered text=\"a=b\""},
		{"12", "event=delivered text=\"12\""},
		{"-0", "event=delivered text=\"-0\""},
		{"012", "event=delivered text=012"},
		{"1.2", "event=delivered text=\"1.2\""},
		{"1.", "event=delivered text=1."},
		{"1.2.3", "event=delivered text=1.2.3"},
		{"01.2", "event=delivered text=01.2"},
		{"x\nlevel=error event=lie", "event=delivered text=\"x\\nlevel=error event=lie\""},
		{"\r\t", "event=delivered text=\"\\r\\t\""},
		{"\x1b[31m\x7f", "event=delivered text=\"\\x1b[31m\\x7f\""},
		{"\xc3\xa9", "event=delivered text=\"\\xc3\\xa9\""},
	};
	int ends[2];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str fields;

		assert_int_equal(pipe(ends), 0);
		redirect(ends[1]);
		log_event(EVENT_DELIVERED, log_string(text, cases[i].value));
		log_flush();
		restore();
		fields = fields_of(read_pipe(ends[0]));
		assert_memory_equal(fields.data, cases[i].line, strlen(cases[i].line));
		assert_int_equal(fields.length, strlen(cases[i].line));
		close(ends[0]);
		close(ends[1]);
	}
}

static void a_line_has_its_fields(void **state)
{
	int ends[2];
	int64_t time_us;
	struct str line;
	char expected[200];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	log_event_like(log_write, EVENT_MESSAGE_QUEUED, EVENT_QUEUE_ERROR,
		       log_id((struct mail_id){457, 0x63f1a2b3c4d5e}),
		       log_number(number, -9223372036854775807 - 1), log_positive(client_port, 7),
		       log_error(-ENOSPC), log_str(path, str_slice("a\0b", 3)));
	assert_int_equal(read_pipe(ends[0]).length, 0);
	log_flush();
	restore();
	line = read_pipe(ends[0]);
	assert_true(str_starts_with(line, STR("time=")));
	assert_true(timestamp_parse(str_slice(line.data + 5, TIMESTAMP_SIZE - 1), &time_us));
	snprintf(expected, sizeof expected,
		 " level=info process=test[%d] event=message_queued id=457-63f1a2b3c4d5e "
		 "number=-9223372036854775808 client_port=7 error=\"No space left on device\" "
		 "path=\"a\\x00b\"\n",
		 (int)getpid());
	line = str_skip(line, 5 + TIMESTAMP_SIZE - 1);
	assert_int_equal(line.length, strlen(expected));
	assert_memory_equal(line.data, expected, line.length);
	close(ends[0]);
	close(ends[1]);
}

/* But the sender of a bounce is empty, and a time that has not passed is none. */
static void what_is_empty_is_left_out(void **state)
{
	static const char expected[] = "event=failed from=\"\" delay=0.000 text=x";
	int ends[2];
	struct str fields;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	log_event(EVENT_FAILED, log_id((struct mail_id){0, 7}), log_from(STR("")),
		  log_str(to, STR("")), log_string(server, ""), log_seconds(delay, -1), log_none(),
		  log_string(text, "x"));
	log_event(EVENT_MESSAGE_QUEUED, log_positive(uid, 0));
	log_flush();
	restore();
	fields = read_pipe(ends[0]);
	assert_non_null(memmem(fields.data, fields.length, expected, sizeof expected - 1));
	assert_non_null(memmem(fields.data, fields.length, "event=message_queued\n", 21));
	close(ends[0]);
	close(ends[1]);
}

static void warnings_do_not_wait(void **state)
{
	int ends[2];
	struct str lines;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	log_event(EVENT_RESCAN);
	log_event(EVENT_DELIVERED);
	assert_int_equal(read_pipe(ends[0]).length, 0);
	log_event(EVENT_QUEUE_FULL);
	lines = read_pipe(ends[0]);
	restore();
	assert_null(memmem(lines.data, lines.length, "event=rescan", 12));
	assert_non_null(memmem(lines.data, lines.length, "event=delivered", 15));
	assert_non_null(memmem(lines.data, lines.length, "level=warning", 13));
	close(ends[0]);
	close(ends[1]);
}

static void long_values_are_cut(void **state)
{
	static char value[5000];
	int ends[2];
	struct str line;

	(void)state;
	memset(value, 'x', sizeof value);
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	log_event(EVENT_DELIVERED, log_str(text, str_slice(value, sizeof value)));
	log_flush();
	restore();
	line = read_pipe(ends[0]);
	assert_true(line.length < 1200);
	assert_memory_equal(line.data + line.length - 5, "...\"\n", 5);
	close(ends[0]);
	close(ends[1]);
}

/* A reader that sleeps stops nobody; what it missed is counted. */
static void a_full_pipe_does_not_block(void **state)
{
	static char value[1000];
	size_t written = 5000;
	size_t kept = 0;
	unsigned lost = 0;
	int ends[2];
	struct str lines;
	struct str line;
	const char *loss;

	(void)state;
	memset(value, 'x', sizeof value);
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	for (size_t i = 0; i < written; i++)
		log_event(EVENT_DELIVERED, log_str(text, str_slice(value, sizeof value)));
	for (int i = 0; i < 40; i++) {
		lines = read_pipe(ends[0]);
		while (str_split(&lines, '\n', &line)) {
			kept += memmem(line.data, line.length, "event=delivered", 15) != NULL;
			loss = memmem(line.data, line.length, "event=log_lost lines=", 21);
			if (loss != NULL)
				lost += (unsigned)strtoul(loss + 21, NULL, 10);
		}
		log_flush();
	}
	restore();
	assert_true(lost > 0);
	assert_int_equal(kept + lost, written);
	close(ends[0]);
	close(ends[1]);
}

enum { HELD_LINES = 300, HELD_LENGTH = 1000 }; /* more than a pipe takes */

/* A reader that begins late, and the loop that it ends. */
struct late_reader {
	int pipe;
	unsigned lines;
	struct os_wakeup *done;
};

static void *read_late(void *context)
{
	struct late_reader *reader = context;
	char bytes[4096];
	ssize_t count;

	while (reader->lines < HELD_LINES && (count = read(reader->pipe, bytes, sizeof bytes)) > 0)
		for (ssize_t i = 0; i < count; i++)
			reader->lines += bytes[i] == '\n';
	os_wakeup_send(reader->done);
	return NULL;
}

static void stop_loop(void *context)
{
	os_loop_stop(context);
}

/* Once it is read again, without another event of the process. */
static void what_a_full_pipe_did_not_take_is_written(void **state)
{
	static char value[HELD_LENGTH];
	struct os_loop *loop = os_loop_new();
	struct os_timer *patience = os_timer_new(loop, stop_loop, loop);
	struct late_reader reader = {.done = os_wakeup_new(loop, stop_loop, loop)};
	pthread_t thread;
	int ends[2];

	(void)state;
	memset(value, 'x', sizeof value);
	assert_int_equal(pipe(ends), 0);
	reader.pipe = ends[0];
	redirect(ends[1]);
	os_loop_set_idle(loop, log_flush);
	for (size_t i = 0; i < HELD_LINES; i++)
		log_event(EVENT_DELIVERED, log_str(text, str_slice(value, sizeof value)));
	assert_int_equal(pthread_create(&thread, NULL, read_late, &reader), 0);
	os_timer_start(patience, 20 * 1000000);
	os_loop_run(loop);
	restore();
	close(ends[1]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(reader.lines, HELD_LINES);
	assert_true(os_timer_is_running(patience));
	close(ends[0]);
	os_timer_free(patience);
	os_wakeup_free(reader.done);
	os_loop_free(loop);
}

static void a_broken_pipe_ends_nobody(void **state)
{
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	redirect(ends[1]);
	errno = EXDEV;
	log_event(EVENT_QUEUE_ERROR);
	assert_int_equal(errno, EXDEV);
	restore();
	close(ends[1]);
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	log_event(EVENT_DELIVERED);
	log_flush();
	restore();
	assert_true(read_pipe(ends[0]).length > 0);
	close(ends[0]);
	close(ends[1]);
}

/* What is written as JSON is read back as it was. */
static void json_survives_a_round(void **state)
{
	static const struct str value = STR("a \"b\\ c\n\t\x01 = {},");
	struct arena *arena = arena_new();
	struct log_line line;
	struct str lines;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	log_configure(LOG_FORMAT_JSON, LOG_TARGET_STDERR);
	log_event(EVENT_DELIVERED, log_id((struct mail_id){457, 0x63f}), log_number(size, -5),
		  log_seconds(delay, 61002999), log_str(text, value), log_string(server, ""),
		  log_from(STR("")));
	log_flush();
	log_configure(LOG_FORMAT_LOGFMT, LOG_TARGET_STDERR);
	restore();
	lines = read_pipe(ends[0]);
	assert_int_equal(lines.data[0], '{');
	lines.length--;
	assert_true(log_line_parse(arena, lines, &line));
	assert_int_equal(line.count, 9);
	assert_true(str_equal(log_line_get(&line, "event"), STR("delivered")));
	assert_true(str_equal(log_line_get(&line, "id"), STR("457-63f")));
	assert_non_null(memmem(lines.data, lines.length, ",\"delay\":61.002,", 16));
	assert_non_null(memmem(lines.data, lines.length, ",\"from\":\"\"}", 11));
	assert_true(str_equal(log_line_get(&line, "size"), STR("-5")));
	assert_true(str_equal(log_line_get(&line, "text"), value));
	for (size_t length = 0; length < lines.length; length++)
		assert_false(log_line_parse(arena, str_slice(lines.data, length), &line));
	arena_free(arena);
	close(ends[0]);
	close(ends[1]);
}

static void the_journal_is_told_priorities(void **state)
{
	struct stat status;
	struct str lines;
	char stream[64];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fstat(ends[1], &status), 0);
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)status.st_dev,
		 (unsigned long long)status.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	redirect(ends[1]);
	log_event(EVENT_MESSAGE_QUEUED);
	log_event(EVENT_QUEUE_ERROR);
	log_flush();
	unsetenv("JOURNAL_STREAM");
	restore();
	lines = read_pipe(ends[0]);
	assert_true(str_starts_with(lines, STR("<6>time=")));
	assert_non_null(memmem(lines.data, lines.length, "\n<3>time=", 9));
	log_open("test", LOG_INFO_LEVEL);
	close(ends[0]);
	close(ends[1]);
}

static void levels_have_names(void **state)
{
	enum log_level level = LOG_DEBUG_LEVEL;

	(void)state;
	assert_true(log_level_parse(STR("warning"), &level) && level == LOG_WARNING_LEVEL);
	assert_false(log_level_parse(STR("Warning"), &level));
	assert_string_equal(log_event_name(EVENT_SERVE_READY), "serve_ready");
	for (unsigned i = 0; i < EVENT_COUNT; i++) {
		assert_true(strlen(log_event_name((enum log_name)i)) < 31);
		assert_true(strlen(log_event_meaning((enum log_name)i)) > 10);
	}
}

/* A field is in a row once, and each field in some row. */
static void rows_have_fields(void **state)
{
	bool is_used[LOG_KEY_COUNT] = {false};

	(void)state;
	assert_string_equal(log_key_name(LOG_SENDER_from), "from");
	assert_int_equal(log_event_fields(EVENT_RESCAN, true)[0], LOG_NUMBER_found);
	assert_int_equal(log_event_fields(EVENT_RESCAN, true)[1], LOG_KEY_COUNT);
	for (unsigned i = 0; i < EVENT_COUNT; i++) {
		bool is_in_row[LOG_KEY_COUNT] = {false};

		for (int always = 0; always < 2; always++) {
			const unsigned char *keys = log_event_fields((enum log_name)i, always);

			for (; *keys < LOG_KEY_COUNT; keys++) {
				if (is_in_row[*keys])
					fail_msg("%s has %s twice",
						 log_event_name((enum log_name)i),
						 log_key_name((enum log_key) * keys));
				is_in_row[*keys] = is_used[*keys] = true;
			}
		}
	}
	for (unsigned i = 0; i < LOG_KEY_COUNT; i++)
		if (!is_used[i])
			fail_msg("no event has %s", log_key_name((enum log_key)i));
}

static size_t count_lines(struct str lines, const char *event)
{
	size_t count = 0;
	struct str line;

	while (str_split(&lines, '\n', &line))
		count += memmem(line.data, line.length, event, strlen(event)) != NULL;
	return count;
}

/* What a stranger causes a thousand times is not said a thousand times; what is said otherwise
 * is. */
static void a_flood_of_lines_is_counted(void **state)
{
	int ends[2];
	struct str lines;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	for (unsigned i = 0; i < 1000; i++)
		log_event_rated(EVENT_IPC_REFUSED, log_number(type, i));
	for (unsigned i = 0; i < 100; i++)
		log_event(EVENT_IPC_ERROR, log_number(pid, i));
	log_flush();
	restore();
	lines = read_pipe(ends[0]);
	assert_in_range(count_lines(lines, "event=ipc_refused"), LOG_RATE_BURST,
			LOG_RATE_BURST + 5);
	assert_int_equal(count_lines(lines, "event=ipc_error"), 100);
	assert_int_equal(count_lines(lines, "event=log_withheld"), 0); /* in ten seconds */
	close(ends[0]);
	close(ends[1]);
}

/* Of another process no line is taken that it could not have written about itself. */
static void only_a_process_s_own_lines_are_passed_on(void **state)
{
#define HEAD "time=2026-01-01T00:00:00.000000Z level=info process=smtpd[7] event=delivered"
#define JSON_HEAD                                                                                \
	"{\"time\":\"2026-01-01T00:00:00.000000Z\",\"level\":\"info\",\"process\":\"smtpd[7]\"," \
	"\"event\":\"delivered\""
	static const struct {
		const char *line;
		bool is_own;
	} cases[] = {
		{HEAD, true},
		{HEAD " to=a@b.test text=\"a \\\"b\\\" event=c\" size=7", true},
		{HEAD " text=\"\"", true},
		{JSON_HEAD "}", true},
		{JSON_HEAD ",\"to\":\"a@b.test\",\"text\":\"\\\"event\\\":\",\"n\":-7}", true},
		/* nobody's, or another's */
		{"", false},
		{"panic: no", false},
		{"time=2026-01-01T00:00:00.000000Z level=info process=send[7] event=delivered",
		 false},
		{"time=2026-01-01T00:00:00.000000Z level=info process=smtpd[77] event=x", false},
		{"time=x level=info process=smtpd[7] event=x", false},
		{"time=1 level=grave process=smtpd[7] event=x", false},
		{"time=1 level=info process=smtpd[7] event=", false},
		{"<3>" HEAD, false},
		{"x " HEAD, false},
		/* said twice, by which a reader may be led astray */
		{HEAD " process=send[1]", false},
		{HEAD " a=b event=failed", false},
		{HEAD " a=\"b\"event=failed", false},
		{HEAD " a=\"b", false},
		{HEAD " a", false},
		{HEAD "x", true}, /* another event */
		{HEAD "=x", false},
		{HEAD " a=\x1b[2J", false},
		{HEAD " a=\"b\rc\"", false},
		{JSON_HEAD ",\"process\":\"send[1]\"}", false},
		{JSON_HEAD ",\"\\u0070rocess\":\"send[1]\"}", false},
		{JSON_HEAD ",\"a\":{\"b\":1}}", false},
		{JSON_HEAD ",\"a\":1}{}", false},
		{JSON_HEAD ",\"a\":1", false},
		{JSON_HEAD ",\"a\":}", false},
		{JSON_HEAD ",\"a", false},
		{JSON_HEAD ",\"a\"}", false},
		{JSON_HEAD, false},
	};
	int ends[2];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str line = str_from(cases[i].line);
		struct str written;
		bool is_passed;

		assert_int_equal(pipe(ends), 0);
		redirect(ends[1]);
		is_passed = log_pass(STR("smtpd[7]"), line);
		log_flush();
		restore();
		written = read_pipe(ends[0]);
		if (is_passed != cases[i].is_own || (written.length > 0) != is_passed)
			fail_msg("%s", cases[i].line);
		if (is_passed) {
			assert_int_equal(written.length, line.length + 1);
			assert_memory_equal(written.data, line.data, line.length);
		}
		close(ends[0]);
		close(ends[1]);
	}
	assert_true(log_pass_has_room());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_escaped),
		cmocka_unit_test(a_line_has_its_fields),
		cmocka_unit_test(warnings_do_not_wait),
		cmocka_unit_test(long_values_are_cut),
		cmocka_unit_test(a_full_pipe_does_not_block),
		cmocka_unit_test(what_a_full_pipe_did_not_take_is_written),
		cmocka_unit_test(a_broken_pipe_ends_nobody),
		cmocka_unit_test(json_survives_a_round),
		cmocka_unit_test(the_journal_is_told_priorities),
		cmocka_unit_test(levels_have_names),
		cmocka_unit_test(rows_have_fields),
		cmocka_unit_test(what_is_empty_is_left_out),
		cmocka_unit_test(a_flood_of_lines_is_counted),
		cmocka_unit_test(only_a_process_s_own_lines_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
