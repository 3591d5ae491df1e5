// SPDX-License-Identifier: ISC
/* A connection of a node begins: what it may rely on is made durable, and listed. */
#include "os/file/file.h"
#include "queue/control/trailer.h"
#include "queue/handed/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void queue_handed_run(const struct queue_intake *intake, struct str node, uint64_t *epoch_out,
		      uint64_t *run_out)
{
	const struct handed_node *found = handed_node_find(intake, node);

	*epoch_out = found != NULL ? found->epoch : 0;
	*run_out = found != NULL ? found->run : 0;
}

static void run_path(const struct handed_node *node, uint64_t epoch, uint64_t run,
		     char path[QUEUE_PATH_SIZE])
{
	char name[sizeof "run.18446744073709551615.18446744073709551615"];

	snprintf(name, sizeof name, "run.%" PRIu64 ".%" PRIu64, epoch, run);
	queue_handed_path(node->name, name, false, path);
}

static int make_node_directory(struct queue_intake *intake, struct handed_node *node)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	snprintf(path, sizeof path, QUEUE_HANDED_FOLDER "/%s", node->name);
	result = os_file_make_directory(intake->store->directory, path);
	if (result < 0)
		return result;
	node->is_new = true;
	queue_spare_mark_node(intake, "");
	return 0;
}

/* After a failed sync nobody can say whether the directory's name is durable, or ever will be: it
 * gets it anew. A node's name has no '_', so what a crash leaves there is nobody's. A confined
 * process may not rename folders: then the node is greeted after the next start. */
static int rename_node_directory(struct queue_intake *intake, const struct handed_node *node)
{
	char path[QUEUE_PATH_SIZE];
	char other[QUEUE_PATH_SIZE];
	int result;

	snprintf(path, sizeof path, QUEUE_HANDED_FOLDER "/%s", node->name);
	snprintf(other, sizeof other, QUEUE_HANDED_FOLDER "/_%s", node->name);
	result = os_file_rename(intake->store->directory, path, other);
	if (result == 0 || result == -ENOENT) /* the second half failed before */
		result = os_file_rename(intake->store->directory, other, path);
	queue_spare_mark_node(intake, "");
	return result;
}

static int make_run_file(struct queue_intake *intake, struct handed_node *node, const char *path)
{
	int file = os_file_open(intake->store->directory, path, OS_FILE_WRITE | OS_FILE_CREATE);

	if (file < 0 && file != -EEXIST)
		return file;
	os_file_close(file);
	queue_spare_mark_node(intake, node->name);
	node->failures = queue_spare_epoch(intake);
	return 0;
}

/* The file of a newer run; that of the older one goes when it is durable. */
static int make_run(struct queue_intake *intake, struct handed_node *node, uint64_t epoch,
		    uint64_t run)
{
	int directory = intake->store->directory;
	char path[QUEUE_PATH_SIZE];
	int result;

	run_path(node, epoch, run, path);
	result = make_run_file(intake, node, path);
	if (result == -ENOENT) {
		result = make_node_directory(intake, node);
		if (result == 0)
			result = make_run_file(intake, node, path);
	}
	if (result < 0)
		return result;
	node->is_run_durable = false;
	if (node->old_epoch != 0) { /* NODE was never greeted with this one */
		run_path(node, node->epoch, node->run, path);
		result = os_file_unlink(directory, path);
		(void)result; /* else the next start removes it */
	} else {
		node->old_epoch = node->epoch;
		node->old_run = node->run;
	}
	node->epoch = epoch;
	node->run = run;
	return 0;
}

/* Likewise: a sync that succeeds says nothing of what was to be durable before one that failed. */
static int make_run_again(struct queue_intake *intake, struct handed_node *node)
{
	char path[QUEUE_PATH_SIZE];
	int result = node->is_new ? rename_node_directory(intake, node) : 0;

	if (result < 0)
		return result;
	run_path(node, node->epoch, node->run, path);
	result = os_file_unlink(intake->store->directory, path);
	if (result < 0 && result != -ENOENT)
		return result;
	return make_run_file(intake, node, path);
}

static int remove_old_run(struct queue_intake *intake, struct handed_node *node)
{
	char path[QUEUE_PATH_SIZE];
	int result;

	if (node->old_epoch == 0)
		return 0;
	run_path(node, node->old_epoch, node->old_run, path);
	result = os_file_unlink(intake->store->directory, path);
	if (result < 0 && result != -ENOENT)
		return result;
	node->old_epoch = 0;
	return 0;
}

/* The names of commits that failed, after the removal of those in todo/ is durable. */
static int remove_undone(struct queue_intake *intake, struct handed_node *node)
{
	struct queue_handed_name *name;
	struct queue_handed_name *next;

	HASH_ITER (hh, node->names, name, next) {
		char path[QUEUE_PATH_SIZE];
		int result;

		if (name->state != QUEUE_HANDED_UNDONE)
			continue;
		/* one that could not be removed from todo/ yet may still become a message */
		if (queue_intake_has_refused(intake, name->number))
			return -EIO;
		queue_handed_name_path(name, path);
		result = os_file_unlink(intake->store->directory, path);
		if (result < 0 && result != -ENOENT)
			return result;
		queue_spare_mark_node(intake, node->name);
		queue_handed_forget(intake, name);
		node->undone--;
	}
	return 0;
}

