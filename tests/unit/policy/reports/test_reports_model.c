// SPDX-License-Identifier: ISC
/* A ledger's life against a model: what is counted, written, sent, tried again and given up, over
 * days and starts. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "chance.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "os/disk_cache/disk_cache.h"
#include "policy/reports/ledger.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 14, FILES_MAX = 100, NAME = 40, POSTS_MAX = 10, TURNS = 3000, ROWS_MAX = 100 };

/* --- in the place of the disk --- */

struct file {
	char name[NAME];
	struct buffer text;
};

static struct {
	struct file files[FILES_MAX];
	size_t file_count;
	int open_error, each_error;
	unsigned writes;
	struct reports_post *posts[POSTS_MAX + 1];
	size_t post_count;
	struct reports_ledger *ledger;
} world;

static struct disk_cache {
	int unused;
} the_disk_cache;

static struct file *find_file(struct str name)
{
	for (size_t i = 0; i < world.file_count; i++)
		if (str_equal(name, str_from(world.files[i].name)))
			return &world.files[i];
	return NULL;
}

int disk_cache_open(struct os_loop *loop, const char *path, struct disk_cache **disk_cache_out)
{
	(void)loop;
	assert_string_equal(path, "the path");
	if (world.open_error == 0)
		*disk_cache_out = &the_disk_cache;
	return world.open_error;
}

/* What is found may be removed meanwhile. */
int disk_cache_each(struct disk_cache *disk_cache, size_t size_max,
		    void (*each)(void *context, struct str name, struct str text), void *context)
{
	assert_ptr_equal(disk_cache, &the_disk_cache);
	assert_int_equal(size_max, TLSRPT_DAY_FILE_MAX);
	for (size_t i = world.file_count; i-- > 0 && world.each_error == 0;)
		each(context, str_from(world.files[i].name), buffer_view(&world.files[i].text));
	return world.each_error;
}

void disk_cache_put(struct disk_cache *disk_cache, struct str name, struct str text)
{
	struct file *file = find_file(name);

	assert_ptr_equal(disk_cache, &the_disk_cache);
	if (file == NULL) {
		file = &world.files[world.file_count++];
		assert_true(world.file_count <= FILES_MAX && name.length < NAME);
		*file = (struct file){0};
		memcpy(file->name, name.data, name.length);
	}
	buffer_reset(&file->text);
	buffer_append_str(&file->text, text);
	world.writes++;
}

void disk_cache_remove(struct disk_cache *disk_cache, struct str name)
{
	struct file *file = find_file(name);

	assert_ptr_equal(disk_cache, &the_disk_cache);
	if (file == NULL)
		return;
	buffer_clear(&file->text);
	*file = world.files[--world.file_count];
}

void disk_cache_close(struct disk_cache *disk_cache)
{
	assert_true(disk_cache == (world.open_error == 0 ? &the_disk_cache : NULL));
}

static void put_file(const char *name, const char *text)
{
	disk_cache_put(&the_disk_cache, str_from(name), str_from(text));
}

/* --- in the place of what sends --- */

struct reports_post {
	char domain[NAME];
	int64_t begin_us;
	void (*done)(void *context, enum reports_end end);
	void *context;
};

struct reports_post *reports_post_new(const struct reports_ways *ways, const char *domain,
				      int64_t begin_us, const struct tlsrpt_day *day,
				      void (*done)(void *context, enum reports_end end),
				      void *context)
{
	struct reports_post *post = memory_alloc_zero(1, sizeof *post);

	assert_string_equal(ways->hostname, "mx.test");
	assert_true(tlsrpt_day_totals(day).successes + tlsrpt_day_totals(day).failures > 0);
	assert_true(begin_us + DAY_US <= os_clock_wall_us());
	for (size_t i = 0; i < world.post_count; i++)
		assert_true(strcmp(world.posts[i]->domain, domain) != 0 ||
			    world.posts[i]->begin_us != begin_us);
	snprintf(post->domain, sizeof post->domain, "%s", domain);
	post->begin_us = begin_us;
	post->done = done;
	post->context = context;
	world.posts[world.post_count++] = post;
	assert_true(world.post_count <= POSTS_MAX);
	return post;
}

void reports_post_free(struct reports_post *post)
{
	for (size_t i = 0; post != NULL && i < world.post_count; i++)
		if (world.posts[i] == post)
			world.posts[i] = world.posts[--world.post_count];
	free(post);
}

