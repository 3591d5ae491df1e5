// SPDX-License-Identifier: ISC
#include "filing/decode/identity.h"
#include "filing/decode/internal.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BODY  "\r\nHey guys! Shall we meet tomorrow at 2 PM?\r\n"
#define FIRST "From: lisa@gmail.com\r\nTo: scuba@mail.test, doug@mail.test\r\n"
#define ID    "<123-abc@mail.google.com>"

static struct decode_identity identify(struct arena *arena, struct str text)
{
	struct ipc_content content = {.bytes = text, .file = -1, .size = text.length};
	struct decode_identity identity;

	assert_int_equal(decode_identify(&content, arena, &identity), 0);
	return identity;
}

static void hash(struct str text, unsigned char digest[DECODE_DIGEST_SIZE])
{
	assert_int_equal(EVP_Digest(text.data, text.length, digest, NULL, EVP_sha256(), NULL), 1);
}

static void assert_str(struct str got, const char *expected)
{
	assert_int_equal(got.length, strlen(expected));
	assert_memory_equal(got.data, expected, got.length);
}

/* That ID is "<sha256-HEX@invalid>" of BYTES. */
static void assert_derived(const struct decode_identity *identity, struct str bytes)
{
	unsigned char digest[DECODE_DIGEST_SIZE];
	char expected[128];
	size_t length = (size_t)snprintf(expected, sizeof expected, "<sha256-");

	hash(bytes, digest);
	for (size_t i = 0; i < sizeof digest; i++)
		length += (size_t)snprintf(expected + length, sizeof expected - length, "%02x",
					   digest[i]);
	(void)snprintf(expected + length, sizeof expected - length, "@invalid>");
	assert_true(identity->is_derived);
	assert_str(identity->id, expected);
}

