// SPDX-License-Identifier: ISC
#include "remote_scene.h"
#include "base/panic.h"
#include "fake_loop.h"
#include "mail/seven_bit/seven_bit.h"
#include "os/file/file.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct remote_scene scene;

/* Lines of 48 bytes, that begin with a dot; the second one ends the header. */
static char byte_at(uint64_t position)
{
	if (position == scene.high)
		return (char)0xe4;
	if (position == 100 || position == 101)
		return position == 100 ? '\r' : '\n';
	return position % 50 == 48 ? '\r' : position % 50 == 49 ? '\n' : position % 50 ? 'x' : '.';
}

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	size_t count = 0;

	(void)file;
	for (; count < size && offset + count < scene.size; count++)
		((char *)data)[count] = byte_at(offset + count);
	return (ssize_t)count;
}

/* What a server gets of it; where it takes no 8-bit data, what that becomes in one piece. */
static void plan_text(struct buffer *out)
{
	struct mail_seven_bit *converter = mail_seven_bit_new();
	struct buffer text = {0};

	for (uint64_t i = 0; i < scene.size; i++)
		buffer_append_byte(&text, byte_at(i));
	mail_seven_bit_scan(converter, buffer_view(&text));
	if (scene.has_extensions || mail_seven_bit_scanned(converter) == MAIL_SEVEN_BIT_NONE) {
		buffer_append_str(out, buffer_view(&text));
	} else {
		mail_seven_bit_convert(converter, buffer_view(&text), out);
		mail_seven_bit_converted(converter, out);
	}
	buffer_clear(&text);
	mail_seven_bit_free(converter);
}

void scene_plan_text(void)
{
	buffer_reset(&scene.text);
	plan_text(&scene.text);
}

/* --- the servers --- */

#define EXTENSIONS "250-DSN\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n"
#define DSN        "> NOTIFY=SUCCESS ORCPT=rfc822;o"

const char *const scene_senders[3] = {"s@client.test", "", "#@[]"};

static void say(struct peer *peer, unsigned code)
{
	buffer_append_format(&peer->output, "%u %s\r\n", code, code == 552 ? "no" : "so");
}

static void greet(struct peer *peer)
{
	if (peer->kind == KIND_CLOSES)
		peer->is_over = true;
	else if (peer->kind == KIND_GREETS_421 || peer->kind == KIND_GREETS_521)
		say(peer, peer->kind == KIND_GREETS_421 ? 421 : 521);
	else if (peer->kind == KIND_GOOD)
		say(peer, 220);
}

int os_socket_connect(const union os_socket_address *address)
{
	size_t candidate = os_socket_address_port(address) - 1u;
	enum kind kind = scene.kinds[candidate];
	bool is_mute = kind == KIND_MUTE_TO_CONNECT;
	int socket;

	/* one that is known to be silent comes after the others */
	if (candidate >= scene.tried)
		scene.tried = candidate + 1;
	else
		assert_true(kind == KIND_MUTE || kind == KIND_MUTE_TO_CONNECT);
	assert_false(scene.is_given_up);
	if (kind == KIND_REFUSES_NOW)
		return -ECONNREFUSED;
	if (kind == KIND_NO_DESCRIPTOR)
		return -EMFILE;
	socket = fake_connect(1 + fake_random(300), is_mute ? 0 : 1 + fake_random(3000));
	assert_int_equal(socket - FIRST_SOCKET, scene.peer_count);
	scene.peers[scene.peer_count] = (struct peer){.kind = kind, .candidate = candidate};
	greet(&scene.peers[scene.peer_count++]);
	return socket;
}

int os_socket_connect_from(const struct in6_addr *source, const union os_socket_address *address)
{
	(void)source;
	return os_socket_connect(address);
}

int os_socket_error(int socket)
{
	return scene.peers[socket - FIRST_SOCKET].kind == KIND_REFUSES_LATER ? -ECONNREFUSED : 0;
}

static size_t number_in(struct str line)
{
	const char *digits = memchr(line.data, '<', line.length);

	assert_non_null(digits);
	return strtoul(digits + 2, NULL, 10); /* <r17@d.test> */
}

static size_t accepted_count(const struct peer *peer)
{
	size_t count = 0;

	for (size_t i = 0; i < scene.recipient_count; i++)
		count += peer->is_accepted[i];
	return count;
}

static void on_rcpt(struct peer *peer, struct str line)
{
	size_t number = number_in(line);
	unsigned code = scene.rcpt[peer->candidate][number];
	bool has_dsn = memmem(line.data, line.length, DSN, strlen(DSN)) != NULL;

	assert_int_equal(has_dsn, scene.has_extensions);
	assert_true(number < scene.recipient_count && !peer->is_asked[number]);
	assert_true(++peer->asked <= 100);
	peer->is_asked[number] = true;
	if (code == 250 && accepted_count(peer) >= scene.room[peer->candidate]) {
		say(peer, 452);
		return;
	}
	peer->is_accepted[number] = code == 250;
	say(peer, code);
}

