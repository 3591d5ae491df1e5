// SPDX-License-Identifier: ISC
/*
 * Files between two messages.
 *
 * A file that was a message's may be used for the next only after the removal of the names it was
 * queued under is durable. Otherwise a power failure could bring such a name back, and the
 * recipients of the first message would get the bytes of another. So the file is in quarantine
 * until a sync that began after the removal is finished. When a sync fails, what waited for it is
 * set aside (aside.c).
 *
 * And a file is never reused once a descriptor of it has left this process (kept.c). Other
 * processes reach a queue file in two ways. The first is a descriptor that we send: of a file that
 * is marked as shared before it is sent (queue_message_lend()), or, for delivery, of a message too
 * large to go by value, which came in such a file. The second is "send", which opens files by their
 * names. It reads and closes them within one turn, and it alone asks for their removal: it does not
 * read a message again after asking. If it is suspended in the middle of such a turn, for any
 * length of time, it holds lock/send, so that no other "send" can ask; and a removal that it
 * requested before its connection ended is not executed after the next MANAGE. When it is killed,
 * its read ends before its lock is released. When "queue" dies, its successor removes all files it
 * left and reuses none. A reload changes none of this. Commands, which hold no lock, check the name
 * again before they print (queue_update_is_still()).
 */
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include <errno.h>
#include <stdlib.h>

bool queue_spare_take(struct queue_intake *intake, struct queue_spare *spare_out)
{
	bool is_taken;

	pthread_mutex_lock(&intake->mutex);
	is_taken = queue_spare_list_take(&intake->ready, spare_out);
	pthread_mutex_unlock(&intake->mutex);
	return is_taken;
}

static bool make_ready(struct queue_intake *intake, struct queue_spare spare)
{
	bool has_room;

	pthread_mutex_lock(&intake->mutex);
	has_room = intake->ready.count < intake->options.spares;
	if (has_room)
		queue_spare_list_add(&intake->ready, spare);
	pthread_mutex_unlock(&intake->mutex);
	return has_room;
}

void queue_spare_remove(struct queue_intake *intake, struct queue_spare spare)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	queue_spare_path(intake, &spare, path);
	result = os_file_unlink(intake->store->directory, path);
	os_file_close(spare.file);
	if (result == 0 || result == -ENOENT)
		return;
	spare.file = -1;
	pthread_mutex_lock(&intake->mutex);
	queue_spare_list_add(&intake->stuck, spare);
	pthread_mutex_unlock(&intake->mutex);
}

void queue_intake_remove_stuck(struct queue_intake *intake)
{
	struct queue_spare_list stuck;
	struct queue_spare spare;

	queue_aside_again(intake);
	pthread_mutex_lock(&intake->mutex);
	stuck = intake->stuck;
	intake->stuck = (struct queue_spare_list){0};
	pthread_mutex_unlock(&intake->mutex);
	while (queue_spare_list_take(&stuck, &spare))
		queue_spare_remove(intake, spare);
	queue_spare_list_clear(&stuck);
}

/* A large file is emptied, not truncated to that size: btrfs keeps an extent as long as part of
 * it is used. */
static int empty_large(const struct queue_intake *intake, struct queue_spare *spare)
{
	if (spare->size <= intake->options.spare_size)
		return 0;
	spare->size = 0;
	return os_file_truncate(spare->file, 0);
}

void queue_spare_give(struct queue_intake *intake, struct queue_spare spare)
{
	if (spare.file >= 0 && empty_large(intake, &spare) == 0 && make_ready(intake, spare))
		return;
	queue_spare_remove(intake, spare);
}

void queue_intake_drop_spares(struct queue_intake *intake)
{
	struct queue_spare spare;

	queue_intake_remove_stuck(intake);
	while (queue_spare_take(intake, &spare))
		queue_spare_remove(intake, spare);
}

unsigned queue_spare_epoch(struct queue_intake *intake)
{
	unsigned epoch;

	pthread_mutex_lock(&intake->mutex);
	epoch = intake->epoch;
	pthread_mutex_unlock(&intake->mutex);
	return epoch;
}

void queue_spare_hold(struct queue_intake *intake, struct queue_spare spare, unsigned epoch)
{
	bool is_doubtful;

	pthread_mutex_lock(&intake->mutex);
	if (intake->quarantine.count >= intake->options.spares) {
		/* more than can be reused: without a descriptor it is only removed */
		os_file_close(spare.file);
		spare.file = -1;
	}
	is_doubtful = intake->epoch != epoch;
	if (!is_doubtful) {
		queue_spare_list_add(&intake->quarantine, spare);
		intake->retired++;
	}
	pthread_mutex_unlock(&intake->mutex);
	if (is_doubtful)
		queue_aside_put_spare(intake, spare);
}

static void close_list(struct queue_spare_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		os_file_close(list->items[i].file);
		list->items[i].file = -1;
	}
}

void queue_spare_close_all(struct queue_intake *intake)
{
	struct queue_spare_list ready;

	pthread_mutex_lock(&intake->mutex);
	ready = intake->ready;
	intake->ready = (struct queue_spare_list){0};
	close_list(&ready);
	close_list(&intake->quarantine);
	pthread_mutex_unlock(&intake->mutex);
	queue_kept_close_all(intake);
	for (size_t i = 0; i < ready.count; i++)
		queue_spare_remove(intake, ready.items[i]);
	free(ready.items);
}

void queue_spare_mark_dirty(struct queue_intake *intake, unsigned which, uint64_t number)
{
	uint32_t split = intake->store->split;

	pthread_mutex_lock(&intake->mutex);
	intake->dirty[which * split + number % split] = true;
	pthread_mutex_unlock(&intake->mutex);
}

void queue_spare_mark_node(struct queue_intake *intake, const char *node)
{
	pthread_mutex_lock(&intake->mutex);
	queue_dirty_nodes_add(&intake->dirty_nodes, node);
	pthread_mutex_unlock(&intake->mutex);
}

uint64_t queue_intake_await(struct queue_intake *intake)
{
	uint64_t awaited;

	pthread_mutex_lock(&intake->mutex);
	awaited = ++intake->awaited;
	pthread_mutex_unlock(&intake->mutex);
	return awaited;
}

void queue_spare_mark_moved(struct queue_intake *intake, enum mail_stage stage, uint64_t number)
{
	bool is_ordered = queue_store_sync(intake->store) == QUEUE_SYNC_ORDERED;
	uint32_t split = intake->store->split;

	pthread_mutex_lock(&intake->mutex);
	intake->dirty[stage * split + number % split] = true;
	intake->settled += is_ordered && intake->settled == intake->moved;
	intake->moved++;
	pthread_mutex_unlock(&intake->mutex);
}

void queue_spare_settle(struct queue_intake *intake, struct queue_spare_list *held, bool is_safe)
{
	for (size_t i = 0; i < held->count; i++) {
		if (is_safe)
			queue_spare_give(intake, held->items[i]);
		else
			queue_aside_put_spare(intake, held->items[i]);
	}
	free(held->items);
	*held = (struct queue_spare_list){0};
}
