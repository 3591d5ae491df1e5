// SPDX-License-Identifier: ISC
#include "file_calls.h"

const struct file_calls FILE_CALLS = {
	.open_directory = os_file_open_directory,
	.open = os_file_open,
	.close = os_file_close,
	.read = os_file_read,
	.write = os_file_write,
	.append = os_file_append,
	.truncate = os_file_truncate,
	.sync = os_file_sync,
	.write_out_many = os_file_write_out_many,
	.sync_directory = os_file_sync_directory,
	.link = os_file_link,
	.rename_new = os_file_rename_new,
	.rename = os_file_rename,
	.unlink = os_file_unlink,
	.make_directory = os_file_make_directory,
	.make_pipe = os_file_make_pipe,
	.is_open_elsewhere = os_file_is_open_elsewhere,
	.has_writers = os_file_has_writers,
	.info = os_file_info,
	.info_at = os_file_info_at,
	.set_modified = os_file_set_modified,
	.list = os_file_list,
	.lock = os_file_lock,
	.sync_filesystem = os_file_sync_filesystem,
};
