// SPDX-License-Identifier: ISC
/* The process "queue" in a thread, and its clients by hand. */
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "mail/address.h"
#include "os/file.h"
#include "os/socket.h"
#include "queue/control.h"
#include "queue/protocol.h"
#include "queue/server.h"
#include "queue/update.h"
#include "queue_peer.h"
#include "test.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct {
	struct os_loop *loop;
	struct queue_store *store;
	struct queue_intake *intake;
	struct queue_server *server;
	struct os_wakeup *stop;
	pthread_t thread;
} node;

/* The directories' syncs wait while another holds the mutex, and fail while FAIL is set. */
static struct {
	pthread_mutex_t mutex;
	int fail;
} syncs = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void real_sync(const int *files, size_t count,
	       int *results) __asm__("__real_os_file_sync_directories");
void wrap_sync(const int *files, size_t count,
	       int *results) __asm__("__wrap_os_file_sync_directories");
void wrap_sync(const int *files, size_t count, int *results)
{
	pthread_mutex_lock(&syncs.mutex);
	real_sync(files, count, results);
	for (size_t i = 0; i < count && syncs.fail != 0; i++)
		results[i] = syncs.fail;
	syncs.fail = 0;
	pthread_mutex_unlock(&syncs.mutex);
}

/* What the kernel says of others who have a file open, and of those who can write to it, where it
 * is not 0. */
static int openers;
static int writers;

int real_is_open(int file) __asm__("__real_os_file_is_open_elsewhere");
int wrap_is_open(int file) __asm__("__wrap_os_file_is_open_elsewhere");
int wrap_is_open(int file)
{
	return openers != 0 ? openers : real_is_open(file);
}

int real_has_writers(int file) __asm__("__real_os_file_has_writers");
int wrap_has_writers(int file) __asm__("__wrap_os_file_has_writers");
int wrap_has_writers(int file)
{
	return writers != 0 ? writers : real_has_writers(file);
}

/* Posted when a client is not heard any more. */
static sem_t pauses;

void real_pause(struct ipc_channel *channel, bool paused) __asm__("__real_ipc_channel_pause");
void wrap_pause(struct ipc_channel *channel, bool paused) __asm__("__wrap_ipc_channel_pause");
void wrap_pause(struct ipc_channel *channel, bool paused)
{
	real_pause(channel, paused);
	if (paused)
		sem_post(&pauses);
}

static void on_stopped(void *context)
{
	os_loop_stop(context);
}

static void on_stop(void *context)
{
	queue_server_stop(node.server, on_stopped, context);
}

static void *run(void *context)
{
	os_loop_run(node.loop);
	log_flush();
	return context;
}

static void start_for(uint64_t reserve, const struct queue_server_peers *peers)
{
	struct queue_options options = {
		.create = true, .split = 1, .unsafe = true, .sync = QUEUE_SYNC_FILES};
	struct queue_intake_options intake_options = {.spares = 4, .spare_size = 4096};
	int listening = os_socket_listen_unix(queue_peer_path("socket"), SOCK_SEQPACKET, 0600);

	assert_true(listening >= 0);
	log_open("test", LOG_ERROR_LEVEL);
	assert_int_equal(queue_store_open(queue_peer_path("queue"), &options, &node.store, NULL),
			 0);
	assert_int_equal(queue_intake_open(node.store, &intake_options, &node.intake), 0);
	node.loop = os_loop_new();
	node.server =
		queue_server_new(node.loop, node.store, node.intake, listening, reserve, peers);
	node.stop = os_wakeup_new(node.loop, on_stop, node.loop);
	assert_int_equal(pthread_create(&node.thread, NULL, run, NULL), 0);
}

#define MANAGE_BODY STR("\6\0\0\0send-1")

/* What "send" shows, and others do not have. */
static const struct ipc_tokens tokens = {{{"send", "send-1"}, {"remote", "remote-1"}}, 2};

static void start(uint64_t reserve)
{
	const struct queue_server_peers peers = {.manager = {geteuid(), 1, 8192, 1},
						 .intake = {geteuid(), 1, 8192, 100000},
						 .open = UINT32_MAX,
						 .tokens = &tokens};

	start_for(reserve, &peers);
}

static void stop(void)
{
	os_wakeup_send(node.stop);
	pthread_join(node.thread, NULL);
	os_wakeup_free(node.stop);
	queue_server_free(node.server);
	queue_intake_close(node.intake);
	queue_store_close(node.store);
	os_loop_free(node.loop);
}

static struct queue_peer connect_peer(void)
{
	return queue_peer_connect(queue_peer_path("socket"));
}

static void say_u32(struct queue_peer *peer, uint16_t type, uint32_t value)
{
	struct buffer body = {0};

	pack_u32(&body, value);
	queue_peer_say(peer, type, buffer_view(&body));
	buffer_clear(&body);
}

