// SPDX-License-Identifier: ISC
#include "ipc/content.h"
#include "base/checksum.h"
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

/* PART is what PASS has come to. */
static uint32_t extend_pass(const struct ipc_content *content, const struct ipc_content_pass *pass,
			    struct str part)
{
	uint64_t head = content->head.length;
	uint64_t skipped = pass->position < head ? head - pass->position : 0;
	struct str rest = str_skip(part, skipped < part.length ? (size_t)skipped : part.length);

	return checksum_extend(pass->checksum, rest.data, rest.length);
}

int ipc_content_next(const struct ipc_content *content, struct ipc_content_pass *pass, char *block,
		     size_t block_size, struct str *part_out)
{
	struct str part;
	int error = ipc_content_read(content, pass->position, block, block_size, &part);

	if (error < 0)
		return error;
	if (content->has_checksum) {
		uint32_t checksum = extend_pass(content, pass, part);

		if (pass->position + part.length == content->size && checksum != content->checksum)
			return -EBADMSG;
		pass->checksum = checksum;
	}
	pass->position += part.length;
	*part_out = part;
	return 0;
}

bool ipc_content_is_passed(const struct ipc_content *content, const struct ipc_content_pass *pass)
{
	return pass->position >= content->size;
}
