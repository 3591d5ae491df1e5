// SPDX-License-Identifier: ISC
/* A message of a local program, into a queue on the disk and over a link whose client is played
 * here: in each order in which "queue" may answer, and with each error. */
#include "config/text.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "queue/client/client.h"
#include "queue/inject/link.h"
#include "queue/inject/message.h"
#include "queue/message.h"
#include "queue/update.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAXSIZE = 200000, RESERVE = 12345 };

static char place[SCRATCH_SIZE];
static const struct os_process_caller caller = {.id = 77, .name = "ann"};

static struct config *config_here(void)
{
	struct config_problems problems = {0};
	struct buffer text = {0};
	struct config *config = NULL;

	buffer_append_format(&text,
			     "hostname = mx.test\nrun = %s\nqueue = %s/queue\nmaxsize = %d\n"
			     "queue_reserve = %d\n",
			     place, place, MAXSIZE, RESERVE);
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

/* --- the client that is played --- */

enum request { NONE, OPEN, SHARE, COMMIT };
enum { LATE = 1 << OPEN | 1 << SHARE | 1 << COMMIT };

static struct {
	unsigned late;        /* bits: requests whose answers come from the loop */
	enum request failing; /* with ERROR */
	int error;
	int write_error;

	struct os_loop *loop;
	struct os_timer *timer;
	struct queue_client_message *message;
	int result;
	struct buffer log;     /* a letter for each call */
	struct buffer written; /* into the file */
	struct buffer committed;
	uint64_t size;
	uint64_t reserve;
	int socket;
} fake;

static void begin_fake(unsigned late, enum request failing)
{
	buffer_clear(&fake.log);
	buffer_clear(&fake.written);
	buffer_clear(&fake.committed);
	memset(&fake, 0, sizeof fake);
	fake.late = late;
	fake.failing = failing;
	fake.error = -EDQUOT;
}

static void end_fake(void)
{
	begin_fake(0, NONE);
}

static void assert_calls(const char *expected)
{
	if (!str_equal(buffer_view(&fake.log), str_from(expected)))
		fail_msg("calls " STR_FORMAT ", expected %s", STR_ARGUMENTS(buffer_view(&fake.log)),
			 expected);
}

static void give_answer(void *context)
{
	(void)context;
	fake.message->done(fake.message->context, fake.result);
}

static void answer(struct queue_client_message *message, enum request request)
{
	fake.message = message;
	fake.result = fake.failing == request ? fake.error : 0;
	if (fake.late >> request & 1)
		os_timer_start(fake.timer, 0);
	else
		give_answer(NULL);
}

struct queue_client *__wrap_queue_client_new_connected(struct os_loop *loop, int socket,
						       const char *path);
struct queue_client *__wrap_queue_client_new_connected(struct os_loop *loop, int socket,
						       const char *path)
{
	(void)path;
	fake.loop = loop;
	fake.socket = socket;
	fake.timer = os_timer_new(loop, give_answer, NULL);
	return (struct queue_client *)&fake;
}

void __wrap_queue_client_free(struct queue_client *client);
void __wrap_queue_client_free(struct queue_client *client)
{
	assert_ptr_equal(client, &fake);
	os_timer_free(fake.timer);
	os_socket_close(fake.socket);
	buffer_append_byte(&fake.log, '.');
}

void __wrap_queue_client_set_reserve(struct queue_client *client, uint64_t bytes);
void __wrap_queue_client_set_reserve(struct queue_client *client, uint64_t bytes)
{
	(void)client;
	fake.reserve = bytes;
}

void __wrap_queue_client_open(struct queue_client *client, struct queue_client_message *message);
void __wrap_queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	(void)client;
	buffer_append_byte(&fake.log, 'o');
	message->file = -1;
	message->number = 4711;
	answer(message, OPEN);
}

void __wrap_queue_client_share(struct queue_client_message *message);
void __wrap_queue_client_share(struct queue_client_message *message)
{
	buffer_append_byte(&fake.log, 's');
	message->file = fake.failing == SHARE ? -1 : 0;
	answer(message, SHARE);
}

bool __wrap_queue_client_is_shared(const struct queue_client_message *message);
bool __wrap_queue_client_is_shared(const struct queue_client_message *message)
{
	return message->file >= 0;
}

