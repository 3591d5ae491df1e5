// SPDX-License-Identifier: ISC
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "ipc/token.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fields_survive_a_round(void **state)
{
	struct buffer body = {0};
	struct unpack unpack;

	(void)state;
	pack_u32(&body, UINT32_MAX);
	pack_u64(&body, UINT64_MAX - 1);
	pack_str(&body, STR("a\0b"));
	pack_str(&body, STR(""));
	unpack = (struct unpack){buffer_view(&body), false};
	assert_int_equal(unpack_u32(&unpack), UINT32_MAX);
	assert_int_equal(unpack_u64(&unpack), UINT64_MAX - 1);
	assert_true(str_equal(unpack_str(&unpack), STR("a\0b")));
	assert_true(str_equal(unpack_str(&unpack), STR("")));
	assert_true(unpack_is_whole(&unpack));
	buffer_clear(&body);
}

static void what_is_too_much_is_noticed(void **state)
{
	struct unpack unpack = {STR("\x07\0\0\0x"), false};

	(void)state;
	assert_int_equal(unpack_u32(&unpack), 7);
	assert_false(unpack_is_whole(&unpack));
}

/* Every prefix of a body is noticed, and so is a length that lies. */
static void what_is_cut_is_noticed(void **state)
{
	struct buffer body = {0};

	(void)state;
	pack_str(&body, STR("hello"));
	pack_u32(&body, 7);
	for (size_t length = 0; length <= body.length; length++) {
		struct unpack unpack = {str_slice(buffer_data(&body), length), false};

		(void)unpack_str(&unpack);
		(void)unpack_u32(&unpack);
		assert_int_equal(unpack_is_whole(&unpack), length == body.length);
	}
	memset(buffer_data(&body), 0xff, 4);
	for (size_t length = 0; length <= body.length; length++) {
		struct unpack unpack = {str_slice(buffer_data(&body), length), false};

		assert_int_equal(unpack_str(&unpack).length, 0);
		assert_false(unpack_is_whole(&unpack));
	}
	buffer_clear(&body);
}

enum { MESSAGES = 2000 };

struct peers {
	struct os_loop *loop;
	struct ipc_channel *sender;
	struct ipc_channel *receiver;
	int raw; /* the other end, where a test plays the sender itself */
	unsigned received;
	unsigned lost;
	bool close_at_first;
};

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct peers *peers = context;
	struct unpack body = {message->body, false};
	char byte = 0;

	assert_int_equal(message->type, 9);
	assert_int_equal(message->tag, peers->received);
	assert_int_equal(unpack_u32(&body), peers->received);
	assert_int_equal(message->descriptor_count, 1);
	assert_int_equal(pread(message->descriptors[0], &byte, 1, 0), 1);
	assert_int_equal(byte, 'x');
	peers->received++;
	if (peers->close_at_first) {
		ipc_channel_close(channel);
		peers->receiver = NULL;
		os_loop_stop(peers->loop);
	} else if (peers->received == MESSAGES) {
		os_loop_stop(peers->loop);
	}
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	struct peers *peers = context;

	ipc_channel_close(channel);
	peers->lost++;
	peers->receiver = NULL;
	os_loop_stop(peers->loop);
}

static const struct ipc_channel_handler handler = {on_message, on_lost};

static void peers_open(struct peers *peers)
{
	int sockets[2];

	*peers = (struct peers){.loop = os_loop_new()};
	assert_int_equal(os_process_socket_pair(sockets), 0);
	peers->raw = sockets[0];
	peers->receiver = ipc_channel_new(peers->loop, sockets[1], &handler, peers);
}

static void peers_close(struct peers *peers)
{
	ipc_channel_close(peers->receiver);
	if (peers->sender != NULL)
		ipc_channel_close(peers->sender);
	else
		os_socket_close(peers->raw);
	os_loop_free(peers->loop);
}

static void send_all(struct peers *peers, unsigned count)
{
	int file = os_process_share_text(STR("x"));

	assert_true(file >= 0);
	peers->sender = ipc_channel_new(peers->loop, peers->raw, &handler, peers);
	for (unsigned i = 0; i < count; i++) {
		struct buffer body = {0};

		pack_u32(&body, i);
		buffer_append(&body, buffer_reserve(&body, 2000), 0);
		ipc_channel_send(peers->sender, 9, i, buffer_view(&body), &file, 1);
		buffer_clear(&body);
	}
	close(file);
}

/* More than the socket takes at once: the rest waits, in order, with descriptors
 * of its own. */
static void messages_arrive_in_order(void **state)
{
	struct peers peers;

	(void)state;
	peers_open(&peers);
	send_all(&peers, MESSAGES);
	assert_true(ipc_channel_backlog(peers.sender) > 0);
	os_loop_run(peers.loop);
	assert_int_equal(peers.received, MESSAGES);
	assert_int_equal(ipc_channel_backlog(peers.sender), 0);
	peers_close(&peers);
}

static void a_handler_may_close_its_channel(void **state)
{
	struct peers peers;

	(void)state;
	peers_open(&peers);
	peers.close_at_first = true;
	send_all(&peers, 10);
	os_loop_run(peers.loop);
	assert_int_equal(peers.received, 1);
	peers_close(&peers);
}