static uint64_t open_one(struct queue_peer *peer)
{
	struct unpack body;

	say_u32(peer, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPENED);
	assert_int_equal(peer->file_count, 0);
	body = (struct unpack){buffer_view(&peer->body), false};
	return unpack_u64(&body);
}

/* Has NUMBER's file given out: peer->files[0]. */
static void share(struct queue_peer *peer, uint64_t number)
{
	struct buffer body = {0};
	struct unpack answer;

	pack_u64(&body, number);
	queue_peer_say(peer, QUEUE_PROTOCOL_SHARE, buffer_view(&body));
	buffer_clear(&body);
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_SHARED);
	assert_int_equal(peer->file_count, 1);
	answer = (struct unpack){buffer_view(&peer->body), false};
	assert_int_equal(unpack_u64(&answer), number);
	assert_int_equal(unpack_u32(&answer), 0);
	assert_true(unpack_is_whole(&answer));
}

static void append_envelope_of(struct buffer *text, uint64_t number, unsigned recipients,
			       size_t size)
{
	struct mail_envelope *envelope = mail_envelope_new();
	char address[MAIL_ADDRESS_MAX];

	memset(address, 'a', sizeof address);
	memcpy(address + 300, "@b", 2);
	envelope->id = (struct mail_id){number, 1795163591482913};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = size;
	for (unsigned i = 0; i < recipients; i++)
		mail_envelope_add(envelope, str_slice(address, 302));
	assert_int_equal(queue_control_write_envelope(text, envelope), 0);
	mail_envelope_free(envelope);
}

static void append_envelope(struct buffer *text, uint64_t number, unsigned recipients)
{
	append_envelope_of(text, number, recipients, 6);
}

static void say_part(struct queue_peer *peer, uint16_t type, uint64_t number, struct str text)
{
	struct buffer body = {0};

	pack_u64(&body, number);
	pack_str(&body, text);
	queue_peer_say(peer, type, buffer_view(&body));
	buffer_clear(&body);
}

static void say_commit(struct queue_peer *peer, uint64_t number, struct str text, struct str data)
{
	struct buffer body = {0};

	pack_u64(&body, number);
	pack_str(&body, text);
	pack_str(&body, data);
	queue_peer_say(peer, QUEUE_PROTOCOL_COMMIT, buffer_view(&body));
	buffer_clear(&body);
}

static uint32_t hear_result(struct queue_peer *peer, uint64_t number)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_COMMITTED);
	body = (struct unpack){buffer_view(&peer->body), false};
	assert_int_equal(unpack_u64(&body), number);
	return unpack_u32(&body);
}

static void say_envelope(struct queue_peer *peer, uint64_t number, struct str text)
{
	while (text.length > QUEUE_ENVELOPE_PART) {
		say_part(peer, QUEUE_PROTOCOL_ENVELOPE, number,
			 str_slice(text.data, QUEUE_ENVELOPE_PART));
		text = str_skip(text, QUEUE_ENVELOPE_PART);
	}
	say_commit(peer, number, text, STR("data\r\n"));
}

/* The answer to a commit of TEXT: 0 or an errno. */
static uint32_t commit(struct queue_peer *peer, uint64_t number, struct str text)
{
	say_envelope(peer, number, text);
	return hear_result(peer, number);
}

static uint64_t queue_one(struct queue_peer *peer, unsigned recipients)
{
	uint64_t number = open_one(peer);
	struct buffer text = {0};

	append_envelope(&text, number, recipients);
	assert_int_equal(commit(peer, number, buffer_view(&text)), 0);
	buffer_clear(&text);
	return number;
}

static struct queue_peer manage(void)
{
	struct queue_peer manager = connect_peer();

	queue_peer_say(&manager, QUEUE_PROTOCOL_MANAGE, MANAGE_BODY);
	assert_int_equal(queue_peer_hear(&manager), QUEUE_PROTOCOL_MANAGED);
	queue_peer_say(&manager, QUEUE_PROTOCOL_CLEANED, STR(""));
	return manager;
}

static void say_remove(struct queue_peer *peer, uint32_t kind, uint32_t stage, uint64_t number)
{
	struct buffer body = {0};

	pack_u32(&body, kind);
	pack_u32(&body, stage);
	pack_u64(&body, number);
	queue_peer_say(peer, QUEUE_PROTOCOL_REMOVE, buffer_view(&body));
	buffer_clear(&body);
}

static void expect_queued(struct queue_peer *manager, uint64_t number, bool has_text)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(manager), QUEUE_PROTOCOL_QUEUED);
	body = (struct unpack){buffer_view(&manager->body), false};
	assert_int_equal(unpack_u32(&body), MAIL_STAGE_ARRIVE);
	assert_int_equal(unpack_u64(&body), number);
	assert_int_equal(unpack_str(&body).length > 0, has_text);
	assert_true(unpack_is_whole(&body));
}