int __wrap_queue_client_write(struct queue_client_message *message, struct str bytes);
int __wrap_queue_client_write(struct queue_client_message *message, struct str bytes)
{
	(void)message;
	buffer_append_byte(&fake.log, 'w');
	buffer_append_str(&fake.written, bytes);
	return fake.write_error;
}

void __wrap_queue_client_commit(struct queue_client_message *message,
				const struct mail_envelope *envelope, struct str data);
void __wrap_queue_client_commit(struct queue_client_message *message,
				const struct mail_envelope *envelope, struct str data)
{
	buffer_append_byte(&fake.log, 'c');
	buffer_append_str(&fake.committed, data);
	fake.size = envelope->size;
	answer(message, COMMIT);
}

void __wrap_queue_client_abandon(struct queue_client_message *message);
void __wrap_queue_client_abandon(struct queue_client_message *message)
{
	(void)message;
	buffer_append_byte(&fake.log, 'a');
}

/* --- the link --- */

static int listen_at_submit(void)
{
	char path[SCRATCH_SIZE + 16];
	int socket;

	snprintf(path, sizeof path, "%s/submit", place);
	unlink(path);
	socket = os_socket_listen_unix(path, SOCK_SEQPACKET, 0600);
	assert_true(socket >= 0);
	return socket;
}

/* A message of SIZE bytes in pieces; the result of its end. */
static int send_over_link(struct inject_link *link, size_t size, size_t piece)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer data = {0};
	uint64_t number = 0;
	int error = inject_link_begin(link, &number);

	assert_int_equal(number, error == 0 ? 4711 : 0);
	while (data.length < piece)
		buffer_append_byte(&data, 'd');
	for (size_t at = 0; error == 0 && at < size; at += piece)
		error = inject_link_write(
			link, str_slice(buffer_data(&data), piece < size - at ? piece : size - at));
	if (error == 0)
		error = inject_link_commit(link, envelope);
	else
		inject_link_abandon(link);
	buffer_clear(&data);
	mail_envelope_free(envelope);
	return error;
}

/* The same with instant and with late answers, also of some requests alone; and again in a second
 * life of the link and in a third. */
static void a_link_has_its_calls_in_order(void **state)
{
	static const struct {
		size_t size;
		enum request failing;
		int write_error, error;
		const char *calls;
	} cases[] = {
		{0, NONE, 0, 0, "oca"},
		{1, NONE, 0, 0, "oca"},
		{QUEUE_BY_VALUE_MAX, NONE, 0, 0, "oca"},
		{QUEUE_BY_VALUE_MAX + 1, NONE, 0, 0, "oswca"},
		{2 * QUEUE_BY_VALUE_MAX, NONE, 0, 0, "oswca"},
		{2 * QUEUE_BY_VALUE_MAX + 3, NONE, 0, 0, "oswwca"},
		{1, OPEN, 0, -EDQUOT, "oa"},
		{QUEUE_BY_VALUE_MAX + 1, SHARE, 0, -EDQUOT, "osa"},
		{QUEUE_BY_VALUE_MAX + 1, NONE, -ENOSPC, -ENOSPC, "oswa"},
		{1, COMMIT, 0, -EDQUOT, "oca"},
		{QUEUE_BY_VALUE_MAX + 1, COMMIT, 0, -EDQUOT, "oswca"},
	};
	struct config *config = config_here();
	struct buffer reason = {0};
	int listening = listen_at_submit();

	(void)state;
	for (size_t i = 0; i < 8 * COUNT_OF(cases); i++) {
		size_t size = cases[i / 8].size;
		struct inject_link *link;

		begin_fake((unsigned)(i % 8) << 1, cases[i / 8].failing);
		fake.write_error = cases[i / 8].write_error;
		assert_int_equal(inject_link_open(config, &link, &reason), 0);
		assert_int_equal(fake.reserve, RESERVE);
		assert_int_equal(send_over_link(link, size, QUEUE_BY_VALUE_MAX / 2 + 1),
				 cases[i / 8].error);
		assert_calls(cases[i / 8].calls);
		if (cases[i / 8].error == 0)
			assert_int_equal(fake.written.length + fake.committed.length, size);
		fake.failing = NONE;
		fake.write_error = 0;
		buffer_reset(&fake.log);
		buffer_reset(&fake.committed);
		assert_int_equal(send_over_link(link, 3, 3), 0); /* nothing is left of the first */
		assert_calls("oca");
		assert_int_equal(fake.committed.length, 3);
		fake.failing = OPEN;
		assert_int_equal(send_over_link(link, 3, 3), -EDQUOT);
		inject_link_close(link);
		assert_calls("ocaoaa.");
	}
	inject_link_close(NULL);
	end_fake();
	os_socket_close(listening);
	config_free(config);
}