/* --- the model --- */

struct row {
	char name[NAME]; /* of its file */
	uint64_t successes, failures;
};

static struct {
	struct row rows[ROWS_MAX];
	size_t count;
} model;

static struct row *find_row(const char *name)
{
	for (size_t i = 0; i < model.count; i++)
		if (strcmp(model.rows[i].name, name) == 0)
			return &model.rows[i];
	return NULL;
}

static void name_row(char name[NAME], int64_t begin_us, const char *domain)
{
	char text[TIMESTAMP_SIZE];

	timestamp_format_seconds(begin_us, text);
	snprintf(name, NAME, "%.10s.%s", text, domain);
}

static void forget_row(const char *name)
{
	struct row *row = find_row(name);

	assert_non_null(row);
	*row = model.rows[--model.count];
}

static void check_row(void *context, const struct reports_row *row)
{
	char name[NAME];
	const struct row *known;

	++*(size_t *)context;
	snprintf(name, sizeof name, STR_FORMAT "." STR_FORMAT, STR_ARGUMENTS(row->day),
		 STR_ARGUMENTS(row->domain));
	known = find_row(name);
	if (known == NULL)
		fail_msg("nobody counted %s", name);
	assert_int_equal(row->totals.successes, known->successes);
	assert_int_equal(row->totals.failures, known->failures);
}

static void check_rows(void)
{
	size_t count = 0;

	reports_ledger_each(world.ledger, check_row, &count);
	assert_int_equal(count, model.count);
}

/* As they are in memory. */
static void check_files(void)
{
	assert_int_equal(world.file_count, model.count);
	for (size_t i = 0; i < model.count; i++) {
		const struct row *row = &model.rows[i];
		const struct file *file = find_file(str_from(row->name));
		struct tlsrpt_day *day;

		assert_non_null(file);
		day = tlsrpt_day_parse(buffer_view(&file->text));
		assert_non_null(day);
		assert_int_equal(tlsrpt_day_totals(day).successes, row->successes);
		assert_int_equal(tlsrpt_day_totals(day).failures, row->failures);
		tlsrpt_day_free(day);
	}
}

/* A fifth day takes the place of the first one. */
static void make_room_for(const char *name)
{
	const char *days[REPORTS_DAYS_MAX] = {NULL};
	const char *first = name;
	char day[NAME];
	size_t count = 0, at;

	for (size_t i = 0; i < model.count; i++) {
		for (at = 0; at < count && strncmp(days[at], model.rows[i].name, 10) != 0; at++)
			;
		if (strncmp(model.rows[i].name, name, 10) == 0)
			return;
		if (at == count)
			days[count++] = model.rows[i].name;
		if (strncmp(model.rows[i].name, first, 10) < 0)
			first = model.rows[i].name;
	}
	memcpy(day, first, NAME);
	for (size_t i = model.count; count == REPORTS_DAYS_MAX && i-- > 0;)
		if (strncmp(model.rows[i].name, day, 10) == 0)
			forget_row(model.rows[i].name);
}

static void count_in_model(const char *domain, bool is_success)
{
	char name[NAME];
	struct row *row;

	name_row(name, os_clock_wall_us() / DAY_US * DAY_US, domain);
	row = find_row(name);
	if (row == NULL) {
		make_room_for(name);
		row = &model.rows[model.count++];
		assert_true(model.count <= ROWS_MAX);
		*row = (struct row){0};
		memcpy(row->name, name, NAME);
	}
	row->successes += is_success;
	row->failures += !is_success;
}

static void count(const char *domain, bool is_success)
{
	const struct tlsrpt_session session = {.domain = str_from(domain),
					       .result = is_success ? TLSRPT_SUCCESS
								    : TLSRPT_CERTIFICATE_EXPIRED};

	reports_ledger_count(world.ledger, &session, STR(""), STR(""));
}

static void count_some(void)
{
	char domain[NAME];
	bool is_success = chance(2) == 0;

	snprintf(domain, sizeof domain, "d%zu.test", chance(DOMAINS));
	count(domain, is_success);
	count_in_model(domain, is_success);
}

static void end_post(size_t at, enum reports_end end)
{
	struct reports_post post = *world.posts[at];
	char name[NAME];

	name_row(name, post.begin_us, post.domain);
	if (end != REPORTS_LATER || os_clock_wall_us() >= post.begin_us + 3 * DAY_US)
		forget_row(name);
	reports_post_free(world.posts[at]); /* it is gone before that */
	post.done(post.context, end);
}

