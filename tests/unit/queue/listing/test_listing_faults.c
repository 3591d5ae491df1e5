// SPDX-License-Identifier: ISC
/* Lists of a queue, of whose calls each fails once: they say that it failed, or show all the same.
 */
#include "queue/listing/listing.h"
#include "queue/trigger.h"
#include "test.h"
#include "unit/queue/failing_calls.h"
#include "unit/queue/queue_scene.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAP   "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n"
#define WAITS "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z 4.4.1 no\n"

static struct queue_store *store;
static struct queue_intake *intake;
static uint64_t waiting;

static int open_queue(void **state)
{
	if (queue_scene_set_up(state) < 0)
		return -1;
	store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	intake = queue_scene_intake(store);
	assert_int_equal(queue_store_add_service(store, "mailbox"), 0);
	(void)queue_scene_enqueue(intake, NULL, "data\r\n");
	waiting = queue_scene_enqueue(intake, NULL, "data\r\n");
	queue_scene_preprocess(store, intake, waiting, MAP WAITS, "a failure\n");
	return queue_trigger_set(store, STR("host.example.net"), 1, STR("no"));
}

static int close_queue(void **state)
{
	queue_intake_close(intake);
	queue_store_close(store);
	return queue_scene_tear_down(state);
}

/* --- lists: what they have shown is appended to OUT --- */

static int show_count(void *context, const struct listing_count *count)
{
	buffer_append_format(context, "%s: %" PRIu64 " %" PRIu64 "\n", count->name, count->messages,
			     count->bytes);
	return 0;
}

static int list_counts(struct buffer *out)
{
	int64_t oldest_us = 0;
	int result = listing_count(store, show_count, out, &oldest_us);

	buffer_append_format(out, "oldest %" PRId64 "\n", oldest_us);
	return result;
}

static int list_number(struct buffer *out)
{
	uint64_t count = 77;
	int result = listing_count_messages(store, &count);

	assert_true(result == 0 || count == 77);
	buffer_append_format(out, "%" PRIu64 "\n", count);
	return result;
}

static int list_left(struct buffer *out)
{
	struct listing_left left = {.messages = 77};
	int result = listing_count_left(store, &left);

	assert_true(result == 0 || left.messages == 77);
	buffer_append_format(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", left.messages,
			     left.packages, left.peers);
	return result;
}

static int show_entry(void *context, const struct listing_entry *entry)
{
	buffer_append_format(context, "%" PRIu64 " %d %d\n", entry->number, entry->is_preprocessed,
			     entry->control != NULL);
	return 0;
}

static int list_entries(struct buffer *out)
{
	static const struct listing_filter all;

	return listing_each(store, &all, show_entry, out);
}

static int list_sorted(struct buffer *out)
{
	static const struct listing_filter all;

	return listing_each_sorted(store, &all, LISTING_BY_AGE, true, show_entry, out);
}

static void show_group(void *context, const struct listing_group *group)
{
	buffer_append_format(context, STR_FORMAT " %" PRIu64 "\n", STR_ARGUMENTS(group->name),
			     group->deliveries);
}

static int list_groups(struct buffer *out)
{
	return listing_groups(store, LISTING_BY_DESTINATION, show_group, out);
}

static int find_one(struct buffer *out)
{
	struct listing_entry entry = {0};
	char text[24];
	int result;

	snprintf(text, sizeof text, "%" PRIu64, waiting);
	result = listing_find(store, str_from(text), &entry);
	if (result == 0) {
		(void)show_entry(out, &entry);
		queue_control_free(entry.control);
	}
	return result;
}

static const struct list {
	const char *name;
	int (*show)(struct buffer *out);
	bool shows_less; /* what cannot be read is shown as such */
} lists[] = {
	{"counts", list_counts, true},    {"number", list_number, false},
	{"messages", list_entries, true}, {"sorted", list_sorted, true},
	{"groups", list_groups, true},    {"one", find_one, false},
	{"left", list_left, false},
};

static size_t lines_of(const struct buffer *text)
{
	struct str rest = buffer_view(text);
	struct str line;
	size_t count = 0;

	while (rest.length > 0 && str_split(&rest, '\n', &line))
		count++;
	return count;
}

static void a_failure_is_no_absence(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		struct buffer wanted CLEANUP(buffer_clear) = {0};
		unsigned failures = 0;

		assert_int_equal(lists[i].show(&wanted), 0);
		failing_calls_forget();
		for (bool is_over = false; !is_over;) {
			struct buffer out CLEANUP(buffer_clear) = {0};
			int result;

			failing_calls_begin();
			result = lists[i].show(&out);
			is_over = !failing_calls_end();
			if (result != 0 && result != -EIO)
				fail_msg("%s: %d", lists[i].name, result);
			if ((is_over || !lists[i].shows_less) && result == 0 &&
			    !str_equal(buffer_view(&out), buffer_view(&wanted)))
				fail_msg("%s: another text", lists[i].name);
			if (result == 0 && lines_of(&out) != lines_of(&wanted))
				fail_msg("%s: something is missing", lists[i].name);
			failures += result < 0;
		}
		assert_true(failures > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_no_absence),
	};

	return cmocka_run_group_tests(tests, open_queue, close_queue);
}
