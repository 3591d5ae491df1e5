// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_decode.c - which message a content is, what is in it, and that as bytes.
 *
 * The first byte: 'm', a message follows; or the bytes of a decoded one, as from a process that
 * was taken over.
 */
#include "base/panic.h"
#include "filing/decode/identity.h"
#include "filing/decode/mime.h"
#include "filing/decode/wire.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ipc_content content_of(struct str text)
{
	return (struct ipc_content){.bytes = text, .file = -1, .size = text.length};
}

static void identify(struct str text, struct arena *arena, struct decode_identity *identity)
{
	struct ipc_content content = content_of(text);

	if (decode_identify(&content, arena, identity) < 0)
		panic("memory cannot be read");
	if (identity->id.length < 3 || identity->id.length > DECODE_ID_MAX)
		panic("a Message-ID of %zu bytes", identity->id.length);
	for (size_t i = 0; i < identity->id.length; i++)
		if (identity->id.data[i] <= ' ' || identity->id.data[i] > '~')
			panic("a Message-ID that is not printable");
}

/* A delivery puts fields in front, and may change line ends. A first line that continues one would
 * then be a part of them. */
static void check_identity(struct str text, struct arena *arena)
{
	struct decode_identity identity;
	struct decode_identity delivered;
	struct buffer copy CLEANUP(buffer_clear) = {0};

	identify(text, arena, &identity);
	if (text.length == 0 || text.data[0] == ' ' || text.data[0] == '\t' ||
	    str_starts_with(text, STR("From ")))
		return;
	buffer_append_string(&copy, "Return-Path: <>\nDelivered-To: bob@b.test\n");
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '\n')
			buffer_append_byte(&copy, '\r');
		buffer_append_byte(&copy, text.data[i]);
	}
	identify(buffer_view(&copy), arena, &delivered);
	if (!str_equal(identity.id, delivered.id) || !str_equal(identity.from, delivered.from) ||
	    memcmp(identity.digest, delivered.digest, sizeof identity.digest) != 0)
		panic("a delivery makes another message");
	if (!str_equal(delivered.delivered_to, STR("bob@b.test")))
		panic("not the topmost Delivered-To");
}

/* What is read is what was written. */
static void check_wire(struct str bytes, const struct decode_message *message)
{
	struct buffer again CLEANUP(buffer_clear) = {0};

	decode_wire_append(&again, message);
	check_equal(buffer_view(&again), bytes, "decoded messages");
}

static void check_message(struct str text, struct arena *arena)
{
	struct ipc_content content = content_of(text);
	struct buffer wire CLEANUP(buffer_clear) = {0};
	struct decode_message message;
	struct decode_message read;

	decode_mime(&content, arena, &message);
	decode_wire_append(&wire, &message);
	if (wire.length > DECODE_WIRE_MAX || !decode_wire_read(buffer_view(&wire), arena, &read))
		panic("the decoder breaks a promise");
	check_wire(buffer_view(&wire), &read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool has_begun;
	struct str rest = str_slice((const char *)data, size);
	struct arena *arena = arena_new();
	struct decode_message message;

	if (!has_begun)
		decode_mime_begin();
	has_begun = true;
	if (size > 0 && data[0] == 'm') {
		check_identity(str_skip(rest, 1), arena);
		check_message(str_skip(rest, 1), arena);
	} else if (decode_wire_read(str_skip(rest, 1), arena, &message)) {
		check_wire(str_skip(rest, 1), &message);
	}
	arena_free(arena);
	return 0;
}
