// SPDX-License-Identifier: ISC
#include "ipc/content.h"
#include "os/file/file.h"
#include <errno.h>

int ipc_content_read(const struct ipc_content *content, uint64_t offset, char *block,
		     size_t block_size, struct str *part_out)
{
	uint64_t rest = offset < content->size ? content->size - offset : 0;
	size_t wanted = rest < block_size ? (size_t)rest : block_size;
	ssize_t got;

	if (content->file < 0) {
		*part_out = str_slice(content->bytes.data + offset, wanted);
		return 0;
	}
	got = os_file_read(content->file, block, wanted, offset);
	if (got < 0)
		return (int)got;
	if ((size_t)got < wanted)
		return -EIO;
	*part_out = str_slice(block, wanted);
	return 0;
}
