// SPDX-License-Identifier: ISC
/* keys/read.h - a file that is read again when it has changed. */
#ifndef KEYS_READ_H
#define KEYS_READ_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "os/file/file.h"

struct keys_stamp { /* differs when the file may have changed */
	struct os_file_info info;
	int error; /* it could not be looked at */
};

/* What PATH leads to now. */
struct keys_stamp keys_stamp_of(const char *path);
bool keys_stamp_is_same(const struct keys_stamp *left, const struct keys_stamp *right);
/* Whether reading failed with ERROR for a reason that may pass while the file stays as it is: not
 * for its name, its rights or what is in it. */
bool keys_error_passes(int error);

/* Appends the certificates in PATH, and nothing else of it: there may be a private key, which
 * nobody else may get. 0, or -errno with the REASON, -EFBIG: it is larger than MOST bytes. */
MUST_CHECK int keys_read_certificates(const char *path, size_t most, struct buffer *certificates,
				      struct buffer *reason);

/* After -EACCES: appends to REASON where PATH leads, if it is a symbolic link. The sandbox allows
 * the directories to which links led at the start; it is noticed within seconds that they lead
 * elsewhere, and the process is started again. */
void keys_append_place(const char *path, int error, struct buffer *reason);

/* Appends what is in PATH to TEXT, which becomes secret: 0, or -errno with the REASON. Of a file to
 * which others than its owner and group have access (-EPERM), or of which this cannot be seen,
 * nothing is read. */
MUST_CHECK int keys_read_secret(const char *path, size_t most, struct buffer *text,
				struct buffer *reason);

/* The last good text of a file. */
struct keys_file {
	struct keys_stamp stamp;
	struct buffer text;
	bool is_known; /* it was looked at */
	int error;     /* of the last reading, or 0 */
};

/* A file of authorities: 1: the text is another; 0: as before; -errno with the REASON: it cannot be
 * used, which was not so before or the file has changed, and the text stays. ROOM: the bytes that
 * all others have left of KEYS_AUTHORITIES_SIZE_MAX. */
MUST_CHECK int keys_file_refresh(struct keys_file *file, const char *path, size_t room,
				 struct buffer *reason);
/* Appends the authorities of PATH, at most ROOM bytes: 0, or -errno with the REASON. */
MUST_CHECK int keys_read_authorities(const char *path, size_t room, struct buffer *text,
				     struct buffer *reason);
void keys_file_clear(struct keys_file *file);

#endif
