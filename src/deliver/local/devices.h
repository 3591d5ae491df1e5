// SPDX-License-Identifier: ISC
/*
 * deliver/local/devices.h - remembers on which filesystem the last mail of each owner was stored.
 *
 * When a disk does not answer, no file on it may be touched, so this must be remembered. A table of
 * fixed size; an owner that is evicted is unknown until his next mail. For such an owner the
 * kernel's mount table says what is mounted at the path of his mailbox, which is right if the path
 * contains no symbolic link (os/file/mounts.h).
 */
#ifndef DELIVER_LOCAL_DEVICES_H
#define DELIVER_LOCAL_DEVICES_H

#include "deliver/local/worker.h"

struct local_devices;

struct local_devices *local_devices_new(void);
void local_devices_free(struct local_devices *devices);

/* Remembers the filesystems of GROUP's deliveries that were stored as an owner. */
void local_devices_learn(struct local_devices *devices, const struct local_group *group);
struct local_disk {
	uint64_t device; /* the filesystem (st_dev) of the owner's last mail; 0: unknown */
	uint64_t mount;  /* otherwise: the mount at the mailbox's path; 0: also unknown */
};

/* The disk of UID, whose mailbox is at PATH. */
struct local_disk local_devices_find(const struct local_devices *devices, uid_t uid,
				     struct str path);
/* Whether two owners may wait for the same disk. */
bool local_disk_is_same(const struct local_disk *a, const struct local_disk *b);

#endif
