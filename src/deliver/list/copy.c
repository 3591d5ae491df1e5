// SPDX-License-Identifier: ISC
#include "deliver/list/copy.h"
#include "header/field.h"
#include "header/loop.h"
#include "mail/text/text.h"
#include "mail/unicode.h"

enum { ENTRIES_MAX = 100 };

static const struct str NAME = {"delivered-to:", 13};

/* The latest comes first. */
static void write_chain(const struct str *entries, size_t count, struct buffer *chain)
{
	for (size_t i = count; i > 0; i--) {
		mail_text_append(chain, entries[i - 1], MAIL_TEXT_8BIT);
		buffer_append_string(chain, " > ");
	}
	mail_text_append(chain, entries[count - 1], MAIL_TEXT_8BIT);
}

/* The addresses of the fields Delivered-To, from the top down to LIST: it is the last of them, also
 * if it is not there. Returns how many. */
static size_t read_way(struct str header, struct str list, struct str entries[ENTRIES_MAX])
{
	size_t count = 0;
	struct str line;

	while (header_next_line(&header, &line)) {
		struct str value;

		if (line.length < NAME.length ||
		    !str_equal_nocase(str_slice(line.data, NAME.length), NAME))
			continue;
		value = str_trim(str_skip(line, NAME.length));
		if (count < ENTRIES_MAX - 1)
			entries[count++] = value;
		if (mail_unicode_is_address(value, list)) {
			entries[count - 1] = value;
			return count;
		}
	}
	entries[count] = list;
	return count + 1;
}

int list_copy_find_loop(const struct ipc_content *content, struct hash_key key, struct str list,
			struct str via, struct buffer *chain)
{
	struct buffer block CLEANUP(buffer_clear) = {0};
	struct header_loop loop = {.count = 0};
	struct str entries[ENTRIES_MAX];
	struct str header;
	int error = ipc_content_read(content, 0, buffer_reserve(&block, LIST_COPY_BLOCK),
				     LIST_COPY_BLOCK, &header);

	if (error < 0)
		return error;
	header_loop_read(&loop, header);
	if (!header_loop_closes(&loop, key, list, via))
		return 0;
	write_chain(entries, read_way(header, list, entries), chain);
	return 1;
}

void list_copy_head(struct hash_key key, struct str list, struct str via, struct buffer *out)
{
	struct buffer address CLEANUP(buffer_clear) = {0};

	mail_unicode_address(list, &address);
	buffer_append_string(out, "Delivered-To: ");
	mail_text_append(out, buffer_view(&address), MAIL_TEXT_ASCII);
	buffer_append_string(out, "\r\n");
	header_loop_append(key, HEADER_LOOP_DELIVERED, list, "\r\n", out);
	if (via.length > 0)
		header_loop_append(key, HEADER_LOOP_LED_ON, via, "\r\n", out);
}
