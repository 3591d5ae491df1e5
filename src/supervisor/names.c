// SPDX-License-Identifier: ISC
/*
 * The files by which the system names hosts and name servers: processes read them at their start,
 * and cannot open them later. When what is in one has changed, in whatever way, those that look up
 * names are started again.
 *
 * They are looked at in a turn that the supervisor has anyway. Times say only whether it is worth
 * reading: programs write these files again and again, mostly with the same text.
 */
#include "log/event.h"
#include "os/file/file.h"
#include "supervisor/internal.h"

enum { PART_SIZE = 65536, PARTS_MAX = 256 };

static const char *const paths[SERVE_NAME_FILES] = {"/etc/hosts", "/etc/resolv.conf"};

/* Of a file that is not there: zeros. */
static struct supervisor_name_file identify_name_file(int file)
{
	struct os_file_info info;

	if (file < 0 || os_file_info(file, &info) < 0)
		return (struct supervisor_name_file){0};
	return (struct supervisor_name_file){
		.device = info.device,
		.inode = info.inode,
		.size = info.size,
		.modified_us = info.modified_us,
		.changed_us = info.changed_us,
	};
}

static bool is_same_name_file(const struct supervisor_name_file *one,
			      const struct supervisor_name_file *other)
{
	return one->device == other->device && one->inode == other->inode &&
	       one->size == other->size && one->modified_us == other->modified_us &&
	       one->changed_us == other->changed_us;
}

static uint64_t digest_of_name_file(int file)
{
	static char part[PART_SIZE];
	uint64_t words[2] = {0};
	ssize_t length = file >= 0 ? 1 : 0;

	for (uint64_t i = 0; length > 0 && i < PARTS_MAX; i++) {
		length = os_file_read(file, part, sizeof part, i * PART_SIZE);
		if (length > 0)
			words[1] = hash_own(part, (size_t)length);
		words[0] = hash_own(words, sizeof words);
	}
	return words[0];
}

/* Whoever writes it has a turn to finish. */
static bool has_name_file_changed(struct supervisor_name_file *known, const char *path)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ | OS_FILE_NO_BLOCK);
	struct supervisor_name_file now = identify_name_file(file);
	bool is_known = is_same_name_file(&now, known);
	bool is_other = false;

	now.digest = known->digest;
	now.is_unread = !is_known;
	if (is_known && known->is_unread) {
		now.digest = digest_of_name_file(file);
		is_other = now.digest != known->digest;
	}
	*known = now;
	if (file >= 0)
		os_file_close(file);
	return is_other;
}

static void tell_processes_of_name_files(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->process_count; i++)
		if (supervisor->processes[i].control != NULL)
			ipc_channel_send(supervisor->processes[i].control, CHILD_NAMES, 0, STR(""),
					 NULL, 0);
}

void supervisor_know_names(struct supervisor *supervisor)
{
	for (size_t i = 0; i < SERVE_NAME_FILES; i++) {
		int file = os_file_open(OS_FILE_HERE, paths[i], OS_FILE_READ | OS_FILE_NO_BLOCK);

		supervisor->name_files[i] = identify_name_file(file);
		supervisor->name_files[i].digest = digest_of_name_file(file);
		if (file >= 0)
			os_file_close(file);
	}
}

void supervisor_watch_names(struct supervisor *supervisor)
{
	bool is_other = false;

	for (size_t i = 0; i < SERVE_NAME_FILES; i++) {
		if (!has_name_file_changed(&supervisor->name_files[i], paths[i]))
			continue;
		log_event(EVENT_NAMES_CHANGED, log_string(file, paths[i]));
		is_other = true;
	}
	if (is_other)
		tell_processes_of_name_files(supervisor);
}
