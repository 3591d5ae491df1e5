// SPDX-License-Identifier: ISC
/*
 * as_user - runs a program as another user, without root's groups.
 *
 * usage: as_user UID GID PROGRAM [ARGUMENT]...
 *
 * As setpriv(1) does, which takes five times as long to begin: tests do this thousands of times.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words)
{
	if (count < 4) {
		fputs("usage: as_user UID GID PROGRAM [ARGUMENT]...\n", stderr);
		return 2;
	}
	if (setgroups(0, NULL) == 0 && setgid((gid_t)strtoul(words[2], NULL, 10)) == 0 &&
	    setuid((uid_t)strtoul(words[1], NULL, 10)) == 0)
		execvp(words[3], words + 3);
	fprintf(stderr, "as_user: %s: %s\n", words[3], strerror(errno));
	return 127;
}
