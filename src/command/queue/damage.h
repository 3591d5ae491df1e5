// SPDX-License-Identifier: ISC
/*
 * command/queue/damage.h - how commands tell what a disk has changed (queue/damage.h).
 */
#ifndef COMMAND_QUEUE_DAMAGE_H
#define COMMAND_QUEUE_DAMAGE_H

#include "queue/damage.h"

/* Appends "mess/7/457: its data, 18233 bytes from byte 0, have the checksum 77e01d3f, not
 * 2a5b90c1", without a newline. */
void command_damage_print(struct buffer *out, const char *path,
			  const struct queue_difference *difference);
/* The same as a JSON object. */
void command_damage_print_json(struct buffer *out, const char *path,
			       const struct queue_difference *difference);
/* Appends what "stagepost queue stats" says of it; for JSON, as fields of an object that has been
 * begun. WITH_DATA: all data are read. 0 or -errno. */
MUST_CHECK int command_stats_damage(struct buffer *out, bool is_json, struct queue_store *store,
				    bool with_data);
/* Appends what the running manager says for "stagepost queue stats": pauses, and what servers have
 * said. For JSON likewise; nothing if none runs with the directory RUN. (stats_manager.c) */
void command_stats_manager(struct buffer *out, bool is_json, const char *run);

#endif
