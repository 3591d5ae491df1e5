// SPDX-License-Identifier: ISC
#include "deliver/local/places.h"
#include "base/panic.h"

enum {
	DEVICE_MAX = 4,   /* stuck on one filesystem: its other owners are not tried meanwhile */
	UNKNOWN_MAX = 16, /* the same, for owners whose filesystem is unknown */
};

bool local_places_is_working(const struct local_places *places)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->all[i].is_busy && !places->all[i].is_stuck)
			return true;
	return false;
}

struct local_place *local_places_idle(struct local_places *places, struct os_wakeup *wakeup)
{
	struct local_place *place = places->all;
	int error;

	while (place < places->all + places->count && place->is_busy)
		place++;
	if (place < places->all + places->count)
		return place;
	if (places->count == LOCAL_PLACES_MAX)
		return NULL;
	error = local_hand_new(wakeup, &place->hand);
	if (error < 0 && places->count == 0)
		cannot_begin("no thread for deliveries", error);
	if (error < 0)
		return NULL;
	places->count++;
	return place;
}

size_t local_places_stuck_on(const struct local_places *places, const struct local_disk *disk)
{
	size_t count = 0;

	for (size_t i = 0; i < places->count; i++)
		count += places->all[i].is_stuck && local_disk_is_same(&places->all[i].disk, disk);
	return count;
}

bool local_places_blocks(const struct local_places *places, const struct local_devices *devices,
			 uid_t uid, struct str path)
{
	struct local_disk disk;
	bool is_any_stuck = false;

	for (size_t i = 0; i < places->count; i++) {
		const struct local_place *place = &places->all[i];

		if (place->is_stuck && place->batch.group.owners[place->first].uid == uid)
			return true;
		is_any_stuck |= place->is_stuck;
	}
	if (!is_any_stuck)
		return false;
	disk = local_devices_find(devices, uid, path);
	return local_places_stuck_on(places, &disk) >=
	       (disk.device != 0 ? DEVICE_MAX : UNKNOWN_MAX);
}

void local_place_log(const struct local_place *place, enum log_name name)
{
	const struct maildir_delivery *delivery = &place->batch.group.deliveries[place->first];

	log_event_like(log_write, name, EVENT_MAILBOX_STUCK, log_str(path, delivery->path),
		       log_str(to, delivery->recipient),
		       log_number(uid, (int64_t)place->batch.group.owners[place->first].uid));
}

void local_place_log_found(const struct local_place *place, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct maildir_delivery *delivery = &place->batch.group.deliveries[i];

		if (delivery->flaw != NULL)
			log_event_rated(EVENT_MAILBOX_REFUSED, log_str(path, delivery->path),
					log_str(to, delivery->recipient),
					log_string(reason, delivery->flaw));
		if (delivery->removed > 0)
			log_event(EVENT_MAILBOX_RECOVERED, log_str(path, delivery->path),
				  log_number(bytes, (int64_t)delivery->removed));
	}
}
