// SPDX-License-Identifier: ISC
/* The queue's directory as the manager sees it, "queue" at its socket, and a disk that may fail. */
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include "model.h"
#include "os/file.h"
#include "queue/cleaner.h"
#include "queue/client.h"
#include "queue/update.h"
#include "queue/walk.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_disk model_disk = {.is_up = false};

static uint64_t next_number = 100;

struct model_message *model_find(uint64_t number)
{
	for (size_t i = 0; i < model_disk.capacity; i++)
		if (model_disk.messages[i].is_present && model_disk.messages[i].id.number == number)
			return &model_disk.messages[i];
	return NULL;
}

/* --- "queue" at its socket --- */

static struct {
	const struct ipc_client_handler *handler;
	void *context;
	bool is_connected;
	struct buffer removals; /* numbers to be answered */
	struct buffer found;    /* what was asked about */
} link_end;

/* The channel of the link has no address of its own: it only says that there is one. */
static int channel_to_queue;

struct ipc_client *ipc_client_new(struct os_loop *loop, const char *path,
				  const struct ipc_client_handler *handler, void *context)
{
	(void)loop;
	(void)path;
	link_end.handler = handler;
	link_end.context = context;
	return (struct ipc_client *)(void *)&link_end;
}

void ipc_client_free(struct ipc_client *client)
{
	(void)client;
	buffer_clear(&link_end.removals);
	buffer_clear(&link_end.found);
}

struct ipc_channel *ipc_client_channel(struct ipc_client *client)
{
	(void)client;
	return link_end.is_connected ? (struct ipc_channel *)(void *)&channel_to_queue : NULL;
}

static void tell(enum queue_protocol type, struct str body)
{
	struct ipc_message message = {.type = (uint16_t)type, .body = body};

	link_end.handler->message(link_end.context, &message);
}

/* What is delivered is decided, or was given up. */
static void check_is_over(const struct model_message *m)
{
	if (model_wall_us - m->id.born_us >= MODEL_LIFETIME_US) /* given up for its age */
		return;
	for (uint32_t i = 1; i <= m->recipients; i++) {
		if (m->flight[i] != NULL)
			model_fail("message %" PRIu64 " ends while delivery %u is in flight",
				   m->id.number, i);
		if (m->decided[i] == 0 && !m->is_given_up)
			model_fail("message %" PRIu64 " ends before delivery %u is decided",
				   m->id.number, i);
		if (m->decided[i] == '5' && !m->is_report && m->reports == 0)
			model_fail("message %" PRIu64 " ends without a report", m->id.number);
	}
}

static void vanish(struct model_message *m)
{
	check_is_over(m);
	m->is_present = false;
	m->is_queued = false;
	buffer_clear(&m->envelope);
	buffer_clear(&m->control);
	model_disk.alive--;
}

static void remove_one(enum queue_remove kind, uint64_t number)
{
	struct model_message *m = model_find(number);

	if (m == NULL)
		return;
	if (kind == QUEUE_REMOVE_TODO) {
		if (!m->is_at_s5)
			model_fail("todo/%" PRIu64 " goes before S5", number);
		m->is_queued = false;
		return;
	}
	if (kind == QUEUE_REMOVE_DATA && (m->is_at_s5 || m->is_queued))
		model_fail("the data of %" PRIu64 " go while it has names", number);
	vanish(m);
}

/* Called by model_helpers.c, which has all other channels. */
bool model_queue_hears(const struct ipc_channel *channel, uint16_t type, struct str body);
bool model_queue_hears(const struct ipc_channel *channel, uint16_t type, struct str text)
{
	struct unpack body = {text, false};

	if ((const void *)channel != &channel_to_queue)
		return false;
	if (type == QUEUE_PROTOCOL_MANAGE)
		tell(QUEUE_PROTOCOL_MANAGED, STR(""));
	if (type == QUEUE_PROTOCOL_FOUND && !model_once_in(20))
		buffer_append_str(&link_end.found, text);
	while (type == QUEUE_PROTOCOL_REMOVE && body.rest.length > 0) {
		uint32_t kind = unpack_u32(&body);
		uint64_t number;

		(void)unpack_u32(&body);
		number = unpack_u64(&body);
		remove_one((enum queue_remove)kind, number);
		pack_u64(&link_end.removals, number);
	}
	return true;
}

