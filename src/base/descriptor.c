// SPDX-License-Identifier: ISC
#include "base/descriptor.h"
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

int descriptor_status(int descriptor, struct stat *status_out)
{
#if defined(SYS_fstat) && LONG_MAX > INT_MAX /* otherwise the kernel's struct differs */
	return (int)syscall(SYS_fstat, descriptor, status_out);
#else
	return fstat(descriptor, status_out);
#endif
}
