// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_node_client.c - another node that says anything to one that hands packages over.
 * The first byte chooses how much comes at once; whatever the pieces are, it must come to the same.
 */
#include "base/panic.h"
#include "input.h"
#include "mail/package.h"
#include "node/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct play {
	struct node_client client;
	struct buffer told;
	unsigned ready;
};

static void note_words(struct play *play, const char *verb, struct str one, struct str other)
{
	for (size_t i = 0; i < one.length; i++)
		if ((unsigned char)one.data[i] < ' ')
			panic("a control character");
	buffer_append_format(&play->told, "%s " STR_FORMAT " " STR_FORMAT ";", verb,
			     STR_ARGUMENTS(one), STR_ARGUMENTS(other));
}

static void on_kept(void *context, struct str package, struct str numbers)
{
	struct play *play = context;

	if (play->ready > 0 || !mail_package_parse(package, &(struct mail_package){0}))
		panic("what is no package is kept, or after \"ready\"");
	note_words(play, "kept", package, numbers);
}

static void on_ready(void *context)
{
	struct play *play = context;

	if (++play->ready > 1)
		panic("ready twice");
	if (play->client.answers_status)
		node_client_ask_status(&play->client, STR(""));
}

static void on_took(void *context, struct str package)
{
	struct play *play = context;

	if (play->ready == 0)
		panic("an answer before \"ready\"");
	note_words(play, "took", package, STR(""));
}

static void on_later(void *context, struct str package, struct str status, struct str text)
{
	struct play *play = context;

	if (play->ready == 0)
		panic("an answer before \"ready\"");
	note_words(play, "later", package, status);
	note_words(play, "because", text, STR(""));
}

/* It is asked again at once: so each answer is to a question. */
static void on_status(void *context, struct str text)
{
	struct play *play = context;

	if (play->ready == 0 || text.length > NODE_STATUS_MAX)
		panic("a status before \"ready\", or over its bound");
	note_words(play, "status", text, STR(""));
	node_client_ask_status(&play->client, STR("a1/1-1"));
}

static void play_pieces(struct play *play, size_t piece, struct str bytes)
{
	static const struct node_client_handler handler = {on_kept, on_ready, on_took, on_later,
							   on_status};

	*play = (struct play){.ready = 0};
	node_client_begin(&play->client, &handler, play, "a1", "b2",
			  &(struct queue_handed_serial){1, 7, 3});
	while (bytes.length > 0) {
		size_t length = bytes.length < piece ? bytes.length : piece;

		if (!node_client_read(&play->client, str_slice(bytes.data, length)))
			return;
		bytes = str_skip(bytes, length);
	}
}

static void clear_play(struct play *play)
{
	node_client_clear(&play->client);
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
	play_pieces(&whole, bytes.length, bytes);
	play_pieces(&pieces, 1 + (size_t)(data[0] >> 3), bytes);
	check_equal(buffer_view(&whole.told), buffer_view(&pieces.told), "what is told");
	check_equal(buffer_view(&whole.client.out), buffer_view(&pieces.client.out), "answers");
	check_equal(buffer_view(&whole.client.reason), buffer_view(&pieces.client.reason),
		    "reasons");
	clear_play(&whole);
	clear_play(&pieces);
	return 0;
}
