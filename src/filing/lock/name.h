// SPDX-License-Identifier: ISC
/*
 * filing/lock/name.h - the names of locks, as databases and file locks want them.
 *
 * A lock orders the work of all processes and machines on what has one name (a Message-ID). Names
 * are digests: MariaDB ignores case in names of locks and refuses more than 64 characters,
 * PostgreSQL and file locks have numbers. Two names with the same number delay each other, and
 * nothing else: no lock decides what is done.
 */
#ifndef FILING_LOCK_NAME_H
#define FILING_LOCK_NAME_H

#include "base/str.h"
#include <stdint.h>

enum { LOCK_NAME_SIZE = 60 }; /* with its NUL */

struct lock_name {
	char text[LOCK_NAME_SIZE]; /* "stagepost/" and 48 hexadecimal digits in lower case */
	uint64_t key;              /* the first 64 bits of the digest */
};

/* The name for TEXT, any bytes: by its SHA-256. */
void lock_name_make(struct str text, struct lock_name *out);

#endif
