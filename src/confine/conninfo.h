// SPDX-License-Identifier: ISC
/*
 * confine/conninfo.h - the files and UNIX sockets in a PostgreSQL connection string, which
 * a sandbox must allow. libpq itself parses the string again; processes that set up a sandbox are
 * not linked with it.
 */
#ifndef CONFINE_CONNINFO_H
#define CONFINE_CONNINFO_H

#include "base/str.h"

/* Calls FOUND with each absolute path in TEXT that is given as sslcert, sslkey, sslrootcert,
 * sslcrl, or passfile; PATH is valid during the call. TEXT is of one of the two kinds in
 * PostgreSQL's manual, section 34.1.1; what follows a syntax error is ignored. */
void conninfo_files(const char *text, void (*found)(void *context, struct str path), void *context);

/* Whether a server in TEXT may be at a UNIX socket, by its path or by libpq's default: false if all
 * of them are certainly hosts. */
bool conninfo_may_be_local(const char *text);
/* Whether a server in TEXT is another one: a host, by its name or address. */
bool conninfo_may_be_remote(const char *text);
/* Whether libpq has to look up the name of a server. */
bool conninfo_has_names(const char *text);

#endif
