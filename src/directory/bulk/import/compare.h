// SPDX-License-Identifier: ISC
/*
 * directory/bulk/import/compare.h - a record of a file against the directory's.
 */
#ifndef DIRECTORY_BULK_IMPORT_COMPARE_H
#define DIRECTORY_BULK_IMPORT_COMPARE_H

#include "base/arena.h"
#include "directory/bulk/reader.h"
#include "directory/record/record.h"

/* Whether all fields are the same. */
bool bulk_record_is_same(const struct directory_record *a, const struct directory_record *b);
/* Whether the fields that ENTRY names have the same values in THERE, which may have others; a
 * forward of a format that has no aliases may be an alias there. */
bool bulk_entry_is_met(const struct bulk_entry *entry, const struct directory_record *there);
/* THERE with the fields that RECORD names in place of its own, in ARENA, not checked. */
struct directory_record bulk_record_merge(const struct directory_record *there,
					  const struct directory_record *record,
					  struct arena *arena);

#endif
