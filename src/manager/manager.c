// SPDX-License-Identifier: ISC
/* Makes the parts, and hands the events of each to whom they concern. */
#include "manager/manager.h"
#include "base/panic.h"
#include "log/event.h"
#include "manager/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>

enum { FEW = 20 }; /* who waited for a trigger: all are woken at once */

static const int64_t SWEEP_US = 10 * SECOND_US;

/* --- the end --- */

static bool is_at_rest(const struct manager *manager)
{
	return helpers_in_flight(manager->helpers) == 0 && recorder_is_idle(manager->recorder) &&
	       manager->in_state[MESSAGE_REPORTING] == 0 &&
	       (manager->in_state[MESSAGE_REMOVING] == 0 || !queue_link_is_up(manager->queue));
}

/* At the end of a turn: DONE may free the manager. */
static void finish_stop(void *context)
{
	struct manager *manager = context;
	void (*stopped)(void *context) = manager->stopped;

	if (stopped == NULL || !is_at_rest(manager))
		return;
	manager->stopped = NULL;
	stopped(manager->stopped_context);
}

static void check_stopped(void *context)
{
	struct manager *manager = context;

	if (manager->stopped != NULL)
		os_loop_defer(manager->loop, &manager->stop_task);
}

/* --- who waits, and who is woken --- */

static void on_trigger_released(void *context, struct trigger *trigger)
{
	struct manager *manager = context;
	struct waiters *waiters = trigger_waiters(trigger);

	transports_unblock(manager->transports, trigger);
	/* what waits for the directory has not been tried yet: it is new mail */
	if (waiters->count <= FEW || str_equal(trigger_name(trigger), STR(TRIGGER_DIRECTORY)))
		wake_waiters(manager->wake, waiters, waiters->count, false);
	wake_schedule(manager->wake);
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

static void on_probe(void *context, struct trigger *trigger, struct sleeper *sleeper)
{
	sleeper->facts.is_released = true;
	life_wake(context, sleeper, false, trigger);
}

static void on_search(void *context)
{
	struct manager *manager = context;

	for (const struct message *m = manager->messages; m != NULL; m = m->hh.next)
		for (size_t i = 0; m->control != NULL && i < m->control->delivery_count; i++)
			if (m->control->deliveries[i].outcome == QUEUE_WAIT)
				(void)triggers_find(manager->triggers,
						    m->control->deliveries[i].trigger);
}

static const struct trigger_handler trigger_handler = {on_trigger_released, on_probe, on_search};

static void on_wake(void *context, struct sleeper *sleeper, bool is_retry)
{
	life_wake(context, sleeper, is_retry, NULL);
}

static void on_load(void *context, unsigned *processors_out, unsigned *disk_out)
{
	struct manager *manager = context;

	*processors_out = manager->peers.load != NULL ? os_load_processors(manager->peers.load) : 0;
	*disk_out = queue_link_disk_load(manager->queue);
}

static const struct wake_handler wake_handler = {on_wake, on_load};

static bool is_awake(void *context, uint64_t number)
{
	return message_find(context, number) != NULL;
}

static void on_scan_wanted(void *context, bool only_new)
{
	struct manager *manager = context;

	if (queue_link_is_up(manager->queue))
		scan_begin(manager->scan, only_new);
}

static void on_found(void *context, enum mail_stage stage, uint64_t number)
{
	struct manager *manager = context;

	queue_link_found(manager->queue, stage, number);
}

static void on_stands(void *context, enum mail_stage stage, uint64_t number)
{
	struct manager *manager = context;

	scan_add(manager->scan, stage, number);
}

/* Where that cannot be done, its data may have two names: then it is not removed before it has gone
 * through S5. */
static bool settle(void *context, enum mail_stage stage, uint64_t number)
{
	struct manager *manager = context;
	int error = manager->is_cleaned ? 0
					: queue_update_settle(manager->store, stage, number,
							      cleaning_log, NULL);

	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_number("number", (int64_t)number),
			  log_string("operation", "settle"), log_error(error));
	return error == 0;
}

