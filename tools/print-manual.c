// SPDX-License-Identifier: ISC
/*
 * print-manual - writes a manual page, for the build.
 *
 * usage: print-manual [TEMPLATE]
 *
 * Without TEMPLATE stagepost.conf(5), from the table of settings. Otherwise that file,
 * with lines like "@options queue list@" filled from the table of commands.
 */
#include "command/command.h"
#include "config/text.h"
#include "os/file/file.h"
#include "os/process/process.h"
#include <stdio.h>
#include <stdlib.h>

enum { TEMPLATE_MAX = 1 << 20 };

static bool fill_template(const char *path, struct buffer *out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer why CLEANUP(buffer_clear) = {0};
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	int error = file < 0 ? file : os_process_read_text(file, TEMPLATE_MAX, &text);

	os_file_close(file);
	if (error < 0) {
		fprintf(stderr, "print-manual: %s cannot be read\n", path);
		return false;
	}
	if (command_fill_manual(buffer_view(&text), out, &why))
		return true;
	fprintf(stderr, "print-manual: %s: what is " STR_FORMAT "?\n", path,
		STR_ARGUMENTS(buffer_view(&why)));
	return false;
}

int main(int argc, char **argv)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	size_t written;

	if (argc < 2)
		config_print_manual(&out);
	else if (!fill_template(argv[1], &out))
		return EXIT_FAILURE;
	written = fwrite(buffer_data(&out), 1, out.length, stdout);
	return written == out.length && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
