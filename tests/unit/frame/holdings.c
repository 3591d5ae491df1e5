// SPDX-License-Identifier: ISC
#include "holdings.h"
#include "kept.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*print_line)(const char *format, ...);

/* Where a sanitizer knows it: the function at an address. */
extern void symbolize(void *address, const char *format, char *out,
		      size_t size) __asm__("__sanitizer_symbolize_pc") __attribute__((weak));

/* A number that is not 0, and seldom that of another file. */
static uint64_t inode_of(int file)
{
	struct stat status;

	if (fstat(file, &status) != 0)
		return 0;
	return ((uint64_t)status.st_ino << 8 ^ (uint64_t)status.st_dev << 1) | 1;
}

void holdings_take(struct holdings *holdings)
{
	holdings->objects = kept_now();
	for (int file = 0; file < HOLDINGS_DESCRIPTORS; file++)
		holdings->inodes[file] = inode_of(file);
}

static void print_descriptor(int file)
{
	char path[32];
	char target[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	length = readlink(path, target, sizeof target - 1);
	target[length > 0 ? length : 0] = '\0';
	print_line("descriptor %d: %s\n", file, target);
}

static void print_object(const char *kind, uintptr_t call)
{
	char name[256] = "";

	if (call != 0 && symbolize != NULL)
		symbolize((void *)(call + 1), "%f", name,
			  sizeof name); // NOLINT(performance-no-int-to-ptr)
	print_line("%s%s%s\n", kind, name[0] == '\0' ? "" : " that calls ", name);
}

/* The name of the program of a child, also of one that has ended. */
static unsigned print_child(void)
{
	siginfo_t child = {0};
	char path[32];
	char name[32] = "";
	FILE *file;

	if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0)
		return 0;
	if (child.si_pid == 0) {
		print_line("child that runs\n");
		return 1;
	}
	snprintf(path, sizeof path, "/proc/%d/comm", child.si_pid);
	file = fopen(path, "re");
	if (file != NULL) {
		if (fgets(name, sizeof name, file) != NULL)
			name[strcspn(name, "\n")] = '\0';
		fclose(file);
	}
	print_line("child that has ended, and nobody waited for it: %s\n", name);
	return 1;
}

unsigned holdings_print(const struct holdings *before, void (*print)(const char *format, ...))
{
	unsigned left = 0;

	print_line = print;
	for (int file = 0; file < HOLDINGS_DESCRIPTORS; file++) {
		uint64_t inode = inode_of(file);

		if (inode == 0 || inode == before->inodes[file])
			continue;
		print_descriptor(file);
		left++;
	}
	left += (unsigned)kept_print(before->objects, print_object);
	return left + print_child();
}
