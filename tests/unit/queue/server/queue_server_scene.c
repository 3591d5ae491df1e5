// SPDX-License-Identifier: ISC
#include "queue_server_scene.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "mail/address.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "queue/client/protocol.h"
#include "test.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct queue_server_scene scene;

const struct ipc_tokens scene_tokens = {
	{{"send", "send-1"}, {"remote", "remote-1"}, {"noded", "noded-1"}}, 3};

static void on_stopped(void *context)
{
	os_loop_stop(context);
}

static void on_stop(void *context)
{
	queue_server_stop(scene.server, on_stopped, context);
}

static void *run(void *context)
{
	os_loop_run(scene.loop);
	log_flush();
	return context;
}

void scene_start_for(uint64_t reserve, const struct queue_server_peers *peers)
{
	struct queue_options options = {
		.create = true, .split = 1, .unsafe = true, .sync = QUEUE_SYNC_FILES};
	struct queue_intake_options intake_options = {
		.spares = 4, .spare_size = 4096, .is_daemon = true};

	scene.listening = os_socket_listen_unix(queue_peer_path("socket"), SOCK_SEQPACKET, 0600);
	scene.submit = os_socket_listen_unix(queue_peer_path("submit"), SOCK_SEQPACKET, 0600);
	assert_true(scene.listening >= 0 && scene.submit >= 0);
	log_open("test", LOG_ERROR_LEVEL);
	assert_int_equal(queue_store_open(queue_peer_path("queue"), &options, &scene.store, NULL),
			 0);
	assert_int_equal(queue_intake_open(scene.store, &intake_options, &scene.intake), 0);
	scene.loop = os_loop_new();
	scene.server = queue_server_new(scene.loop, scene.store, scene.intake, scene.listening,
					reserve, peers);
	queue_server_serve_users(scene.server, scene.submit);
	scene.stop = os_wakeup_new(scene.loop, on_stop, scene.loop);
	assert_int_equal(pthread_create(&scene.thread, NULL, run, NULL), 0);
}

void scene_start(uint64_t reserve)
{
	const struct queue_server_peers peers = {.manager = {geteuid(), 1, 8192, 1},
						 .intake = {geteuid(), 1, 8192, 100000},
						 .open = UINT32_MAX,
						 .tokens = &scene_tokens};

	scene_start_for(reserve, &peers);
}

void scene_stop(void)
{
	os_wakeup_send(scene.stop);
	pthread_join(scene.thread, NULL);
	os_wakeup_free(scene.stop);
	queue_server_free(scene.server);
	queue_intake_close(scene.intake);
	queue_store_close(scene.store);
	os_loop_free(scene.loop);
	os_socket_close(scene.listening);
	os_socket_close(scene.submit);
}

struct queue_peer scene_connect(void)
{
	return queue_peer_connect(queue_peer_path("socket"));
}

struct queue_peer scene_connect_user(void)
{
	return queue_peer_connect(queue_peer_path("submit"));
}

void scene_say_u32(struct queue_peer *peer, uint16_t type, uint32_t value)
{
	struct buffer body = {0};

	pack_u32(&body, value);
	queue_peer_say(peer, type, buffer_view(&body));
	buffer_clear(&body);
}

uint64_t scene_open_one(struct queue_peer *peer)
{
	struct unpack body;

	scene_say_u32(peer, QUEUE_PROTOCOL_OPEN, 1);
	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_OPENED);
	assert_int_equal(peer->file_count, 0);
	body = (struct unpack){buffer_view(&peer->body), false};
	return unpack_u64(&body);
}

void scene_share(struct queue_peer *peer, uint64_t number)
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

void scene_append_envelope_of(struct buffer *text, uint64_t number, unsigned recipients,
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

void scene_append_envelope(struct buffer *text, uint64_t number, unsigned recipients)
{
	scene_append_envelope_of(text, number, recipients, 6);
}

void scene_say_part(struct queue_peer *peer, uint16_t type, uint64_t number, struct str text)
{
	struct buffer body = {0};

	pack_u64(&body, number);
	pack_str(&body, text);
	queue_peer_say(peer, type, buffer_view(&body));
	buffer_clear(&body);
}

void scene_say_commit(struct queue_peer *peer, uint64_t number, struct str text, struct str data)
{
	struct buffer body = {0};

	pack_u64(&body, number);
	pack_str(&body, text);
	pack_str(&body, data);
	queue_peer_say(peer, QUEUE_PROTOCOL_COMMIT, buffer_view(&body));
	buffer_clear(&body);
}

uint32_t scene_hear_result(struct queue_peer *peer, uint64_t number)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(peer), QUEUE_PROTOCOL_COMMITTED);
	body = (struct unpack){buffer_view(&peer->body), false};
	assert_int_equal(unpack_u64(&body), number);
	return unpack_u32(&body);
}

