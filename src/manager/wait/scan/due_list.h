// SPDX-License-Identifier: ISC
/*
 * manager/wait/scan/due_list.h - the lists of due times (queue/due.h) during complete scans. The
 * first one of a process reads the list of the previous process; each other one writes the next
 * list.
 *
 * Errors are logged: without a list, all files are looked at.
 */
#ifndef MANAGER_WAIT_SCAN_DUE_LIST_H
#define MANAGER_WAIT_SCAN_DUE_LIST_H

#include "queue/due.h"

/* Storage of the caller, zeroed. */
struct due_list {
	struct queue_due_reader last; /* open only during the first scan, if there is a list */
	struct queue_due_writer next;
	bool has_begun;
};

void due_list_begin(struct due_list *list, const struct queue_store *store);
/* Whether this scan reads a list. */
bool due_list_is_read(const struct due_list *list);
/* When the message is due by the list that is read; false: not listed. */
bool due_list_find(struct due_list *list, uint64_t number, int64_t *due_us_out);
/* Adds the message to the list that is written, if any. */
void due_list_add(struct due_list *list, uint64_t number, int64_t due_us);
/* The scan is complete. True: it has read a list, so that another one has to compare it with the
 * files, and to write the next. */
bool due_list_end(struct due_list *list);
void due_list_clear(struct due_list *list);

#endif
