// SPDX-License-Identifier: ISC
/*
 * A disk that records: one file, "image", which a loop device is put on. FUSE is
 * spoken by hand: it is few messages, and we must see which of them are in flight
 * at the same time. (Source: linux/fuse.h; Documentation/filesystems/fuse.rst.)
 *
 * A disk's cache may be flushed before or after a write that is under way at the
 * same time. So all requests that wait are read before any is answered, and a
 * flush covers none of them. A discard is a write of zeros.
 *
 * usage: power_disk IMAGE LOG POSITION FOLDER [forgetful]
 * "ready" is printed once FOLDER/image is there; it ends when FOLDER is unmounted.
 * A forgetful disk says that it has flushed, and has not.
 */
#include "power/disk_log.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	WRITE_MAX = 128 << 10,
	REQUEST_MAX = WRITE_MAX + 4096,
	BATCH_MAX = 64,
	IMAGE = 2, /* its inode; that of the folder is FUSE_ROOT_ID */
	HOUR = 3600,
};

struct disk {
	struct disk_log log;
	int image;
	int device;
	uint64_t size;
	bool is_forgetful;
};

union request {
	struct fuse_in_header header;
	unsigned char bytes[REQUEST_MAX];
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static const void *body_of(const union request *request)
{
	return request->bytes + sizeof request->header;
}

static void reply(const struct disk *disk, const union request *request, int error,
		  const void *body, size_t length)
{
	struct fuse_out_header header = {.len = (uint32_t)(sizeof header + length),
					 .error = -error,
					 .unique = request->header.unique};
	struct iovec pieces[] = {{&header, sizeof header}, {(void *)body, length}};

	/* ENOENT: whoever asked does not wait any more */
	if (writev(disk->device, pieces, length > 0 ? 2 : 1) < 0 && errno != ENOENT)
		die("reply");
}

static struct fuse_attr attributes_of(const struct disk *disk, uint64_t inode)
{
	if (inode == FUSE_ROOT_ID)
		return (struct fuse_attr){.ino = inode, .mode = S_IFDIR | 0755, .nlink = 1};
	return (struct fuse_attr){.ino = inode,
				  .size = disk->size,
				  .blocks = disk->size / 512,
				  .blksize = 4096,
				  .mode = S_IFREG | 0600,
				  .nlink = 1};
}

static void on_init(const struct disk *disk, const union request *request)
{
	const struct fuse_init_in *in = body_of(request);
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = in->max_readahead,
		.flags = in->flags & (FUSE_ASYNC_DIO | FUSE_BIG_WRITES | FUSE_MAX_PAGES),
		.max_background = BATCH_MAX,
		.congestion_threshold = BATCH_MAX,
		.max_write = WRITE_MAX,
		.max_pages = WRITE_MAX / 4096,
		.time_gran = 1,
	};

	reply(disk, request, 0, &out, sizeof out);
}

static void on_lookup(const struct disk *disk, const union request *request)
{
	struct fuse_entry_out out = {.nodeid = IMAGE,
				     .entry_valid = HOUR,
				     .attr_valid = HOUR,
				     .attr = attributes_of(disk, IMAGE)};

	if (strcmp(body_of(request), "image") != 0)
		reply(disk, request, ENOENT, NULL, 0);
	else
		reply(disk, request, 0, &out, sizeof out);
}

static void on_attributes(const struct disk *disk, const union request *request)
{
	struct fuse_attr_out out = {.attr_valid = HOUR,
				    .attr = attributes_of(disk, request->header.nodeid)};

	reply(disk, request, 0, &out, sizeof out);
}

static void on_open(const struct disk *disk, const union request *request)
{
	struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES};

	reply(disk, request, 0, &out, sizeof out);
}

static void on_read(const struct disk *disk, const union request *request)
{
	static unsigned char bytes[WRITE_MAX];
	const struct fuse_read_in *in = body_of(request);
	size_t wanted = in->size < sizeof bytes ? in->size : sizeof bytes;
	ssize_t length = pread(disk->image, bytes, wanted, (off_t)in->offset);

	if (length < 0)
		die("read");
	reply(disk, request, 0, bytes, (size_t)length);
}

