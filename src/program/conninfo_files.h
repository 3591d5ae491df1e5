// SPDX-License-Identifier: ISC
/*
 * program/conninfo_files.h - which files a connection string of PostgreSQL names, so
 * that a sandbox can let them be read. The string itself is libpq's affair; whoever makes a
 * sandbox is not linked with it.
 */
#ifndef PROGRAM_CONNINFO_FILES_H
#define PROGRAM_CONNINFO_FILES_H

#include "base/str.h"

/* Calls FOUND with each absolute path that stands in TEXT as sslcert, sslkey, sslrootcert, sslcrl,
 * or passfile; PATH is valid during the call. TEXT has one of the two forms of PostgreSQL's manual,
 * section 34.1.1; of what is malformed the rest is passed over. */
void conninfo_files(const char *text, void (*found)(void *context, struct str path), void *context);

#endif
