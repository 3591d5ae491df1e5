// SPDX-License-Identifier: ISC
/* What becomes of a message that has lost names: the table in queue/cleaner.h. */
#include "os/file/file.h"
#include "queue/cleaner/internal.h"

/* A message without data that was to stand for one that is lost (report.c), which is there still:
 * so all begins again. */
static bool is_in_the_making(const struct remains *remains)
{
	return remains->has_data && remains->data_size == 0 && !remains->was_waiting;
}

/* Nothing that anybody would want: the beginning of a control file, or an empty file, which a
 * queued message never is. */
static bool is_nothing(const struct remains *remains)
{
	if (is_in_the_making(remains))
		return true;
	return remains->control == NULL && !remains->has_unread && !remains->has_bounce &&
	       remains->data_size == 0;
}

static bool has_message_ended(const struct remains *remains)
{
	return remains->is_marked || (remains->control != NULL && !remains->has_bounce &&
				      queue_control_is_finished(remains->control));
}

static void forget_in_manager(const struct queue_cleaner *cleaner, uint64_t number)
{
	if (cleaner->handler->forget != NULL)
		cleaner->handler->forget(cleaner->context, number);
}

static int remove_data_of_ended(const struct queue_cleaner *cleaner, uint64_t number)
{
	char path[QUEUE_PATH_SIZE];
	int result = cleaner->handler->remove_data(cleaner->context, number);

	if (result == 0 && cleaner->handler->removed != NULL) {
		queue_store_path(cleaner->store, QUEUE_MESS, NULL, number, path);
		cleaner->handler->removed(cleaner->context, path);
	}
	return result;
}

/* The data last: without them the others would not tell that it has ended. */
static int end_it(const struct queue_cleaner *cleaner, const struct remains *remains)
{
	int result = 0;

	forget_in_manager(cleaner, remains->number);
	for (size_t i = cleaner_folder_count(cleaner); result == 0 && remains->has_names && i > 0;
	     i--) {
		const char *name;
		enum queue_folder folder = cleaner_folder(cleaner, i - 1, &name);

		result = cleaner_drop(cleaner, folder, name, remains->number);
	}
	return result == 0 && remains->has_data ? remove_data_of_ended(cleaner, remains->number)
						: result;
}

static const char *what_is_missing(const struct remains *remains)
{
	if (remains->is_of_earlier)
		return "its data are an earlier message's";
	if (!remains->has_data)
		return remains->control != NULL ? "its data are gone"
						: "its data and its control file are gone";
	if (remains->control != NULL && remains->envelope != NULL)
		return "its name in info/ is gone";
	return remains->envelope != NULL ? "its control file is gone"
					 : "its control file is gone, and its envelope is damaged";
}

static void tell_finding(const struct queue_cleaner *cleaner, const struct remains *remains,
			 enum queue_cleaner_kind kind, const char *path, uint64_t report)
{
	const struct queue_cleaner_finding finding = {
		.kind = kind,
		.number = remains->number,
		.control = remains->control != NULL ? remains->control : remains->envelope,
		.path = path,
		.why = what_is_missing(remains),
		.report = report,
	};

	if (cleaner->handler->found != NULL)
		cleaner->handler->found(cleaner->context, &finding);
}

static int rebuild_message(const struct queue_cleaner *cleaner, const struct remains *remains)
{
	const char *name = NULL;
	enum queue_folder folder = QUEUE_MESS;
	char path[QUEUE_PATH_SIZE];
	int result = cleaner_rebuild(cleaner, remains);

	if (result < 0)
		return result;
	if (remains->control != NULL)
		folder = cleaner_folder(cleaner, remains->copy, &name);
	queue_store_path(cleaner->store, folder, name, remains->number, path);
	tell_finding(cleaner, remains, QUEUE_CLEANER_REBUILT, path, 0);
	return cleaner_sync_info(cleaner->store, remains->number);
}

/* The report is queued before its only source leaves the queue: it may be sent twice if this is
 * interrupted. */
static int put_remains_aside(const struct queue_cleaner *cleaner, const struct remains *remains,
			     enum queue_cleaner_kind kind)
{
	bool is_to_report = kind == QUEUE_CLEANER_DAMAGED && remains->control != NULL &&
			    (!remains->has_data || remains->is_of_earlier);
	char path[QUEUE_ASIDE_PATH_SIZE] = "";
	uint64_t report = 0;
	int result = 0;

	forget_in_manager(cleaner, remains->number);
	if (is_to_report)
		result = cleaner_report(cleaner, remains, &report);
	if (result == 0)
		result = cleaner_move(cleaner, remains,
				      kind == QUEUE_CLEANER_DAMAGED ? QUEUE_DAMAGED : QUEUE_LITTER,
				      path);
	if (result == 0 || report != 0)
		tell_finding(cleaner, remains, kind, path, report);
	return result;
}

/* A message that a repair has renumbered has its old number after the data. */
static bool can_be_rebuilt(const struct remains *remains)
{
	if (!remains->has_data || remains->envelope == NULL)
		return false;
	return remains->control != NULL ||
	       remains->envelope->envelope->id.number == remains->number;
}

static int decide_on_remains(const struct queue_cleaner *cleaner, const struct remains *remains)
{
	if (!remains->has_data && !remains->has_names)
		return 0;
	if (is_nothing(remains) || has_message_ended(remains))
		return end_it(cleaner, remains);
	if (queue_store_sync(cleaner->store) != QUEUE_SYNC_ORDERED)
		return put_remains_aside(cleaner, remains, QUEUE_CLEANER_LITTER);
	if (can_be_rebuilt(remains))
		return rebuild_message(cleaner, remains);
	return put_remains_aside(cleaner, remains, QUEUE_CLEANER_DAMAGED);
}

int cleaner_judge(const struct queue_cleaner *cleaner, uint64_t number)
{
	struct remains remains;
	int result = cleaner_look(cleaner, number, &remains);

	if (result != 0)
		return result < 0 ? result : 0;
	result = decide_on_remains(cleaner, &remains);
	cleaner_clear(&remains);
	return result;
}