static void begin_ledger(void)
{
	const struct reports_ways ways = {.hostname = "mx.test"};

	world.ledger = reports_ledger_new(&ways, "the path");
}

static void end_ledger(void)
{
	reports_ledger_free(world.ledger);
	assert_int_equal(world.post_count, 0);
	assert_int_equal(fake_timers(), 0);
}

static size_t count_due(void)
{
	int64_t today_us = os_clock_wall_us() / DAY_US * DAY_US;
	char today[NAME];
	size_t due = 0;

	name_row(today, today_us, "");
	for (size_t i = 0; i < model.count; i++)
		due += strncmp(model.rows[i].name, today, 10) < 0;
	return due;
}

/* Each row that is due has its turn, as far as there are places. */
static void check_posts(void)
{
	size_t due = count_due();

	assert_int_equal(world.post_count, due < POSTS_MAX ? due : POSTS_MAX);
}

static void any_order(void **state)
{
	static const int64_t times_us[] = {MINUTE_US, 20 * MINUTE_US, 5 * HOUR_US, 25 * HOUR_US};

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		switch (chance(8)) {
		case 0:
			fake_advance(times_us[chance(COUNT_OF(times_us))]);
			check_files();
			break;
		case 1:
			end_ledger();
			check_files();
			begin_ledger();
			check_rows();
			fake_advance(MINUTE_US); /* what is due is sent soon */
			check_posts();
			break;
		case 2:
		case 3:
			if (world.post_count > 0)
				end_post(chance(world.post_count), (enum reports_end)chance(3));
			break;
		default:
			count_some();
		}
		check_rows();
		if (count_due() > 2 * DOMAINS) {
			fake_advance(5 * HOUR_US);
			while (world.post_count > 0)
				end_post(0, REPORTS_UNWANTED);
		}
	}
}

/* --- when --- */

/* So that not all sites send at midnight, and it is over in time. */
static void the_first_report_is_spread(void **state)
{
	int64_t first_us = INT64_MAX, last_us = 0, midnight_us;
	size_t sent = 0;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		char domain[NAME];

		snprintf(domain, sizeof domain, "d%u.test", i);
		count(domain, true);
		count_in_model(domain, true);
	}
	midnight_us = (os_clock_wall_us() / DAY_US + 1) * DAY_US;
	fake_advance(midnight_us - os_clock_wall_us() - 1);
	assert_int_equal(world.post_count, 0);
	while (os_clock_wall_us() < midnight_us + 6 * HOUR_US) {
		fake_advance(MINUTE_US);
		for (; world.post_count > 0; sent++) {
			last_us = os_clock_wall_us() - midnight_us;
			first_us = last_us < first_us ? last_us : first_us;
			end_post(0, REPORTS_SENT);
		}
	}
	assert_int_equal(sent, 40);
	assert_in_range(first_us, 0, HOUR_US);
	assert_in_range(last_us, 3 * HOUR_US, 4 * HOUR_US + 2 * MINUTE_US);
	assert_int_equal(world.file_count, 0);
}

/* Once an hour, until three days after the day began. */
static void a_report_is_tried_again(void **state)
{
	int64_t begin_us = os_clock_wall_us() / DAY_US * DAY_US;
	unsigned tries = 0;

	(void)state;
	count("a.test", true);
	count_in_model("a.test", true);
	fake_advance(30 * HOUR_US);
	while (model.count > 0) {
		assert_int_equal(world.post_count, 1);
		end_post(0, REPORTS_LATER);
		tries++;
		assert_int_equal(world.post_count, 0);
		if (model.count == 0)
			break;
		fake_advance(HOUR_US - 2 * MINUTE_US);
		assert_int_equal(world.post_count, 0);
		fake_advance(3 * MINUTE_US);
	}
	assert_in_range(os_clock_wall_us() - begin_us, 72 * HOUR_US, 73 * HOUR_US + 5 * MINUTE_US);
	assert_in_range(tries, 19, 22); /* it began at half past ten in the evening */
	assert_int_equal(world.file_count, 0);
}

/* The clock is set back while a report is on its way: nothing is counted that it would not have. */
static void what_is_being_sent_is_not_counted_on(void **state)
{
	(void)state;
	count("a.test", true);
	count_in_model("a.test", true);
	fake_advance(30 * HOUR_US);
	assert_int_equal(world.post_count, 1);
	fake_set_wall(-30 * HOUR_US);
	count("a.test", true);
	check_rows();
	end_post(0, REPORTS_LATER);
	count("a.test", true);
	count_in_model("a.test", true);
	check_rows();
}

