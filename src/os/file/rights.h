// SPDX-License-Identifier: ISC
/*
 * os/file/rights.h - owners and permissions of files. Every function returns 0 or
 * -errno.
 */
#ifndef OS_FILE_RIGHTS_H
#define OS_FILE_RIGHTS_H

#include "os/file/file.h"

/* os_file_info_at() of the target of symbolic links. */
MUST_CHECK int os_file_info_behind(const char *path, struct os_file_info *info_out);
/* Whether this process, with the rights of the user who started it, may write to PATH, or execute
 * it: -EACCES, -EROFS, ... (access(2)) */
MUST_CHECK int os_file_may_write(const char *path);
MUST_CHECK int os_file_may_run(const char *path);
/* Does not follow a symbolic link. */
MUST_CHECK int os_file_set_owner(const char *path, uid_t user, gid_t group);
MUST_CHECK int os_file_set_mode(int file, unsigned mode);

#endif