void model_answer_removals(void)
{
	struct buffer removals = link_end.removals;
	struct buffer found = link_end.found;

	link_end.removals = (struct buffer){0};
	link_end.found = (struct buffer){0};
	if (link_end.is_connected && found.length > 0)
		tell(QUEUE_PROTOCOL_STANDS, buffer_view(&found));
	buffer_clear(&found);
	if (link_end.is_connected && removals.length > 0)
		tell(QUEUE_PROTOCOL_REMOVED, buffer_view(&removals));
	buffer_clear(&removals);
	model_run_tasks();
}

void model_queue_lost(void)
{
	if (!link_end.is_connected)
		return;
	link_end.is_connected = false;
	model_disk.is_up = false;
	buffer_reset(&link_end.removals);
	buffer_reset(&link_end.found);
	link_end.handler->lost(link_end.context);
	model_run_tasks();
}

void model_queue_connects(void)
{
	if (link_end.is_connected)
		return;
	/* a new "queue" removes the data of what had ended */
	for (size_t i = 0; i < model_disk.capacity; i++) {
		struct model_message *m = &model_disk.messages[i];

		if (m->is_present && !m->is_queued && !m->is_at_s5)
			vanish(m);
	}
	link_end.is_connected = true;
	model_disk.is_up = true;
	link_end.handler->connected(link_end.context);
	model_run_tasks();
}

void model_forget_manager(void)
{
	link_end.is_connected = false;
	buffer_clear(&link_end.removals);
	buffer_clear(&link_end.found);
}

/* --- new messages --- */

static struct model_message *make(void)
{
	size_t i = 0;

	while (i < model_disk.capacity && model_disk.messages[i].is_present)
		i++;
	if (i == model_disk.capacity)
		model_fail("the model has no room for another message");
	model_disk.messages[i] = (struct model_message){
		.id = {next_number++, model_wall_us}, .is_present = true, .is_queued = true};
	model_disk.alive++;
	return &model_disk.messages[i];
}

static void notice(const struct model_message *m)
{
	struct buffer body = {0};

	if (!link_end.is_connected)
		return;
	if (model_once_in(50)) {
		tell(QUEUE_PROTOCOL_MISSED, STR(""));
		return;
	}
	pack_u32(&body, MAIL_STAGE_ARRIVE);
	pack_u64(&body, m->id.number);
	pack_str(&body, model_once_in(20) ? STR("") : buffer_view(&m->envelope));
	tell(QUEUE_PROTOCOL_QUEUED, buffer_view(&body));
	buffer_clear(&body);
}

static void write_envelope(struct model_message *m, struct mail_envelope *envelope)
{
	envelope->id = m->id;
	envelope->size = 100;
	envelope->received = STR("model");
	if (queue_control_write_envelope(&m->envelope, envelope) < 0)
		model_fail("an envelope cannot be written");
	m->recipients = (uint32_t)envelope->recipient_count;
	notice(m);
	model_run_tasks();
}

/* Domains tell what becomes of it: model_helpers.c. */
void model_new_mail(uint32_t recipients)
{
	static const char *const kinds[] = {"local", "fast", "fast", "slow",
					    "dead",  "grey", "none"};
	struct mail_envelope *envelope = mail_envelope_new();
	char address[64];

	envelope->stage = MAIL_STAGE_ARRIVE;
	snprintf(address, sizeof address, "s%u@sender.example", (unsigned)model_random(5));
	envelope->sender = arena_copy_str(envelope->arena, str_from(address));
	for (uint32_t i = 0; i < recipients; i++) {
		snprintf(address, sizeof address, "r@%s%u.example",
			 kinds[model_random(COUNT_OF(kinds))], (unsigned)model_random(3));
		mail_envelope_add(envelope, str_from(address));
	}
	write_envelope(make(), envelope);
	mail_envelope_free(envelope);
}

/* --- bounces --- */

static struct queue_client_message *bouncing;

struct queue_client *queue_client_new(struct os_loop *loop, const char *path, uint32_t stock)
{
	(void)loop;
	(void)path;
	(void)stock;
	return NULL;
}

void queue_client_free(struct queue_client *client)
{
	(void)client;
}

/* The one that is being committed goes first. */
static struct queue_client_message *committing;
static struct mail_envelope *committed;

static void leave(struct queue_client_message *message)
{
	struct queue_client_message **link = &bouncing;

	while (*link != NULL && *link != message)
		link = &(*link)->next;
	if (*link == message)
		*link = message->next;
	message->state = QUEUE_CLIENT_IDLE;
	if (committing != message)
		return;
	mail_envelope_free(committed);
	committing = NULL;
}

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	(void)client;
	if (!model_disk.is_up || model_once_in(50)) { /* refused at once */
		message->done(message->context, -ENOTCONN);
		return;
	}
	message->state = QUEUE_CLIENT_OPENING;
	message->next = bouncing;
	bouncing = message;
}

