// SPDX-License-Identifier: ISC
#include "os/file/reason.h"
#include <errno.h>
#include <string.h>

const char *os_file_reason(int error)
{
	return error == -EROFS ? "Read-only file system (a service may write only to "
				 "ReadWritePaths of its unit)"
			       : strerror(-error);
}
