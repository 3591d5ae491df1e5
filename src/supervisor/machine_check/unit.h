// SPDX-License-Identifier: ISC
/*
 * supervisor/machine_check/unit.h - what systemd lets the service of a node do with files, for
 * commands that run outside of it: a process of the service sees that itself.
 */
#ifndef SUPERVISOR_MACHINE_CHECK_UNIT_H
#define SUPERVISOR_MACHINE_CHECK_UNIT_H

#include "base/attributes.h"
#include "base/buffer.h"
#include <stdint.h>

#define MACHINE_UNIT "stagepost.service"

/* The unit's properties, as systemctl(1) shows them, drop-ins included. */
struct machine_unit {
	struct buffer text;
};

/* The unit of a node with the configuration FILE: 0, and *OUT, which the caller clears; -ENOENT:
 * systemd does not run here, has no such unit, or it serves another file (USUAL, if it names none).
 * Another -errno: systemd cannot be asked. */
MUST_CHECK int machine_unit_read(const char *file, const char *usual, struct machine_unit *out);
/* Likewise, of TEXT in place of systemctl's output. */
MUST_CHECK int machine_unit_take(struct str text, const char *file, const char *usual,
				 struct machine_unit *out);
void machine_unit_clear(struct machine_unit *unit);

/* The user and group as whom it starts the supervisor; "": root. */
struct str machine_unit_user(const struct machine_unit *unit);
struct str machine_unit_group(const struct machine_unit *unit);
/* Of the capabilities CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, as bits, those that it has. */
uint64_t machine_unit_capabilities(const struct machine_unit *unit);
/* Whether its processes can use PATH, an absolute path without symbolic links, and change what is
 * there if they WRITE. False: *WHY says which line of the unit is against it. */
MUST_CHECK bool machine_unit_allows(const struct machine_unit *unit, struct str path, bool writes,
				    struct buffer *why);

#endif