void queue_client_abandon(struct queue_client_message *message)
{
	if (message->state != QUEUE_CLIENT_IDLE)
		leave(message);
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	(void)data;
	message->state = QUEUE_CLIENT_COMMITTING;
	committing = message;
	committed = mail_envelope_new();
	committed->stage = envelope->stage;
	committed->sender = arena_copy_str(committed->arena, envelope->sender);
	mail_envelope_add(committed, envelope->recipients[0].address);
}

void model_delay_reported(uint64_t number)
{
	struct model_message *m = model_find(number);

	if (m != NULL && ++m->delays > 1)
		model_fail("the delay of message %" PRIu64 " is reported twice", number);
}

void model_reported(uint64_t number)
{
	struct model_message *m = model_find(number);

	if (m == NULL)
		model_fail("a message that is gone is reported on");
	m->reports++;
}

static void refuse_bounce(struct queue_client_message *message)
{
	leave(message);
	message->done(message->context, -ENOSPC);
	model_run_tasks();
}

bool model_queue_bounce(void)
{
	struct queue_client_message *message = committing != NULL ? committing : bouncing;
	struct model_message *m;

	if (message == NULL)
		return false;
	if (model_disk.refuses) {
		refuse_bounce(message);
		return true;
	}
	if (message->state == QUEUE_CLIENT_OPENING) {
		message->state = QUEUE_CLIENT_OPEN;
		message->number = next_number;
		message->done(message->context, 0);
		model_run_tasks();
		return true;
	}
	m = make();
	m->is_report = true;
	write_envelope(m, committed);
	leave(message);
	message->done(message->context, 0);
	model_run_tasks();
	return true;
}

/* --- the disk --- */

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
	(void)loop;
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
	buffer_append_str(&m->control, update->control);
	return 0;
}

void queue_update_commit_group(struct queue_store *store, struct queue_update **updates,
			       size_t count)
{
	(void)store;
	for (size_t i = 0; i < count; i++)
		updates[i]->result = apply(updates[i]);
}

int queue_update_load(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
		      struct queue_control **control_out, unsigned *line_out)
{
	struct model_message *m = model_find(number);
	struct str text;

	(void)store;
	if (model_once_in(300))
		return -EMFILE;
	if (m == NULL || (stage != NULL ? !m->is_queued : !m->is_at_s5))
		return -ENOENT;
	text = buffer_view(m->is_at_s5 ? &m->control : &m->envelope);
	return queue_control_parse(text, control_out, line_out);
}

int queue_update_finish(struct queue_store *store, uint64_t number, const char *const *services,
			size_t service_count)
{
	struct model_message *m = model_find(number);

	(void)store;
	(void)services;
	(void)service_count;
	if (model_disk.fails)
		return -EIO;
	if (m == NULL || !m->is_at_s5 || m->is_queued)
		model_fail("%" PRIu64 " is finished, though it is not at S5 alone", number);
	m->is_at_s5 = false;
	return 0;
}

int queue_update_bounced(struct queue_store *store, uint64_t number)
{
	(void)store;
	(void)number;
	return model_disk.fails ? -EIO : 0;
}

int queue_update_leave(struct queue_store *store, uint64_t number, const char *service)
{
	(void)store;
	(void)number;
	(void)service;
	return 0;
}

int queue_update_settle(struct queue_store *store, enum mail_stage stage, uint64_t number,
			void (*removed)(void *context, const char *path), void *context)
{
	(void)store;
	(void)stage;
	(void)number;
	(void)removed;
	(void)context;
	return model_once_in(50) ? -EIO : 0;
}

void queue_update_account(struct queue_control *control, const struct queue_update *update)
{
	if (update->result == 0)
		control->size = update->is_whole ? update->control.length
						 : control->size + update->control.length;
}

struct queue_cleaner *queue_cleaner_new(struct queue_store *store, const char *const *services,
					size_t service_count,
					const struct queue_cleaner_handler *handler, void *context)
{
	(void)store;
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
	return model_once_in(10) ? 0 : model_once_in(10) ? -EIO : 1;
}

bool queue_cleaner_is_sure(const struct queue_cleaner *cleaner)
{
	(void)cleaner;
	return model_once_in(2);
}

