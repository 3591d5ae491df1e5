// SPDX-License-Identifier: ISC
#include "files.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OWN_USER = 1000 };

static uint64_t below(void *context, uint64_t bound)
{
	(void)context;
	return kernel_below(bound);
}

static bool is_change(enum disk_call call)
{
	return call != DISK_OPEN && call != DISK_READ && call != DISK_INFO && call != DISK_LIST;
}

/* A full disk takes nothing more; its other calls succeed. */
static bool can_fail(enum disk_call call, int error)
{
	return error != ENOSPC || call == DISK_CREATE || call == DISK_WRITE || call == DISK_LINK ||
	       call == DISK_RENAME || call == DISK_MAKE || call == DISK_SYNC ||
	       call == DISK_WRITE_OUT;
}

/* Nobody's child, and no command that somebody runs. */
static bool is_first(const struct process *process)
{
	return process->parent == NULL && !process->is_orphan && process->on_end == NULL;
}

/* Whoever looks at the files of a machine from outside meets no fault; nor does its first process,
 * whose few files are in memory. When names cannot be made durable the file system, which has a
 * journal, takes no changes any more until the machine starts again. */
static int fault(void *context, enum disk_call call, uint64_t inode)
{
	struct machine *machine = context;

	(void)inode;
	if (machine->is_looked_at || kernel_task() == NULL || is_first(kernel_process()))
		return 0;
	if (machine->disk_has_stopped && is_change(call) && machine->disk_failed != NULL)
		machine->disk_failed(machine);
	if (machine->disk_has_stopped)
		return is_change(call) ? -EROFS : 0;
	if (kernel_now_us() >= machine->disk_fails_until_us ||
	    !can_fail(call, machine->disk_error) || !kernel_one_in(machine->disk_odds))
		return 0;
	if (machine->disk_failed != NULL)
		machine->disk_failed(machine);
	machine->disk_has_stopped = call == DISK_SYNC_NAMES || call == DISK_SYNC_ALL;
	return -machine->disk_error;
}

void files_begin(struct machine *machine)
{
	static uint64_t devices;
	const struct disk_options options = {.device = ++devices + 100,
					     .keeps_order = kernel_one_in(2),
					     .below = below,
					     .fault = fault,
					     .context = machine};

	machine->disk = disk_new(&options);
}

void files_end(struct machine *machine)
{
	disk_table_forget(machine);
	if (machine->disk != NULL)
		disk_free(machine->disk);
	machine->disk = NULL;
}

static struct disk *disk_of(struct machine *machine)
{
	disk_live(machine->disk, kernel_now_us());
	disk_act(machine->disk, kernel_now_us() + machine->wall_offset_us, OWN_USER);
	return machine->disk;
}

static void must(int result, const char *path)
{
	if (result < 0)
		errx(1, "%s: %s", path, strerror(-result));
}

void files_put(struct machine *machine, const char *path, const char *text)
{
	struct disk *disk = disk_of(machine);
	struct disk_file *file;
	char folder[512];

	for (const char *slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		struct os_file_info info;

		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
		if (disk_info_at(disk, NULL, folder, &info) < 0)
			must(disk_make(disk, NULL, folder, S_IFDIR | 0755), folder);
	}
	if (path[strlen(path) - 1] != '/') {
		must(disk_open(disk, NULL, path, OS_FILE_WRITE | OS_FILE_CREATE, &file), path);
		must(disk_write(file, text, strlen(text), 0), path);
		disk_close(file);
	}
	must(disk_sync_all(disk), path);
}

char *files_names(struct machine *machine, const char *path, size_t *size_out)
{
	struct disk_file *directory;
	char *names = NULL;

	if (disk_open_directory(disk_of(machine), NULL, path, &directory) < 0)
		return NULL;
	must(disk_list(directory, &names, size_out), path);
	disk_close(directory);
	return names;
}

