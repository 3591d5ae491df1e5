// SPDX-License-Identifier: ISC
#include "os/file/reason.h"
#include <errno.h>
#include <string.h>

const char *os_file_reason(int error)
{
	switch (error) {
	case -EROFS:
		return "Read-only file system (a service may write only to ReadWritePaths of its "
		       "unit)";
	case -EBADMSG: /* "Bad message" to the C library; filesystems mean this, too */
		return "a checksum differs: the data are not those that were written";
	default:
		return strerror(-error);
	}
}
