// SPDX-License-Identifier: ISC
#include "disk_ear.h"
#include "disk_internal.h"
#include <string.h>
#include <sys/stat.h>

static void listen_to(struct disk *disk, struct disk_node *node, struct disk_ear *ear)
{
	ear->disk = disk;
	ear->node = node;
	ear->next = disk->ears;
	disk->ears = ear;
}

int disk_ear_open(struct disk *disk, const char *path, struct disk_ear *ear)
{
	struct disk_node *node;
	int error = disk_look_up(disk, NULL, path, &node);

	if (error < 0)
		return error;
	ear->target = node;
	ear->name[0] = '\0';
	listen_to(disk, node, ear);
	return 0;
}

int disk_ear_open_name(struct disk *disk, const char *path, struct disk_ear *ear)
{
	struct disk_node *directory;
	const struct disk_entry *entry;
	int error = disk_walk(disk, NULL, path, &directory, ear->name);

	if (error < 0)
		return error;
	entry = disk_entry_find(directory, ear->name);
	ear->target = entry != NULL ? entry->seen : NULL;
	listen_to(disk, directory, ear);
	return 0;
}

void disk_ear_close(struct disk_ear *ear)
{
	struct disk_ear **place = &ear->disk->ears;

	while (*place != ear)
		place = &(*place)->next;
	*place = ear->next;
}

static void sound(struct disk_ear *ear, unsigned what)
{
	if ((ear->sounds & what) != 0)
		ear->heard(ear);
}

void disk_sound_bytes(const struct disk_node *node, unsigned what)
{
	for (struct disk_ear *ear = node->disk->ears; ear != NULL; ear = ear->next)
		if (ear->target == node)
			sound(ear, what);
}

static void sound_name(struct disk_ear *ear, const struct disk_node *before,
		       const struct disk_node *node)
{
	ear->target = node;
	if (before != NULL)
		sound(ear, DISK_UNNAMED);
	if (node != NULL)
		sound(ear, DISK_NAMED);
}

void disk_sound_name(const struct disk_node *directory, const char *name,
		     const struct disk_node *before, const struct disk_node *node)
{
	for (struct disk_ear *ear = directory->disk->ears; ear != NULL; ear = ear->next) {
		if (ear->node == NULL || *ear->name == '\0')
			continue;
		if (ear->node == directory && strcmp(ear->name, name) == 0)
			sound_name(ear, before, node);
		else if (ear->node == before || ear->node == node)
			sound(ear, DISK_MOVED);
	}
}

void disk_sound_end(const struct disk_node *node)
{
	for (struct disk_ear *ear = node->disk->ears; ear != NULL; ear = ear->next) {
		if (ear->target == node)
			ear->target = NULL;
		if (ear->node == node)
			ear->node = NULL;
	}
}