static void on_data_left(void *context, uint64_t number)
{
	struct manager *manager = context;

	queue_link_remove(manager->queue, QUEUE_REMOVE_DATA, MAIL_STAGE_ARRIVE, number);
}

static void on_cleaned(void *context, bool is_sure)
{
	struct manager *manager = context;

	manager->is_cleaned = is_sure;
	cleaning_free(manager->cleaning);
	manager->cleaning = NULL;
	if (is_sure)
		queue_link_cleaned(manager->queue);
}

static const struct cleaning_handler cleaning_handler = {is_awake, on_data_left, on_cleaned};

static void on_all_found(void *context)
{
	const char *services[TRANSPORT_SERVICES_MAX];
	struct manager *manager = context;

	if (manager->is_cleaned || manager->cleaning != NULL || manager->is_stopping)
		return;
	manager->cleaning = cleaning_new(
		manager->loop, manager->store, &manager->sleepers, manager->wake, services,
		transports_services(manager->transports, services), &cleaning_handler, manager);
}

static const struct scan_handler scan_handler = {is_awake, on_scan_wanted, on_found, settle,
						 on_all_found};

static void scan_soon(void *context)
{
	on_scan_wanted(context, true);
}

static struct scan_times scan_times(const struct config *config)
{
	return (struct scan_times){config->rescan_us, config->queuelifetime_us};
}

/* --- whose turn it is --- */

static void on_room(void *context, struct waiters *waiters, size_t count, bool retries)
{
	struct manager *manager = context;

	wake_waiters(manager->wake, waiters, count, retries);
}

static const struct transport_handler transport_handler = {on_room};

/* --- helpers --- */

static bool may_help(void *context, struct str service, uid_t user)
{
	struct manager *manager = context;
	const struct config_service *found = config_service_find(manager->config, service);

	if (str_equal(service, STR("resolve")))
		return user == manager->peers.resolve;
	if (transports_find(manager->transports, service) == NULL)
		return false;
	if (str_equal(service, STR("remote")))
		return user == manager->peers.remote;
	if (str_equal(service, STR(CONFIG_LIST_SERVICE)))
		return user == manager->peers.list;
	return found != NULL && user == manager->peers.services[found->kind];
}

static void on_helper_joined(void *context, struct str service)
{
	struct manager *manager = context;

	if (!str_equal(service, STR("resolve"))) {
		os_loop_defer(manager->loop, &manager->dispatch_task);
		return;
	}
	resolver_connected(manager->resolver);
	if (triggers_find(manager->triggers, STR(TRIGGER_DIRECTORY)) != NULL)
		resolver_await(manager->resolver); /* since before we both began */
}

static bool on_resolved(void *context, struct str body)
{
	struct manager *manager = context;

	return resolver_answered(manager->resolver, body);
}

static void on_directory_back(void *context)
{
	struct manager *manager = context;
	struct trigger *trigger = triggers_find(manager->triggers, STR(TRIGGER_DIRECTORY));

	resolver_back(manager->resolver);
	if (trigger != NULL)
		triggers_release(manager->triggers, trigger);
}

static void on_resolve_lost(void *context)
{
	struct manager *manager = context;

	resolver_lost(manager->resolver);
}

static const struct helpers_handler helpers_handler = {
	may_help,    on_helper_joined,  dispatch_on_report, dispatch_on_ended,
	on_resolved, on_directory_back, on_resolve_lost,    check_stopped,
};

/* --- resolve --- */

static void on_mapped(void *context, struct message *message, struct queue_delivery *deliveries,
		      size_t count, uint64_t version)
{
	message->control->directory_version = version;
	message_take_deliveries(context, message, deliveries, count);
	life_event(context, message, MESSAGE_MAPPED);
}