static void expect_removed(struct queue_peer *manager, uint64_t number)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(manager), QUEUE_PROTOCOL_REMOVED);
	body = (struct unpack){buffer_view(&manager->body), false};
	assert_int_equal(unpack_u64(&body), number);
	assert_true(unpack_is_whole(&body));
}

static void a_message_comes_and_goes(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	uint64_t number;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	number = queue_one(&client, 1);
	expect_queued(&manager, number, true);
	say_remove(&manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, number);
	expect_removed(&manager, number);
	for (uint32_t kind = QUEUE_REMOVE_QUEUED; kind <= QUEUE_REMOVE_DATA; kind++) {
		say_remove(&manager, kind, MAIL_STAGE_SUBMIT, number); /* gone already */
		expect_removed(&manager, number);
	}
	assert_int_equal(manager.loads, 1); /* how long the message's group was at the disk */
	assert_true(manager.load_us > 0);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

/* An envelope over a packet is told of, but not told. */
static void a_large_envelope_comes_in_parts(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	expect_queued(&manager, queue_one(&client, 300), false);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

/* Who is too slow to be told of each message is told to look for itself. */
static void a_slow_manager_is_told_to_scan(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	unsigned type;
	unsigned told = 0;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	for (unsigned i = 0; i < 120; i++)
		queue_one(&client, 180);
	do {
		type = queue_peer_hear(&manager);
		told += type == QUEUE_PROTOCOL_QUEUED;
	} while (type == QUEUE_PROTOCOL_QUEUED);
	assert_int_equal(type, QUEUE_PROTOCOL_MISSED);
	assert_in_range(told, 1, 119);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

/* What the client wrote is refused; it may go on. */
static void an_envelope_must_be_its_own(void **state)
{
	struct queue_peer client;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	start(0);
	client = connect_peer();
	number = open_one(&client);
	append_envelope(&text, number + 1, 1);
	assert_int_equal(commit(&client, number, buffer_view(&text)), EBADMSG);
	buffer_reset(&text);
	number = open_one(&client);
	append_envelope(&text, number, 1);
	buffer_append_string(&text, "map: 1 remote <a@b>\nmapped: directory=1 count=1\n");
	assert_int_equal(commit(&client, number, buffer_view(&text)), EBADMSG);
	number = open_one(&client);
	assert_int_equal(commit(&client, number, STR("stagepost 1\n")), ENODATA);
	(void)queue_one(&client, 1);
	buffer_clear(&text);
	queue_peer_close(&client);
	stop();
}

static void what_is_given_back_is_handed_out_again(void **state)
{
	struct queue_peer client;
	struct buffer body = {0};
	uint64_t number;

	(void)state;
	start(0);
	client = connect_peer();
	number = open_one(&client);
	pack_u64(&body, number);
	queue_peer_say(&client, QUEUE_PROTOCOL_ABANDON, buffer_view(&body));
	assert_int_equal(open_one(&client), number);
	buffer_clear(&body);
	queue_peer_close(&client);
	stop();
}

static void say_number(struct queue_peer *peer, uint16_t type, uint64_t number)
{
	struct buffer body = {0};

	pack_u64(&body, number);
	queue_peer_say(peer, type, buffer_view(&body));
	buffer_clear(&body);
}

static void remove_message(struct queue_peer *manager, uint64_t number)
{
	expect_queued(manager, number, true);
	say_remove(manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, number);
	expect_removed(manager, number);
}

/* A message comes and goes by value; by the next one's commit its file is a spare. */
static uint64_t make_spare(struct queue_peer *manager, struct queue_peer *client)
{
	uint64_t number = queue_one(client, 1);

	remove_message(manager, number);
	remove_message(manager, queue_one(client, 1));
	return number;
}

static void what_came_by_value_is_used_again(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	uint64_t number;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	number = make_spare(&manager, &client);
	assert_int_equal(open_one(&client), number);
	/* no client ever saw the file */
	queue_peer_close(&client);
	client = connect_peer();
	assert_int_equal(open_one(&client), number);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

static void old_bytes_do_not_leave(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	struct os_file_info info;
	uint64_t number;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	number = make_spare(&manager, &client);
	assert_int_equal(open_one(&client), number);
	share(&client, number);
	assert_int_equal(os_file_info(client.files[0], &info), 0);
	assert_int_equal(info.inode, number);
	assert_int_equal(info.size, 0);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

static void expect_not_used_again(struct queue_peer *client, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++)
		assert_int_not_equal(open_one(client), number);
}

/* Another descriptor of FILE, that cannot be written to. */
static int reader_of(int file)
{
	char path[64];
	int reader;

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	reader = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	assert_true(reader >= 0);
	return reader;
}

static void give_back(struct queue_peer *peer)
{
	while (peer->file_count > 0)
		os_file_close(peer->files[--peer->file_count]);
}

/* How somebody keeps a file that he was lent. */
enum kept { KEPT_NOT, KEPT, KEPT_COPY, KEPT_MAPPED, KEPT_ON_ITS_WAY, KEPT_KINDS };

struct keeper {
	int sockets[2];
	int copy;
	void *map;
};

static void keep_file(struct keeper *keeper, struct queue_peer *peer, enum kept kept)
{
	int file = peer->files[0];

	*keeper = (struct keeper){.sockets = {-1, -1}, .copy = -1, .map = MAP_FAILED};
	if (kept == KEPT_COPY) {
		keeper->copy = dup(file);
	} else if (kept == KEPT_MAPPED) {
		keeper->map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		assert_true(keeper->map != MAP_FAILED);
	} else if (kept == KEPT_ON_ITS_WAY) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, keeper->sockets), 0);
		assert_int_equal(os_socket_send(keeper->sockets[0], "x", 1, &file, 1), 1);
	}
	if (kept != KEPT)
		give_back(peer);
}

static void drop_kept(struct keeper *keeper)
{
	os_socket_close(keeper->sockets[0]);
	os_socket_close(keeper->sockets[1]);
	os_file_close(keeper->copy);
	if (keeper->map != MAP_FAILED)
		munmap(keeper->map, 4096);
}

/* Envelope and data stand in one file: who could write to it could change whom it goes to. */
static void nothing_is_queued_that_somebody_can_change(void **state)
{
	struct queue_peer client;

	(void)state;
	start(0);
	client = connect_peer();
	for (unsigned kept = 0; kept < KEPT_KINDS; kept++) {
		uint64_t number = open_one(&client);
		struct buffer text = {0};
		struct keeper keeper;

		share(&client, number);
		assert_int_equal(os_file_write(client.files[0], "data\r\n", 6, 0), 0);
		append_envelope(&text, number, 1);
		keep_file(&keeper, &client, kept);
		if (kept == KEPT) /* hear() closes what came before */
			client.file_count = 0;
		say_commit(&client, number, buffer_view(&text), STR(""));
		assert_int_equal(hear_result(&client, number), kept == KEPT_NOT ? 0 : ETXTBSY);
		if (kept == KEPT)
			os_file_close(client.files[0]);
		drop_kept(&keeper);
		buffer_clear(&text);
	}
	queue_one(&client, 1);
	queue_peer_close(&client);
	stop();
}

/* Where the kernel cannot tell, large messages are taken all the same; another error is one. */
static void a_kernel_without_leases(void **state)
{
	static const struct {
		int openers, writers;
		uint32_t answer;
		bool is_blind;
	} cases[] = {{-EINVAL, 0, 0, true},       {-EACCES, 0, 0, true},
		     {-ENOMEM, 0, ENOMEM, false}, {1, 1, ETXTBSY, false},
		     {1, -ENOMEM, ENOMEM, false}, {1, 0, 0, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_peer client;
		struct buffer text = {0};
		uint64_t number;

		start(0);
		client = connect_peer();
		number = open_one(&client);
		share(&client, number);
		assert_int_equal(os_file_write(client.files[0], "data\r\n", 6, 0), 0);
		give_back(&client);
		append_envelope(&text, number, 1);
		openers = cases[i].openers;
		writers = cases[i].writers;
		say_commit(&client, number, buffer_view(&text), STR(""));
		assert_int_equal(hear_result(&client, number), cases[i].answer);
		assert_int_equal(queue_intake_is_blind(node.intake), cases[i].is_blind);
		openers = 0;
		writers = 0;
		buffer_clear(&text);
		queue_peer_close(&client);
		stop();
	}
}

/* Whoever has a descriptor may stand still until all of this is over. */
static void a_shared_file_is_not_used_again(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	struct buffer text = {0};
	uint64_t number;
	char data[8] = "";
	int file;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	number = make_spare(&manager, &client);
	assert_int_equal(open_one(&client), number);
	share(&client, number);
	file = reader_of(client.files[0]);
	assert_int_equal(os_file_write(client.files[0], "data\r\n", 6, 0), 0);
	give_back(&client);
	append_envelope(&text, number, 1);
	say_commit(&client, number, buffer_view(&text), STR(""));
	assert_int_equal(hear_result(&client, number), 0);
	remove_message(&manager, number);
	for (unsigned i = 0; i < 4; i++)
		assert_int_not_equal(queue_one(&client, 1), number);
	expect_not_used_again(&client, number);
	assert_int_equal(os_file_read(file, data, sizeof data, 0) >= 6, 1);
	assert_memory_equal(data, "data\r\n", 6);
	os_file_close(file);
	buffer_clear(&text);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

static void a_shared_file_that_is_given_back_is_not_used_again(void **state)
{
	struct queue_peer client;
	uint64_t number;
	int file;

	(void)state;
	start(0);
	client = connect_peer();
	number = open_one(&client);
	share(&client, number);
	file = dup(client.files[0]);
	say_number(&client, QUEUE_PROTOCOL_ABANDON, number);
	expect_not_used_again(&client, number);
	os_file_close(file);
	queue_peer_close(&client);
	stop();
}

/* S5: its name in mess/ is made, as "send" does. */
static void what_waited_is_used_again_only_when_it_came_by_value(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	uint64_t number;
	char from[QUEUE_PATH_SIZE];
	char to[QUEUE_PATH_SIZE];

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	number = queue_one(&client, 1);
	expect_queued(&manager, number, true);
	queue_store_path(node.store, QUEUE_TODO, "arrive", number, from);
	queue_store_path(node.store, QUEUE_MESS, NULL, number, to);
	assert_int_equal(os_file_link(queue_store_directory(node.store), from, to), 0);
	say_remove(&manager, QUEUE_REMOVE_TODO, MAIL_STAGE_ARRIVE, number);
	expect_removed(&manager, number);
	say_remove(&manager, QUEUE_REMOVE_DATA, MAIL_STAGE_ARRIVE, number);
	expect_removed(&manager, number);
	(void)queue_one(&client, 1);
	assert_int_equal(open_one(&client), number);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

static void fill(struct buffer *data, size_t size)
{
	memset(buffer_reserve(data, size), 'x', size);
	buffer_commit(data, size);
}

/* The largest that goes by value needs two packets. */
static void data_come_in_parts(void **state)
{
	enum { FIRST = 60000 };
	struct queue_peer client;
	struct buffer data = {0};
	struct buffer text = {0};
	struct buffer found = {0};
	uint64_t number;
	enum mail_stage stage = MAIL_STAGE_ARRIVE;

	(void)state;
	start(0);
	client = connect_peer();
	number = open_one(&client);
	fill(&data, QUEUE_BY_VALUE_MAX);
	append_envelope_of(&text, number, 1, data.length);
	say_part(&client, QUEUE_PROTOCOL_DATA, number, str_slice(buffer_data(&data), FIRST));
	say_commit(&client, number, buffer_view(&text), str_skip(buffer_view(&data), FIRST));
	assert_int_equal(hear_result(&client, number), 0);
	assert_int_equal(queue_update_read_data(node.store, &stage, number, data.length, &found),
			 0);
	assert_true(str_equal(buffer_view(&found), buffer_view(&data)));
	buffer_clear(&data);
	buffer_clear(&text);
	buffer_clear(&found);
	queue_peer_close(&client);
	stop();
}

/* Bytes that the envelope does not count would be the envelope's place. */
static void data_must_be_as_long_as_the_envelope_says(void **state)
{
	struct queue_peer client;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	start(0);
	client = connect_peer();
	for (size_t size = 5; size <= 7; size++) {
		number = open_one(&client);
		buffer_reset(&text);
		append_envelope_of(&text, number, 1, size);
		assert_int_equal(commit(&client, number, buffer_view(&text)),
				 size == 6 ? 0 : EINVAL);
	}
	buffer_clear(&text);
	queue_peer_close(&client);
	stop();
}

/* What a client may leave in our memory, and what a shared message may not have. */
static void data_beyond_their_bound_end_the_connection(void **state)
{
	enum { HALF = QUEUE_BY_VALUE_MAX / 2 };
	struct buffer half = {0};

	(void)state;
	start(0);
	fill(&half, HALF + 1);
	for (unsigned i = 0; i < 4; i++) {
		struct queue_peer client = connect_peer();
		uint64_t number = open_one(&client);

		if (i == 1)
			share(&client, number);
		say_part(&client, QUEUE_PROTOCOL_DATA, number, str_slice(buffer_data(&half), HALF));
		if (i == 2)
			say_number(&client, QUEUE_PROTOCOL_SHARE, number);
		if (i == 3) /* of another message: it counts as well */
			number = open_one(&client);
		if (i == 0 || i == 3)
			say_part(&client, QUEUE_PROTOCOL_DATA, number, buffer_view(&half));
		assert_int_equal(queue_peer_hear(&client), 0);
		queue_peer_close(&client);
	}
	buffer_clear(&half);
	stop();
}

static void a_full_disk_gives_no_files(void **state)
{
	struct queue_peer client;
	struct unpack body;

	(void)state;
	start(UINT64_MAX);
	client = connect_peer();
	for (unsigned i = 0; i < 2; i++) {
		say_u32(&client, QUEUE_PROTOCOL_OPEN, 1);
		assert_int_equal(queue_peer_hear(&client), QUEUE_PROTOCOL_REFUSED);
		body = (struct unpack){buffer_view(&client.body), false};
		assert_int_equal(unpack_u32(&body), ENOSPC);
	}
	queue_peer_close(&client);
	stop();
}

/* The client is gone, its message is not. */
static void a_commit_outlives_its_client(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	number = open_one(&client);
	append_envelope(&text, number, 1);
	say_commit(&client, number, buffer_view(&text), STR("data\r\n"));
	queue_peer_close(&client);
	expect_queued(&manager, number, true);
	buffer_clear(&text);
	queue_peer_close(&manager);
	stop();
}

struct wrong {
	uint16_t type;
	bool is_manager;
	const char *body;
	size_t length;
};

#define WRONG(type, is_manager, body)                    \
	{                                                \
		type, is_manager, body, sizeof(body) - 1 \
	}
#define ZEROES "\0\0\0\0\0\0\0\0"

static void only_those_who_may_are_heard(void **state)
{
	const struct queue_server_peers others = {.manager = {geteuid() + 1, 1, 1, 1},
						  .intake = {geteuid() + 2, 1, 1, 1},
						  .list = {geteuid() + 3, 1, 1, 1}};
	const struct queue_server_peers intake = {.manager = {geteuid() + 1, 1, 1, 1},
						  .intake = {geteuid(), 1, 16, 1},
						  .open = 100,
						  .tokens = &tokens};
	struct queue_peer peer;

	(void)state;
	start_for(0, &others);
	peer = connect_peer();
	assert_int_equal(queue_peer_hear(&peer), 0);
	queue_peer_close(&peer);
	stop();
	start_for(0, &intake);
	peer = connect_peer();
	open_one(&peer);
	queue_peer_say(&peer, QUEUE_PROTOCOL_MANAGE, MANAGE_BODY);
	assert_int_equal(queue_peer_hear(&peer), 0);
	queue_peer_close(&peer);
	stop();
}

/* --- what a client may have --- */

static const struct queue_server_peers *few(uint32_t all)
{
	static struct queue_server_peers peers;

	peers = (struct queue_server_peers){.manager = {geteuid() + 1, 1, 100, 1},
					    .intake = {geteuid(), 2, 20, 3},
					    .open = all,
					    .tokens = &tokens};
	return &peers;
}

/* How many messages PEER opens before it is refused. */
static unsigned open_all(struct queue_peer *peer)
{
	unsigned count = 0;

	for (;;) {
		say_u32(peer, QUEUE_PROTOCOL_OPEN, 1);
		if (queue_peer_hear(peer) == QUEUE_PROTOCOL_REFUSED)
			return count;
		count++;
	}
}

static void expect_refused(struct queue_peer *peer)
{
	struct unpack body = {buffer_view(&peer->body), false};

	assert_int_equal(unpack_u32(&body), EMFILE);
}

/* By all of its connections together; what it gives up it may have again. */
static void a_process_has_so_many_messages(void **state)
{
	struct queue_peer one;
	struct queue_peer other;
	struct buffer text = {0};
	uint64_t number;

	(void)state;
	start_for(0, few(1000));
	one = connect_peer();
	other = connect_peer();
	number = open_one(&one);
	assert_int_equal(open_all(&one), 19);
	expect_refused(&one);
	assert_int_equal(open_all(&other), 0);
	append_envelope(&text, number, 1);
	assert_int_equal(commit(&one, number, buffer_view(&text)), 0);
	assert_int_equal(open_all(&other), 1);
	queue_peer_close(&one);
	queue_peer_close(&other);
	stop();
	start_for(0, few(7));
	one = connect_peer();
	assert_int_equal(open_all(&one), 7);
	queue_peer_close(&one);
	stop();
	buffer_clear(&text);
}

static void a_process_has_so_many_connections(void **state)
{
	enum { CONNECTIONS = 8 };
	struct queue_peer peers[CONNECTIONS];
	struct queue_peer more;

	(void)state;
	start_for(0, few(1000));
	for (size_t i = 0; i < CONNECTIONS; i++) {
		peers[i] = connect_peer();
		open_one(&peers[i]);
	}
	more = connect_peer();
	assert_int_equal(queue_peer_hear(&more), 0);
	queue_peer_close(&more);
	open_one(&peers[0]); /* the others are not disturbed */
	for (size_t i = 0; i < CONNECTIONS; i++)
		queue_peer_close(&peers[i]);
	stop();
}

/* An envelope that is not committed is one message's, however many are open. */
static void what_is_not_committed_is_bounded(void **state)
{
	static char text[QUEUE_ENVELOPE_PART];
	struct queue_peer peer;

	(void)state;
	start_for(0, few(1000));
	peer = connect_peer();
	memset(text, 'x', sizeof text);
	say_part(&peer, QUEUE_PROTOCOL_ENVELOPE, open_one(&peer), str_slice(text, 4000));
	say_part(&peer, QUEUE_PROTOCOL_ENVELOPE, open_one(&peer), str_slice(text, 3000));
	open_one(&peer); /* 4 KiB, and one for each of three recipients */
	say_part(&peer, QUEUE_PROTOCOL_ENVELOPE, open_one(&peer), str_slice(text, 200));
	assert_int_equal(queue_peer_hear(&peer), 0);
	queue_peer_close(&peer);
	stop();
}

static void a_message_has_so_many_recipients(void **state)
{
	struct queue_peer peer;

	(void)state;
	start_for(0, few(1000));
	peer = connect_peer();
	for (unsigned recipients = 3; recipients <= 4; recipients++) {
		uint64_t number = open_one(&peer);
		struct buffer text = {0};

		append_envelope(&text, number, recipients);
		assert_int_equal(commit(&peer, number, buffer_view(&text)),
				 recipients == 3 ? 0 : E2BIG);
		buffer_clear(&text);
	}
	queue_peer_close(&peer);
	stop();
}

/* Envelopes on their way to a disk that is slow are counted, too: these are 12 MiB each. */
static void large_envelopes_wait_for_the_disk(void **state)
{
	enum { RECIPIENTS = 40000, MESSAGES = 3 };
	struct queue_peer client;
	struct timespec until;
	uint64_t numbers[MESSAGES];

	(void)state;
	sem_init(&pauses, 0, 0);
	start(0);
	client = connect_peer();
	for (unsigned i = 0; i < MESSAGES; i++)
		numbers[i] = open_one(&client);
	pthread_mutex_lock(&syncs.mutex);
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct buffer text = {0};

		append_envelope(&text, numbers[i], RECIPIENTS);
		say_envelope(&client, numbers[i], buffer_view(&text));
		buffer_clear(&text);
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	while (sem_timedwait(&pauses, &until) != 0)
		assert_int_equal(errno, EINTR);
	pthread_mutex_unlock(&syncs.mutex);
	assert_int_equal(hear_result(&client, numbers[0]), 0);
	queue_peer_close(&client);
	stop();
}

/* Answers to who does not read them are not gathered without end. */
static void who_does_not_read_is_not_heard(void **state)
{
	static const unsigned char open[] = {1, 0, QUEUE_PROTOCOL_OPEN, 0, 0, 0, 0, 0, 16, 0, 0, 0};
	struct queue_peer peer;
	unsigned said = 0;
	ssize_t sent = sizeof open;

	(void)state;
	start_for(0, few(1000));
	peer = connect_peer();
	while (said < 100000 && sent == sizeof open &&
	       os_socket_wait(peer.socket, true, 10 * SECOND_US) == 0) {
		sent = os_socket_send(peer.socket, open, sizeof open, NULL, 0);
		said++;
	}
	assert_true(sent < 0);
	assert_in_range(said, 1000, 50000);
	queue_peer_close(&peer);
	stop();
}

static void what_breaks_the_rules_ends_the_connection(void **state)
{
	static const struct wrong wrong[] = {
		WRONG(QUEUE_PROTOCOL_OPEN, false, ""),
		WRONG(QUEUE_PROTOCOL_OPEN, false, "\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_OPEN, false, "\1\0\0\0x"),
		WRONG(QUEUE_PROTOCOL_OPENED, false, ""),
		WRONG(QUEUE_PROTOCOL_ENVELOPE, false, ZEROES "\1\0\0\0x"),
		WRONG(QUEUE_PROTOCOL_COMMIT, false, ZEROES "\xff\xff\xff\xff"),
		WRONG(QUEUE_PROTOCOL_COMMIT, false, ZEROES "\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_COMMIT, false, ZEROES "\0\0\0\0\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_DATA, false, ZEROES "\1\0\0\0x"),
		WRONG(QUEUE_PROTOCOL_SHARE, false, ZEROES),
		WRONG(QUEUE_PROTOCOL_SHARE, false, ""),
		WRONG(QUEUE_PROTOCOL_ABANDON, false, ZEROES),
		WRONG(QUEUE_PROTOCOL_ABANDON, false, ""),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "x"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, ""),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\0\0\0\0"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\6\0\0\0send-2"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\5\0\0\0send-"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\7\0\0\0send-11"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\6\0\0\0send-1x"),
		WRONG(QUEUE_PROTOCOL_MANAGE, false, "\10\0\0\0remote-1"),
		WRONG(QUEUE_PROTOCOL_CLEANED, false, ""),
		WRONG(QUEUE_PROTOCOL_CLEANED, true, "x"),
		WRONG(QUEUE_PROTOCOL_REMOVE, false, ZEROES ZEROES),
		WRONG(QUEUE_PROTOCOL_REMOVE, true, ZEROES),
		WRONG(QUEUE_PROTOCOL_REMOVE, true, "\7\0\0\0\0\0\0\0" ZEROES),
		WRONG(QUEUE_PROTOCOL_REMOVE, true, "\0\0\0\0\7\0\0\0" ZEROES),
		WRONG(99, false, ""),
	};

	(void)state;
	start(0);
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct queue_peer peer = wrong[i].is_manager ? manage() : connect_peer();

		queue_peer_say(&peer, wrong[i].type, str_slice(wrong[i].body, wrong[i].length));
		assert_int_equal(queue_peer_hear(&peer), 0);
		queue_peer_close(&peer);
	}
	stop();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_peer_set_up, queue_peer_tear_down)

static void say_found(struct queue_peer *peer, uint64_t number)
{
	struct buffer body = {0};

	pack_u32(&body, MAIL_STAGE_ARRIVE);
	pack_u64(&body, number);
	queue_peer_say(peer, QUEUE_PROTOCOL_FOUND, buffer_view(&body));
	buffer_clear(&body);
}

static void expect_stands(struct queue_peer *manager, uint64_t number)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(manager), QUEUE_PROTOCOL_STANDS);
	body = (struct unpack){buffer_view(&manager->body), false};
	assert_int_equal(unpack_u32(&body), MAIL_STAGE_ARRIVE);
	assert_int_equal(unpack_u64(&body), number);
	assert_true(unpack_is_whole(&body));
}

static bool is_in_todo(uint64_t number)
{
	char path[256];

	snprintf(path, sizeof path, "%s/todo/arrive/0/%llu", queue_peer_path("queue"),
		 (unsigned long long)number);
	return access(path, F_OK) == 0;
}

/* Its name can be seen before it is durable; then it is refused. */
static void what_a_scan_finds_on_its_way(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	struct buffer text = {0};
	struct unpack body;
	uint64_t stands;
	uint64_t number;

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	stands = queue_one(&client, 1);
	expect_queued(&manager, stands, true);
	number = open_one(&client);
	append_envelope(&text, number, 1);
	pthread_mutex_lock(&syncs.mutex);
	syncs.fail = -EIO;
	say_commit(&client, number, buffer_view(&text), STR("data\r\n"));
	while (!is_in_todo(number))
		usleep(1000);
	say_found(&manager, number); /* no answer: so this is the first */
	say_found(&manager, 1);
	say_found(&manager, stands);
	expect_stands(&manager, stands);
	pthread_mutex_unlock(&syncs.mutex);
	assert_int_equal(queue_peer_hear(&client), QUEUE_PROTOCOL_COMMITTED);
	body = (struct unpack){buffer_view(&client.body), false};
	assert_int_equal(unpack_u64(&body), number);
	assert_int_equal(unpack_u32(&body), EIO);
	assert_false(is_in_todo(number));
	/* nothing new until a sync succeeds, and then again */
	say_u32(&client, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(&client), QUEUE_PROTOCOL_REFUSED);
	while (queue_intake_must_prove(node.intake))
		usleep(1000);
	stands = queue_one(&client, 1);
	expect_queued(&manager, stands, true); /* and nothing of the other */
	buffer_clear(&text);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

/* A file that was copied into the queue: the manager is not told of it, and no more is taken. */
static void a_file_of_another_number(void **state)
{
	struct queue_peer manager;
	struct queue_peer client;
	struct unpack body;
	uint64_t stands;
	char from[256];
	char to[256];

	(void)state;
	start(0);
	manager = manage();
	client = connect_peer();
	stands = queue_one(&client, 1);
	expect_queued(&manager, stands, true);
	snprintf(from, sizeof from, "%s/todo/arrive/0/%llu", queue_peer_path("queue"),
		 (unsigned long long)stands);
	snprintf(to, sizeof to, "%s/todo/arrive/0/1", queue_peer_path("queue"));
	assert_int_equal(link(from, to), 0);
	say_found(&manager, 1);
	say_found(&manager, stands);
	expect_stands(&manager, stands);
	say_u32(&client, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(&client), QUEUE_PROTOCOL_REFUSED);
	body = (struct unpack){buffer_view(&client.body), false};
	assert_int_equal(unpack_u32(&body), EUCLEAN);
	say_found(&client, stands); /* it is not the manager */
	assert_int_equal(queue_peer_hear(&client), 0);
	queue_peer_close(&client);
	queue_peer_close(&manager);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_comes_and_goes),
		TEST(a_large_envelope_comes_in_parts),
		TEST(a_slow_manager_is_told_to_scan),
		TEST(an_envelope_must_be_its_own),
		TEST(what_is_given_back_is_handed_out_again),
		TEST(what_came_by_value_is_used_again),
		TEST(old_bytes_do_not_leave),
		TEST(nothing_is_queued_that_somebody_can_change),
		TEST(a_kernel_without_leases),
		TEST(a_shared_file_is_not_used_again),
		TEST(a_shared_file_that_is_given_back_is_not_used_again),
		TEST(what_waited_is_used_again_only_when_it_came_by_value),
		TEST(data_come_in_parts),
		TEST(data_must_be_as_long_as_the_envelope_says),
		TEST(data_beyond_their_bound_end_the_connection),
		TEST(a_full_disk_gives_no_files),
		TEST(what_a_scan_finds_on_its_way),
		TEST(a_file_of_another_number),
		TEST(a_commit_outlives_its_client),
		TEST(only_those_who_may_are_heard),
		TEST(what_breaks_the_rules_ends_the_connection),
		TEST(a_process_has_so_many_messages),
		TEST(a_process_has_so_many_connections),
		TEST(what_is_not_committed_is_bounded),
		TEST(a_message_has_so_many_recipients),
		TEST(large_envelopes_wait_for_the_disk),
		TEST(who_does_not_read_is_not_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