/* What did not change is not written again. */
static void a_minute_is_written_at_once(void **state)
{
	(void)state;
	fake_advance(6 * SECOND_US);
	for (unsigned i = 0; i < 5; i++) {
		count("a.test", true);
		count_in_model("a.test", true);
	}
	fake_advance(58 * SECOND_US);
	assert_int_equal(world.writes, 0);
	fake_advance(2 * SECOND_US);
	assert_int_equal(world.writes, 1);
	fake_advance(10 * MINUTE_US);
	assert_int_equal(world.writes, 1);
	check_files();
}

/* What was applied, and its hosts, are told apart. */
static void a_policy_is_kept_with_its_hosts(void **state)
{
	const struct tlsrpt_session session = {.domain = STR("a.test"), .policy = TLSRPT_STS};
	const struct tlsrpt_head head = {
		.organization = "o", .contact = "c", .id = "i", .domain = "a.test"};
	struct buffer report = {0};
	struct tlsrpt_day *day;

	(void)state;
	reports_ledger_count(world.ledger, &session, STR("version: STSv1\nmode: x"),
			     STR("mx.a.test mx2.a.test"));
	fake_advance(2 * MINUTE_US);
	assert_int_equal(world.file_count, 1);
	day = tlsrpt_day_parse(buffer_view(&world.files[0].text));
	assert_non_null(day);
	tlsrpt_day_report(day, &head, &report);
	buffer_append_byte(&report, '\0');
	assert_non_null(strstr(buffer_data(&report), "\"version: STSv1\",\"mode: x\""));
	assert_non_null(strstr(buffer_data(&report), "\"mx.a.test\",\"mx2.a.test\""));
	tlsrpt_day_free(day);
	buffer_clear(&report);
}

/* --- what is found --- */

static void only_reports_are_loaded(void **state)
{
	static const struct {
		const char *name, *text;
		bool is_loaded, is_kept;
	} rows[] = {
		{"2001-01-01.a.test", "policy: no-policy-found 1\n", true, true},
		{"2001-01-01.b", "policy: no-policy-found 2\n", true, true},
		{"2001-01-01.", "policy: no-policy-found 1\n", false, true},
		{"2001-01-01", "policy: no-policy-found 1\n", false, true},
		{"2001-01-01-a.test", "policy: no-policy-found 1\n", false, true},
		{"2001-13-01.a.test", "policy: no-policy-found 1\n", false, true},
		{"x", "policy: no-policy-found 1\n", false, true},
		{"2001-01-01.c.test", "damaged", false, false},
	};

	(void)state;
	end_ledger();
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		put_file(rows[i].name, rows[i].text);
	begin_ledger();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(find_file(str_from(rows[i].name)) != NULL, rows[i].is_kept);
		if (!rows[i].is_loaded)
			continue;
		memcpy(model.rows[model.count].name, rows[i].name, strlen(rows[i].name) + 1);
		model.rows[model.count].failures = 0;
		model.rows[model.count].successes = strtoull(strrchr(rows[i].text, ' '), NULL, 10);
		model.count++;
	}
	check_rows();
}

/* Then all is in memory alone. */
static void a_directory_that_cannot_be_used(void **state)
{
	(void)state;
	end_ledger();
	world.open_error = -EACCES;
	begin_ledger();
	count("a.test", false);
	count_in_model("a.test", false);
	fake_advance(30 * HOUR_US);
	check_rows();
	assert_int_equal(world.post_count, 1);
	end_post(0, REPORTS_SENT);
	check_rows();
	assert_int_equal(world.writes, 0);
	reports_ledger_free(NULL);
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	world.open_error = world.each_error = 0;
	world.writes = 0;
	model.count = 0;
	begin_ledger();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	end_ledger();
	while (world.file_count > 0)
		buffer_clear(&world.files[--world.file_count].text);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
		CASE(the_first_report_is_spread),
		CASE(a_report_is_tried_again),
		CASE(what_is_being_sent_is_not_counted_on),
		CASE(a_minute_is_written_at_once),
		CASE(a_policy_is_kept_with_its_hosts),
		CASE(only_reports_are_loaded),
		CASE(a_directory_that_cannot_be_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
