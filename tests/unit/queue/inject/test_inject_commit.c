// SPDX-License-Identifier: ISC
/* What a local program's message leaves in a queue on the disk: all of it once it is committed, and
 * nothing of it if not. */
#include "config/text.h"
#include "os/file/file.h"
#include "queue/inject/message.h"
#include "queue/trigger.h"
#include "queue/update.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAXSIZE = 200000 };

static char place[SCRATCH_SIZE];
static const struct os_process_caller caller = {.id = 77, .name = "ann"};
static const char trace[] = "Received: (uid 77)\r\n\tby mx.test with local id ";

static struct config *config_here(void)
{
	struct config_problems problems = {0};
	struct buffer text = {0};
	struct config *config = NULL;

	buffer_append_format(&text,
			     "hostname = mx.test\nrun = %s\nqueue = %s/queue\nmaxsize = %d\n"
			     "queue_reserve = 0\n",
			     place, place, MAXSIZE);
	if (config_parse("t", buffer_view(&text), &config, &problems) != 0) {
		buffer_reset(&text);
		config_problems_print(&problems, "t", &text);
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
	}
	buffer_clear(&text);
	config_problems_clear(&problems);
	return config;
}

static int begin_place(void **state)
{
	(void)state;
	return scratch_make(place);
}

static int end_place(void **state)
{
	(void)state;
	return scratch_remove(place);
}

static struct inject_message *open_message(const struct config *config, bool is_traced)
{
	struct inject_message *message = NULL;
	struct buffer reason = {0};
	int error =
		is_traced ? inject_message_open(config, &caller, NULL, &message, &reason)
			  : inject_message_open_untraced(config, &caller, NULL, &message, &reason);

	assert_int_equal(error, 0);
	buffer_clear(&reason);
	return message;
}

static struct mail_envelope *envelope_to_one(void)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->sender = STR("a@b.test");
	mail_envelope_add(envelope, STR("c@d.test"));
	return envelope;
}

/* How a message ends: with what its envelope and its data allow, or not. */
enum end { COMMITTED, ABANDONED, OF_A_BAD_SENDER, TOO_LARGE, ENDS };

static struct queue_store *open_to_look(const struct config *config)
{
	const struct queue_options options = {.read_only = true};
	struct queue_store *store = NULL;

	assert_int_equal(queue_store_open(config->queue, &options, &store, NULL), 0);
	return store;
}

/* Whether somebody has pulled the queue's trigger since the last time. */
static bool is_pulled(int listening)
{
	char bytes[8];

	return read(listening, bytes, sizeof bytes) > 0;
}

static int listen_at_trigger(const struct config *config)
{
	char path[SCRATCH_SIZE + 32];
	int listening;

	snprintf(path, sizeof path, "%s/lock/trigger", config->queue);
	listening = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(listening >= 0);
	return listening;
}

static const char *text_of_end(enum end end)
{
	static char large[MAXSIZE + 2];

	memset(large, 'd', sizeof large - 1);
	return end == TOO_LARGE ? large : "A: b\r\n\r\ntext\r\n";
}

static void end_message(struct inject_message *message, enum end end,
			struct mail_envelope *envelope)
{
	static const int errors[ENDS] = {[OF_A_BAD_SENDER] = -EINVAL, [TOO_LARGE] = -EFBIG};
	int error = inject_message_write(message, str_from(text_of_end(end)));

	assert_int_equal(error, end == TOO_LARGE ? -EFBIG : 0);
	if (end == ABANDONED) {
		inject_message_abandon(message);
		return;
	}
	if (end == OF_A_BAD_SENDER)
		envelope->sender = STR("a\n@b.test");
	error = inject_message_commit(message, MAIL_STAGE_SUBMIT, envelope);
	assert_int_equal(error, errors[end]);
}

static void assert_is_queued(struct queue_store *store, const struct mail_envelope *expected,
			     bool is_traced)
{
	enum mail_stage stage = MAIL_STAGE_SUBMIT;
	struct str text = str_from(text_of_end(COMMITTED));
	struct buffer data = {0};
	struct queue_control *control = NULL;
	const struct mail_envelope *found;

	assert_int_equal(queue_update_load(store, &stage, expected->id.number, &control, NULL), 0);
	found = control->envelope;
	assert_int_equal(found->id.born_us, expected->id.born_us);
	assert_true(str_equal(found->sender, STR("a@b.test")));
	assert_int_equal(found->recipient_count, 1);
	assert_true(str_equal(found->recipients[0].address, STR("c@d.test")));
	assert_true(str_equal(found->trigger, expected->trigger));
	assert_true(str_equal(found->received, STR("local uid=77 user=ann")));
	assert_int_equal(found->size, expected->size);
	assert_int_equal(
		queue_update_read_data(store, &stage, expected->id.number, found->size, &data), 0);
	assert_int_equal(str_starts_with(buffer_view(&data), str_from(trace)), is_traced);
	assert_true(is_traced ? data.length > text.length : data.length == text.length);
	assert_true(str_equal(str_skip(buffer_view(&data), data.length - text.length), text));
	buffer_clear(&data);
	queue_control_free(control);
}

/* What is committed is there as it was said, and "send" hears of it; of all else nothing is there
 * and nobody hears. A trigger is set before the message is queued. */
static void what_is_committed_is_in_the_queue(void **state)
{
	static const char *const triggers[] = {"", "hold-a", "hold-b", "hold-c", "hold-d"};
	struct config *config = config_here();
	struct inject_message *message;
	struct queue_store *store;
	int listening;

	(void)state;
	message = open_message(config, false); /* makes the queue */
	inject_message_abandon(message);
	listening = listen_at_trigger(config);
	store = open_to_look(config);
	for (unsigned i = 0; i < 4 * ENDS; i++) {
		enum end end = (enum end)(i / 4);
		struct str trigger = str_from(triggers[i % 2 ? end + 1 : 0]);
		bool is_traced = i & 2;
		enum mail_stage stage = MAIL_STAGE_SUBMIT;
		struct mail_envelope *envelope = envelope_to_one();
		struct queue_control *control = NULL;
		uint64_t number;

		envelope->trigger = trigger;
		message = open_message(config, is_traced);
		number = inject_message_id(message).number;
		end_message(message, end, envelope);
		assert_int_equal(is_pulled(listening), end == COMMITTED);
		if (trigger.length > 0)
			assert_int_equal(queue_trigger_is_set(store, trigger),
					 end == COMMITTED || end == OF_A_BAD_SENDER);
		if (end == COMMITTED) {
			assert_int_equal(envelope->id.number, number);
			assert_is_queued(store, envelope, is_traced);
		} else {
			assert_int_equal(queue_update_load(store, &stage, number, &control, NULL),
					 -ENOENT);
		}
		mail_envelope_free(envelope);
	}
	queue_store_close(store);
	os_file_close(listening);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_committed_is_in_the_queue),
	};

	return cmocka_run_group_tests(tests, begin_place, end_place);
}
