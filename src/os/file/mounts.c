// SPDX-License-Identifier: ISC
#include "os/file/mounts.h"
#include "base/buffer.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { TABLE_MAX = 4 << 20, PART = 4096 };

static int mounts_table = -1;

int os_mounts_open(void)
{
	if (mounts_table < 0)
		mounts_table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	return mounts_table < 0 ? -errno : 0;
}

/* --- the text --- */

static struct str take_mounts_word(struct str *line)
{
	struct str word = {0};

	(void)str_split(line, ' ', &word);
	return word;
}

/* One byte of a name, in which space, tab, newline and '\' are written as '\' and three octal
 * digits. */
static char take_escaped_byte(struct str *name)
{
	const char *data = name->data;
	size_t length = 1;
	char byte = data[0];

	if (byte == '\\' && name->length >= 4) {
		byte = (char)((data[1] - '0') << 6 | (data[2] - '0') << 3 | (data[3] - '0'));
		length = 4;
	}
	*name = str_skip(*name, length);
	return byte;
}

/* Whether PATH is at or below the mount POINT; *LENGTH_OUT: the length of the common part. */
static bool is_beneath_mount(struct str path, struct str point, size_t *length_out)
{
	size_t length = 0;

	while (point.length > 0) {
		if (length == path.length || take_escaped_byte(&point) != path.data[length])
			return false;
		length++;
	}
	*length_out = length;
	if (length == 0)
		return false;
	return length == path.length || path.data[length] == '/' || path.data[length - 1] == '/';
}

static bool take_device(struct str word, uint64_t *out)
{
	struct str major;
	uint64_t high;
	uint64_t low;

	if (!str_split(&word, ':', &major) || !str_to_u64(major, &high) || !str_to_u64(word, &low))
		return false;
	*out = makedev((unsigned)high, (unsigned)low);
	return true;
}

/* "36 35 98:0 /root /mount/point options": of several at one place the last one is visible. */
uint64_t os_mounts_find_in(struct str text, struct str path)
{
	uint64_t found = 0;
	size_t longest = 0;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		uint64_t device = 0;
		size_t length = 0;
		bool is_device;

		(void)take_mounts_word(&line);
		(void)take_mounts_word(&line);
		is_device = take_device(take_mounts_word(&line), &device);
		(void)take_mounts_word(&line);
		if (!is_device || !is_beneath_mount(path, take_mounts_word(&line), &length) ||
		    length < longest)
			continue;
		longest = length;
		found = device;
	}
	return found;
}

/* --- the table --- */

/* The kernel marks the file when file systems are mounted or unmounted. */
static bool have_mounts_changed(void)
{
	struct pollfd one = {.fd = mounts_table, .events = POLLPRI};

	return poll(&one, 1, 0) > 0 && (one.revents & POLLPRI) != 0;
}

static void read_mounts_table(struct buffer *text)
{
	char part[PART];
	ssize_t count = 1;

	buffer_clear(text);
	while (count > 0 && text->length < TABLE_MAX) {
		count = pread(mounts_table, part, sizeof part, (off_t)text->length);
		if (count > 0)
			buffer_append(text, part, (size_t)count);
	}
}

uint64_t os_mounts_find(struct str path)
{
	static struct buffer text;

	if (mounts_table < 0)
		return 0;
	if (text.length == 0 || have_mounts_changed())
		read_mounts_table(&text);
	return os_mounts_find_in(buffer_view(&text), path);
}
