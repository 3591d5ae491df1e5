// SPDX-License-Identifier: ISC
/*
 * tests/world/renamed.h - other names for the simulated calls of os/file/file.h, where the real
 * ones are linked as well. Is included before all else.
 */
#ifndef TESTS_WORLD_RENAMED_H
#define TESTS_WORLD_RENAMED_H

#define os_file_append            world_os_file_append
#define os_file_close             world_os_file_close
#define os_file_filesystem_type   world_os_file_filesystem_type
#define os_file_has_writers       world_os_file_has_writers
#define os_file_info              world_os_file_info
#define os_file_info_at           world_os_file_info_at
#define os_file_is_open_elsewhere world_os_file_is_open_elsewhere
#define os_file_link              world_os_file_link
#define os_file_list              world_os_file_list
#define os_file_list_close        world_os_file_list_close
#define os_file_list_info         world_os_file_list_info
#define os_file_list_next         world_os_file_list_next
#define os_file_list_open         world_os_file_list_open
#define os_file_lock              world_os_file_lock
#define os_file_make_directory    world_os_file_make_directory
#define os_file_make_pipe         world_os_file_make_pipe
#define os_file_open              world_os_file_open
#define os_file_open_directory    world_os_file_open_directory
#define os_file_order_holds       world_os_file_order_holds
#define os_file_order_watch       world_os_file_order_watch
#define os_file_range_holder      world_os_file_range_holder
#define os_file_range_lock        world_os_file_range_lock
#define os_file_range_lock_all    world_os_file_range_lock_all
#define os_file_range_unlock      world_os_file_range_unlock
#define os_file_range_unlock_all  world_os_file_range_unlock_all
#define os_file_read              world_os_file_read
#define os_file_rename            world_os_file_rename
#define os_file_rename_new        world_os_file_rename_new
#define os_file_set_modified      world_os_file_set_modified
#define os_file_space             world_os_file_space
#define os_file_sync              world_os_file_sync
#define os_file_sync_directories  world_os_file_sync_directories
#define os_file_sync_directory    world_os_file_sync_directory
#define os_file_sync_filesystem   world_os_file_sync_filesystem
#define os_file_sync_many         world_os_file_sync_many
#define os_file_truncate          world_os_file_truncate
#define os_file_unlink            world_os_file_unlink
#define os_file_write             world_os_file_write
#define os_file_write_out_many    world_os_file_write_out_many

#endif