void scene_say_envelope(struct queue_peer *peer, uint64_t number, struct str text)
{
	while (text.length > QUEUE_ENVELOPE_PART) {
		scene_say_part(peer, QUEUE_PROTOCOL_ENVELOPE, number,
			       str_slice(text.data, QUEUE_ENVELOPE_PART));
		text = str_skip(text, QUEUE_ENVELOPE_PART);
	}
	scene_say_commit(peer, number, text, STR("data\r\n"));
}

uint32_t scene_commit(struct queue_peer *peer, uint64_t number, struct str text)
{
	scene_say_envelope(peer, number, text);
	return scene_hear_result(peer, number);
}

uint64_t scene_queue_one(struct queue_peer *peer, unsigned recipients)
{
	uint64_t number = scene_open_one(peer);
	struct buffer text = {0};

	scene_append_envelope(&text, number, recipients);
	assert_int_equal(scene_commit(peer, number, buffer_view(&text)), 0);
	buffer_clear(&text);
	return number;
}

struct queue_peer scene_manage(void)
{
	struct queue_peer manager = scene_connect();

	queue_peer_say(&manager, QUEUE_PROTOCOL_MANAGE, SCENE_MANAGE_BODY);
	assert_int_equal(queue_peer_hear(&manager), QUEUE_PROTOCOL_MANAGED);
	queue_peer_say(&manager, QUEUE_PROTOCOL_CLEANED, STR(""));
	return manager;
}

void scene_say_remove(struct queue_peer *peer, uint32_t kind, uint32_t stage, uint64_t number)
{
	struct buffer body = {0};

	pack_u32(&body, kind);
	pack_u32(&body, stage);
	pack_u64(&body, number);
	queue_peer_say(peer, QUEUE_PROTOCOL_REMOVE, buffer_view(&body));
	buffer_clear(&body);
}

void scene_expect_queued_with(struct queue_peer *manager, uint64_t number, bool has_text,
			      struct str content)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(manager), QUEUE_PROTOCOL_QUEUED);
	body = (struct unpack){buffer_view(&manager->body), false};
	assert_int_equal(unpack_u32(&body), MAIL_STAGE_ARRIVE);
	assert_int_equal(unpack_u64(&body), number);
	assert_int_equal(unpack_str(&body).length > 0, has_text);
	assert_true(str_equal(unpack_str(&body), content));
	assert_true(unpack_is_whole(&body));
}

void scene_expect_queued(struct queue_peer *manager, uint64_t number, bool has_text)
{
	scene_expect_queued_with(manager, number, has_text, STR("data\r\n"));
}

void scene_expect_removed(struct queue_peer *manager, uint64_t number)
{
	struct unpack body;

	assert_int_equal(queue_peer_hear(manager), QUEUE_PROTOCOL_REMOVED);
	body = (struct unpack){buffer_view(&manager->body), false};
	assert_int_equal(unpack_u64(&body), number);
	assert_true(unpack_is_whole(&body));
}

void scene_say_number(struct queue_peer *peer, uint16_t type, uint64_t number)
{
	struct buffer body = {0};

	pack_u64(&body, number);
	queue_peer_say(peer, type, buffer_view(&body));
	buffer_clear(&body);
}

void scene_remove_message(struct queue_peer *manager, uint64_t number)
{
	scene_expect_queued(manager, number, true);
	scene_say_remove(manager, QUEUE_REMOVE_QUEUED, MAIL_STAGE_ARRIVE, number);
	scene_expect_removed(manager, number);
}

void scene_fill(struct buffer *data, size_t size)
{
	memset(buffer_reserve(data, size), 'x', size);
	buffer_commit(data, size);
}

void scene_begin(void)
{
	scene_start(0);
	scene.manager = scene_manage();
	scene.client = scene_connect();
}

void scene_end(void)
{
	queue_peer_close(&scene.client);
	queue_peer_close(&scene.manager);
	scene_stop();
}
