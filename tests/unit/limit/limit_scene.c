// SPDX-License-Identifier: ISC
#include "limit_scene.h"
#include "os/file/file.h"
#include "os/shared.h"
#include "unit/config/config_outcome.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void name_of(size_t i, char name[LIMIT_NAME_SIZE])
{
	snprintf(name, LIMIT_NAME_SIZE, "smtpd.%zu", i);
}

static struct limit_layout layout_of_sessions(void)
{
	struct limit_layout layout = {.count = 0};

	limit_layout_add(&layout, LIMIT_AREA_SESSIONS, limit_count_area_size(), true);
	return layout;
}

void limit_scene_init(struct limit_scene *scene, size_t processes)
{
	struct limit_layout layout = layout_of_sessions();
	char name[LIMIT_NAME_SIZE];

	*scene = (struct limit_scene){.count = processes, .supervisor = limit_memory_new(&layout)};
	for (size_t i = 0; i < processes; i++) {
		name_of(i, name);
		scene->rows[i] = limit_row_new(&layout, name);
		scene->readers[i] = os_shared_reader(scene->rows[i]);
		assert_true(scene->rows[i] >= 0 && scene->readers[i] >= 0);
		assert_int_equal(limit_memory_add(scene->supervisor, name, scene->rows[i], true),
				 0);
	}
}

void limit_scene_start(struct limit_scene *scene, size_t i, const struct limit_classes *classes)
{
	struct limit_layout layout = layout_of_sessions();
	char name[LIMIT_NAME_SIZE];

	scene->memories[i] = limit_memory_new(&layout);
	for (size_t j = 0; j < scene->count; j++) {
		name_of(j, name);
		assert_int_equal(limit_memory_add(scene->memories[i], name,
						  j == i ? scene->rows[j] : scene->readers[j],
						  j == i),
				 0);
	}
	scene->counters[i] = limit_counter_new(scene->memories[i], classes);
}

void limit_scene_kill(struct limit_scene *scene, size_t i)
{
	free(scene->counters[i]); /* and nothing else, as a process that is killed */
	limit_memory_free(scene->memories[i]);
	scene->counters[i] = NULL;
	scene->memories[i] = NULL;
}

void limit_scene_reap(struct limit_scene *scene, size_t i)
{
	limit_clear_sessions(scene->supervisor, i);
}

void limit_scene_clear(struct limit_scene *scene)
{
	for (size_t i = 0; i < scene->count; i++) {
		limit_counter_free(scene->counters[i]);
		limit_memory_free(scene->memories[i]);
		close(scene->rows[i]); /* a model has an os_file_close() of its own */
		close(scene->readers[i]);
	}
	limit_memory_free(scene->supervisor);
}

struct limit_classes *limit_scene_classes(const char *text)
{
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct limit_classes *classes;
	struct config *config;

	buffer_append_format(&whole, HOST "%s", text);
	buffer_append_byte(&whole, '\0');
	config = config_of(buffer_data(&whole));
	classes = limit_classes_new(config);
	config_free(config);
	return classes;
}
