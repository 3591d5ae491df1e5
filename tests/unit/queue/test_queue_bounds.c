// SPDX-License-Identifier: ISC
/* What is read from a queue, whoever wrote it there, is just as long as allowed, or
 * longer, or other than we would have written it; and a disk that lets nothing go. */
#include "mail/address.h"
#include "os/file/file.h"
#include "queue/control/control.h"
#include "queue/control/trailer.h"
#include "queue/internal.h"
#include "queue/message.h"
#include "queue/trigger.h"
#include "scratch.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD                                                                                     \
	"stagepost 1\nid: 457-660b1182f1e21\nstage: arrive\nborn: 2026-11-20T08:33:11.482913Z\n" \
	"from: <a@example.org>\nsize: 10\n"
#define ENVELOPE HEAD "to: 1 <b@example.net>\nend:\n"

static char base[SCRATCH_SIZE];
static bool reads_are_cut;
static bool unlinks_fail;

/* A file that another process cuts while it is read. */
ssize_t real_read(int file, void *data, size_t length,
		  uint64_t offset) __asm__("__real_os_file_read");
ssize_t wrap_read(int file, void *data, size_t length,
		  uint64_t offset) __asm__("__wrap_os_file_read");

ssize_t wrap_read(int file, void *data, size_t length, uint64_t offset)
{
	ssize_t count = real_read(file, data, length, offset);

	return reads_are_cut && count > 0 ? count - 1 : count;
}

/* A disk that lets nothing go: a full quota may not. */
int real_unlink(int directory, const char *path) __asm__("__real_os_file_unlink");
int wrap_unlink(int directory, const char *path) __asm__("__wrap_os_file_unlink");

int wrap_unlink(int directory, const char *path)
{
	return unlinks_fail ? -EDQUOT : real_unlink(directory, path);
}

static int set_up(void **state)
{
	(void)state;
	reads_are_cut = false;
	return scratch_make(base);
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(base);
}

/* Appends COUNT times BYTE. */
static void pad(struct buffer *text, char byte, size_t count)
{
	memset(buffer_reserve(text, count), byte, count);
	buffer_commit(text, count);
}

static int parse(struct buffer *text, bool *is_mapped_out)
{
	struct queue_control *control;
	int result = queue_control_parse(buffer_view(text), &control, NULL);

	if (result == 0) {
		*is_mapped_out = control->is_mapped;
		queue_control_free(control);
	}
	buffer_clear(text);
	return result;
}

static int parse_text(const char *text)
{
	struct buffer copy = {0};
	bool is_mapped;

	buffer_append_string(&copy, text);
	return parse(&copy, &is_mapped);
}

/* Whether a map with RECORD as its only one counts. */
static bool maps(const char *record)
{
	struct buffer text = {0};
	bool is_mapped = false;

	buffer_append_format(&text, ENVELOPE "%s\nmapped: directory=1 count=1\n", record);
	assert_int_equal(parse(&text, &is_mapped), 0);
	return is_mapped;
}

static int parse_recipient(size_t length)
{
	struct buffer text = {0};
	bool is_mapped;

	buffer_append_string(&text, HEAD "to: 1 <");
	pad(&text, 'x', length);
	buffer_append_string(&text, ">\nend:\n");
	return parse(&text, &is_mapped);
}

static void an_address(void **state)
{
	(void)state;
	assert_int_equal(parse_recipient(MAIL_ADDRESS_MAX), 0);
	assert_int_equal(parse_recipient(MAIL_ADDRESS_MAX + 1), -EBADMSG);
	assert_int_equal(parse_text(HEAD "to: 1 < c@d\nend:\n"), -EBADMSG);
}

static int write_sender(size_t length)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer sender = {0};
	struct buffer text = {0};
	int result;

	pad(&sender, 'x', length);
	envelope->id = (struct mail_id){457, SECOND_US};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->sender = buffer_view(&sender);
	mail_envelope_add(envelope, STR("b@example.net"));
	result = queue_control_write_envelope(&text, envelope);
	buffer_clear(&text);
	buffer_clear(&sender);
	mail_envelope_free(envelope);
	return result;
}

static void an_address_that_is_written(void **state)
{
	(void)state;
	assert_int_equal(write_sender(MAIL_ADDRESS_MAX), 0);
	assert_int_equal(write_sender(MAIL_ADDRESS_MAX + 1), -EINVAL);
}

