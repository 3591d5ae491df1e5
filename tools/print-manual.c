// SPDX-License-Identifier: ISC
/* print-manual - writes stagepost.conf(5) from the table of settings, for the build. */
#include "config/config.h"
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	struct buffer out = {0};
	size_t written;

	config_print_manual(&out);
	written = fwrite(buffer_data(&out), 1, out.length, stdout);
	if (written != out.length || fflush(stdout) != 0)
		return EXIT_FAILURE;
	buffer_clear(&out);
	return EXIT_SUCCESS;
}
