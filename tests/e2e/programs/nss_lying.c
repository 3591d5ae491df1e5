// SPDX-License-Identifier: ISC
/* A service of the system's name service (nss(5)) that fails as those of servers do, as /etc/lying
 * says: "away" cannot reach its server, and leaves ENOENT as SSSD's does without its socket; "hang"
 * does not answer; otherwise nobody has the name. */
#include <errno.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum nss_status _nss_lying_getpwnam_r(const char *name, struct passwd *entry, char *buffer,
				      size_t size, int *error);

static void read_mood(char mood[16])
{
	FILE *file = fopen("/etc/lying", "r");

	mood[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(mood, 16, file) == NULL)
		mood[0] = '\0';
	fclose(file);
}

enum nss_status _nss_lying_getpwnam_r(const char *name, struct passwd *entry, char *buffer,
				      size_t size, int *error)
{
	char mood[16];

	(void)name;
	(void)entry;
	(void)buffer;
	(void)size;
	for (;;) {
		read_mood(mood);
		if (strncmp(mood, "hang", 4) != 0)
			break;
		usleep(100000);
	}
	*error = ENOENT;
	return strncmp(mood, "away", 4) == 0 ? NSS_STATUS_UNAVAIL : NSS_STATUS_NOTFOUND;
}
