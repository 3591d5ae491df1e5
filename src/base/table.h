// SPDX-License-Identifier: ISC
/*
 * base/table.h - uthash with unpredictable hashes, and a panic when memory is exhausted.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/hash.h"
#include "base/panic.h"

#ifdef UTHASH_H
#error "include base/table.h, not uthash.h"
#endif
#define uthash_fatal(message)            panic("uthash: %s", message)
#define HASH_FUNCTION(key, length, hash) ((hash) = (unsigned)hash_own(key, length))
#include <uthash.h>

#endif
