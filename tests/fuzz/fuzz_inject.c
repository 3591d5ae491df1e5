// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_inject.c - a message as a program hands it over: its lines, its
 * header, the addresses in it. The first byte: whether a dot ends it.
 *
 * What comes out has CRLF at the end of every line and nowhere else a CR or LF;
 * every address found is one; a header that was completed needs no completion.
 */
#include "base/panic.h"
#include "header/addresses.h"
#include "mail/address.h"
#include "queue/inject/header.h"
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] == '\r' && (i + 1 == text.length || text.data[i + 1] != '\n'))
			panic("a CR without LF");
		if (text.data[i] == '\n' && (i == 0 || text.data[i - 1] != '\r'))
			panic("an LF without CR");
	}
	if (text.length > 0 && text.data[text.length - 1] != '\n')
		panic("a line without an end");
}

static int check_address(void *context, struct str address)
{
	++*(size_t *)context;
	struct mail_address parsed;

	if (mail_address_parse(address, 0, &parsed) < 0)
		panic("not an address");
	return 0;
}

static void check_list(struct str list)
{
	struct buffer rewritten = {0};
	struct buffer again = {0};
	size_t count = 0;
	size_t count_again = 0;

	if (header_addresses_parse(list, STR("host.test"), 0, &rewritten, check_address, &count) ==
	    0) {
		if (header_addresses_parse(buffer_view(&rewritten), STR("other.test"), 0, &again,
					   check_address, &count_again) < 0 ||
		    count != count_again ||
		    !str_equal(buffer_view(&again), buffer_view(&rewritten)))
			panic("a list that was rewritten is another one");
	}
	buffer_clear(&rewritten);
	buffer_clear(&again);
}

static void check_header(struct str text)
{
	static const struct inject_completion completion = {
		.hostname = STR("host.test"), .from = STR("a@host.test"), .full_name = STR("A B")};
	struct inject_header header = {0};
	struct inject_header completed = {0};
	struct buffer again = {0};
	struct str rest = text;
	struct header_field field;
	size_t length = 0;

	buffer_append_str(&header.text, text);
	while (inject_header_next(&rest, &field)) {
		length += field.whole.length;
		check_list(field.body);
	}
	if (length != text.length)
		panic("fields are not the header");
	inject_header_complete(&header, &completion, &completed.text);
	inject_header_complete(&completed, &completion, &again);
	check_lines(buffer_view(&completed.text));
	if (!str_equal(buffer_view(&again), buffer_view(&completed.text)))
		panic("a complete header was completed");
	buffer_clear(&again);
	inject_header_clear(&header);
	inject_header_clear(&completed);
}

static int read_message(struct inject_reader *reader, struct inject_header *header)
{
	int more = inject_header_read(reader, header);

	if (more < 0)
		return more;
	do
		more = inject_reader_next(reader, &header->body);
	while (more > 0);
	return more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inject_reader reader = {0};
	struct inject_header header = {0};
	FILE *file = tmpfile();

	if (file == NULL)
		panic("no temporary file");
	if (size > 0)
		reader.dot_ends = data[0] & 1;
	if (size > 1)
		fwrite(data + 1, 1, size - 1, file);
	rewind(file);
	reader.descriptor = fileno(file);
	if (read_message(&reader, &header) == 0) {
		check_lines(buffer_view(&header.text));
		check_lines(buffer_view(&header.body));
		check_header(buffer_view(&header.text));
	}
	inject_header_clear(&header);
	fclose(file);
	return 0;
}
