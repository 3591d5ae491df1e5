// SPDX-License-Identifier: ISC
#include "dns/anchor.h"
#include "os/file/file.h"
#include <errno.h>
#include <string.h>

static struct str without_comment(struct str line)
{
	for (size_t i = 0; i < line.length; i++)
		if (line.data[i] == ';')
			return str_trim(str_slice(line.data, i));
	return str_trim(line);
}

/* The next word, of those that blanks divide; empty after the last. */
static struct str take_anchor_word(struct str *line)
{
	struct str rest = str_trim(*line);
	size_t length = 0;

	while (length < rest.length && rest.data[length] != ' ' && rest.data[length] != '\t')
		length++;
	*line = str_skip(rest, length);
	return str_slice(rest.data, length);
}

static bool is_anchor_number(struct str word)
{
	uint64_t number;

	return str_to_u64(word, &number);
}

/* NAME [TTL] [IN] DS|DNSKEY DATA, RFC 1035 section 5.1; libunbound checks the data. */
static bool is_anchor(struct str line)
{
	struct str word;

	(void)take_anchor_word(&line);
	for (word = take_anchor_word(&line);
	     is_anchor_number(word) || str_equal_nocase(word, STR("IN"));)
		word = take_anchor_word(&line);
	return (str_equal_nocase(word, STR("DS")) || str_equal_nocase(word, STR("DNSKEY"))) &&
	       str_trim(line).length > 0;
}

static int read_anchor_lines(struct str text, struct buffer *out, struct buffer *reason)
{
	size_t number = 0;
	size_t count = 0;
	struct str line;

	while (text.length > 0) {
		number++;
		(void)str_split(&text, '\n', &line);
		line = without_comment(line);
		if (line.length == 0)
			continue;
		if (!is_anchor(line) || memchr(line.data, '\0', line.length) != NULL) {
			buffer_append_format(reason, "line %zu is no DNSKEY or DS record", number);
			return -EINVAL;
		}
		buffer_append_str(out, line);
		buffer_append_byte(out, '\n');
		count++;
	}
	if (count > 0)
		return 0;
	buffer_append_string(reason, "there is no DNSKEY or DS record in it");
	return -EINVAL;
}

static int explain_anchor_error(struct buffer *reason, int error)
{
	buffer_append_string(reason, strerror(-error));
	return error;
}

int dns_anchor_read(const char *path, struct buffer *out, struct buffer *reason)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ | OS_FILE_NO_BLOCK);
	struct buffer text CLEANUP(buffer_clear) = {0};
	ssize_t length;

	if (file < 0)
		return explain_anchor_error(reason, file);
	length = os_file_read(file, buffer_reserve(&text, DNS_ANCHOR_FILE_MAX + 1),
			      DNS_ANCHOR_FILE_MAX + 1, 0);
	os_file_close(file);
	if (length < 0)
		return explain_anchor_error(reason, (int)length);
	if (length > DNS_ANCHOR_FILE_MAX)
		return explain_anchor_error(reason, -EFBIG);
	buffer_commit(&text, (size_t)length);
	return read_anchor_lines(buffer_view(&text), out, reason);
}
