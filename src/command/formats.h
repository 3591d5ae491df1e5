// SPDX-License-Identifier: ISC
/*
 * command/formats.h - the formats of what a node keeps on the disk, and what this version
 * makes of them: said before anything is changed.
 *
 *   what                      found in                      what this version does
 *   control files of the      their first line, of at most  reads up to FORMATS_QUEUE, changes none
 *   queue                     1,000 messages that wait      that is there
 *   directory, kind sqlite    the file's header             upgrades its tables at the start, after
 *   or ldap                   (user_version)                which an older version reads them no
 * more
 *
 * What other servers keep (the directory of PostgreSQL, the record of deliveries) is not looked at.
 */
#ifndef COMMAND_FORMATS_H
#define COMMAND_FORMATS_H

#include "config/config.h"

enum { FORMATS_QUEUE = 2 };

enum formats_verdict {
	FORMATS_SAME,       /* also an older one that is read and not changed */
	FORMATS_ONE_WAY,    /* it will be changed, and the version before cannot read that */
	FORMATS_UNREADABLE, /* by this version */
};

struct formats_finding {
	enum formats_verdict verdict; /* not FORMATS_SAME */
	const char *what;             /* "the directory" */
	const char *path;
	uint64_t found;
	uint64_t own; /* of this version */
};

/* Calls EACH with each finding; returns the worst verdict. -errno: something is there that cannot
 * be read. */
int formats_check(const struct config *config,
		  void (*each)(void *context, const struct formats_finding *finding),
		  void *context);

#endif
