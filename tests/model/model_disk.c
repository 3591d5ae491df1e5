// SPDX-License-Identifier: ISC
/* The disk that may fail: control files, their updates, scans, and trigger/. */
#include "base/panic.h"
#include "model.h"
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/control/checksum.h"
#include "queue/update.h"
#include "queue/walk.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- updates --- */

struct queue_group {
	const struct queue_group_handler *handler;
	void *context;
	void *items[4096];
	size_t count;
};

static struct queue_group the_group;

struct queue_group *queue_group_new(struct os_loop *loop, const struct queue_group_handler *handler,
				    void *context)
{
	model_check_loop(loop);
	the_group = (struct queue_group){.handler = handler, .context = context};
	return &the_group;
}

void queue_group_free(struct queue_group *group)
{
	(void)group;
}

void queue_group_add(struct queue_group *group, void *item)
{
	if (group->count == COUNT_OF(group->items))
		model_fail("too much is to be recorded");
	group->items[group->count++] = item;
}

bool model_disk_works(void)
{
	void *items[COUNT_OF(the_group.items)];
	size_t count = the_group.count;

	if (count == 0)
		return false;
	memcpy(items, the_group.items, count * sizeof *items);
	the_group.count = 0;
	the_group.handler->work(the_group.context, items, count);
	the_group.handler->done(the_group.context, items, count);
	model_run_tasks();
	return true;
}

static int apply(struct queue_update *update)
{
	struct model_message *m = model_find(update->number);
	size_t begin;

	if (m == NULL || m->id.born_us != update->born_us)
		model_fail("an update of %" PRIu64 ", which is gone", update->number);
	if (model_disk.fails || model_once_in(200))
		return -EIO;
	if (update->preprocess) {
		if (!m->is_queued)
			model_fail("%" PRIu64 " is brought to S5 from nowhere", update->number);
		buffer_reset(&m->control);
		buffer_append_str(&m->control, buffer_view(&m->envelope));
		m->is_at_s5 = true;
	} else if (!m->is_at_s5) {
		model_fail("%" PRIu64 " is updated at S4", update->number);
	}
	if (update->is_whole)
		buffer_reset(&m->control);
	begin = m->control.length;
	buffer_append_str(&m->control, update->control);
	if (!update->is_whole)
		queue_checksum_add_records(&m->control, begin, m->id.born_us);
	update->length = m->control.length - begin;
	m->bounce += update->bounce.length;
	return 0;
}

void queue_update_commit_group(struct queue_store *store, struct queue_update **updates,
			       size_t count)
{
	model_check_store(store);
	for (size_t i = 0; i < count; i++)
		updates[i]->result = apply(updates[i]);
}

int queue_update_sync_control(struct queue_store *store, uint64_t number)
{
	(void)store;
	(void)number;
	return 0;
}

int queue_update_load(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		      struct queue_control **control_out, unsigned *line_out)
{
	struct model_message *m = model_find(number);
	struct str text;

	model_check_store(store);
	if (m != NULL)
		model_note_read(m);
	if (model_disk.is_closed || model_once_in(300)) {
		model_disk.unread++;
		if (m != NULL)
			m->is_due = false; /* what cannot be read is not tried */
		return -EMFILE;
	}
	model_disk.is_closed = model_disk.is_closing;
	if (m == NULL || (stage != NULL ? !m->is_queued || m->stage != *stage : !m->is_at_s5))
		return -ENOENT;
	text = buffer_view(m->is_at_s5 ? &m->control : &m->envelope);
	return queue_control_parse(text, control_out, line_out);
}

int queue_update_finish(struct queue_store *store, struct mail_id id, const char *const *services,
			size_t service_count)
{
	struct model_message *m = model_find(id.number);

	model_check_store(store);
	(void)services;
	(void)service_count;
	if (model_disk.fails)
		return -EIO;
	if (m == NULL || !m->is_at_s5 || m->is_queued)
		model_fail("%" PRIu64 " is finished, though it is not at S5 alone", id.number);
	m->is_at_s5 = false;
	return 0;
}

int queue_update_bounced(struct queue_store *store, uint64_t number)
{
	model_check_store(store);
	(void)number;
	return model_disk.fails || model_disk.keeps ? -EIO : 0;
}

int queue_update_leave(struct queue_store *store, uint64_t number, const char *service)
{
	model_check_store(store);
	(void)number;
	(void)service;
	return 0;
}

