// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/rerun.c - a fuzz target's corpus as an ordinary test: each file
 * that is named, and every file of a directory that is named.
 */
#include "base/buffer.h"
#include "base/panic.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_file(const char *path)
{
	struct buffer input = {0};
	FILE *file = fopen(path, "rb");
	size_t count;

	if (file == NULL)
		panic("cannot read %s", path);
	do {
		count = fread(buffer_reserve(&input, 4096), 1, 4096, file);
		buffer_commit(&input, count);
	} while (count > 0);
	fclose(file);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)buffer_data(&input), input.length);
	buffer_clear(&input);
}

static int run_directory(const char *path, DIR *directory)
{
	const struct dirent *entry;
	int count = 0;

	while ((entry = readdir(directory)) != NULL) {
		struct buffer name = {0};

		if (entry->d_name[0] == '.')
			continue;
		buffer_append_format(&name, "%s/%s", path, entry->d_name);
		buffer_append_byte(&name, '\0');
		run_file(buffer_data(&name));
		buffer_clear(&name);
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
		DIR *directory = opendir(argv[i]);

		if (directory == NULL) {
			run_file(argv[i]);
			count++;
			continue;
		}
		count += run_directory(argv[i], directory);
		closedir(directory);
	}
	printf("%d inputs\n", count);
	return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
