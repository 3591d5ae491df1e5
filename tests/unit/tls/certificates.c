// SPDX-License-Identifier: ISC
#include "certificates.h"
#include "base/panic.h"
#include <stdio.h>
#include <stdlib.h>

enum { COMMAND_SIZE = 1000, PLACES = 8 };

int certificates_make(char directory[SCRATCH_SIZE], const char *names)
{
	const char *program = getenv("MAKE_CERTIFICATES");
	char command[COMMAND_SIZE];

	if (program == NULL)
		panic("MAKE_CERTIFICATES is not set");
	if (scratch_make(directory) != 0)
		return -1;
	snprintf(command, sizeof command, "'%s' '%s' %s", program, directory, names);
	if (system(command) != 0) // NOLINT(cert-env33-c): what it runs is this file's
		panic("%s failed", command);
	return 0;
}

const char *certificates_path(const char *directory, const char *name, const char *suffix)
{
	static char places[PLACES][CERTIFICATES_PATH_SIZE];
	static size_t next;
	char *place = places[next++ % PLACES];

	snprintf(place, CERTIFICATES_PATH_SIZE, "%s/%s.%s", directory, name, suffix);
	return place;
}
