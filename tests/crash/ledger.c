// SPDX-License-Identifier: ISC
#include "ledger.h"
#include "base/timestamp.h"
#include "os/file/file.h"
#include "queue/cleaner.h"
#include "queue/message.h"
#include "queue/update.h"
#include "recorder.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct ledger ledger;
const char *const ledger_services[] = {"mailbox"};

void ledger_reset(void)
{
	for (size_t i = 0; i < ledger.count; i++) {
		buffer_clear(&ledger.messages[i].data);
		buffer_clear(&ledger.messages[i].control);
	}
	memset(ledger.messages, 0, sizeof ledger.messages);
	ledger.count = 0;
	ledger.run = 0;
	ledger.version++;
}

struct entry *ledger_add(void)
{
	struct entry *entry = &ledger.messages[ledger.count++];

	entry->born_us = (int64_t)ledger.count * SECOND_US;
	return entry;
}

/* One judgement. */
struct trial {
	struct queue_store *store;
	struct queue_intake *intake;
	struct buffer *why;
	const enum mail_stage *stage; /* being scanned; NULL: info */
	bool is_found[LEDGER_MESSAGES_MAX];
	struct live {
		uint64_t number;
		bool is_queued;
		bool is_mapped;
		enum mail_stage stage;
		const struct entry *entry;
	} live[LEDGER_MESSAGES_MAX];
	size_t live_count;
};

static int blame(const struct trial *trial, uint64_t number, const char *what)
{
	buffer_append_format(trial->why, "message %" PRIu64 ": %s", number, what);
	return -EBADMSG;
}

static bool file_is(const struct trial *trial, uint64_t number, struct str expected)
{
	char have[8192];
	int file = queue_update_open_data(trial->store, trial->stage, number);
	ssize_t length;

	if (file < 0)
		return false;
	length = os_file_read(file, have, sizeof have, 0);
	os_file_close(file);
	return length >= 0 && str_starts_with(str_slice(have, (size_t)length), expected);
}

static bool is_word_in(struct str text, const char *word)
{
	return memmem(text.data, text.length, word, strlen(word)) != NULL;
}

static int check_bounce(const struct trial *trial, const struct queue_control *control,
			const struct entry *entry)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	char own[64];
	int result = queue_update_read_bounce(trial->store, entry->number, &text);
	struct str rest = buffer_view(&text);
	struct str line;

	if (result < 0 && result != -ENOENT)
		return result;
	while (str_split(&rest, '\n', &line)) {
		snprintf(own, sizeof own, "bounce %" PRId64 " ", entry->born_us);
		if (line.length > 0 && str_starts_with(line, STR("bounce ")) &&
		    !str_starts_with(line, str_from(own)))
			return blame(trial, entry->number, "reports another message's failure");
	}
	for (size_t i = 0; i < control->delivery_count; i++) {
		if (control->deliveries[i].outcome != QUEUE_FAIL || entry->has_queued_bounce)
			continue;
		snprintf(own, sizeof own, "bounce %" PRId64 " %u.\n", entry->born_us,
			 control->deliveries[i].number);
		if (!is_word_in(buffer_view(&text), own))
			return blame(trial, entry->number, "has a failure nobody will hear of");
	}
	return 0;
}

static bool is_where_promised(const struct queue_delivery *delivery, const struct promise *promise)
{
	bool is_remote = delivery->route == QUEUE_ROUTE_REMOTE;

	if (promise->may_have_moved && is_remote && !delivery->is_requeued)
		return true;
	return !promise->has_moved && (promise->may_be_requeued || !delivery->is_requeued) &&
	       (!promise->is_requeued || delivery->is_requeued);
}

/* A name in todo/ that came back without the control file would have every recipient tried again.
 * After a failed sync that may happen (queue/intake/aside.c). */
static int check_records(const struct trial *trial, const struct queue_control *control,
			 const struct entry *entry)
{
	if (strncmp(recorder.failed, "sync", 4) == 0)
		return 0;
	for (size_t i = 1; !control->is_mapped && i <= LEDGER_DELIVERIES_MAX; i++)
		if (entry->deliveries[i].marked == QUEUE_DONE ||
		    entry->deliveries[i].marked == QUEUE_FAIL)
			return blame(trial, entry->number, "came back without its outcomes");
	return 0;
}

static int check_outcomes(const struct trial *trial, const struct queue_control *control,
			  const struct entry *entry)
{
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];
		const struct promise *promise;

		if (delivery->number > LEDGER_DELIVERIES_MAX)
			return blame(trial, entry->number, "has a delivery of another");
		promise = &entry->deliveries[delivery->number];
		if (!is_where_promised(delivery, promise))
			return blame(trial, entry->number, "is mapped otherwise than it was");
		if (delivery->outcome != promise->tried && delivery->outcome != promise->marked &&
		    !(delivery->outcome == QUEUE_WAIT && promise->may_wait))
			return blame(trial, entry->number, "lost an outcome or invented one");
	}
	return check_bounce(trial, control, entry);
}