static void on_unmapped(void *context, struct message *message, bool is_away, struct str text)
{
	life_not_mapped(context, message, is_away, text);
}

static void on_mapping_grew(void *context, struct message *message, size_t count)
{
	size_t recipients = message->control->envelope->recipient_count;

	message_weigh(context, message, share_of_message(count > recipients ? count : recipients),
		      true);
}

static bool is_too_old(void *context, const struct message *message)
{
	const struct manager *manager = context;

	return os_clock_wall_us() - message->id.born_us >= manager->config->queuelifetime_us;
}

static const struct resolver_handler resolver_handler = {on_mapped, on_unmapped, on_mapping_grew,
							 is_too_old};

/* --- the disk --- */

static bool has_service(void *context, struct str service)
{
	struct manager *manager = context;
	struct transport *transport = transports_find(manager->transports, service);

	return transport != NULL && !transport_is_remote(transport);
}

/* One of which an update is at the disk looks again when that is done. */
static void on_record_due(void *context, struct message *message)
{
	if (message->state != MESSAGE_RECORDING)
		life_event(context, message, MESSAGE_RECORD_DUE);
}

static void on_recorded(void *context, struct message *message, int result,
			const unsigned char *news)
{
	for (size_t i = 0; result < 0 && i < message->control->delivery_count; i++)
		message->news[i] |= news[i];
	if (result < 0)
		life_failed(context, message, MESSAGE_RECORD_FAILED, result);
	else
		life_event(context, message, MESSAGE_RECORDED);
}

static const struct recorder_handler recorder_handler = {has_service, on_record_due, on_recorded,
							 check_stopped};

static void on_reported(void *context, struct message *message, enum report_kind kind, int result)
{
	message->report = NULL;
	if (result < 0)
		life_failed(context, message, MESSAGE_REPORT_FAILED, result);
	else
		life_event(context, message,
			   kind == REPORT_OF_END ? MESSAGE_END_REPORTED : MESSAGE_DELAY_REPORTED);
	check_stopped(context);
}

/* --- "queue" --- */

/* A number is used again only after its removal was answered. If we still had an
 * older message by that name, its records would get into this one's file. An smtpd that was
 * broken into can pretend so: it may write into a file until it closes it, before we read it
 * and after. To look again decides nothing then, and to end loses nothing. */
static void check_is_same(const struct message *message, struct str text)
{
	struct queue_control *control;

	if (message->id.born_us == 0 || queue_control_parse(text, &control, NULL) < 0)
		return;
	if (control->envelope->id.born_us != message->id.born_us)
		panic("number %llu was used again too early",
		      (unsigned long long)message->id.number);
	queue_control_free(control);
}

/* What a scan found before and sleeps has come to no harm. */
static void on_queued(void *context, enum mail_stage stage, uint64_t number, struct str text)
{
	struct manager *manager = context;
	const struct message *message = message_find(manager, number);
	struct sleeper *sleeper;

	wake_new_mail(manager->wake);
	if (message != NULL) { /* found by a scan before */
		check_is_same(message, text);
		return;
	}
	if (sleepers_find(&manager->sleepers, number) != NULL)
		return;
	if (!manager->is_stopping && share_may_map(&manager->share, true)) {
		life_begin(manager, number, stage, text);
		return;
	}
	sleeper = sleepers_add(&manager->sleepers, number, INT64_MAX);
	sleeper->facts.stage = (unsigned)stage & 15U;
	wake_first(manager->wake, sleeper);
}

static void on_removed(void *context, uint64_t number)
{
	struct manager *manager = context;
	struct message *message = message_find(manager, number);
	struct sleeper *sleeper;

	if (message == NULL) {
		sleeper = sleepers_find(&manager->sleepers, number);
		if (sleeper != NULL && sleeper->facts.place == MESSAGE_AT_S5_TODO)
			sleeper->facts.place = MESSAGE_AT_S5;
	} else if (message->state == MESSAGE_REMOVING) {
		life_event(manager, message, MESSAGE_REMOVED);
	} else if (message->facts.place == MESSAGE_AT_S5_TODO) {
		life_todo_removed(manager, message);
	}
}