static void expect_loss(const void *packet, size_t length)
{
	struct peers peers;

	peers_open(&peers);
	assert_int_equal(os_socket_send(peers.raw, packet, length, NULL, 0), length);
	os_loop_run(peers.loop);
	assert_int_equal(peers.lost, 1);
	assert_int_equal(peers.received, 0);
	peers_close(&peers);
}

static void what_breaks_the_rules_ends_the_connection(void **state)
{
	static char large[IPC_BODY_MAX + 9] = {IPC_VERSION};
	static const char headless[] = {IPC_VERSION, 0, 9, 0, 0, 0, 0};
	static const char other_version[] = {99, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0};

	(void)state;
	expect_loss(headless, sizeof headless);
	expect_loss(other_version, sizeof other_version);
	expect_loss(large, sizeof large);
}

static void count_descriptors(void *context, struct ipc_channel *channel,
			      struct ipc_message *message)
{
	struct peers *peers = context;

	(void)channel;
	peers->received += (unsigned)message->descriptor_count;
	os_loop_stop(peers->loop);
}

/* A packet with COUNT of them, as only a program could send it that is not ours. */
static void send_descriptors(int socket, size_t count)
{
	static const char packet[] = {IPC_VERSION, 0, 9, 0, 0, 0, 0, 0};
	union {
		char bytes[CMSG_SPACE(sizeof(int) * (IPC_DESCRIPTORS_MAX + 1))];
		struct cmsghdr header;
	} space = {0};
	struct iovec part = {(void *)(uintptr_t)packet, sizeof packet};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space.bytes,
				 .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
	int descriptors[IPC_DESCRIPTORS_MAX + 1];

	for (size_t i = 0; i < count; i++)
		descriptors[i] = socket;
	space.header.cmsg_level = SOL_SOCKET;
	space.header.cmsg_type = SCM_RIGHTS;
	space.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
	memcpy(CMSG_DATA(&space.header), descriptors, count * sizeof *descriptors);
	assert_int_equal(sendmsg(socket, &message, 0), sizeof packet);
}

static void a_message_has_so_many_descriptors(void **state)
{
	static const struct ipc_channel_handler counting = {count_descriptors, on_lost};

	(void)state;
	for (size_t count = IPC_DESCRIPTORS_MAX; count <= IPC_DESCRIPTORS_MAX + 1; count++) {
		bool is_over = count > IPC_DESCRIPTORS_MAX;
		struct peers peers = {.loop = os_loop_new()};
		int sockets[2];

		assert_int_equal(os_process_socket_pair(sockets), 0);
		peers.raw = sockets[0];
		peers.receiver = ipc_channel_new(peers.loop, sockets[1], &counting, &peers);
		send_descriptors(peers.raw, count);
		os_loop_run(peers.loop);
		assert_int_equal(peers.received, is_over ? 0 : IPC_DESCRIPTORS_MAX);
		assert_int_equal(peers.lost, is_over);
		peers_close(&peers);
	}
}

static void a_peer_that_goes_is_noticed(void **state)
{
	struct peers peers;

	(void)state;
	peers_open(&peers);
	os_socket_close(peers.raw);
	peers.raw = -1;
	os_loop_run(peers.loop);
	assert_int_equal(peers.lost, 1);
	peers_close(&peers);
}

static void a_token_is_its_own_programs_alone(void **state)
{
	struct ipc_tokens tokens = {0};
	struct ipc_token one;
	struct ipc_token other;
	struct str text;

	(void)state;
	ipc_token_make("remote", &one);
	ipc_token_make("remote", &other);
	text = str_from(one.text);
	assert_string_not_equal(one.text, other.text);
	assert_int_equal(text.length, 7 + 32);
	assert_true(ipc_tokens_add(&tokens, STR("remote"), text));
	assert_true(ipc_tokens_add(&tokens, STR("local"), STR("")));
	assert_true(ipc_tokens_match(&tokens, "remote", text));
	assert_false(ipc_tokens_match(&tokens, "local", text));
	assert_false(ipc_tokens_match(&tokens, "local", STR(""))); /* none is no token */
	assert_false(ipc_tokens_match(&tokens, "remote", STR("")));
	assert_false(ipc_tokens_match(&tokens, "remote", str_from(other.text)));
	assert_false(ipc_tokens_match(&tokens, "remote", str_slice(one.text, text.length - 1)));
	assert_true(ipc_tokens_add(&tokens, STR("remote"), str_from(other.text)));
	assert_true(ipc_tokens_match(&tokens, "remote", str_from(other.text)));
	assert_true(str_equal(ipc_tokens_find(&tokens, "remote"), text));
	assert_false(ipc_tokens_add(&tokens, STR("sixteen letters!"), STR("x")));
	while (tokens.count < IPC_TOKENS_MAX)
		assert_true(ipc_tokens_add(&tokens, STR("x"), STR("x")));
	assert_false(ipc_tokens_add(&tokens, STR("x"), STR("x")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_survive_a_round),
		cmocka_unit_test(what_is_cut_is_noticed),
		cmocka_unit_test(what_is_too_much_is_noticed),
		cmocka_unit_test(messages_arrive_in_order),
		cmocka_unit_test(a_handler_may_close_its_channel),
		cmocka_unit_test(what_breaks_the_rules_ends_the_connection),
		cmocka_unit_test(a_message_has_so_many_descriptors),
		cmocka_unit_test(a_peer_that_goes_is_noticed),
		cmocka_unit_test(a_token_is_its_own_programs_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