static struct entry *find_entry(const struct queue_control *control)
{
	for (size_t i = 0; i < ledger.count; i++)
		if (ledger.messages[i].born_us == control->envelope->id.born_us)
			return &ledger.messages[i];
	return NULL;
}

/* A message that can be seen is whole and itself. */
static int check_control(struct trial *trial, uint64_t number, const struct queue_control *control)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	const struct entry *entry = find_entry(control);
	int result;

	if (entry == NULL || entry->number != number)
		return blame(trial, number, "is not in the ledger");
	result = queue_update_read(trial->store, trial->stage, number, &text);
	if (result == 0)
		result = check_records(trial, control, entry);
	if (result < 0)
		return result;
	if (!str_starts_with(buffer_view(&text), buffer_view(&entry->control)) ||
	    (!entry->is_updated && text.length != entry->control.length))
		return blame(trial, number, "has another envelope");
	if (!file_is(trial, number, buffer_view(&entry->data)))
		return blame(trial, number, "has other bytes");
	if (trial->stage == NULL && !control->is_mapped)
		return blame(trial, number, "is preprocessed and has no map");
	trial->is_found[entry - ledger.messages] = true;
	trial->live[trial->live_count++] =
		(struct live){number, trial->stage != NULL, control->is_mapped,
			      trial->stage != NULL ? *trial->stage : MAIL_STAGE_ARRIVE, entry};
	return check_outcomes(trial, control, entry);
}

/* A name that came back after a sync had failed, as the manager ends it. */
static int bury(struct trial *trial, uint64_t number)
{
	int result;

	if (trial->stage != NULL)
		return queue_message_remove_void(trial->intake, *trial->stage, number);
	result = queue_update_finish(trial->store, (struct mail_id){number, 0}, ledger_services,
				     LEDGER_SERVICES);
	return result == 0 ? queue_message_remove_data(trial->intake, number) : result;
}

static int visit(void *context, uint64_t number)
{
	struct trial *trial = context;
	struct queue_control *control;
	int result;

	for (size_t i = 0; i < trial->live_count; i++)
		if (trial->live[i].number == number) {
			if (trial->stage != NULL)
				return blame(trial, number, "is queued twice");
			return 0; /* todo and info: still at S4 */
		}
	if (queue_store_look(trial->store, trial->stage, number, NULL) == -ENODATA)
		return bury(trial, number);
	result = queue_update_load(trial->store, trial->stage, number, &control, NULL);
	if (result < 0) {
		blame(trial, number, "cannot be read");
		return result;
	}
	result = control->damaged > 0
			 ? blame(trial, number, "is called damaged, and no disk has changed it")
			 : check_control(trial, number, control);
	queue_control_free(control);
	return result;
}

static int check_promises(struct trial *trial)
{
	static const enum mail_stage stages[] = {MAIL_STAGE_SUBMIT, MAIL_STAGE_ARRIVE};
	int result = 0;

	for (size_t i = 0; result == 0 && i < COUNT_OF(stages); i++) {
		trial->stage = &stages[i];
		result = queue_store_each(trial->store, QUEUE_TODO, mail_stage_name(stages[i]),
					  visit, NULL, trial);
	}
	trial->stage = NULL;
	if (result == 0)
		result = queue_store_each(trial->store, QUEUE_INFO, NULL, visit, NULL, trial);
	for (size_t i = 0; result == 0 && i < ledger.count; i++) {
		const struct entry *entry = &ledger.messages[i];

		if (entry->is_answered && !entry->is_ended && !trial->is_found[i])
			return blame(trial, entry->number, "is lost");
		if (entry->is_gone && trial->is_found[i])
			return blame(trial, entry->number, "is back, which was gone durably");
	}
	return result;
}

/* Preprocesses a queued message of which nothing is known but its name. */
static int preprocess(struct trial *trial, const struct live *live)
{
	struct queue_update update = {.number = live->number,
				      .is_queued = true,
				      .stage = live->stage,
				      .preprocess = true,
				      .link_remote = true,
				      .control = STR("map: 1 remote <b@c>\n"
						     "mapped: directory=1 count=1\n")};
	struct queue_update *one = &update;

	queue_update_commit_group(trial->store, &one, 1);
	if (update.result < 0)
		return update.result;
	return queue_message_remove_todo(trial->intake, live->stage, live->number);
}

/* The last name of a package that is not settled may wait for a group. */
static int remove_last_name(struct trial *trial, const struct live *live, bool is_queued)
{
	int result = 1;

	for (unsigned i = 0; result == 1 && i < 2; i++) {
		if (i > 0)
			queue_message_commit_group(trial->intake, NULL, 0, NULL);
		result = is_queued ? queue_message_remove_queued(trial->intake, live->stage,
								 live->number)
				   : queue_message_remove_data(trial->intake, live->number);
	}
	return result == 1 ? -EBUSY : result;
}

static int end_message(struct trial *trial, const struct live *live)
{
	int result = 0;

	if (live->is_queued && !live->is_mapped && live->number % 2 == 0)
		return remove_last_name(trial, live, true);
	if (live->is_queued)
		result = preprocess(trial, live);
	if (result == 0)
		result = queue_update_finish(trial->store,
					     (struct mail_id){live->number, live->entry->born_us},
					     ledger_services, LEDGER_SERVICES);
	return result == 0 ? remove_last_name(trial, live, false) : result;
}

