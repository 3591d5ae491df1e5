// SPDX-License-Identifier: ISC
/*
 * deliver/local_devices.h - on which filesystem each owner had his last mail.
 *
 * Where a disk does not answer, asking it is what must not be done: so it is remembered. A
 * table of fixed size; who is pushed out of it is unknown until his next mail. Of him the kernel's
 * table of mounts tells what is mounted at his mailbox's path, which is right where there is no
 * link in it (os/mounts.h).
 */
#ifndef DELIVER_LOCAL_DEVICES_H
#define DELIVER_LOCAL_DEVICES_H

#include "deliver/local_hand.h"

struct local_devices;

struct local_devices *local_devices_new(void);
void local_devices_free(struct local_devices *devices);

/* Remembers the filesystems of GROUP's deliveries that were stored as an owner. */
void local_devices_learn(struct local_devices *devices, const struct local_group *group);
struct local_disk {
	uint64_t device; /* the filesystem (st_dev) of the owner's last mail; 0: unknown */
	uint64_t mount;  /* then: what is mounted there, by the path's names; 0: unknown, too */
};

/* Of UID, whose mailbox is at PATH. */
struct local_disk local_devices_find(const struct local_devices *devices, uid_t uid,
				     struct str path);
/* Whether two owners may wait for the same disk. */
bool local_disk_is_same(const struct local_disk *a, const struct local_disk *b);

#endif