/* The first error of a message is that of all its writes and of its commit. */
static void an_error_of_a_link_sticks(void **state)
{
	struct config *config = config_here();
	struct mail_envelope *envelope = mail_envelope_new();
	struct buffer data = {0};
	struct buffer reason = {0};
	struct inject_link *link;
	uint64_t number;
	int listening = listen_at_submit();

	(void)state;
	begin_fake(LATE, NONE);
	while (data.length <= QUEUE_BY_VALUE_MAX)
		buffer_append_byte(&data, 'd');
	assert_int_equal(inject_link_open(config, &link, &reason), 0);
	assert_int_equal(inject_link_begin(link, &number), 0);
	fake.write_error = -ENOSPC;
	assert_int_equal(inject_link_write(link, buffer_view(&data)), -ENOSPC);
	fake.write_error = 0;
	assert_int_equal(inject_link_write(link, buffer_view(&data)), -ENOSPC);
	assert_int_equal(inject_link_commit(link, envelope), -ENOSPC);
	assert_calls("oswa");
	inject_link_close(link);
	end_fake();
	os_socket_close(listening);
	buffer_clear(&data);
	mail_envelope_free(envelope);
	config_free(config);
}

static void who_cannot_connect_is_told_why(void **state)
{
	struct config *config = config_here();
	struct buffer reason = {0};
	struct inject_link *link = NULL;
	char path[SCRATCH_SIZE + 16];
	const char *run = config->run;
	char long_run[108];

	(void)state;
	snprintf(path, sizeof path, "%s/submit", place);
	unlink(path);
	assert_int_equal(inject_link_open(config, &link, &reason), -ENOTCONN); /* no file */
	assert_true(str_find(buffer_view(&reason), ':') > 0);
	os_socket_close(listen_at_submit());
	assert_int_equal(inject_link_open(config, &link, &reason), -ENOTCONN); /* nobody listens */
	memset(long_run, '/', sizeof long_run);
	config->run = long_run;
	for (size_t length = 107; length <= 108;
	     length++) { /* of a socket's name; and one beyond */
		long_run[length - strlen("/submit")] = '\0';
		buffer_reset(&reason);
		assert_int_equal(inject_link_open(config, &link, &reason),
				 length == 107 ? -ENOTCONN : -EAGAIN);
		long_run[length - strlen("/submit")] = '/';
	}
	assert_null(link);
	config->run = run;
	buffer_clear(&reason);
	config_free(config);
}

/* --- messages --- */

static const char trace[] = "Received: (uid 77)\r\n\tby mx.test with local id ";

static int open_message(const struct config *config, struct inject_link *link, bool is_traced,
			struct inject_message **message_out)
{
	struct buffer reason = {0};
	int error = is_traced ? inject_message_open(config, &caller, link, message_out, &reason)
			      : inject_message_open_untraced(config, &caller, link, message_out,
							     &reason);

	assert_int_equal(reason.length > 0, error < 0 && link == NULL);
	if (reason.length > 0) { /* the queue, and a sentence */
		size_t queue = strlen(config->queue);

		assert_true(str_starts_with(buffer_view(&reason), str_from(config->queue)));
		assert_true(str_starts_with(str_skip(buffer_view(&reason), queue), STR(": ")));
		assert_true(reason.length > queue + 2);
	}
	buffer_clear(&reason);
	return error;
}

static struct mail_envelope *envelope_to_one(void)
{
	struct mail_envelope *envelope = mail_envelope_new();

	envelope->sender = STR("a@b.test");
	mail_envelope_add(envelope, STR("c@d.test"));
	return envelope;
}

/* Over a link there is a trace header always; a first line that would go on it is after an empty
 * one. */