static int expect_none(void *context, uint64_t number)
{
	return blame(context, number, "is stranded");
}

/* The places of "send", and those of "queue". */
static int check_empty(struct trial *trial, bool also_of_queue)
{
	static const struct {
		enum queue_folder folder;
		const char *name;
	} places[] = {{QUEUE_MESS, NULL},     {QUEUE_INFO, NULL},    {QUEUE_LOCAL, "mailbox"},
		      {QUEUE_REMOTE, NULL},   {QUEUE_BOUNCE, NULL},  {QUEUE_INTD, NULL},
		      {QUEUE_TODO, "submit"}, {QUEUE_TODO, "arrive"}};

	for (size_t i = 0; i < (also_of_queue ? COUNT_OF(places) : 5); i++) {
		int result = queue_store_each(trial->store, places[i].folder, places[i].name,
					      expect_none, NULL, trial);

		if (result < 0) {
			buffer_append_format(trial->why, " (place %d)", (int)places[i].folder);
			return result;
		}
	}
	return 0;
}

static bool is_busy(void *context, uint64_t number)
{
	(void)context;
	(void)number;
	return false;
}

/* As "queue" does it: that of a package may wait for a group. */
static int remove_data(void *context, uint64_t number)
{
	int result = queue_message_remove_data(context, number);

	if (result != 1)
		return result;
	queue_message_commit_group(context, NULL, 0, NULL);
	return queue_message_remove_data(context, number);
}

static void on_finding(void *context, const struct queue_cleaner_finding *finding)
{
	(void)context;
	if (finding->kind != QUEUE_CLEANER_LITTER)
		ledger.damaged = finding->number;
}

int ledger_clean(struct queue_store *store, struct queue_intake *intake)
{
	static const struct queue_cleaner_handler handler = {
		.is_busy = is_busy, .remove_data = remove_data, .found = on_finding};
	struct queue_cleaner *cleaner =
		queue_cleaner_new(store, ledger_services, LEDGER_SERVICES, &handler, intake);
	int first_error = 0;
	int result = 1;

	while (result != 0) {
		result = queue_cleaner_step(cleaner);
		if (result < 0 && first_error == 0)
			first_error = result;
	}
	queue_cleaner_free(cleaner);
	return first_error;
}

/* Every message can be brought to its end, and nothing stays. */
static int check_end(struct trial *trial)
{
	int64_t later_us = recorder.now_us + 100 * DAY_US;
	int result = 0;

	for (size_t i = 0; i < trial->live_count; i++) {
		result = end_message(trial, &trial->live[i]);
		if (result < 0)
			return blame(trial, trial->live[i].number, "cannot be ended");
	}
	/* at once: the numbers are used again before anybody cleans */
	result = check_empty(trial, false);
	if (result < 0)
		return result;
	result = queue_intake_clean(trial->intake, later_us, HOUR_US, NULL, NULL);
	if (result == 0)
		result = ledger_clean(trial->store, trial->intake);
	queue_message_commit_group(trial->intake, NULL, 0, NULL);
	return result == 0 ? check_empty(trial, true) : result;
}

static int start(struct trial *trial)
{
	struct queue_options options = {
		.create = !ledger.has_queue, .split = 2, .sync = ledger.sync};
	struct queue_intake_options intake_options = {
		.spares = ledger.spares, .spare_size = 600, .is_daemon = true};
	int result = queue_store_open("queue", &options, &trial->store, trial->why);

	if (result == 0)
		result = queue_store_add_service(trial->store, ledger_services[0]);
	if (result == 0)
		result = queue_intake_open(trial->store, &intake_options, &trial->intake);
	if (result == 0)
		result = queue_intake_clean(trial->intake, recorder.now_us, 36 * HOUR_US, NULL,
					    NULL);
	if (result == 0)
		result = ledger_clean(trial->store, trial->intake);
	return result;
}

/* No state of a power cut is mistaken for damage. A failed sync is damage: what it was to write may
 * be lost for good, in any order. */
static int check_damage(const struct trial *trial)
{
	if (ledger.damaged == 0 || ledger.may_be_damaged ||
	    strncmp(recorder.failed, "sync", 4) == 0)
		return 0;
	return blame(trial, ledger.damaged, "is taken for one that the disk has damaged");
}

bool ledger_holds(struct buffer *why)
{
	struct trial trial = {.why = why};
	int result;

	ledger.damaged = 0;
	result = start(&trial);
	if (result == 0)
		result = check_damage(&trial);
	if (result == 0)
		result = check_promises(&trial);
	if (result == 0)
		result = ledger_check_packages(trial.store, trial.intake, trial.is_found, why);
	if (result == 0)
		result = check_end(&trial);
	if (result == 0)
		result = ledger_settle_packages(trial.store, trial.intake, why);
	if (result < 0 && why->length == 0)
		buffer_append_format(why, "error %d", result);
	queue_intake_close(trial.intake);
	queue_store_close(trial.store);
	return result == 0;
}
