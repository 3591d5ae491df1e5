// SPDX-License-Identifier: ISC
/* Whether a filesystem is fit for a queue. */
#include "os/clock.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include "queue/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { OVERLAY_MAGIC = 0x794c7630, MOUNTINFO_MAX = 4 << 20, PROBE_TRIES = 100 };

static const char probe_name[] = "probe";

/* Magic numbers from statfs(2). */
static const struct {
	uint64_t magic;
	const char *why;
} filesystem_refused[] = {
	{0x6969, "NFS does not keep numbers and order"},
	{0xff534d42, "CIFS does not keep inode numbers"},
	{0xfe534d42, "SMB does not keep inode numbers"},
	{0x517b, "SMB does not keep inode numbers"},
	{0x5346414f, "AFS does not keep inode numbers"},
	{0x01021997, "9P does not promise durable syncs"},
	{0x65735546, "a FUSE filesystem does not promise durable syncs"},
	{0x01021994, "tmpfs does not outlive a power failure"},
	{0x858458f6, "ramfs does not outlive a power failure"},
	{0x4d44, "FAT has no inode numbers"},
	{0x2011bab0, "exFAT has no inode numbers"},
};

static int refuse_filesystem(struct buffer *reason, const char *why)
{
	if (reason != NULL)
		buffer_append_string(reason, why);
	return -ENOTSUP;
}

static bool has_option(struct str line, struct str option)
{
	struct str field;
	struct str word;

	while (str_split(&line, ' ', &field))
		while (str_split(&field, ',', &word))
			if (str_equal(word, option))
				return true;
	return false;
}

/* "36 35 98:0 /root /mount ...": DEVICE is the third field. */
static bool is_of_device(struct str line, const char *device)
{
	struct str field;

	return str_split(&line, ' ', &field) && str_split(&line, ' ', &field) &&
	       str_split(&line, ' ', &field) && str_equal(field, str_from(device));
}

/* Whether DEVICE is an overlay mounted with "volatile", which reports syncs as done without
 * doing them. If that cannot be read: yes. */
static bool overlay_is_volatile(uint64_t device)
{
	int file = os_file_open(OS_FILE_HERE, "/proc/self/mountinfo", OS_FILE_READ);
	struct buffer text CLEANUP(buffer_clear) = {0};
	char wanted[48];
	struct str rest;
	struct str line;
	ssize_t length;

	if (file < 0)
		return true;
	length = os_file_read(file, buffer_reserve(&text, MOUNTINFO_MAX), MOUNTINFO_MAX, 0);
	os_file_close(file);
	if (length < 0)
		return true;
	buffer_commit(&text, (size_t)length);
	snprintf(wanted, sizeof wanted, "%u:%u", major(device), minor(device));
	rest = buffer_view(&text);
	while (str_split(&rest, '\n', &line))
		if (is_of_device(line, wanted))
			return has_option(line, STR("volatile"));
	return true;
}

int queue_filesystem_check(int directory, struct buffer *reason)
{
	struct os_file_info info;
	uint64_t type;
	int result = os_file_filesystem_type(directory, &type);

	if (result == 0)
		result = os_file_info(directory, &info);
	if (result < 0)
		return result;
	for (size_t i = 0; i < COUNT_OF(filesystem_refused); i++)
		if (type == filesystem_refused[i].magic)
			return refuse_filesystem(reason, filesystem_refused[i].why);
	if (type == OVERLAY_MAGIC && overlay_is_volatile(info.device))
		return refuse_filesystem(reason, "an overlay mounted \"volatile\" ignores syncs");
	return 0;
}

struct probe {
	int directory;
	char first[QUEUE_PATH_SIZE];
	char moved[QUEUE_PATH_SIZE];
};

static int probe_begin(struct probe *probe)
{
	int file = -EEXIST;

	for (unsigned i = 0; file == -EEXIST && i < PROBE_TRIES; i++) {
		snprintf(probe->first, sizeof probe->first, "pid/%s%ld-%u", probe_name,
			 (long)os_process_id(), i);
		snprintf(probe->moved, sizeof probe->moved, "lock/%s%ld-%u", probe_name,
			 (long)os_process_id(), i);
		file = os_file_open(probe->directory, probe->first, OS_FILE_WRITE | OS_FILE_CREATE);
	}
	return file;
}

/* Renames and links the new file FILE; 1 when its number stayed the same. */
static int probe_moves(const struct probe *probe, int file)
{
	struct os_file_info made;
	struct os_file_info moved;
	struct os_file_info linked;
	int result = os_file_info(file, &made);

	if (result == 0)
		result = os_file_rename(probe->directory, probe->first, probe->moved);
	if (result == 0)
		result = os_file_info_at(probe->directory, probe->moved, &moved);
	if (result == 0)
		result = os_file_link(probe->directory, probe->moved, probe->first);
	if (result == 0)
		result = os_file_info_at(probe->directory, probe->first, &linked);
	if (result < 0)
		return result;
	return made.inode == moved.inode && made.inode == linked.inode && linked.links == 2;
}

struct litter {
	int directory;
	int64_t before_us; /* what was changed before this time is old */
};

static int clean_probe(void *context, const char *name)
{
	const struct litter *litter = context;
	char path[sizeof "lock/" + NAME_MAX];
	struct os_file_info info;

	if (strncmp(name, probe_name, sizeof probe_name - 1) != 0)
		return 0;
	snprintf(path, sizeof path, "lock/%s", name);
	if (os_file_info_at(litter->directory, path, &info) < 0 ||
	    info.modified_us >= litter->before_us)
		return 0;
	return os_file_unlink(litter->directory, path);
}

/* A process that left a probe in lock/ was opening a queue. So they are removed whenever a queue
 * is opened, and cannot accumulate; "queue" need not be able to remove names from filing/lock/. A
 * probe that cannot be removed does no harm: the next process that opens the queue tries again. */
static void clean_probes(int directory)
{
	struct litter litter = {directory, os_clock_wall_us() - QUEUE_LITTER_AGE_US};
	int result = os_file_list(directory, "lock", clean_probe, &litter);

	(void)result;
}

int queue_filesystem_probe(int directory, struct buffer *reason)
{
	struct probe probe = {.directory = directory};
	int file;
	int result;
	int removed;

	clean_probes(directory);
	file = probe_begin(&probe);
	if (file < 0)
		return file;
	result = probe_moves(&probe, file);
	os_file_close(file);
	removed = os_file_unlink(directory, probe.first);
	if (removed == 0 || removed == -ENOENT)
		removed = os_file_unlink(directory, probe.moved);
	if (result == 0 || result == -EPERM || result == -EMLINK || result == -EXDEV)
		return refuse_filesystem(
			reason, "the filesystem does not keep numbers over rename and link");
	if (result < 0)
		return result;
	return removed < 0 ? removed : 0;
}