static void a_message_begins_with_its_trace(void **state)
{
	static const struct {
		const char *pieces[3];
		const char *after;
	} cases[] = {
		{{"A: b\r\n", "", ""}, "A: b\r\n"},
		{{"", "A: b\r\n", " c\r\n"}, "A: b\r\n c\r\n"},
		{{" x\r\n", " y\r\n", ""}, "\r\n x\r\n y\r\n"},
		{{"\tx\r\n", "", " y"}, "\r\n\tx\r\n y"},
		{{"", "", " x"}, "\r\n x"},
		{{"", "", ""}, ""},
	};
	struct config *config = config_here();
	struct buffer reason = {0};
	struct inject_link *link;
	int listening = listen_at_submit();

	(void)state;
	begin_fake(0, NONE);
	assert_int_equal(inject_link_open(config, &link, &reason), 0);
	for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
		struct mail_envelope *envelope = envelope_to_one();
		struct inject_message *message;
		struct str found;

		buffer_reset(&fake.committed);
		assert_int_equal(open_message(config, link, i % 2, &message), 0);
		assert_int_equal(inject_message_id(message).number, 4711);
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(
				inject_message_write(message, str_from(cases[i / 2].pieces[j])), 0);
		assert_int_equal(inject_message_commit(message, MAIL_STAGE_SUBMIT, envelope), 0);
		found = buffer_view(&fake.committed);
		assert_int_equal(fake.size, found.length);
		assert_true(str_equal(envelope->received, STR("local uid=77")));
		assert_int_equal(envelope->stage, MAIL_STAGE_SUBMIT);
		assert_true(str_starts_with(found, str_from(trace)));
		found = str_skip(found, found.length - strlen(cases[i / 2].after));
		assert_true(str_equal(found, str_from(cases[i / 2].after)));
		assert_memory_equal(found.data - 2, "\r\n", 2);
		mail_envelope_free(envelope);
	}
	inject_link_close(link);
	end_fake();
	os_socket_close(listening);
	config_free(config);
}

/* The trace is beside the size that is allowed; one byte beyond it sticks. */
static void a_message_has_its_size(void **state)
{
	struct config *config = config_here();
	struct buffer data = {0};

	(void)state;
	while (data.length < MAXSIZE)
		buffer_append_byte(&data, 'd');
	for (unsigned i = 0; i < 8; i++) {
		struct mail_envelope *envelope = envelope_to_one();
		struct inject_message *message;
		bool is_traced = i & 1;
		bool is_beyond = i & 2;
		size_t first = i & 4 ? MAXSIZE : 1;

		assert_int_equal(open_message(config, NULL, is_traced, &message), 0);
		assert_int_equal(
			inject_message_write(message, str_slice(buffer_data(&data), first)), 0);
		assert_int_equal(inject_message_write(
					 message, str_slice(buffer_data(&data), MAXSIZE - first)),
				 0);
		assert_int_equal(inject_message_write(message, is_beyond ? STR("x") : STR("")),
				 is_beyond ? -EFBIG : 0);
		assert_int_equal(inject_message_write(message, STR("")), is_beyond ? -EFBIG : 0);
		assert_int_equal(inject_message_commit(message, MAIL_STAGE_SUBMIT, envelope),
				 is_beyond ? -EFBIG : 0);
		assert_true(str_equal(envelope->received, STR("local uid=77 user=ann")));
		if (is_traced)
			assert_true(envelope->size > MAXSIZE);
		else
			assert_int_equal(envelope->size, MAXSIZE);
		mail_envelope_free(envelope);
	}
	buffer_clear(&data);
	config_free(config);
}

/* Each that is queued is another message; what was abandoned leaves its number to others. */
static void messages_are_queued_one_after_another(void **state)
{
	struct config *config = config_here();
	uint64_t numbers[3] = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct mail_envelope *envelope = envelope_to_one();
		struct inject_message *message;

		assert_int_equal(open_message(config, NULL, true, &message), 0);
		numbers[i] = inject_message_id(message).number;
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(numbers[j], numbers[i]);
		assert_int_equal(inject_message_write(message, STR("A: b\r\n\r\n")), 0);
		if (i == 1) {
			inject_message_abandon(message);
			numbers[i] = 0;
		} else {
			assert_int_equal(
				inject_message_commit(message, MAIL_STAGE_SUBMIT, envelope), 0);
			assert_int_equal(envelope->id.number, numbers[i]);
		}
		mail_envelope_free(envelope);
	}
	inject_message_abandon(NULL);
	config_free(config);
}

