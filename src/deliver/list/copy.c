// SPDX-License-Identifier: ISC
#include "deliver/list/copy.h"
#include "mail/text/text.h"
#include "mail/unicode.h"

enum { ENTRIES_MAX = 100 };

static const struct str NAME = {"delivered-to:", 13};

/* The next line of the header without its CRLF; false at the end of the header. */
static bool next_line(struct str *rest, struct str *line)
{
	if (!str_split(rest, '\n', line))
		return false;
	if (line->length > 0 && line->data[line->length - 1] == '\r')
		line->length--;
	return line->length > 0;
}

/* The latest comes first. */
static void write_chain(const struct str *entries, size_t count, struct buffer *chain)
{
	for (size_t i = count; i > 0; i--) {
		mail_text_append(chain, entries[i - 1], MAIL_TEXT_8BIT);
		buffer_append_string(chain, " > ");
	}
	mail_text_append(chain, entries[count - 1], MAIL_TEXT_8BIT);
}

static bool find(struct str header, struct str list, struct buffer *chain)
{
	struct str entries[ENTRIES_MAX];
	size_t count = 0;
	struct str line;

	while (next_line(&header, &line)) {
		struct str value;

		if (line.length < NAME.length ||
		    !str_equal_nocase(str_slice(line.data, NAME.length), NAME))
			continue;
		value = str_trim(str_skip(line, NAME.length));
		if (count < ENTRIES_MAX)
			entries[count++] = value;
		else
			entries[ENTRIES_MAX - 1] = value;
		if (mail_unicode_is_address(value, list)) {
			write_chain(entries, count, chain);
			return true;
		}
	}
	return false;
}

int list_copy_find_loop(const struct ipc_content *content, struct str list, struct buffer *chain)
{
	struct buffer block CLEANUP(buffer_clear) = {0};
	struct str header;
	int error = ipc_content_read(content, 0, buffer_reserve(&block, LIST_COPY_BLOCK),
				     LIST_COPY_BLOCK, &header);

	return error < 0 ? error : find(header, list, chain);
}

void list_copy_head(struct str list, struct buffer *out)
{
	struct buffer address CLEANUP(buffer_clear) = {0};

	mail_unicode_address(list, &address);
	buffer_append_string(out, "Delivered-To: ");
	mail_text_append(out, buffer_view(&address), MAIL_TEXT_ASCII);
	buffer_append_string(out, "\r\n");
}
