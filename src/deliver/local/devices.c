// SPDX-License-Identifier: ISC
#include "deliver/local/devices.h"
#include "base/panic.h"
#include "os/file/mounts.h"
#include <stdlib.h>

enum { SLOTS = 1 << 14 };

struct local_devices {
	struct slot {
		uid_t uid;
		uint64_t device; /* 0: empty slot */
	} slots[SLOTS];
};

struct local_devices *local_devices_new(void)
{
	return memory_alloc_zero(1, sizeof(struct local_devices));
}

void local_devices_free(struct local_devices *devices)
{
	free(devices);
}

/* User ids are assigned sequentially: their lowest bits spread best. */
static size_t slot_of(uid_t uid)
{
	return uid % SLOTS;
}

void local_devices_learn(struct local_devices *devices, const struct local_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		uid_t uid = group->owners[i].uid;

		if (group->owners[i].change && group->deliveries[i].device != 0)
			devices->slots[slot_of(uid)] =
				(struct slot){.uid = uid, .device = group->deliveries[i].device};
	}
}

struct local_disk local_devices_find(const struct local_devices *devices, uid_t uid,
				     struct str path)
{
	const struct slot *slot = &devices->slots[slot_of(uid)];

	if (slot->uid == uid && slot->device != 0)
		return (struct local_disk){.device = slot->device};
	return (struct local_disk){.mount = os_mounts_find(path)};
}

bool local_disk_is_same(const struct local_disk *a, const struct local_disk *b)
{
	return a->device == b->device && a->mount == b->mount;
}