static void a_number(void **state)
{
	(void)state;
	assert_int_equal(parse_text(HEAD "to: 4294967295 <c@d>\nend:\n"), 0);
	assert_int_equal(parse_text(HEAD "to: 4294967297 <c@d>\nend:\n"), -EBADMSG);
	assert_true(maps("map: 1 remote 1 <c@d>"));
	assert_false(maps("map: 1 remote 0 <c@d>"));
	assert_false(maps("map: 0 remote 1 <c@d>"));
}

static void the_name_of_a_service(void **state)
{
	(void)state;
	assert_true(maps("map: 1 local mail-box_2 <c@d>"));
	assert_false(maps("map: 1 local -mailbox <c@d>"));
	assert_false(maps("map: 1 local a/b <c@d>"));
	assert_false(maps("map: 1 local ../info <c@d>"));
	for (size_t length = 1; length <= QUEUE_SERVICE_MAX + 1; length++)
		assert_int_equal(queue_service_is_valid(
					 str_slice("abcdefghijklmnopqrstuvwxyz0123456", length)),
				 length <= QUEUE_SERVICE_MAX);
	assert_false(queue_service_is_valid(STR("")));
}

static void a_control_file(void **state)
{
	static const char envelope[] = ENVELOPE "x-padding: ";
	struct buffer text = {0};
	bool is_mapped;

	(void)state;
	buffer_append_string(&text, envelope);
	pad(&text, 'x', QUEUE_CONTROL_MAX - text.length);
	assert_int_equal(parse(&text, &is_mapped), 0);
	buffer_append_string(&text, envelope);
	pad(&text, 'x', QUEUE_CONTROL_MAX + 1 - text.length);
	assert_int_equal(parse(&text, &is_mapped), -EBADMSG);
}

/* Empty, whether or not it was there. */
static int open_file(const char *name)
{
	char path[96];
	int file;

	snprintf(path, sizeof path, "%s/%s", base, name);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	return file;
}

/* What is said of a file that has LENGTH bytes, a hole, between the place its trailer
 * names and that line. */
static int read_trailer(uint64_t length)
{
	struct buffer text = {0};
	uint64_t offset;
	int file = open_file("trailer");
	int result;

	assert_int_equal(os_file_write(file, "at: 00000000000000000000\n", 25, length), 0);
	result = queue_trailer_read(file, &text, &offset);
	if (result == 0)
		assert_int_equal(text.length, length);
	os_file_close(file);
	buffer_clear(&text);
	return result;
}

static void a_trailer(void **state)
{
	(void)state;
	assert_int_equal(read_trailer(0), 0);
	assert_int_equal(read_trailer(10), 0);
	assert_int_equal(read_trailer(5000), 0);
	assert_int_equal(read_trailer(QUEUE_CONTROL_MAX), 0);
	assert_int_equal(read_trailer(QUEUE_CONTROL_MAX + 1), -EFBIG);
	reads_are_cut = true;
	assert_int_equal(read_trailer(10), -EBADMSG);
	assert_int_equal(read_trailer(5000), -EBADMSG);
}

static struct queue_store *open_store(const char *name, struct buffer *reason)
{
	struct queue_options options = {.create = true, .split = 3, .sync = QUEUE_SYNC_FILES};
	struct queue_store *store = NULL;
	char path[96];

	snprintf(path, sizeof path, "%s/%s", base, name);
	if (queue_store_open(path, &options, &store, reason) < 0)
		return NULL;
	return store;
}

/* Whether an envelope with that END is taken for a new message. */
static int envelope_result(struct queue_intake *intake, const char *end)
{
	struct queue_message *message;
	struct buffer text = {0};
	int result;

	assert_int_equal(queue_message_new(intake, &message), 0);
	assert_int_equal(queue_message_share(message), 0);
	assert_int_equal(os_file_write(queue_message_file(message), "0123456789", 10, 0), 0);
	buffer_append_format(&text, "stagepost 1\nid: %llu-660b1182f1e21\nsize: 10\n%s",
			     (unsigned long long)queue_message_number(message), end);
	result = queue_message_envelope(message, MAIL_STAGE_ARRIVE, &text);
	queue_message_abandon(message);
	buffer_clear(&text);
	return result;
}

