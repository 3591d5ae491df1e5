// SPDX-License-Identifier: ISC
/* Identifies the present boot of the machine. */
#include "os/process/process.h"
#include <fcntl.h>
#include <unistd.h>

void os_boot(char text_out[OS_BOOT_SIZE])
{
	int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t length = file >= 0 ? read(file, text, sizeof text) : -1;
	size_t used = 0;

	for (ssize_t i = 0; i < length && used < OS_BOOT_SIZE - 1; i++)
		if ((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f'))
			text_out[used++] = text[i];
	if (used < OS_BOOT_SIZE - 1)
		used = 0;
	text_out[used] = '\0';
	if (file >= 0)
		close(file);
}