static void on_missed(void *context)
{
	on_scan_wanted(context, true);
}

/* Whether todo/ID is still that message: its removal was not carried out, and since nobody
 * else removes it, it will not be reused meanwhile. 1, 0 or -errno: it cannot be told now. */
static int is_still_queued(struct manager *manager, const struct message *message)
{
	enum mail_stage stage = (enum mail_stage)message->facts.stage;
	struct queue_control *control;
	bool is_same;
	int error = queue_update_load(manager->store, &stage, message->id.number, &control, NULL);

	if (error == -ENOENT || message_is_damage(error))
		return 0;
	if (error < 0)
		return error;
	is_same = control->envelope->id.born_us == message->id.born_us;
	queue_control_free(control);
	return is_same;
}

/* At S2: mess/ is left when the removal was not carried out; a later message with
 * this number has a control file somewhere. Forgotten too early it would be found again,
 * and delivered again. */
static void ask_again_or_forget(struct manager *manager, struct message *message)
{
	int result = message_facts_are_s4(message->facts) ? is_still_queued(manager, message) : 0;

	message->is_doubtful = result < 0;
	manager->has_doubts |= result < 0;
	if (result > 0)
		queue_link_remove(manager->queue, QUEUE_REMOVE_QUEUED,
				  (enum mail_stage)message->facts.stage, message->id.number);
	else if (result == 0)
		life_event(manager, message, MESSAGE_REMOVED);
}

static void ask_doubtful(struct manager *manager)
{
	struct message *message;
	struct message *next;

	if (!manager->has_doubts || !queue_link_is_up(manager->queue))
		return;
	manager->has_doubts = false;
	HASH_ITER (hh, manager->messages, message, next)
		if (message->is_doubtful)
			ask_again_or_forget(manager, message);
}

static void ask_again_for_todo(struct manager *manager, struct message_facts facts, uint64_t number)
{
	if (facts.place == MESSAGE_AT_S5_TODO)
		queue_link_remove(manager->queue, QUEUE_REMOVE_TODO, (enum mail_stage)facts.stage,
				  number);
}

static void ask_again_asleep(void *context, struct sleeper *sleeper)
{
	ask_again_for_todo(context, sleeper->facts, sleeper->number);
}

static void ask_again_for_all(struct manager *manager)
{
	struct message *message;
	struct message *next;

	HASH_ITER (hh, manager->messages, message, next) {
		if (message->state == MESSAGE_REMOVING)
			ask_again_or_forget(manager, message);
		else
			ask_again_for_todo(manager, message->facts, message->id.number);
	}
	sleepers_each(&manager->sleepers, ask_again_asleep, manager);
}

static void on_managed(void *context)
{
	struct manager *manager = context;
	void (*ready)(void *context) = manager->ready;

	if (manager->is_cleaned)
		queue_link_cleaned(manager->queue);
	ask_again_for_all(manager);
	scan_begin(manager->scan, false);
	manager->ready = NULL;
	if (ready != NULL)
		ready(manager->ready_context);
}

static const struct queue_link_handler queue_handler = {on_managed, check_stopped, on_queued,
							on_stands,  on_missed,     on_removed};

/* --- itself --- */

static void sweep(void *context)
{
	struct manager *manager = context;

	transports_sweep(manager->transports);
	ask_doubtful(manager);
	os_timer_start(manager->sweep_timer, SWEEP_US);
}