static void message_ids_are_taken_or_derived(void **state)
{
	static const struct {
		struct str field; /* all that stands before the body */
		const char *id;   /* NULL: derived */
		struct str of;    /* from these bytes; empty: from the content's digest */
	} cases[] = {
		{STR("Message-ID: " ID "\r\n"), ID, STR("")},
		{STR("message-id:" ID "\r\n"), ID, STR("")},
		{STR("MESSAGE-ID :\t " ID " \t\r\n"), ID, STR("")},
		/* folded */
		{STR("Message-ID:\r\n " ID "\r\n"), ID, STR("")},
		{STR("Message-ID:\n\t" ID "\n \n"), ID, STR("")},
		/* repeated: the first counts, whatever it is */
		{STR("Message-ID: " ID "\r\nMessage-ID: <b@c>\r\n"), ID, STR("")},
		{STR("Message-ID: bad\r\nMessage-ID: " ID "\r\n"), NULL, STR("bad")},
		{STR("Message-ID:\r\nMessage-ID: " ID "\r\n"), NULL, STR("")},
		/* missing */
		{STR("Subject: x\r\n"), NULL, STR("")},
		{STR("Message-ID: \r\n"), NULL, STR("")},
		{STR("X-Message-ID: " ID "\r\n"), NULL, STR("")},
		{STR("Message-IDs: " ID "\r\n"), NULL, STR("")},
		/* in the body */
		{STR("Subject: x\r\n\r\nMessage-ID: " ID "\r\n"), NULL, STR("")},
		{STR("This is no field\r\nMessage-ID: " ID "\r\n"), NULL, STR("")},
		/* malformed */
		{STR("Message-ID: <>\r\n"), NULL, STR("<>")},
		{STR("Message-ID: a@b\r\n"), NULL, STR("a@b")},
		{STR("Message-ID: <a@b\r\n"), NULL, STR("<a@b")},
		{STR("Message-ID: <a@b>>\r\n"), NULL, STR("<a@b>>")},
		{STR("Message-ID: <<a@b>\r\n"), NULL, STR("<<a@b>")},
		{STR("Message-ID: <a@b> <c@d>\r\n"), NULL, STR("<a@b> <c@d>")},
		{STR("Message-ID: <a\r\n b@c>\r\n"), NULL, STR("<a\n b@c>")},
		{STR("Message-ID: <a\rb@c>\r\n"), NULL, STR("<a\rb@c>")},
		{STR("Message-ID: <a b@c>\r\n"), NULL, STR("<a b@c>")},
		{STR("Message-ID: <a\0b@c>\r\n"), NULL, STR("<a\0b@c>")},
		{STR("Message-ID: \0\r\n"), NULL, STR("\0")},
		{STR("Message-ID: <a\x7f@c>\r\n"), NULL, STR("<a\x7f@c>")},
		{STR("Message-ID: <j\xc3\xb6rg@c>\r\n"), NULL, STR("<j\xc3\xb6rg@c>")},
		{STR("Message-ID: <j\xf6rg@c>\r\n"), NULL, STR("<j\xf6rg@c>")},
		{STR("Message-ID: =?utf-8?q?<a@b>?=\r\n"), NULL, STR("=?utf-8?q?<a@b>?=")},
		/* hostile, but only to those who do not bind parameters */
		{STR("Message-ID: <'; DROP\r\n"), NULL, STR("<'; DROP")},
		{STR("Message-ID: <');DROP/**/TABLE/**/message;--@x>\r\n"),
		 "<');DROP/**/TABLE/**/message;--@x>", STR("")},
		{STR("Message-ID: <\"'`$(id)%s%n\\@x>\r\n"), "<\"'`$(id)%s%n\\@x>", STR("")},
		/* as if it were derived */
		{STR("Message-ID: <sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7"
		     "852b855@invalid>\r\n"),
		 NULL,
		 STR("<sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855@"
		     "invalid>")},
		{STR("Message-ID: <sha256-x@invalid>\r\n"), "<sha256-x@invalid>", STR("")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		struct buffer text = {0};
		struct decode_identity identity;
		unsigned char digest[DECODE_DIGEST_SIZE];

		buffer_append_string(&text, FIRST);
		buffer_append_str(&text, cases[i].field);
		buffer_append_string(&text, BODY);
		identity = identify(arena, buffer_view(&text));
		if (cases[i].id != NULL) {
			assert_str(identity.id, cases[i].id);
			assert_false(identity.is_derived);
		} else if (cases[i].of.length > 0) {
			assert_derived(&identity, cases[i].of);
		} else {
			struct buffer normal = {0};

			for (size_t at = 0; at < text.length; at++)
				if (buffer_data(&text)[at] != '\r')
					buffer_append_byte(&normal, buffer_data(&text)[at]);
			hash(buffer_view(&normal), digest); /* there is no Received */
			assert_derived(&identity, str_slice((const char *)digest, sizeof digest));
			buffer_clear(&normal);
		}
		buffer_clear(&text);
		arena_free(arena);
	}
}

/* The longest, one byte more, 10 KB, a megabyte. */
static void long_ids_are_hashed(void **state)
{
	static const size_t lengths[] = {DECODE_ID_MAX - 1, DECODE_ID_MAX, DECODE_ID_MAX + 1, 10240,
					 1000000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		struct arena *arena = arena_new();
		struct buffer id = {0};
		struct buffer text = {0};
		struct decode_identity identity;

		buffer_append_byte(&id, '<');
		while (id.length < lengths[i] - 1)
			buffer_append_byte(&id, (char)('a' + id.length % 26));
		buffer_append_byte(&id, '>');
		buffer_append_string(&text, "Message-ID: ");
		buffer_append_str(&text, buffer_view(&id));
		buffer_append_string(&text, "\r\n" BODY);
		identity = identify(arena, buffer_view(&text));
		if (lengths[i] <= DECODE_ID_MAX)
			assert_true(str_equal(identity.id, buffer_view(&id)));
		else
			assert_derived(&identity, buffer_view(&id));
		assert_int_equal(identity.is_derived, lengths[i] > DECODE_ID_MAX);
		buffer_clear(&id);
		buffer_clear(&text);
		arena_free(arena);
	}
}

/* The two long ones differ in their last byte. */
static void different_ids_stay_apart(void **state)
{
	char one[2000];
	char other[2000];
	struct arena *arena = arena_new();

	(void)state;
	memset(one, 'x', sizeof one);
	memcpy(one, "Message-ID: <", 13);
	memcpy(one + sizeof one - 3, ">\n\n", 3);
	memcpy(other, one, sizeof one);
	other[sizeof other - 4] = 'y';
	assert_false(str_equal(identify(arena, str_slice(one, sizeof one)).id,
			       identify(arena, str_slice(other, sizeof other)).id));
	arena_free(arena);
}

/* What is in front of the story's message, or changed in it, without it being another one. */
static void deliveries_do_not_change_the_digest(void **state)
{
	static const struct str same[] = {
		STR(FIRST "Message-ID: " ID "\r\n" BODY),
		STR("Delivered-To: scuba@mail.test\r\n" FIRST "Message-ID: " ID "\r\n" BODY),
		STR("X-Stagepost-Loop: v1 0123456789abcdef\r\n" FIRST "Message-ID: " ID
		    "\r\n" BODY),
		STR("Return-Path: <lisa@gmail.com>\r\nX-Original-To: doug@mail.test\r\n"
		    "DELIVERED-TO: doug@mail.test\r\n"
		    "Received: from a by b\r\n\twith ESMTP;\r\n Thu, 1 Jan 1970\r\n" FIRST
		    "Message-ID: " ID "\r\n" BODY),
		STR("From lisa@gmail.com Thu Jan  1 00:00:00 1970\n"
		    "Received: from a by b\n" FIRST "Message-ID: " ID "\n" BODY),
		STR("From x\nFrom: lisa@gmail.com\nTo: scuba@mail.test, doug@mail.test\n"
		    "Message-ID: " ID "\n\nHey guys! Shall we meet tomorrow at 2 PM?\n"),
		STR(FIRST "Received: in the middle\r\nMessage-ID: " ID "\r\n"
			  "Received : at the end\r\n" BODY),
		STR("From: lisa@gmail.com\r\r\nTo: scuba@mail.test, doug@mail.test\n"
		    "Message-ID: " ID "\n\r\nHey guys! Shall we meet tomorrow at 2 PM?"),
		STR("From: lisa@gmail.com\r\nTo: scuba@mail.test, doug@mail.test\n"
		    "Message-ID: " ID "\n\nHey guys! Shall we meet tomorrow at 2 PM?\r\r"),
	};
	static const struct str different[] = {
		STR(FIRST "Message-ID: " ID
			  "\r\n\r\nHey guys! Shall we meet tomorrow at 3 PM?\r\n"),
		STR(FIRST "Message-ID: " ID "\r\n" BODY "\r\n"),
		STR(FIRST "Message-ID: " ID "\r\nSubject: x\r\n" BODY),
		STR(FIRST "Message-ID: " ID "\r\nX-Received: x\r\n" BODY),
		STR(FIRST "Message-ID: " ID "\r\n\r\nReceived: x\r\n" BODY),
		STR("Message-ID: " ID "\r\n" FIRST BODY),
		STR(FIRST "From lisa\r\nMessage-ID: " ID "\r\n" BODY),
		STR("From x\nFrom y\n" FIRST "Message-ID: " ID "\r\n" BODY),
		STR(FIRST "message-id: " ID "\r\n" BODY),
		STR(FIRST "Message-ID: " ID
			  "\r\n\r\nHey guys!\r Shall we meet tomorrow at 2 PM?\r\n"),
	};
	struct arena *arena = arena_new();
	unsigned char expected[DECODE_DIGEST_SIZE];

	(void)state;
	hash(STR("From: lisa@gmail.com\nTo: scuba@mail.test, doug@mail.test\nMessage-ID: " ID
		 "\n\nHey guys! Shall we meet tomorrow at 2 PM?\n"),
	     expected);
	for (size_t i = 0; i < COUNT_OF(same); i++) {
		struct decode_identity identity = identify(arena, same[i]);

		assert_memory_equal(identity.digest, expected, sizeof expected);
		assert_str(identity.id, ID);
		assert_str(identity.from, "lisa@gmail.com");
	}
	for (size_t i = 0; i < COUNT_OF(different); i++)
		assert_memory_not_equal(identify(arena, different[i]).digest, expected,
					sizeof expected);
	arena_free(arena);
}

static void addresses_are_taken(void **state)
{
	static const struct {
		const char *header;
		const char *from;
		const char *delivered_to;
	} cases[] = {
		{"From: lisa@gmail.com\n", "lisa@gmail.com", ""},
		{"From: Lisa <lisa@gmail.com>, b@c.test\n", "lisa@gmail.com", ""},
		{"From: \"b@c.test\" <lisa@gmail.com>, broken <\n", "lisa@gmail.com", ""},
		{"From: (b@c.test) lisa@gmail.com\n", "lisa@gmail.com", ""},
		{"From: lisa\n", "", ""},
		{"From: <>\n", "", ""},
		{"From: undisclosed:;\n", "", ""},
		{"From: a@b.test\nFrom: c@d.test\n", "a@b.test", ""},
		{"From: bad\nFrom: c@d.test\n", "", ""},
		{"From: j\xc3\xb6rg@b.test\n", "j\xc3\xb6rg@b.test", ""},
		{"From: j\xf6rg@b.test\n", "", ""},
		{"From: a\0b@c.test\n", "", ""},
		{"Delivered-To: a@b.test\nDelivered-To: c@d.test\n", "", "a@b.test"},
		{"Delivered-To: bad\nDelivered-To: c@d.test\n", "", ""},
		{"Delivered-To: <a@b.test>\n", "", "a@b.test"},
		{"Delivered-To:\n a@b.test\n", "", "a@b.test"},
		{"Subject: x\n\nDelivered-To: a@b.test\n", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		struct decode_identity identity = identify(arena, str_from(cases[i].header));

		assert_str(identity.from, cases[i].from);
		assert_str(identity.delivered_to, cases[i].delivered_to);
		arena_free(arena);
	}
}

static void automatic_messages_are_known(void **state)
{
	static const struct {
		const char *header;
		bool is_automatic;
	} cases[] = {
		{"Subject: x\n", false},
		{"Auto-Submitted: no\n", false},
		{"Auto-Submitted: NO (really)\n", false},
		{"Auto-Submitted: no; x=y\n", false},
		{"Auto-Submitted:\n", false},
		{"Auto-Submitted: auto-replied\n", true},
		{"auto-submitted:\n auto-generated; x\n", true},
		{"List-Id: <a.b.test>\n", true},
		{"List-Idea: x\n", false},
		{"Precedence: bulk\n", true},
		{"Precedence: List\n", true},
		{"Precedence: junk (x)\n", true},
		{"Precedence: first-class\n", false},
		{"Precedence: bulky\n", false},
		{"\nList-Id: x\n", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();

		assert_int_equal(identify(arena, str_from(cases[i].header)).is_automatic,
				 cases[i].is_automatic);
		arena_free(arena);
	}
}

/* Fields after the limit are not seen, and those of deliveries do not move it. */
static void headers_have_a_limit(void **state)
{
	static const struct {
		size_t before; /* bytes of header of the author */
		bool is_seen;
	} cases[] = {{DECODE_HEADER_MAX - 1, true}, {DECODE_HEADER_MAX, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		for (size_t traces = 0; traces < 3; traces++) {
			struct arena *arena = arena_new();
			struct buffer text = {0};
			size_t end;

			for (size_t j = 0; j < traces * 100000; j++)
				buffer_append_string(&text, "Received: x\r\n");
			end = text.length + cases[i].before;
			buffer_append_string(&text, "X: ");
			while (text.length < end - 1)
				buffer_append_byte(&text, 'x');
			buffer_append_string(&text, "\nMessage-ID: " ID "\n\nx\n");
			assert_int_equal(identify(arena, buffer_view(&text)).is_derived,
					 !cases[i].is_seen);
			buffer_clear(&text);
			arena_free(arena);
		}
	}
}

/* A report that a machine sends each hour is not one message; that which comes once for each of its
 * recipients is. */
static void without_id_the_way_counts(void **state)
{
	static const struct str texts[] = {
		STR("Received: from a by b id 1\r\n" FIRST BODY),
		STR("Delivered-To: x@y.test\nReceived: from a by b id 1\n" FIRST BODY),
		STR("Received: from a by b id 2\r\n" FIRST BODY),
		STR(FIRST BODY),
	};
	struct decode_identity got[COUNT_OF(texts)];
	struct arena *arena = arena_new();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		got[i] = identify(arena, texts[i]);
	assert_true(str_equal(got[0].id, got[1].id));
	for (size_t i = 1; i < COUNT_OF(texts); i++) {
		assert_memory_equal(got[i].digest, got[0].digest, sizeof got[0].digest);
		assert_true(i == 1 || !str_equal(got[i].id, got[i - 1].id));
	}
	arena_free(arena);
}

struct seen {
	struct buffer wrote;
	struct buffer received;
	struct buffer fields;
};

static void on_wrote(void *context, struct str text)
{
	struct seen *seen = context;

	buffer_append_str(&seen->wrote, text);
}

static void on_field(void *context, const struct header_field *field)
{
	struct seen *seen = context;

	buffer_append_str(&seen->fields, field->whole);
}

static void on_received(void *context, struct str text)
{
	struct seen *seen = context;

	buffer_append_str(&seen->received, text);
}

/* TEXT in pieces of SIZE bytes. */
static void take(struct str text, size_t size, struct seen *seen)
{
	static const struct decode_essence_handler handler = {
		.wrote = on_wrote, .received = on_received, .field = on_field};
	struct decode_essence essence = {.handler = &handler, .context = seen};

	while (text.length > 0) {
		size_t length = text.length < size ? text.length : size;

		decode_essence_take(&essence, str_slice(text.data, length));
		text = str_skip(text, length);
	}
	decode_essence_end(&essence);
}

/* Whole and in pieces of every size. */
static void pieces_make_no_difference(void **state)
{
	char name[3000];
	const struct str texts[] = {
		STR("From x 00:00\r\nReceived: a\r\n b\r\nFrom: a@b\r\r\n c\r\nDelivered-To:x\r\n"
		    "Message-ID : y\r\n\r\nbody\r\n\r\rx\r"),
		STR("From\r\nMessage-ID: x"),
		STR("From\t: x\nFrom : y\n\tz\n garbage\nnone\nMessage-ID: x\n"),
		STR("Received"),
		STR("Received:"),
		STR("Received: \r"),
		STR("\r\r\r\n"),
		STR(" x\nMessage-ID: y\n"),
		STR(""),
		STR("Message-ID: \0\r\n\0"),
		str_slice(name, sizeof name),
	};

	(void)state;
	memset(name, 'x', sizeof name);
	memcpy(name + sizeof name - 20, ":\nMessage-ID: x\n\nx\n\n", 20);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct seen whole = {0};

		take(texts[i], SIZE_MAX, &whole);
		for (size_t size = 1; size < texts[i].length; size++) {
			struct seen pieces = {0};

			take(texts[i], size, &pieces);
			assert_true(
				str_equal(buffer_view(&whole.wrote), buffer_view(&pieces.wrote)));
			assert_true(
				str_equal(buffer_view(&whole.fields), buffer_view(&pieces.fields)));
			assert_true(str_equal(buffer_view(&whole.received),
					      buffer_view(&pieces.received)));
			buffer_clear(&pieces.wrote);
			buffer_clear(&pieces.received);
			buffer_clear(&pieces.fields);
		}
		buffer_clear(&whole.wrote);
		buffer_clear(&whole.received);
		buffer_clear(&whole.fields);
	}
}

/* A content in a file is the same; one that is shorter than it should be is an error. */
static void files_are_read(void **state)
{
	char directory[SCRATCH_SIZE];
	char path[SCRATCH_SIZE + 16];
	struct arena *arena = arena_new();
	struct buffer text = {0};
	struct ipc_content content = {0};
	struct decode_identity from_file;
	struct decode_identity from_memory;

	(void)state;
	buffer_append_string(&text, FIRST "Message-ID: " ID "\r\n\r\n");
	while (text.length < 300000)
		buffer_append_format(&text, "line %zu\r\n", text.length);
	from_memory = identify(arena, buffer_view(&text));
	assert_int_equal(scratch_make(directory), 0);
	(void)snprintf(path, sizeof path, "%s/message", directory);
	content.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(content.file >= 0);
	assert_int_equal(write(content.file, buffer_data(&text), text.length), text.length);
	content.size = text.length;
	assert_int_equal(decode_identify(&content, arena, &from_file), 0);
	assert_true(str_equal(from_file.id, from_memory.id));
	assert_memory_equal(from_file.digest, from_memory.digest, sizeof from_file.digest);
	content.size++;
	assert_int_equal(decode_identify(&content, arena, &from_file), -EIO);
	(void)close(content.file);
	(void)scratch_remove(directory);
	buffer_clear(&text);
	arena_free(arena);
}

static void fields_that_are_asked_for(void **state)
{
	static const char text[] =
		"Received: by a\r\nX-Long:  one\r\n two\r\n\tthree \r\nx-LONG: second\r\n"
		"X-Empty:\r\nList-Id: a\r\nList-Id: b\r\n" FIRST "Message-ID: " ID
		"\r\nMessage-ID: <other@x>\r\nFrom: second@x.test\r\n\r\nX-Body: no\r\n";
	struct ipc_content content = {.bytes = STR(text), .file = -1, .size = sizeof text - 1};
	struct decode_field fields[] = {{.name = STR("x-long")},   {.name = STR("x-empty")},
					{.name = STR("x-body")},   {.name = STR("list-id")},
					{.name = STR("received")}, {.name = STR("message-id")},
					{.name = STR("from")}};
	struct arena *arena = arena_new();
	struct decode_identity with;
	struct decode_identity without = identify(arena, STR(text));

	(void)state;
	assert_int_equal(decode_identify_fields(&content, arena, fields,
						sizeof fields / sizeof *fields, &with),
			 0);
	assert_str(fields[0].value, "one two\tthree");
	assert_str(fields[1].value, "");
	assert_non_null(fields[1].value.data);
	assert_null(fields[2].value.data);
	assert_str(fields[3].value, "a");
	assert_str(fields[4].value, "by a");
	assert_str(fields[5].value, ID);
	assert_str(fields[6].value, "lisa@gmail.com");
	assert_str(with.id, ID);
	assert_str(with.from, "lisa@gmail.com");
	assert_memory_equal(with.digest, without.digest, sizeof with.digest);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_ids_are_taken_or_derived),
		cmocka_unit_test(without_id_the_way_counts),
		cmocka_unit_test(long_ids_are_hashed),
		cmocka_unit_test(different_ids_stay_apart),
		cmocka_unit_test(deliveries_do_not_change_the_digest),
		cmocka_unit_test(addresses_are_taken),
		cmocka_unit_test(automatic_messages_are_known),
		cmocka_unit_test(headers_have_a_limit),
		cmocka_unit_test(pieces_make_no_difference),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(fields_that_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