/* An envelope without its end was never written, so it is not queued. */
static void an_envelope(void **state)
{
	struct queue_intake_options options = {.spares = 1, .spare_size = 4096};
	struct buffer reason = {0};
	struct queue_store *store = open_store("queue", &reason);
	struct queue_intake *intake;

	(void)state;
	assert_non_null(store);
	assert_int_equal(queue_intake_open(store, &options, &intake), 0);
	assert_int_equal(envelope_result(intake, ""), -EINVAL);
	assert_int_equal(envelope_result(intake, "end:"), -EINVAL);
	assert_int_equal(envelope_result(intake, "end: \n"), -EINVAL);
	assert_int_equal(envelope_result(intake, "end:\n"), 0);
	queue_intake_close(intake);
	queue_store_close(store);
	buffer_clear(&reason);
}

static size_t files_in_pid(void)
{
	char path[96];
	size_t count = 0;
	DIR *folder;

	snprintf(path, sizeof path, "%s/queue/pid", base);
	folder = opendir(path);
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/* What cannot be removed now is, as soon as it can be. */
static void a_file_that_the_disk_keeps(void **state)
{
	struct queue_intake_options options = {.spares = 0};
	struct buffer reason = {0};
	struct queue_store *store = open_store("queue", &reason);
	struct queue_intake *intake;
	struct queue_message *message;

	(void)state;
	assert_non_null(store);
	assert_int_equal(queue_intake_open(store, &options, &intake), 0);
	assert_int_equal(queue_message_new(intake, &message), 0);
	unlinks_fail = true;
	queue_message_abandon(message);
	queue_intake_remove_stuck(intake);
	assert_int_equal(files_in_pid(), 1);
	unlinks_fail = false;
	queue_intake_remove_stuck(intake);
	assert_int_equal(files_in_pid(), 0);
	queue_intake_close(intake);
	queue_store_close(store);
	buffer_clear(&reason);
}

static void the_split(void **state)
{
	static const struct {
		unsigned split;
		bool opens;
	} formats[] = {
		{0, false}, {QUEUE_SPLIT_MAX + 1, false}, {QUEUE_SPLIT_MAX, true}, {1, true}};
	const struct queue_options wrong = {.create = true, .split = QUEUE_SPLIT_MAX + 1};
	struct queue_store *none = NULL;
	char path[96];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		struct buffer reason = {0};
		struct buffer text = {0};
		struct queue_store *store = open_store("queue", &reason);
		int file;

		if (store != NULL)
			queue_store_close(store);
		file = open_file("queue/format");
		assert_int_equal(ftruncate(file, 0), 0);
		buffer_append_format(&text, "stagepost-queue 1\nsplit %u\n", formats[i].split);
		assert_int_equal(os_file_write(file, buffer_data(&text), text.length, 0), 0);
		os_file_close(file);
		store = open_store("queue", &reason);
		assert_int_equal(store != NULL, formats[i].opens);
		if (store != NULL)
			assert_int_equal(queue_store_split(store), formats[i].split);
		queue_store_close(store);
		buffer_clear(&text);
		buffer_clear(&reason);
	}
	snprintf(path, sizeof path, "%s/never", base);
	assert_int_equal(queue_store_open(path, &wrong, &none, NULL), -EINVAL);
	assert_int_equal(access(path, F_OK), -1);
}

static void the_name_of_a_trigger(void **state)
{
	char name[QUEUE_TRIGGER_MAX + 1];

	(void)state;
	memset(name, 'x', sizeof name);
	assert_true(queue_trigger_name_is_valid(str_slice(name, QUEUE_TRIGGER_MAX)));
	assert_false(queue_trigger_name_is_valid(str_slice(name, QUEUE_TRIGGER_MAX + 1)));
	assert_true(queue_trigger_name_is_valid(STR("host.[ipv6:::1]:25")));
	assert_false(queue_trigger_name_is_valid(STR("")));
	assert_false(queue_trigger_name_is_valid(STR(".")));
	assert_false(queue_trigger_name_is_valid(STR("..")));
	assert_false(queue_trigger_name_is_valid(STR("../format")));
	assert_false(queue_trigger_name_is_valid(STR("host/x")));
	assert_false(queue_trigger_name_is_valid(STR("Host")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address),
		cmocka_unit_test(an_address_that_is_written),
		cmocka_unit_test(a_number),
		cmocka_unit_test(the_name_of_a_service),
		cmocka_unit_test(a_control_file),
		cmocka_unit_test_setup_teardown(a_trailer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_envelope, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_the_disk_keeps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_split, set_up, tear_down),
		cmocka_unit_test(the_name_of_a_trigger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