int queue_update_settle(const struct queue_settling *settling, enum mail_stage stage,
			uint64_t number)
{
	(void)settling;
	(void)stage;
	(void)number;
	return model_once_in(50) ? -EIO : 0;
}

void queue_update_account(struct queue_control *control, const struct queue_update *update)
{
	if (update->result == 0)
		control->size = update->is_whole ? update->length : control->size + update->length;
}

struct queue_cleaner *queue_cleaner_new(struct queue_store *store, const char *const *services,
					size_t service_count,
					const struct queue_cleaner_handler *handler, void *context)
{
	model_check_store(store);
	(void)services;
	(void)service_count;
	(void)handler;
	(void)context;
	return NULL;
}

void queue_cleaner_free(struct queue_cleaner *cleaner)
{
	(void)cleaner;
}

int queue_cleaner_step(struct queue_cleaner *cleaner)
{
	(void)cleaner;
	return model_is_calm || model_once_in(10) ? 0 : model_once_in(10) ? -EIO : 1;
}

int queue_cleaner_sweep(struct queue_store *store, int64_t now_us,
			void (*removed)(void *context, const char *path), void *context)
{
	model_check_store(store);
	(void)now_us;
	(void)removed;
	(void)context;
	return model_is_calm || model_once_in(10) ? 0 : -EIO;
}

bool queue_cleaner_is_sure(const struct queue_cleaner *cleaner)
{
	(void)cleaner;
	model_disk.is_clean = model_once_in(2);
	return model_disk.is_clean;
}

/* No envelope is damaged here. */
int queue_cleaner_set_aside(struct queue_store *store, enum mail_stage stage, uint64_t number,
			    void (*found)(void *context,
					  const struct queue_cleaner_finding *finding),
			    void *context)
{
	model_check_store(store);
	(void)stage;
	(void)found;
	(void)context;
	model_fail("%" PRIu64 " is set aside", number);
}

int queue_update_set_due(struct queue_store *store, uint64_t number, int64_t due_us)
{
	struct model_message *m = model_find(number);

	model_check_store(store);
	if (m == NULL)
		return 0;
	m->due_us = due_us;
	m->noted_us = model_wall_us;
	return 0;
}

/* Whether the data can be opened: 0 or -errno. */
static int look_for_data(const enum mail_stage *stage, uint64_t number)
{
	struct model_message *m = model_find(number);

	if (m != NULL)
		m->is_due = false; /* it would have been tried */
	if (m == NULL || (stage != NULL ? !m->is_queued || m->stage != *stage : !m->is_at_s5))
		model_fail("the data of %" PRIu64 " are looked for where they are not", number);
	if (model_once_in(500))
		return -EMFILE;
	return m->is_empty ? -ENODATA : 0;
}

int queue_update_open_data(struct queue_store *store, const enum mail_stage *stage, uint64_t number)
{
	int error = look_for_data(stage, number);

	model_check_store(store);
	if (error < 0)
		return error;
	model_disk.open_files++;
	return MODEL_DATA;
}

int queue_update_checksum_data(int file, uint64_t size, uint32_t *checksum_out)
{
	(void)file;
	(void)size;
	*checksum_out = 0; /* as the heads of large messages say */
	return 0;
}

int queue_update_read_data(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
			   uint64_t size, struct buffer *data)
{
	model_check_store(store);
	memset(buffer_reserve(data, size), 'x', size);
	buffer_commit(data, size);
	return look_for_data(stage, number);
}

int queue_update_read_beginning(struct queue_store *store, const enum mail_stage *stage,
				uint64_t number, uint64_t size, struct buffer *data)
{
	return queue_update_read_data(store, stage, number, size, data);
}

/* --- scans --- */

int queue_store_directory(const struct queue_store *store)
{
	model_check_store(store);
	return 0;
}

void queue_store_path(const struct queue_store *store, enum queue_folder folder, const char *name,
		      uint64_t number, char path[QUEUE_PATH_SIZE])
{
	model_check_store(store);
	snprintf(path, QUEUE_PATH_SIZE, "%c%c%" PRIu64, folder == QUEUE_TODO ? 't' : 'i',
		 name != NULL ? name[0] : '-', number);
}

static bool is_in(const struct model_message *m, enum queue_folder folder, const char *name)
{
	if (folder == QUEUE_INFO)
		return m->is_at_s5;
	return m->is_queued && strcmp(name, mail_stage_name(m->stage)) == 0;
}

