// SPDX-License-Identifier: ISC
#include "command/directory/file.h"
#include "os/file/file.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_PIECE = 64 * 1024 };

/* Copies a pipe's data to a file, because it must be read twice. */
static int copy_import_input(int input)
{
	static char piece[FILE_PIECE];
	int copy = os_stream_temporary();
	uint64_t size = 0;
	ssize_t count;
	int error = 0;

	if (copy < 0)
		return copy;
	while (error == 0 && (count = os_stream_read(input, piece, sizeof piece)) != 0) {
		error = count < 0 ? (int)count : os_file_write(copy, piece, (size_t)count, size);
		size += count > 0 ? (uint64_t)count : 0;
	}
	if (error == 0)
		return copy;
	os_file_close(copy);
	return error;
}

int directory_file_open(struct directory_file *file)
{
	bool is_input = strcmp(file->name, "-") == 0;
	int descriptor =
		is_input ? STDIN_FILENO : os_file_open(OS_FILE_HERE, file->name, OS_FILE_READ);
	int error;

	if (descriptor < 0)
		return descriptor;
	file->descriptor = descriptor;
	error = os_stream_rewind(descriptor);
	if (error == 0)
		return 0;
	file->descriptor = error == -ESPIPE ? copy_import_input(descriptor) : error;
	if (!is_input)
		os_file_close(descriptor);
	return file->descriptor < 0 ? file->descriptor : 0;
}

void directory_file_close(struct directory_file *file)
{
	if (file->descriptor > STDERR_FILENO)
		os_file_close(file->descriptor);
	file->descriptor = -1;
}

int directory_file_pass(struct directory_file *file, struct bulk_import *import,
			int (*pass)(struct bulk_import *import, struct bulk_reader *reader))
{
	struct bulk_reader *reader = NULL;
	int error = os_stream_rewind(file->descriptor);

	if (error == 0)
		error = bulk_reader_new(file->format, file->name, file->descriptor, file->settings,
					&reader);
	if (error < 0)
		return error;
	error = pass(import, reader);
	bulk_reader_free(reader);
	return error;
}
