// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/run_file.h - files in the run directory that a supervisor leaves for commands to
 * read. They are replaced atomically, and believed only if they belong to their owner.
 */
#ifndef SUPERVISOR_TALK_RUN_FILE_H
#define SUPERVISOR_TALK_RUN_FILE_H

#include "base/attributes.h"
#include "base/buffer.h"
#include <sys/types.h>

/* Replaces the file NAME in the directory RUN; -errno. FOR_EVERYBODY: all users may read it,
 * otherwise only its owner and its group. */
MUST_CHECK int run_file_replace(const char *run, const char *name, struct str text,
				bool for_everybody);
/* Appends the file to *TEXT, at most MAX bytes. -ENOENT: there is none; -EPERM: it does not belong
 * to OWNER; -EFBIG; another -errno. */
MUST_CHECK int run_file_read(const char *run, const char *name, uid_t owner, size_t max,
			     struct buffer *text);

#endif
