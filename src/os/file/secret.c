// SPDX-License-Identifier: ISC
#include "os/file/secret.h"
#include "os/file/file.h"
#include <errno.h>
#include <string.h>

int os_secret_read(const char *path, struct buffer *secret_out)
{
	char text[OS_SECRET_MAX + 1];
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	ssize_t length = file < 0 ? file : os_file_read(file, text, sizeof text, 0);
	size_t end;

	secret_out->is_secret = true;
	if (file >= 0)
		os_file_close(file);
	if (length < 0)
		return (int)length;
	for (end = 0; end < (size_t)length && text[end] != '\n' && text[end] != '\r';)
		end++;
	if (end > 0 && end <= OS_SECRET_MAX)
		buffer_append(secret_out, text, end);
	explicit_bzero(text, sizeof text);
	if (end == 0)
		return -ENODATA;
	return end <= OS_SECRET_MAX ? 0 : -EFBIG;
}
