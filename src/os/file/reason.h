// SPDX-License-Identifier: ISC
/*
 * os/file/reason.h - why a file could not be changed, for people.
 */
#ifndef OS_FILE_REASON_H
#define OS_FILE_REASON_H

/* The text of ERROR, -errno: strerror(3), and for a file system that is read-only what to do if it
 * is so for a service alone. */
const char *os_file_reason(int error);

#endif
