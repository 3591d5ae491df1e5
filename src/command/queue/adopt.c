// SPDX-License-Identifier: ISC
/* stagepost queue adopt */
#include "queue/adopt.h"
#include "command/queue/adopt_report.h"
#include "command/queue/queue.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "queue/repair.h"
#include "queue/trigger.h"
#include "supervisor/talk/manager.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct adoption {
	const struct config *config;
	struct queue_store *here;
	struct queue_store *there;
	uint64_t adopted;
	uint64_t left;
};

/* By the manager, which would not notice the file at once; or directly if none runs. */
static int set_adopted_trigger(const struct adoption *adoption, struct str name, const char *reason)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer answer CLEANUP(buffer_clear) = {0};
	int result;

	buffer_append_format(&text, "wait " STR_FORMAT " %s", STR_ARGUMENTS(name), reason);
	result = manager_talk_ask(adoption->config->run, buffer_view(&text), &answer);
	if (result > 0)
		return -EAGAIN;
	if (result != -ESRCH)
		return result;
	return queue_trigger_set(adoption->here, name, os_clock_wall_us(), str_from(reason));
}

static int on_wait(void *context, struct str name)
{
	return set_adopted_trigger(context, name, "messages that were adopted wait for it");
}

/* The manager reads from the file what ends the hold. */
static int on_hold(void *context, struct mail_id id, struct str until)
{
	const struct adoption *adoption = context;
	char name[LISTING_HOLD_SIZE];
	struct str hold = listing_hold_name(id, name);
	int error = 0;

	if (until.length > 0)
		error = queue_trigger_set_until(adoption->here, hold, os_clock_wall_us(),
						STR("held by the operator"), until);
	return error < 0 ? error : set_adopted_trigger(adoption, hold, "held by the operator");
}

static int on_report_to_adopt(void *context, const struct queue_control *control, int data,
			      struct mail_envelope **envelope_out, struct buffer *content)
{
	const struct adoption *adoption = context;

	return queue_adopt_report(adoption->config, control, data, envelope_out, content);
}

static void on_adopted(void *context, struct mail_id there, struct mail_id here)
{
	struct adoption *adoption = context;
	char from[MAIL_ID_SIZE];
	char to[MAIL_ID_SIZE];

	adoption->adopted++;
	mail_id_format(there, from);
	mail_id_format(here, to);
	printf("%s is now %s\n", from, to);
}

static void on_message_left_there(void *context, const char *path, const char *why)
{
	struct adoption *adoption = context;

	adoption->left++;
	printf("%s stays there: %s\n", path, why);
}

static void on_adopted_message_renumbered(void *context, uint64_t old, uint64_t number)
{
	(void)context;
	printf("%llu there is now %llu there\n", (unsigned long long)old,
	       (unsigned long long)number);
}

static void on_adoption_progress(void *context, uint64_t count)
{
	(void)context;
	(void)count;
}

/* The queue must not be in the middle of a repair, whose data are nowhere else. */
static int finish_repair(struct adoption *adoption)
{
	const struct queue_repair options = {.renumbered = on_adopted_message_renumbered,
					     .set_aside = on_message_left_there,
					     .progress = on_adoption_progress,
					     .context = adoption};
	int pending = queue_repair_is_pending(adoption->there);

	return pending > 0 ? queue_repair(adoption->there, &options) : pending;
}

static int copy_all(struct adoption *adoption)
{
	const struct queue_intake_options spares = {.spares = 0};
	const struct queue_adopt options = {.wait = on_wait,
					    .hold = on_hold,
					    .report = on_report_to_adopt,
					    .adopted = on_adopted,
					    .left = on_message_left_there,
					    .context = adoption};
	struct queue_intake *intake = NULL;
	int error = finish_repair(adoption);

	if (error == 0)
		error = queue_intake_open(adoption->here, &spares, &intake);
	if (error < 0)
		return error;
	error = queue_adopt(adoption->there, intake, &options);
	queue_intake_close(intake);
	queue_store_pull_trigger(adoption->here);
	return error;
}

static bool is_same_queue_store(const struct queue_store *a, const struct queue_store *b)
{
	struct os_file_info first;
	struct os_file_info second;

	return os_file_info(queue_store_directory(a), &first) == 0 &&
	       os_file_info(queue_store_directory(b), &second) == 0 &&
	       first.inode == second.inode && first.device == second.device;
}

static struct queue_store *open_there(const struct queue_store *here, const char *path)
{
	const struct queue_options options = {.read_only = true};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct queue_store *store = NULL;
	int error = queue_store_open(path, &options, &store, &reason);

	if (error < 0) {
		if (reason.length == 0)
			buffer_append_string(&reason, strerror(-error));
		fprintf(stderr, "stagepost: %s: " STR_FORMAT "\n", path,
			STR_ARGUMENTS(buffer_view(&reason)));
		return NULL;
	}
	if (is_same_queue_store(here, store))
		fprintf(stderr, "stagepost: %s is this very queue\n", path);
	else if (command_queue_lock(store, path))
		return store;
	queue_store_close(store);
	return NULL;
}

static int adopt_queue(struct adoption *adoption, const char *path)
{
	int error;

	adoption->there = open_there(adoption->here, path);
	if (adoption->there == NULL)
		return COMMAND_FAILED;
	error = copy_all(adoption);
	queue_store_close(adoption->there);
	printf("%llu adopted, %llu left\n", (unsigned long long)adoption->adopted,
	       (unsigned long long)adoption->left);
	if (error < 0)
		command_queue_failed("adopt; run it again", error);
	return error < 0 || adoption->left > 0 ? COMMAND_FAILED : COMMAND_OK;
}

int command_queue_adopt(const struct command *command, int argc, char **argv)
{
	struct adoption adoption = {.config = NULL};
	struct command_options options = {NULL};
	struct config *config;
	int result = COMMAND_FAILED;
	int status;

	if (!command_parse(command, argc, argv, &options, &status))
		return status;
	if (options.first + 1 != argc)
		return command_usage(command, "give one directory");
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	adoption.config = config;
	adoption.here = command_queue_open_for_change(config);
	if (adoption.here != NULL)
		result = adopt_queue(&adoption, argv[options.first]);
	queue_store_close(adoption.here);
	config_free(config);
	return result;
}