int os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	struct model_message *m = model_find(strtoull(path + 2, NULL, 10));
	const char *name = path[1] == 's' ? "submit" : "arrive";

	(void)directory;
	if (m == NULL || !is_in(m, path[0] == 't' ? QUEUE_TODO : QUEUE_INFO, name))
		return -ENOENT;
	*info_out = (struct os_file_info){
		.inode = m->id.number, .modified_us = m->due_us, .changed_us = m->noted_us};
	return 0;
}

void queue_walk_begin(struct queue_walk *walk, const struct queue_store *store,
		      enum queue_folder folder, const char *name)
{
	*walk = (struct queue_walk){.store = store, .folder = folder, .name = name};
}

int queue_walk_next(struct queue_walk *walk, uint64_t *number_out, void (*stray)(const char *path))
{
	(void)stray;
	while (walk->x < model_disk.capacity) {
		const struct model_message *m = &model_disk.messages[walk->x++];

		if (!m->is_present || !is_in(m, walk->folder, walk->name))
			continue;
		*number_out = m->id.number;
		return 1;
	}
	return 0;
}

int queue_walk_info(const struct queue_walk *walk, struct os_file_info *info_out)
{
	char path[QUEUE_PATH_SIZE];
	uint64_t number = model_disk.messages[walk->x - 1].id.number;

	queue_store_path(walk->store, walk->folder, walk->name, number, path);
	return os_file_info_at(0, path, info_out);
}

void queue_walk_end(struct queue_walk *walk)
{
	(void)walk;
}

int os_file_open(int directory, const char *path, unsigned flags)
{
	(void)directory;
	(void)path;
	(void)flags;
	return MODEL_TRIGGER;
}

void os_file_close(int file)
{
	if (file == MODEL_DATA)
		model_disk.open_files--;
}

/* --- trigger/ --- */

static char triggers[256][QUEUE_TRIGGER_MAX + 1];
static char untils[256][QUEUE_TRIGGER_MAX + 1];

static char *find_trigger(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(triggers); i++)
		if (str_equal(str_from(triggers[i]), name))
			return triggers[i];
	return NULL;
}

bool model_has_trigger(const char *name)
{
	return find_trigger(str_from(name)) != NULL;
}

void model_forget_disk(void)
{
	for (size_t i = 0; i < model_disk.capacity; i++) {
		buffer_clear(&model_disk.messages[i].envelope);
		buffer_clear(&model_disk.messages[i].control);
		model_disk.messages[i].is_present = false;
	}
	model_disk.alive = 0;
	memset(triggers, 0, sizeof triggers);
}

int queue_trigger_set_until(struct queue_store *store, struct str name, int64_t now_us,
			    struct str reason, struct str until)
{
	char *place = find_trigger(name);

	model_check_store(store);
	(void)now_us;
	(void)reason;
	if (place == NULL)
		place = find_trigger(STR(""));
	if (place == NULL || model_once_in(100))
		return -ENOSPC;
	memcpy(place, name.data, name.length);
	place[name.length] = '\0';
	snprintf(untils[(size_t)(place - triggers[0]) / sizeof triggers[0]], sizeof untils[0],
		 STR_FORMAT, STR_ARGUMENTS(until));
	return 0;
}

int queue_trigger_is_set(struct queue_store *store, struct str name)
{
	model_check_store(store);
	if (name.length > 0 && model_disk.hides)
		return -EIO;
	return name.length > 0 && find_trigger(name) != NULL;
}

int queue_trigger_read_until(struct queue_store *store, struct str name, struct buffer *until)
{
	const char *place = find_trigger(name);

	model_check_store(store);
	if (model_disk.hides)
		return -EIO;
	if (place == NULL)
		return -ENOENT;
	buffer_append_string(until, untils[(size_t)(place - triggers[0]) / sizeof triggers[0]]);
	return 0;
}

int queue_trigger_release(struct queue_store *store, struct str name)
{
	char *place = find_trigger(name);

	model_check_store(store);
	if (place != NULL)
		place[0] = '\0';
	return 0;
}

int queue_trigger_each(struct queue_store *store, int (*each)(void *context, struct str name),
		       void *context)
{
	int result = 0;

	model_check_store(store);
	if (model_disk.hides)
		return -EIO;
	for (size_t i = 0; result == 0 && i < COUNT_OF(triggers); i++)
		if (triggers[i][0] != '\0')
			result = each(context, str_from(triggers[i]));
	return result;
}
