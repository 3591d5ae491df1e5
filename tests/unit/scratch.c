// SPDX-License-Identifier: ISC
#include "scratch.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

int scratch_make(char path[SCRATCH_SIZE])
{
	const char *base = getenv("TMPDIR");
	int length = snprintf(path, SCRATCH_SIZE, "%s/stagepost-test-XXXXXX",
			      base != NULL ? base : "/tmp");

	return length < SCRATCH_SIZE && mkdtemp(path) != NULL ? 0 : -1;
}

static int remove_one(const char *name, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(name);
}

int scratch_remove(const char *path)
{
	return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
