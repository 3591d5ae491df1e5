// SPDX-License-Identifier: ISC
/* Open files of a disk as descriptions, and named pipes, whose bytes are the kernel's. */
#include "disk_table.h"
#include "files.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIPE_SIZE = 65536 };

struct named_pipe {
	struct named_pipe *next;
	struct machine *machine;
	uint64_t inode;
	size_t size;
	char data[PIPE_SIZE];
	struct open_file *opens;
};

static struct named_pipe *pipes;

/* --- files --- */

static void close_file(struct description *description)
{
	struct open_file *open = (void *)description;

	disk_close(open->file);
	free(open);
}

static ssize_t read_file(struct description *description, void *data, size_t size)
{
	struct open_file *open = (void *)description;
	ssize_t count = disk_read(open->file, data, size, open->position);

	if (count > 0)
		open->position += (uint64_t)count;
	return count;
}

static ssize_t write_file(struct description *description, const void *data, size_t size)
{
	struct open_file *open = (void *)description;
	int error = disk_append(open->file, data, size);

	return error < 0 ? error : (ssize_t)size;
}

const struct description_kind file_description = {"file",    NULL,       close_file,
						  read_file, write_file, S_IFREG};

/* --- named pipes --- */

static struct named_pipe *find_pipe(struct machine *machine, uint64_t inode)
{
	struct named_pipe *pipe = pipes;

	while (pipe != NULL && (pipe->machine != machine || pipe->inode != inode))
		pipe = pipe->next;
	if (pipe != NULL)
		return pipe;
	pipe = calloc(1, sizeof *pipe);
	if (pipe == NULL)
		err(1, "no memory");
	pipe->machine = machine;
	pipe->inode = inode;
	pipe->next = pipes;
	pipes = pipe;
	return pipe;
}

void disk_table_forget(struct machine *machine)
{
	struct named_pipe **place = &pipes;

	while (*place != NULL) {
		struct named_pipe *pipe = *place;

		if (pipe->machine != machine) {
			place = &pipe->next;
			continue;
		}
		*place = pipe->next;
		free(pipe);
	}
}

static unsigned poll_pipe(struct description *description)
{
	const struct open_file *open = (void *)description;

	return open->pipe->size > 0 ? OS_WATCH_READ | OS_WATCH_WRITE : OS_WATCH_WRITE;
}

static ssize_t read_pipe(struct description *description, void *data, size_t size)
{
	struct named_pipe *pipe = ((struct open_file *)description)->pipe;

	if (pipe->size == 0)
		return -EAGAIN;
	if (size > pipe->size)
		size = pipe->size;
	memcpy(data, pipe->data, size);
	pipe->size -= size;
	memmove(pipe->data, pipe->data + size, pipe->size);
	return (ssize_t)size;
}

static ssize_t write_pipe(struct description *description, const void *data, size_t size)
{
	struct named_pipe *pipe = ((struct open_file *)description)->pipe;

	if (size > PIPE_SIZE - pipe->size)
		return -EAGAIN;
	memcpy(pipe->data + pipe->size, data, size);
	pipe->size += size;
	for (struct open_file *open = pipe->opens; open != NULL; open = open->next_of_pipe)
		description_changed(&open->description);
	return (ssize_t)size;
}

static void close_pipe(struct description *description)
{
	struct open_file *open = (void *)description;
	struct open_file **place = &open->pipe->opens;

	while (*place != open)
		place = &(*place)->next_of_pipe;
	*place = open->next_of_pipe;
	close_file(description);
}

const struct description_kind named_pipe_description = {"pipe",    poll_pipe,  close_pipe,
							read_pipe, write_pipe, S_IFIFO};

/* --- what os_file.c asks for --- */

int disk_table_add(struct disk_file *file)
{
	struct open_file *open = calloc(1, sizeof *open);
	struct os_file_info info;
	int error;

	if (open == NULL)
		err(1, "no memory");
	open->file = file;
	if (!disk_is_pipe(file)) {
		description_init(&open->description, &file_description);
		return table_add(&open->description);
	}
	error = disk_info(file, &info);
	if (error < 0) {
		disk_close(file);
		free(open);
		return error;
	}
	description_init(&open->description, &named_pipe_description);
	open->pipe = find_pipe(kernel_process()->machine, info.inode);
	open->next_of_pipe = open->pipe->opens;
	open->pipe->opens = open;
	return table_add(&open->description);
}

struct disk_file *disk_table_find(int descriptor)
{
	struct description *description = table_find(descriptor);

	if (description == NULL || (description->kind != &file_description &&
				    description->kind != &named_pipe_description))
		return NULL;
	return ((struct open_file *)description)->file;
}

void disk_table_close(int descriptor)
{
	(void)table_close(descriptor);
}

struct disk *disk_table_disk(void)
{
	struct disk *disk = kernel_process()->machine->disk;

	disk_live(disk, kernel_now_us());
	return disk;
}

int64_t disk_table_now_us(void)
{
	return kernel_now_us() + kernel_process()->machine->wall_offset_us;
}

/* Up to 8 ms, mostly less. */
void disk_table_take_time(size_t count)
{
	const uint64_t most_us = UINT64_C(1) << kernel_below(14);

	if (kernel_task() != NULL)
		task_sleep_until(kernel_now_us() + (int64_t)kernel_below(1 + most_us / count));
}
