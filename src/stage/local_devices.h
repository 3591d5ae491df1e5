// SPDX-License-Identifier: ISC
/*
 * stage/local_devices.h - on which filesystem each owner had his last mail.
 *
 * Where a disk does not answer, asking it is what must not be done: so it is remembered. A
 * table of fixed size; who is pushed out of it is unknown until his next mail.
 */
#ifndef STAGE_LOCAL_DEVICES_H
#define STAGE_LOCAL_DEVICES_H

#include "stage/local_hand.h"

struct local_devices;

struct local_devices *local_devices_new(void);
void local_devices_free(struct local_devices *devices);

/* Remembers the filesystems of GROUP's deliveries that were stored as an owner. */
void local_devices_learn(struct local_devices *devices, const struct local_group *group);
/* The filesystem (st_dev) of UID's last mail; 0: unknown. */
uint64_t local_devices_find(const struct local_devices *devices, uid_t uid);

#endif