char *files_read(struct machine *machine, const char *path, size_t *size_out)
{
	struct os_file_info info = {0};
	struct disk_file *file;
	char *text;
	ssize_t count;

	machine->is_looked_at = true;
	if (disk_open(disk_of(machine), NULL, path, OS_FILE_READ, &file) < 0) {
		machine->is_looked_at = false;
		return NULL;
	}
	must(disk_info(file, &info), path);
	text = malloc((size_t)info.size + 1);
	if (text == NULL)
		err(1, "no memory");
	count = disk_read(file, text, (size_t)info.size, 0);
	must((int)count, path);
	disk_close(file);
	machine->is_looked_at = false;
	text[count] = '\0';
	*size_out = (size_t)count;
	return text;
}

size_t files_end_of(struct machine *machine, const char *path, char *text, size_t size)
{
	struct os_file_info info = {0};
	struct disk_file *file;
	ssize_t count;

	machine->is_looked_at = true;
	must(disk_open(disk_of(machine), NULL, path, OS_FILE_READ, &file), path);
	must(disk_info(file, &info), path);
	count = disk_read(file, text, size, info.size > size ? info.size - size : 0);
	must((int)count, path);
	disk_close(file);
	machine->is_looked_at = false;
	return (size_t)count;
}

uint64_t files_inode(struct machine *machine, const char *path)
{
	struct os_file_info info = {0};

	return disk_info_at(disk_of(machine), NULL, path, &info) == 0 ? info.inode : 0;
}

uint64_t files_size(struct machine *machine, const char *path)
{
	struct os_file_info info = {0};

	return disk_info_at(disk_of(machine), NULL, path, &info) == 0 ? info.size : 0;
}

bool files_is_folder(struct machine *machine, const char *path)
{
	struct os_file_info info = {0};

	return disk_info_at(disk_of(machine), NULL, path, &info) == 0 && info.is_directory;
}

bool files_exist(struct machine *machine, const char *path)
{
	struct os_file_info info;
	bool is_there;

	machine->is_looked_at = true;
	is_there = disk_info_at(disk_of(machine), NULL, path, &info) == 0;
	machine->is_looked_at = false;
	return is_there;
}

void files_empty(struct machine *machine, const char *path)
{
	size_t size = 0;
	char *names = files_names(machine, path, &size);
	char file[1024];

	for (size_t i = 0; names != NULL && i < size; i += strlen(names + i) + 1) {
		snprintf(file, sizeof file, "%s/%s", path, names + i);
		must(disk_unlink(disk_of(machine), NULL, file), file);
	}
	if (names != NULL)
		disk_list_free(names);
}

/* The names in the folder of the file PATH are durable. */
static void sync_folder(struct machine *machine, const char *path)
{
	struct disk_file *folder;
	char name[1024];

	snprintf(name, sizeof name, "%.*s", (int)(strrchr(path, '/') - path), path);
	must(disk_open_directory(disk_of(machine), NULL, name, &folder), name);
	must(disk_sync_names(folder), name);
	disk_close(folder);
}

bool files_move(struct machine *machine, const char *path, const char *to)
{
	if (disk_link(disk_of(machine), NULL, path, to) < 0)
		return false;
	sync_folder(machine, to);
	must(disk_unlink(disk_of(machine), NULL, path), path);
	sync_folder(machine, path);
	return true;
}

void files_sync(struct machine *machine, const char *path)
{
	struct disk_file *file;

	machine->is_looked_at = true;
	must(disk_open(disk_of(machine), NULL, path, OS_FILE_READ, &file), path);
	must(disk_sync(file), path);
	disk_close(file);
	sync_folder(machine, path);
	machine->is_looked_at = false;
}

void files_replace(struct machine *machine, const char *path, const char *to)
{
	files_sync(machine, path);
	machine->is_looked_at = true;
	must(disk_rename(disk_of(machine), NULL, path, to, true), to);
	sync_folder(machine, to);
	machine->is_looked_at = false;
}

void files_remove(struct machine *machine, const char *path)
{
	machine->is_looked_at = true;
	must(disk_unlink(disk_of(machine), NULL, path), path);
	sync_folder(machine, path);
	machine->is_looked_at = false;
}

void files_change(struct machine *machine, const char *path, const char *text)
{
	struct disk_file *file;

	must(disk_open(disk_of(machine), NULL, path, OS_FILE_WRITE, &file), path);
	must(disk_truncate(file, 0), path);
	must(disk_write(file, text, strlen(text), 0), path);
	must(disk_sync(file), path);
	disk_close(file);
}