static void make_waiting(struct manager *manager)
{
	const struct config *config = manager->config;

	manager->triggers = triggers_new(manager->loop, manager->store, &manager->sleepers,
					 config->probe_delay_us, &trigger_handler, manager);
	manager->wake = wake_new(manager->loop, &manager->sleepers, manager->triggers,
				 &manager->share, &wake_handler, manager);
	manager->scan = scan_new(manager->loop, manager->store, &manager->sleepers, manager->wake,
				 scan_times(config), &scan_handler, manager);
	manager->transports = transports_new(&manager->share, &transport_handler, manager);
	transports_configure(manager->transports, config);
}

static void make_links(struct manager *manager)
{
	struct os_loop *loop = manager->loop;
	const struct manager_peers *peers = &manager->peers;

	manager->helpers = helpers_new(loop, peers->listening, &helpers_handler, manager);
	manager->resolver = resolver_new(loop, manager->helpers, &resolver_handler, manager);
	manager->recorder = recorder_new(loop, manager->store, &recorder_handler, manager);
	manager->reporter = reporter_new(loop, manager->store, peers->queue_path, manager->config,
					 on_reported, manager);
	manager->queue = queue_link_new(loop, peers->queue_path, &queue_handler, manager);
	manager->orders = orders_new(loop, peers->notify, peers->owner, command_carry_out, manager);
}

struct manager *manager_new(struct os_loop *loop, struct queue_store *store,
			    const struct config *config, const struct manager_peers *peers,
			    void (*ready)(void *context), void *context)
{
	struct manager *manager = memory_alloc_zero(1, sizeof *manager);

	manager->loop = loop;
	manager->store = store;
	manager->config = config;
	manager->peers = *peers;
	manager->ready = ready;
	manager->ready_context = context;
	manager->dispatch_task = (struct os_task){.call = dispatch, .context = manager};
	manager->stop_task = (struct os_task){.call = finish_stop, .context = manager};
	manager->scan_task = (struct os_task){.call = scan_soon, .context = manager};
	manager->dispatch_timer = os_timer_new(loop, dispatch, manager);
	manager->sweep_timer = os_timer_new(loop, sweep, manager);
	make_waiting(manager);
	make_links(manager);
	triggers_read(manager->triggers);
	os_timer_start(manager->sweep_timer, SWEEP_US);
	return manager;
}

void manager_configure(struct manager *manager, const struct config *config)
{
	manager->config = config;
	transports_configure(manager->transports, config);
	triggers_configure(manager->triggers, config->probe_delay_us);
	reporter_configure(manager->reporter, config);
	scan_configure(manager->scan, scan_times(config));
	os_loop_defer(manager->loop, &manager->dispatch_task);
}

void manager_stop(struct manager *manager, void (*done)(void *context), void *context)
{
	manager->is_stopping = true;
	scan_stop(manager->scan);
	cleaning_free(manager->cleaning);
	manager->cleaning = NULL;
	triggers_stop(manager->triggers);
	wake_stop(manager->wake);
	dispatch_drop_waiting(manager);
	helpers_drain(manager->helpers);
	recorder_flush(manager->recorder);
	manager->stopped = done;
	manager->stopped_context = context;
	check_stopped(manager);
}

size_t manager_in_flight(const struct manager *manager)
{
	return helpers_in_flight(manager->helpers);
}

void manager_free(struct manager *manager)
{
	queue_link_free(manager->queue);
	helpers_free(manager->helpers);
	while (manager->messages != NULL)
		life_forget(manager, manager->messages);
	orders_free(manager->orders);
	cleaning_free(manager->cleaning);
	scan_free(manager->scan);
	reporter_free(manager->reporter);
	recorder_free(manager->recorder);
	resolver_free(manager->resolver);
	transports_free(manager->transports);
	wake_free(manager->wake);
	triggers_free(manager->triggers);
	os_task_cancel(manager->loop, &manager->dispatch_task);
	os_task_cancel(manager->loop, &manager->stop_task);
	os_task_cancel(manager->loop, &manager->scan_task);
	os_timer_free(manager->dispatch_timer);
	os_timer_free(manager->sweep_timer);
	sleepers_clear(&manager->sleepers);
	free(manager);
}