static int await_greeting(struct queue_intake *intake, struct handed_node *node,
			  uint64_t *durable_out)
{
	node->durable = queue_intake_await(intake);
	*durable_out = node->durable;
	return 1;
}

/* What an earlier process has left may not be durable. */
static bool is_synced_since_start(struct queue_intake *intake)
{
	bool is_synced;

	pthread_mutex_lock(&intake->mutex);
	intake->must_sync_all |= !intake->handed->is_synced;
	intake->handed->is_synced = true;
	is_synced = !intake->must_sync_all;
	pthread_mutex_unlock(&intake->mutex);
	return is_synced;
}

int queue_handed_greet(struct queue_intake *intake, struct str name, uint64_t epoch, uint64_t run,
		       uint64_t *durable_out)
{
	struct handed_node *node = handed_node_add(intake, name);
	bool is_synced = is_synced_since_start(intake);
	int result = 0;

	if (node == NULL)
		return -EMFILE;
	if (epoch != node->epoch || run != node->run) {
		result = make_run(intake, node, epoch, run);
		return result < 0 ? result : await_greeting(intake, node, durable_out);
	}
	if (queue_intake_durable(intake) < node->durable) {
		*durable_out = node->durable;
		return 1;
	}
	if (!node->is_run_durable && node->failures != queue_spare_epoch(intake)) {
		result = make_run_again(intake, node);
		return result < 0 ? result : await_greeting(intake, node, durable_out);
	}
	node->is_run_durable = true;
	node->is_new = false;
	if (!is_synced || queue_intake_must_prove(intake))
		return await_greeting(intake, node, durable_out);
	result = remove_old_run(intake, node);
	if (result < 0 || node->undone == 0)
		return result;
	/* their removal from todo/ may have come after the last sync */
	if (!node->is_undoing) {
		node->is_undoing = true;
		queue_aside_again(intake); /* nobody else may come who has that tried again */
		return await_greeting(intake, node, durable_out);
	}
	node->is_undoing = false;
	result = remove_undone(intake, node);
	return result < 0 ? result : await_greeting(intake, node, durable_out);
}

void queue_handed_numbers(const struct queue_control *control, struct buffer *out)
{
	size_t count =
		control->is_mapped ? control->delivery_count : control->envelope->recipient_count;
	uint32_t first = 0;
	uint32_t last = 0;

	for (size_t i = 0; i <= count; i++) {
		uint32_t number = 0;

		if (i < count)
			number = control->is_mapped ? control->deliveries[i].number
						    : control->envelope->recipients[i].number;
		if (i > 0 && number == last + 1) {
			last = number;
			continue;
		}
		if (i > 0) {
			buffer_append_number(out, first);
			if (last > first) {
				buffer_append_byte(out, '-');
				buffer_append_number(out, last);
			}
			if (i < count)
				buffer_append_byte(out, ',');
		}
		first = last = number;
	}
}

static int read_numbers(struct queue_intake *intake, const struct queue_handed_name *name,
			struct buffer *out)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct queue_control *control;
	char path[QUEUE_PATH_SIZE];
	uint64_t offset;
	int result;
	int file;

	queue_handed_name_path(name, path);
	file = os_file_open(intake->store->directory, path, OS_FILE_READ);
	if (file < 0)
		return file;
	result = queue_trailer_read(file, &text, &offset);
	os_file_close(file);
	if (result == 0)
		result = queue_control_parse(buffer_view(&text), &control, NULL);
	if (result < 0)
		return result;
	queue_handed_numbers(control, out);
	queue_control_free(control);
	return 0;
}

/* A whole message's are not asked for. */
static int learn_numbers(struct queue_intake *intake, struct queue_handed_name *name)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_package package;
	int result = 0;

	if (mail_package_parse(str_from(name->name), &package) && package.first > 0)
		result = read_numbers(intake, name, &text);
	if (result < 0)
		return result;
	buffer_append_byte(&text, '\0');
	name->numbers = memory_copy_string(buffer_data(&text));
	return 0;
}

int queue_handed_each(struct queue_intake *intake, struct str node,
		      int (*each)(void *context, struct str name, struct str numbers),
		      void *context)
{
	struct handed_node *found = handed_node_find(intake, node);
	struct queue_handed_name *name;
	int result = 0;

	for (name = found != NULL ? found->names : NULL; result == 0 && name != NULL;
	     name = name->hh.next) {
		if (name->state == QUEUE_HANDED_COMMITTING || name->state == QUEUE_HANDED_UNDONE)
			continue;
		if (name->numbers == NULL)
			result = learn_numbers(intake, name);
		if (result == 0)
			result = each(context, str_from(name->name), str_from(name->numbers));
	}
	return result;
}
