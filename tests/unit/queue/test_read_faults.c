// SPDX-License-Identifier: ISC
/* Readers of a queue, of whose calls each fails once: they say that it failed, and neither that
 * there is no message, nor anything else of it than is there. */
#include "failing_calls.h"
#include "os/file/file.h"
#include "queue/damage.h"
#include "queue/trigger.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAP   "map: 1 remote <b@example.net>\nmapped: directory=1 count=1\n"
#define WAITS "wait: 1 2026-11-20T08:33:14Z until=2026-11-20T08:40:01Z 4.4.1 no\n"

static struct queue_store *store;
static struct queue_intake *intake;
static uint64_t queued, waiting;
static const enum mail_stage arrive = MAIL_STAGE_ARRIVE;

/* --- readers: what they have read is appended to OUT --- */

static int load_message(const enum mail_stage *stage, uint64_t number, struct buffer *out)
{
	struct queue_control *control = NULL;
	unsigned line = 77;
	int result = queue_update_load(store, stage, number, &control, &line);

	if (result < 0) {
		assert_null(control);
		return result;
	}
	buffer_append_format(out, "%" PRIu64 " %" PRIu64 " %zu %d %zu",
			     control->envelope->id.number, control->envelope->size,
			     control->envelope->recipient_count, control->is_mapped,
			     control->delivery_count);
	queue_control_free(control);
	return result;
}

static int load_queued(struct buffer *out)
{
	return load_message(&arrive, queued, out);
}

static int load_waiting(struct buffer *out)
{
	return load_message(NULL, waiting, out);
}

static int load_moved(struct buffer *out)
{
	return load_message(&arrive, waiting, out); /* it is not there any more */
}

static int read_queued(struct buffer *out)
{
	return queue_update_read(store, &arrive, queued, out);
}

static int read_waiting(struct buffer *out)
{
	return queue_update_read(store, NULL, waiting, out);
}

static int read_bounce(struct buffer *out)
{
	return queue_update_read_bounce(store, waiting, out);
}

static int read_data(struct buffer *out)
{
	return queue_update_read_data(store, &arrive, queued, 6, out);
}

static int read_waiting_data(struct buffer *out)
{
	return queue_update_read_data(store, NULL, waiting, 6, out);
}

static int read_too_much(struct buffer *out)
{
	return queue_update_read_data(store, NULL, waiting, 60000, out);
}

static int read_beginning(struct buffer *out)
{
	return queue_update_read_beginning(store, NULL, waiting, 3, out);
}

static int open_data(struct buffer *out)
{
	int file = queue_update_open_data(store, NULL, waiting);
	uint32_t checksum = 0;
	int result;

	if (file < 0)
		return file;
	result = queue_update_checksum_data(file, 6, &checksum);
	os_file_close(file);
	if (result == 0)
		buffer_append_format(out, "%u", checksum);
	return result;
}

static int look(struct buffer *out)
{
	(void)out;
	return queue_store_look(store, NULL, waiting, NULL);
}

static int see_whether_it_is_still(struct buffer *out)
{
	(void)out;
	return queue_update_is_still(store, &arrive, (struct mail_id){queued, SECOND_US});
}

static int read_reason(struct buffer *out)
{
	return queue_trigger_read_reason(store, STR("the.moon"), out);
}

static int read_until(struct buffer *out)
{
	return queue_trigger_read_until(store, STR("hold.1-1"), out);
}

static int see_trigger(struct buffer *out)
{
	(void)out;
	return queue_trigger_is_set(store, STR("the.moon"));
}

static int add_number(void *context, uint64_t number)
{
	buffer_append_format(context, "%" PRIu64 " ", number);
	return 0;
}

static int list_waiting(struct buffer *out)
{
	struct buffer numbers CLEANUP(buffer_clear) = {0};
	int result = queue_store_each(store, QUEUE_INFO, NULL, add_number, NULL, &numbers);

	if (result == 0)
		buffer_append_str(out, buffer_view(&numbers));
	return result;
}

