// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "os/clock.h"
#include "os/process/process.h"
#include "os/signal_watch.h"
#include "supervisor/child/internal.h"
#include "supervisor/start/log_settings.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STOP_SECONDS_MAX = 20, ORPHAN_SECONDS_MAX = 10 };

static const int64_t OPEN_AGAIN_US = SECOND_US / 10;
static const int64_t PENDING_EVERY_US = SECOND_US;
static const int64_t FIT_CHECK_US = 10 * SECOND_US;

/* Later messages in the same turn find nothing to configure or stop. */
static void hurry_supervised_program(struct supervised *supervised)
{
	if (supervised->is_started && supervised->program->hurry == NULL)
		return;
	supervised->is_stopping = true;
	if (supervised->is_started)
		supervised->program->hurry(&supervised->child);
	else
		os_loop_stop(supervised->child.loop);
}

static void on_stop_timeout_of_program(void *context)
{
	struct supervised *supervised = context;

	log_event(EVENT_PROCESS_ERROR, log_string(reason, "not finished in time"));
	if (supervised->program->hurry != NULL)
		hurry_supervised_program(supervised);
	else
		os_loop_stop(supervised->child.loop);
}

static void tell_pending(void *context)
{
	struct supervised *supervised = context;
	struct buffer body = {0};

	if (supervised->program->pending == NULL || supervised->control == NULL)
		return;
	pack_u32(&body, (uint32_t)supervised->program->pending(&supervised->child));
	ipc_channel_send(supervised->control, CHILD_PENDING, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	os_timer_start(supervised->pending_timer, PENDING_EVERY_US);
}

static uint32_t stop_seconds(const struct supervised *supervised)
{
	return supervised->program->pending != NULL ? supervised->child.config->stop_timeout
						    : STOP_SECONDS_MAX;
}

static void stop_supervised_program(struct supervised *supervised)
{
	if (supervised->is_stopping)
		return;
	supervised->is_stopping = true;
	os_timer_stop(supervised->open_timer);
	if (!supervised->is_started) {
		os_loop_stop(supervised->child.loop);
		return;
	}
	os_timer_start(supervised->stop_timer, stop_seconds(supervised) * SECOND_US);
	tell_pending(supervised);
	supervised->program->stop(&supervised->child);
}

static void check_fit_later(const struct supervised *supervised)
{
	os_timer_start(supervised->fit_timer,
		       timestamp_until_round_us(os_clock_monotonic_us(), FIT_CHECK_US));
}

static void start_supervised_program(struct supervised *supervised)
{
	int error = sandbox_enter(supervised->program->name, supervised->child.config,
				  &supervised->sandbox);

	if (error < 0) {
		child_fail(supervised, error, "the sandbox cannot be entered");
		return;
	}
	check_fit_later(supervised);
	error = supervised->program->start(&supervised->child);
	supervised->is_started = error >= 0;
	if (error < 0)
		child_fail(supervised, error, "cannot start");
}

static void open_and_start(void *context)
{
	struct supervised *supervised = context;
	int error = 0;

	if (supervised->program->open != NULL)
		error = supervised->program->open(&supervised->child);
	if (error == -EAGAIN)
		os_timer_start(supervised->open_timer, OPEN_AGAIN_US);
	else if (error < 0)
		child_fail(supervised, error, "cannot start");
	else
		start_supervised_program(supervised);
}

/* Rows with another layout are in force from now on: returns those before, which the program may
 * still use until it knows. */
static struct limit_memory *change_limits(struct supervised *supervised)
{
	struct limit_memory *old = supervised->child.limits;

	if (supervised->next_limits == NULL)
		return NULL;
	supervised->child.limits = supervised->next_limits;
	supervised->next_limits = NULL;
	return old;
}

static void begin_with_first_config(struct supervised *supervised)
{
	change_limits(supervised);
	supervised->child.config = supervised->next;
	supervised->next = NULL;
	supervised->is_opening = true;
	log_settings_apply(supervised->program->name, supervised->child.config);
	open_and_start(supervised);
}

/* Ends, so that a new process takes over. */
static void request_process_renewal(struct supervised *supervised)
{
	if (supervised->control != NULL)
		ipc_channel_send(supervised->control, CHILD_RENEW, 0, STR(""), NULL, 0);
	stop_supervised_program(supervised);
}

/* What looks up names has read the files at its start, and cannot open them now. */
static void read_names_again(struct supervised *supervised)
{
	if (supervised->is_started && !supervised->is_stopping &&
	    sandbox_looks_up_names(supervised->sandbox))
		request_process_renewal(supervised);
}

/* Rights that were dropped cannot be regained, so a new process is needed. */
static void renew_outgrown_process(struct supervised *supervised)
{
	log_event(EVENT_SANDBOX_OUTGROWN);
	request_process_renewal(supervised);
}

static void check_fit(void *context)
{
	struct supervised *supervised = context;

	if (supervised->is_stopping)
		return;
	if (sandbox_fits_still(supervised->sandbox, supervised->child.config))
		check_fit_later(supervised);
	else
		renew_outgrown_process(supervised);
}

static void reload_supervised_program(struct supervised *supervised)
{
	struct config *old = supervised->child.config;
	struct limit_memory *old_limits;

	if (supervised->is_started && !sandbox_fits(supervised->sandbox, supervised->next)) {
		renew_outgrown_process(supervised);
		return;
	}
	supervised->child.config = supervised->next;
	supervised->next = NULL;
	old_limits = change_limits(supervised);
	log_settings_apply(supervised->program->name, supervised->child.config);
	if (supervised->is_started && supervised->program->reload != NULL)
		supervised->program->reload(&supervised->child, old);
	config_free(old);
	limit_memory_free(old_limits);
}

/* A process short of descriptors continues: its unrecorded deliveries would be repeated after its
 * end. */
static void ask_again(struct supervised *supervised)
{
	log_event(EVENT_PROCESS_ERROR,
		  log_string(reason, "the configuration cannot be taken over yet"),
		  log_error(-EMFILE));
	supervised->is_lacking = false;
	config_free(supervised->next);
	supervised->next = NULL;
	ipc_channel_send(supervised->control, CHILD_AGAIN, 0, STR(""), NULL, 0);
}

static void take_over_new_config(struct supervised *supervised)
{
	if (supervised->is_stopping)
		return;
	if (supervised->is_lacking)
		ask_again(supervised);
	else if (supervised->next == NULL)
		return;
	else if (supervised->is_opening)
		reload_supervised_program(supervised);
	else
		begin_with_first_config(supervised);
}

static void take_whether_to_drain(struct supervised *supervised, const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	uint32_t value = unpack_u32(&unpack);

	if (unpack_is_whole(&unpack))
		supervised->child.is_draining = value != 0;
	else
		child_fail(supervised, -EBADMSG, "whether to drain");
}

static void on_supervisor_message(void *context, struct ipc_channel *channel,
				  struct ipc_message *message)
{
	struct supervised *supervised = context;

	(void)channel;
	switch (message->type) {
	case CHILD_CONFIG:
		child_take_config(supervised, message);
		break;
	case CHILD_SOCKET:
		child_take_socket(supervised, message);
		break;
	case CHILD_ROWS:
		child_take_rows(supervised, message);
		break;
	case CHILD_USERS:
		child_take_users(supervised, message);
		break;
	case CHILD_TOKENS:
		child_take_tokens(supervised, message);
		break;
	case CHILD_DRAIN:
		take_whether_to_drain(supervised, message);
		break;
	case CHILD_TRANSCRIPT:
		child_take_transcript(supervised, message);
		break;
	case CHILD_START:
		take_over_new_config(supervised);
		break;
	case CHILD_STOP:
		stop_supervised_program(supervised);
		break;
	case CHILD_NAMES:
		read_names_again(supervised);
		break;
	case CHILD_HURRY:
		hurry_supervised_program(supervised);
		break;
	default:
		child_fail(supervised, -EBADMSG, "the supervisor sent an unknown message");
	}
}

static void on_supervisor_lost(void *context, struct ipc_channel *channel)
{
	struct supervised *supervised = context;

	ipc_channel_close(channel);
	supervised->control = NULL;
	stop_supervised_program(supervised);
	/* the next supervisor's processes need the locks and sockets of this one */
	if (supervised->is_started)
		os_timer_start(supervised->stop_timer, ORPHAN_SECONDS_MAX * SECOND_US);
}

static void on_terminate(void *context)
{
	stop_supervised_program(context);
}

/* Logs at most once a second, as it may concern all descriptors. */
static void on_trouble(int error)
{
	static int64_t said_us;
	int64_t now_us = os_clock_monotonic_us();

	if (said_us != 0 && now_us - said_us < SECOND_US)
		return;
	said_us = now_us;
	log_event(EVENT_PROCESS_ERROR, log_string(reason, "a descriptor cannot be watched yet"),
		  log_error(error));
}

/* Ctrl-C reaches all processes of a terminal, but only the supervisor acts on it. */
static void ignore_interrupt_signal(void *context)
{
	(void)context;
}

static const struct ipc_channel_handler control_handler = {on_supervisor_message,
							   on_supervisor_lost};

int child_main(int argc, char **argv, const struct child_program *program)
{
	static struct supervised supervised;
	struct child *child = &supervised.child;
	struct os_signal_watch *signals[2];

	os_process_set_name(argv[0]);
	log_open(program->name, LOG_INFO_LEVEL);
	os_process_ignore_pipe_signal();
	os_process_ignore_stop_signals();
	os_process_raise_descriptor_limit();
	supervised.program = program;
	if (argc != 2 || strcmp(argv[1], "--supervised") != 0 || isatty(OS_PROCESS_CONTROL)) {
		fprintf(stderr, "%s: started by \"stagepost serve\", not by hand\n", program->name);
		return 2;
	}
	child->loop = os_loop_new();
	os_loop_set_idle(child->loop, log_flush);
	os_loop_set_trouble(child->loop, on_trouble);
	supervised.stop_timer = os_timer_new(child->loop, on_stop_timeout_of_program, &supervised);
	supervised.pending_timer = os_timer_new(child->loop, tell_pending, &supervised);
	supervised.open_timer = os_timer_new(child->loop, open_and_start, &supervised);
	supervised.fit_timer = os_timer_new(child->loop, check_fit, &supervised);
	supervised.control =
		ipc_channel_new(child->loop, OS_PROCESS_CONTROL, &control_handler, &supervised);
	signals[0] = os_signal_watch_new(child->loop, SIGTERM, on_terminate, &supervised);
	signals[1] = os_signal_watch_new(child->loop, SIGINT, ignore_interrupt_signal, &supervised);
	os_loop_run(child->loop);
	log_flush();
	os_signal_watch_free(signals[0]);
	os_signal_watch_free(signals[1]);
	return supervised.exit_status;
}

void child_ready(struct child *child)
{
	struct supervised *supervised = CONTAINER_OF(child, struct supervised, child);

	if (supervised->control != NULL)
		ipc_channel_send(supervised->control, CHILD_READY, 0, STR(""), NULL, 0);
}

void child_cannot_start(struct child *child, struct str reason)
{
	struct supervised *supervised = CONTAINER_OF(child, struct supervised, child);

	if (supervised->control != NULL)
		ipc_channel_send(supervised->control, CHILD_FAILED, 0, reason, NULL, 0);
}

void child_waits(struct child *child, struct str reason)
{
	struct supervised *supervised = CONTAINER_OF(child, struct supervised, child);

	if (supervised->control != NULL)
		ipc_channel_send(supervised->control, CHILD_WAITS, 0, reason, NULL, 0);
}

void child_full(struct child *child)
{
	struct supervised *supervised = CONTAINER_OF(child, struct supervised, child);

	if (supervised->control != NULL)
		ipc_channel_send(supervised->control, CHILD_FULL, 0, STR(""), NULL, 0);
}

void child_replace(const struct child *child, const char *name)
{
	const struct supervised *supervised = CONTAINER_OF(child, struct supervised, child);

	if (supervised->control != NULL)
		ipc_channel_send(supervised->control, CHILD_REPLACE, 0, str_from(name), NULL, 0);
}

void child_renew(struct child *child)
{
	log_event(EVENT_PROCESS_RENEWED);
	request_process_renewal(CONTAINER_OF(child, struct supervised, child));
}
