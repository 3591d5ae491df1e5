// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/ldap/ldif.h - entries of LDAP for tests, written as text. */
#ifndef TESTS_UNIT_LDIF_H
#define TESTS_UNIT_LDIF_H

#include "directory/store/ldap/map/map.h"

/* "DN\nATTRIBUTE: VALUE\n...", the values of one attribute in lines that follow each other. The
 * entry is in ARENA. */
struct entry ldif_parse(struct arena *arena, const char *text);

#endif