static int add_name(void *context, struct str name)
{
	buffer_append_str(context, name);
	return 0;
}

static int list_triggers(struct buffer *out)
{
	struct buffer names CLEANUP(buffer_clear) = {0};
	int result = queue_trigger_each(store, add_name, &names);

	if (result == 0)
		buffer_append_format(out, "%zu", names.length); /* in any order */
	return result;
}

static void on_difference(void *context, const char *path,
			  const struct queue_difference *difference)
{
	(void)context;
	(void)difference;
	fail_msg("%s is damaged", path);
}

static int look_for_damage(const enum mail_stage *stage, uint64_t number)
{
	struct queue_damage damage = {.store = store, .with_data = true, .each = on_difference};

	return queue_damage_look(&damage, stage, number);
}

static int look_for_damage_queued(struct buffer *out)
{
	(void)out;
	return look_for_damage(&arrive, queued);
}

static int look_for_damage_waiting(struct buffer *out)
{
	(void)out;
	return look_for_damage(NULL, waiting);
}

static const struct reader {
	const char *name;
	int (*read)(struct buffer *out);
	int result; /* when nothing fails */
} readers[] = {
	{"load at S4", load_queued, 0},
	{"load at S5", load_waiting, 0},
	{"load moved", load_moved, -ENOENT},
	{"read at S4", read_queued, 0},
	{"read at S5", read_waiting, 0},
	{"bounce", read_bounce, 0},
	{"data", read_data, 0},
	{"data at S5", read_waiting_data, 0},
	{"too much", read_too_much, -EBADMSG},
	{"beginning", read_beginning, 0},
	{"open", open_data, 0},
	{"look", look, 0},
	{"still", see_whether_it_is_still, 1},
	{"reason", read_reason, 0},
	{"until", read_until, 0},
	{"trigger", see_trigger, 1},
	{"messages", list_waiting, 0},
	{"triggers", list_triggers, 0},
	{"damage at S4", look_for_damage_queued, 0},
	{"damage at S5", look_for_damage_waiting, 0},
};

/* Fails each of its calls in turn; how many there are. */
static unsigned fail_each_call_of(const struct reader *reader)
{
	struct buffer wanted CLEANUP(buffer_clear) = {0};
	unsigned call = 0;
	bool is_over = false;

	assert_int_equal(reader->read(&wanted), reader->result);
	while (!is_over) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		int result;

		failing_left = ++call;
		result = reader->read(&out);
		is_over = failing_left > 0;
		failing_left = 0;
		if (result != reader->result && result != -EIO)
			fail_msg("%s: call %u: %d", reader->name, call, result);
		if (result == reader->result && !str_equal(buffer_view(&out), buffer_view(&wanted)))
			fail_msg("%s: call %u: another text", reader->name, call);
	}
	return call - 1;
}

static void a_failure_is_no_absence(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(readers); i++)
		if (fail_each_call_of(&readers[i]) == 0)
			fail_msg("%s makes no call", readers[i].name);
}

static int open_queue(void **state)
{
	if (queue_scene_set_up(state) < 0)
		return -1;
	store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	intake = queue_scene_intake(store);
	queued = queue_scene_enqueue(intake, NULL, "data\r\n");
	waiting = queue_scene_enqueue(intake, NULL, "data\r\n");
	queue_scene_preprocess(store, intake, waiting, MAP WAITS, "a failure\n");
	assert_int_equal(queue_trigger_set(store, STR("the.moon"), 1, STR("full")), 0);
	return queue_trigger_set_until(store, STR("hold.1-1"), 1, STR("held"), STR("the.moon"));
}

static int close_queue(void **state)
{
	queue_intake_close(intake);
	queue_store_close(store);
	return queue_scene_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_no_absence),
	};

	return cmocka_run_group_tests(tests, open_queue, close_queue);
}