static void what_cannot_be_opened_has_a_reason(void **state)
{
	struct config *config = config_here();
	struct inject_message *message = NULL;
	char file[SCRATCH_SIZE + 8];
	struct buffer reason = {0};
	struct inject_link *link;
	int listening = listen_at_submit();

	(void)state;
	for (unsigned is_traced = 0; is_traced < 2; is_traced++) {
		begin_fake(0, OPEN);
		assert_int_equal(inject_link_open(config, &link, &reason), 0);
		assert_int_equal(open_message(config, link, is_traced, &message), -EDQUOT);
		assert_null(message);
		assert_calls("oa");
		inject_link_close(link);
		snprintf(file, sizeof file, "%s/file", place);
		os_file_close(open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
		config->queue = file;
		assert_true(open_message(config, NULL, is_traced, &message) < 0);
		assert_null(message);
	}
	end_fake();
	os_socket_close(listening);
	config_free(config);
}

/* The disk has less than is to be left free; and what the queue says of itself is said. */
static void a_queue_without_room_says_so(void **state)
{
	struct config *config = config_here();
	struct inject_message *message = NULL;
	struct buffer reason = {0};
	struct buffer expected = {0};
	char file[SCRATCH_SIZE + 8];

	(void)state;
	config->queue_reserve = UINT64_MAX / 2;
	assert_int_equal(inject_message_open(config, &caller, NULL, &message, &reason), -ENOSPC);
	assert_null(message);
	buffer_append_format(&expected, "%s: %s", config->queue, strerror(ENOSPC));
	assert_true(str_equal(buffer_view(&reason), buffer_view(&expected)));
	snprintf(file, sizeof file, "%s/file", place);
	os_file_close(open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	config->queue = file;
	buffer_reset(&reason);
	assert_true(inject_message_open(config, &caller, NULL, &message, &reason) < 0);
	assert_true(str_starts_with(buffer_view(&reason), str_from(file)));
	assert_true(reason.length > strlen(file) + strlen(": "));
	buffer_clear(&reason);
	buffer_clear(&expected);
	config_free(config);
}

/* --- what programs exit with --- */

static void each_error_has_its_status(void **state)
{
	static const struct {
		int error, status, queue_status;
	} cases[] = {
		{0, 0, 0},
		{EDESTADDRREQ, 64, 91},
		{EBADMSG, 65, 31},
		{EILSEQ, 65, 31},
		{EINVAL, 65, 31},
		{EFBIG, 69, 31},
		{E2BIG, 69, 31},
		{ENOENT, 73, 62},
		{ENOTDIR, 73, 62},
		{EIO, 74, 53},
		{EISDIR, 74, 54},
		{EBADF, 74, 54},
		{EACCES, 77, 62},
		{EPERM, 77, 62},
		{EPROTO, 78, 55},
		{ENOTSUP, 78, 55},
		{ENOTEMPTY, 78, 55},
		{ENOSYS, 70, 81},
		{ENAMETOOLONG, 75, 11},
		{ENOMSG, 75, 91},
		{ENOMEM, 75, 51},
		{ETIMEDOUT, 75, 52},
		{ENOSPC, 75, 53},
		{EDQUOT, 75, 53},
		{EROFS, 75, 53},
		{EAGAIN, 75, 71},
		{ENOTCONN, 75, 71},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(inject_exit_status(-cases[i].error), cases[i].status);
		assert_int_equal(inject_queue_status(-cases[i].error), cases[i].queue_status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_has_its_calls_in_order),
		cmocka_unit_test(an_error_of_a_link_sticks),
		cmocka_unit_test(who_cannot_connect_is_told_why),
		cmocka_unit_test(a_message_begins_with_its_trace),
		cmocka_unit_test(a_message_has_its_size),
		cmocka_unit_test(messages_are_queued_one_after_another),
		cmocka_unit_test(what_cannot_be_opened_has_a_reason),
		cmocka_unit_test(a_queue_without_room_says_so),
		cmocka_unit_test(each_error_has_its_status),
	};

	return cmocka_run_group_tests(tests, begin_place, end_place);
}