int queue_update_set_due(struct queue_store *store, uint64_t number, int64_t due_us)
{
	struct model_message *m = model_find(number);

	(void)store;
	if (m != NULL)
		m->due_us = due_us;
	return 0;
}

int queue_update_open_data(struct queue_store *store, const enum mail_stage *stage, uint64_t number)
{
	(void)store;
	(void)stage;
	return model_once_in(500) ? -EMFILE : model_find(number) != NULL ? MODEL_DATA : -ENOENT;
}

int queue_update_read_data(struct queue_store *store, const enum mail_stage *stage, uint64_t number,
			   uint64_t size, struct buffer *data)
{
	int file = queue_update_open_data(store, stage, number);

	memset(buffer_reserve(data, size), 'x', size);
	buffer_commit(data, size);
	return file < 0 ? file : 0;
}

int queue_update_read_beginning(struct queue_store *store, const enum mail_stage *stage,
				uint64_t number, uint64_t size, struct buffer *data)
{
	return queue_update_read_data(store, stage, number, size, data);
}

/* --- scans --- */

int queue_store_directory(const struct queue_store *store)
{
	(void)store;
	return 0;
}

void queue_store_path(const struct queue_store *store, enum queue_place place, const char *name,
		      uint64_t number, char path[QUEUE_PATH_SIZE])
{
	(void)store;
	snprintf(path, QUEUE_PATH_SIZE, "%c%c%" PRIu64, place == QUEUE_TODO ? 't' : 'i',
		 name != NULL ? name[0] : '-', number);
}

/* All is in todo/arrive, or in info/. */
static bool is_in(const struct model_message *m, enum queue_place place, const char *name)
{
	if (place == QUEUE_INFO)
		return m->is_at_s5;
	return m->is_queued && strcmp(name, mail_stage_name(m->is_report ? MAIL_STAGE_SUBMIT
									 : MAIL_STAGE_ARRIVE)) == 0;
}

int os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	struct model_message *m = model_find(strtoull(path + 2, NULL, 10));
	const char *name = path[1] == 's' ? "submit" : "arrive";

	(void)directory;
	if (m == NULL || !is_in(m, path[0] == 't' ? QUEUE_TODO : QUEUE_INFO, name))
		return -ENOENT;
	*info_out = (struct os_file_info){.inode = m->id.number, .modified_us = m->due_us};
	return 0;
}

void queue_walk_begin(struct queue_walk *walk, const struct queue_store *store,
		      enum queue_place place, const char *name)
{
	*walk = (struct queue_walk){.store = store, .place = place, .name = name};
}

int queue_walk_next(struct queue_walk *walk, uint64_t *number_out, void (*stray)(const char *path))
{
	(void)stray;
	while (walk->x < model_disk.capacity) {
		const struct model_message *m = &model_disk.messages[walk->x++];

		if (!m->is_present || !is_in(m, walk->place, walk->name))
			continue;
		*number_out = m->id.number;
		return 1;
	}
	return 0;
}

int queue_walk_info(const struct queue_walk *walk, uint64_t number, struct os_file_info *info_out)
{
	char path[QUEUE_PATH_SIZE];

	queue_store_path(walk->store, walk->place, walk->name, number, path);
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
	(void)file;
}

/* --- trigger/ --- */

static char triggers[256][QUEUE_TRIGGER_MAX + 1];

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

int queue_trigger_set(struct queue_store *store, struct str name, int64_t now_us, struct str reason)
{
	char *place = find_trigger(name);

	(void)store;
	(void)now_us;
	(void)reason;
	if (place == NULL)
		place = find_trigger(STR(""));
	if (place == NULL || model_once_in(100))
		return -ENOSPC;
	memcpy(place, name.data, name.length);
	place[name.length] = '\0';
	return 0;
}

int queue_trigger_release(struct queue_store *store, struct str name)
{
	char *place = find_trigger(name);

	(void)store;
	if (place != NULL)
		place[0] = '\0';
	return 0;
}

int queue_trigger_each(struct queue_store *store, int (*each)(void *context, struct str name),
		       void *context)
{
	int result = 0;

	(void)store;
	for (size_t i = 0; result == 0 && i < COUNT_OF(triggers); i++)
		if (triggers[i][0] != '\0')
			result = each(context, str_from(triggers[i]));
	return result;
}

bool queue_trigger_name_is_valid(struct str name)
{
	return name.length > 0 && name.length <= QUEUE_TRIGGER_MAX;
}
