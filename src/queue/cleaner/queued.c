// SPDX-License-Identifier: ISC
/* A message at S4 whose envelope is damaged leaves the queue for damaged/. */
#include "os/file/file.h"
#include "queue/cleaner/internal.h"
#include "queue/control/salvage.h"

static int salvage_queued_control(struct queue_store *store, const char *path,
				  enum mail_stage stage, uint64_t number,
				  struct queue_control **control_out, bool *is_proven_out)
{
	int file = os_file_open(store->directory, path, OS_FILE_READ);
	int result = file < 0 ? file
			      : queue_salvage_read(file, stage, number, control_out, is_proven_out);

	if (file >= 0)
		os_file_close(file);
	return result;
}

static bool tells_whose(const struct queue_control *control)
{
	return control->envelope->sender.length > 0 || control->envelope->recipient_count > 0;
}

/* What stands for it is queued before the file has its name, by which another attempt sees that all
 * is done: two of them may be there if this is interrupted. */
static int put_queued_aside(struct queue_store *store, const char *from, const char *to,
			    const struct queue_control *control, uint64_t *report_out)
{
	int result = control != NULL ? cleaner_stand_in(store, control, report_out) : 0;

	if (result == 0)
		result = os_file_link(store->directory, from, to);
	return result == 0 ? os_file_sync_directory(store->directory, QUEUE_DAMAGED) : result;
}

int queue_cleaner_set_aside(struct queue_store *store, enum mail_stage stage, uint64_t number,
			    void (*found)(void *context,
					  const struct queue_cleaner_finding *finding),
			    void *context)
{
	struct queue_control *control = NULL;
	char to[QUEUE_ASIDE_PATH_SIZE];
	char from[QUEUE_PATH_SIZE];
	bool is_proven = false;
	uint64_t report = 0;
	int result;

	queue_store_path(store, QUEUE_TODO, mail_stage_name(stage), number, from);
	result = queue_store_find_aside(store, QUEUE_DAMAGED, from, number, to);
	if (result != 0)
		return result < 0 ? result : 0;
	result = salvage_queued_control(store, from, stage, number, &control, &is_proven);
	if (result < 0)
		return result;
	result = put_queued_aside(store, from, to, is_proven ? control : NULL, &report);
	if (result == 0 || report != 0) {
		const struct queue_cleaner_finding finding = {
			.kind = QUEUE_CLEANER_DAMAGED,
			.number = number,
			.control = tells_whose(control) ? control : NULL,
			.path = result == 0 ? to : from,
			.why = "its envelope is damaged",
			.report = report,
		};

		found(context, &finding);
	}
	queue_control_free(control);
	return result;
}