static void on_write(struct disk *disk, const union request *request)
{
	const struct fuse_write_in *in = body_of(request);
	struct fuse_write_out out = {.size = in->size};

	errno = -disk_log_append(&disk->log, DISK_WRITE, in->offset, in->size, in + 1);
	if (errno != 0)
		die("log");
	if (pwrite(disk->image, in + 1, in->size, (off_t)in->offset) != (ssize_t)in->size)
		die("write");
	reply(disk, request, 0, &out, sizeof out);
}

/* Discards, and zeros that are not sent as bytes. */
static void on_allocate(struct disk *disk, const union request *request)
{
	const struct fuse_fallocate_in *in = body_of(request);
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	if (in->mode != (uint32_t)mode) {
		reply(disk, request, EOPNOTSUPP, NULL, 0);
		return;
	}
	errno = -disk_log_append(&disk->log, DISK_ZERO, in->offset, in->length, NULL);
	if (errno != 0)
		die("log");
	if (fallocate(disk->image, mode, (off_t)in->offset, (off_t)in->length) < 0)
		die("discard");
	reply(disk, request, 0, NULL, 0);
}

static void answer(struct disk *disk, const union request *request)
{
	switch (request->header.opcode) {
	case FUSE_INIT:
		on_init(disk, request);
		break;
	case FUSE_LOOKUP:
		on_lookup(disk, request);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		on_attributes(disk, request);
		break;
	case FUSE_OPEN:
		on_open(disk, request);
		break;
	case FUSE_READ:
		on_read(disk, request);
		break;
	case FUSE_WRITE:
		on_write(disk, request);
		break;
	case FUSE_FALLOCATE:
		on_allocate(disk, request);
		break;
	case FUSE_FSYNC:
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(disk, request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(disk, request, ENOSYS, NULL, 0);
	}
}

/* All requests that wait, at least one; 0: unmounted. */
static size_t read_batch(const struct disk *disk, union request *batch)
{
	size_t count = 0;

	while (count < BATCH_MAX) {
		struct pollfd wanted = {.fd = disk->device, .events = POLLIN};
		ssize_t length = read(disk->device, batch[count].bytes, REQUEST_MAX);

		if (length >= 0)
			count++;
		else if (errno == EAGAIN && count > 0)
			break;
		else if (errno == EAGAIN)
			poll(&wanted, 1, -1);
		else if (errno == ENODEV)
			return 0;
		else if (errno != EINTR && errno != ENOENT)
			die("/dev/fuse");
	}
	return count;
}

static void serve(struct disk *disk)
{
	static union request batch[BATCH_MAX];
	size_t count;

	while ((count = read_batch(disk, batch)) > 0) {
		bool is_flush = false;

		for (size_t i = 0; i < count; i++)
			is_flush |= batch[i].header.opcode == FUSE_FSYNC;
		if (is_flush && !disk->is_forgetful &&
		    disk_log_append(&disk->log, DISK_FLUSH, 0, 0, NULL) < 0)
			die("log");
		for (size_t i = 0; i < count; i++)
			answer(disk, &batch[i]);
	}
}

int main(int argc, char **argv)
{
	struct disk disk = {.is_forgetful = argc == 6 && strcmp(argv[5], "forgetful") == 0};
	struct stat info;
	char options[100];

	if (argc != 5 && !disk.is_forgetful) {
		fprintf(stderr, "usage: %s IMAGE LOG POSITION FOLDER [forgetful]\n", argv[0]);
		return 2;
	}
	disk.image = open(argv[1], O_RDWR | O_CLOEXEC);
	if (disk.image < 0 || fstat(disk.image, &info) < 0)
		die(argv[1]);
	disk.size = (uint64_t)info.st_size;
	errno = -disk_log_open(&disk.log, argv[2], argv[3]);
	if (errno != 0)
		die(argv[2]);
	disk.device = open("/dev/fuse", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (disk.device < 0)
		die("/dev/fuse");
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", disk.device);
	if (mount("power", argv[4], "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		die("mount");
	puts("ready");
	fflush(stdout);
	serve(&disk);
	return 0;
}
