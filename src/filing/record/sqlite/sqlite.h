// SPDX-License-Identifier: ISC
/*
 * filing/record/sqlite/sqlite.h - messages recorded in a file of SQLite, for the processes of one
 * machine; locks are those of filing/lock/file.h, in "PATH-lock".
 */
#ifndef FILING_RECORD_SQLITE_SQLITE_H
#define FILING_RECORD_SQLITE_SQLITE_H

#include "filing/record/record.h"

/* The file PATH is created when it is missing, with its tables, at the first record_begin(). */
struct record *record_sqlite_new(const char *path);

#endif