/* That it says what the job does. */
static void check_mail(struct str line)
{
	char wanted[256];

	snprintf(wanted, sizeof wanted, "MAIL FROM:<%s> SIZE=%llu%s%s%s",
		 scene.sender == 0 ? scene_senders[0] : "", (unsigned long long)scene.text.length,
		 scene.has_extensions && scene.high < scene.size ? " BODY=8BITMIME" : "",
		 scene.has_extensions && scene.is_utf8 ? " SMTPUTF8" : "",
		 scene.has_extensions ? " RET=HDRS ENVID=e1" : "");
	assert_int_equal(line.length, strlen(wanted));
	assert_memory_equal(line.data, wanted, line.length);
}

static void on_line(struct peer *peer, struct str line)
{
	if (str_starts_with(line, STR("EHLO")) || str_starts_with(line, STR("LHLO"))) {
		buffer_append_format(&peer->output, "250-x\r\n%s%s250 SIZE 0\r\n",
				     scene.has_pipelining ? "250-PIPELINING\r\n" : "",
				     scene.has_extensions ? EXTENSIONS : "");
	} else if (str_starts_with(line, STR("RCPT"))) {
		on_rcpt(peer, line);
	} else if (str_equal(line, STR("DATA"))) {
		peer->is_in_data = accepted_count(peer) > 0;
		say(peer, peer->is_in_data ? 354 : 554);
	} else if (str_equal(line, STR("QUIT"))) {
		say(peer, 221);
		peer->is_over = true;
	} else { /* MAIL, RSET */
		if (!str_equal(line, STR("RSET"))) {
			check_mail(line);
			peer->transactions++;
			assert_true(peer->transactions_max == 0 ||
				    peer->transactions <= peer->transactions_max);
		}
		peer->asked = 0;
		memset(peer->is_asked, 0, sizeof peer->is_asked);
		memset(peer->is_accepted, 0, sizeof peer->is_accepted);
		say(peer, 250);
	}
}

static void take(size_t number)
{
	assert_false(scene.is_taken[number]);
	scene.is_taken[number] = true;
}

static void on_message(struct peer *peer)
{
	const unsigned *final = scene.final[peer->candidate];

	peer->is_in_data = false;
	for (size_t i = 0; i < scene.recipient_count; i++) {
		if (!peer->is_accepted[i])
			continue;
		if (final[scene.is_lmtp ? i : 0] == 250)
			take(i);
		if (scene.is_lmtp)
			say(peer, final[i]);
	}
	if (!scene.is_lmtp)
		say(peer, final[0]);
	peer->is_over =
		++peer->messages == scene.messages_max || (!scene.is_lmtp && final[0] == 421);
}

/* Whether the line is the one at this position of the message; the end is not a line. */
static void check_line(struct str line, uint64_t *position)
{
	size_t skipped = line.length > 0 && line.data[0] == '.';

	for (size_t i = skipped; i < line.length; i++)
		assert_int_equal(line.data[i], buffer_data(&scene.text)[(*position)++]);
	*position += 2;
}

static uint64_t positions[PEERS_MAX];

bool scene_may_hear(size_t number)
{
	const struct peer *peer = &scene.peers[number];

	return fake_peer_unread(FIRST_SOCKET + (int)number) > 0 && !peer->is_over &&
	       (peer->output.length == 0 || !scene.hears_one_by_one);
}

void scene_hear(size_t number)
{
	struct peer *peer = &scene.peers[number];
	char bytes[2000];
	size_t count =
		fake_peer_read(FIRST_SOCKET + (int)number, bytes, 1 + fake_random(sizeof bytes));
	struct str rest;
	size_t used = 0;

	buffer_append(&peer->input, bytes, count);
	rest = buffer_view(&peer->input);
	for (ptrdiff_t end; !peer->is_over && (end = str_find(rest, '\n')) >= 0;) {
		struct str line = str_slice(rest.data, (size_t)end - 1);

		used += (size_t)end + 1;
		rest = str_skip(rest, (size_t)end + 1);
		if (!peer->is_in_data) {
			on_line(peer, line);
			positions[number] = 0;
		} else if (str_equal(line, STR("."))) {
			assert_int_equal(positions[number], scene.text.length);
			on_message(peer);
		} else {
			check_line(line, &positions[number]);
		}
	}
	buffer_consume(&peer->input, used);
}

void scene_say(size_t number)
{
	struct peer *peer = &scene.peers[number];
	size_t count = 1 + fake_random((uint32_t)peer->output.length);

	if (!fake_random(3))
		count = peer->output.length;
	buffer_consume(&peer->output, fake_peer_write(FIRST_SOCKET + (int)number,
						      buffer_data(&peer->output), count));
}
