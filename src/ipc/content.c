// SPDX-License-Identifier: ISC
#include "ipc/content.h"
#include "os/file/file.h"
#include <errno.h>
#include <string.h>

void ipc_content_prepend(struct ipc_content *content, struct str head)
{
	content->head = head;
	content->size += head.length;
}

/* COUNT bytes from OFFSET on, without the head. */
static int read_rest(const struct ipc_content *content, uint64_t offset, char *block, size_t count,
		     struct str *part_out)
{
	ssize_t got;

	if (content->file < 0) {
		*part_out = str_slice(content->bytes.data + offset, count);
		return 0;
	}
	got = os_file_read(content->file, block, count, offset);
	if (got < 0)
		return (int)got;
	if ((size_t)got < count)
		return -EIO;
	*part_out = str_slice(block, count);
	return 0;
}

/* OFFSET is in the head. */
static int read_content_head(const struct ipc_content *content, uint64_t offset, char *block,
			     size_t count, struct str *part_out)
{
	struct str head = str_skip(content->head, (size_t)offset);
	struct str rest = STR("");
	int error = 0;

	if (head.length > count)
		head.length = count;
	memcpy(block, head.data, head.length);
	if (count > head.length)
		error = read_rest(content, 0, block + head.length, count - head.length, &rest);
	if (error < 0)
		return error;
	if (rest.length > 0 && rest.data != block + head.length)
		memcpy(block + head.length, rest.data, rest.length);
	*part_out = str_slice(block, head.length + rest.length);
	return 0;
}

int ipc_content_read(const struct ipc_content *content, uint64_t offset, char *block,
		     size_t block_size, struct str *part_out)
{
	uint64_t rest = offset < content->size ? content->size - offset : 0;
	size_t wanted = rest < block_size ? (size_t)rest : block_size;

	if (offset < content->head.length)
		return read_content_head(content, offset, block, wanted, part_out);
	return read_rest(content, offset - content->head.length, block, wanted, part_out);
}
