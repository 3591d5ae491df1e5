// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_node_server.c - another node that says anything to one that takes packages. The
 * first byte chooses how much comes at once, and which packages are taken; whatever the pieces are,
 * it must come to the same.
 */
#include "base/panic.h"
#include "input.h"
#include "mail/package.h"
#include "node/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REFUSES = 1 << 0, IS_OLD = 1 << 1, KEEPS_SOME = 1 << 2 };

struct play {
	struct node_server server;
	unsigned choice;
	struct buffer told;
	char package[MAIL_PACKAGE_SIZE];
	uint64_t left; /* bytes of its data */
	bool is_in_package;
};

static void on_hello(void *context, const struct queue_handed_serial *serial)
{
	struct play *play = context;

	if (serial->epoch == 0 || serial->run == 0 || serial->connection == 0)
		panic("a serial with a zero");
	if ((play->choice & KEEPS_SOME) != 0)
		node_server_kept(&play->server, STR("12-3f.4"), STR("4-6"));
	if ((play->choice & IS_OLD) != 0)
		node_server_old(&play->server, serial);
	else
		node_server_ready(&play->server);
}

static bool on_take(void *context, struct str package, struct str text, uint64_t size)
{
	struct play *play = context;

	if (play->is_in_package || package.length >= sizeof play->package ||
	    !mail_package_parse(package, &(struct mail_package){0}))
		panic("a package inside of another one, or without a name");
	if (text.length > NODE_TEXT_MAX)
		panic("a text over its bound");
	if (play->server.in_flight > NODE_PACKAGES_IN_FLIGHT)
		panic("too many packages");
	memcpy(play->package, package.data, package.length);
	play->package[package.length] = '\0';
	play->is_in_package = true;
	play->left = size;
	buffer_append_str(&play->told, text);
	return true;
}

static bool on_data(void *context, struct str part)
{
	struct play *play = context;

	if (!play->is_in_package || part.length > play->left)
		panic("more data than a package has");
	play->left -= part.length;
	buffer_append_str(&play->told, part);
	return true;
}

static bool on_end(void *context)
{
	struct play *play = context;

	if (!play->is_in_package || play->left > 0)
		panic("a package ends before its data");
	play->is_in_package = false;
	buffer_append_format(&play->told, ".%s;", play->package);
	if ((play->choice & REFUSES) != 0)
		node_server_later(&play->server, play->package, "4.3.1", "full");
	else
		node_server_took(&play->server, play->package);
	return true;
}

static void on_settled(void *context, struct str package, bool is_twice)
{
	struct play *play = context;

	if (!mail_package_parse(package, &(struct mail_package){0}))
		panic("what is no package is settled");
	buffer_append_format(&play->told, "%d" STR_FORMAT ";", is_twice, STR_ARGUMENTS(package));
}

static void on_status(void *context, struct str message)
{
	struct play *play = context;

	buffer_append_format(&play->told, "status " STR_FORMAT ";", STR_ARGUMENTS(message));
	if ((play->choice & REFUSES) == 0)
		node_server_status(&play->server, STR("{}"));
}

static void play_pieces(struct play *play, unsigned choice, size_t piece, struct str bytes)
{
	static const struct node_server_handler handler = {on_hello, on_take,    on_data,
							   on_end,   on_settled, on_status};

	*play = (struct play){.choice = choice};
	node_server_begin(&play->server, &handler, play, "b2", "a1");
	while (bytes.length > 0) {
		size_t length = bytes.length < piece ? bytes.length : piece;

		if (!node_server_read(&play->server, str_slice(bytes.data, length)))
			return;
		bytes = str_skip(bytes, length);
	}
}

static void clear_play(struct play *play)
{
	node_server_clear(&play->server);
	buffer_clear(&play->told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct play whole;
	struct play pieces;
	struct str bytes;

	if (size < 2)
		return 0;
	bytes = str_slice((const char *)data + 1, size - 1);
	play_pieces(&whole, data[0], bytes.length, bytes);
	play_pieces(&pieces, data[0], 1 + (size_t)(data[0] >> 3), bytes);
	check_equal(buffer_view(&whole.told), buffer_view(&pieces.told), "what is told");
	check_equal(buffer_view(&whole.server.out), buffer_view(&pieces.server.out), "answers");
	clear_play(&whole);
	clear_play(&pieces);
	return 0;
}
