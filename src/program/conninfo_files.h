// SPDX-License-Identifier: ISC
/*
 * program/conninfo_files.h - which files and UNIX sockets a connection string of PostgreSQL
 * names, so that a sandbox can let them be used. The string itself is libpq's affair; whoever makes
 * a sandbox is not linked with it.
 */
#ifndef PROGRAM_CONNINFO_FILES_H
#define PROGRAM_CONNINFO_FILES_H

#include "base/str.h"

/* Calls FOUND with each absolute path that stands in TEXT as sslcert, sslkey, sslrootcert, sslcrl,
 * or passfile; PATH is valid during the call. TEXT has one of the two forms of PostgreSQL's manual,
 * section 34.1.1; of what is malformed the rest is passed over. */
void conninfo_files(const char *text, void (*found)(void *context, struct str path), void *context);

/* Whether a server that TEXT names may be at a UNIX socket, by its path or by libpq's default:
 * false where each is certainly a host. */
bool conninfo_may_be_local(const char *text);

#endif
