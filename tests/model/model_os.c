// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "log/event.h"
#include "log/recent.h"
#include "model.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "os/load.h"
#include "os/random.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

int64_t model_mono_us = 1000 * SECOND_US;
int64_t model_jumped_us;
int64_t model_wall_us = INT64_C(1700000000) * SECOND_US;

/* --- chance --- */

static uint64_t state;
bool model_is_calm;

void model_seed(uint64_t seed)
{
	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

uint64_t model_random(uint64_t below)
{
	if (model_is_calm)
		return 0;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

bool model_once_in(uint64_t n)
{
	return !model_is_calm && model_random(n) == 0;
}

uint64_t os_random_u64(void)
{
	return model_random(UINT64_MAX);
}

uint64_t os_random_below(uint64_t bound)
{
	return model_random(bound);
}

/* --- time --- */

int64_t os_clock_wall_us(void)
{
	return model_wall_us;
}

int64_t os_clock_monotonic_us(void)
{
	return model_mono_us;
}

int64_t os_clock_boot_us(void)
{
	return model_mono_us;
}

unsigned os_load_processors(struct os_load *load)
{
	(void)load;
	return (unsigned)model_random(1000);
}

unsigned model_load;

unsigned os_load_average(void)
{
	return model_load;
}

/* --- the loop --- */

static char places[2];
struct os_loop *const model_loop = (void *)&places[0];
struct queue_store *const model_store = (void *)&places[1];

void model_check_loop(const struct os_loop *loop)
{
	if (loop != model_loop)
		model_fail("not the manager's loop");
}

void model_check_store(const struct queue_store *store)
{
	if (store != model_store)
		model_fail("not the manager's queue");
}

struct os_timer {
	struct heap_node node;
	void (*call)(void *context);
	void *context;
};

static struct heap timers;
static struct os_task *tasks;

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	struct os_task **end = &tasks;

	model_check_loop(loop);
	if (task->previous != NULL)
		return;
	while (*end != NULL)
		end = &(*end)->next;
	*end = task;
	task->next = NULL;
	task->previous = end;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	model_check_loop(loop);
	if (task->previous == NULL)
		return;
	*task->previous = task->next;
	if (task->next != NULL)
		task->next->previous = task->previous;
	task->previous = NULL;
}

void model_run_tasks(void)
{
	while (tasks != NULL) {
		struct os_task *task = tasks;

		os_task_cancel(model_loop, task);
		task->call(task->context);
	}
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_timer *timer = memory_alloc_zero(1, sizeof *timer);

	model_check_loop(loop);
	timer->call = call;
	timer->context = context;
	return timer;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	heap_put(&timers, &timer->node, model_mono_us + (delay_us > 0 ? delay_us : 0));
}

void os_timer_stop(struct os_timer *timer)
{
	heap_remove(&timers, &timer->node);
}

void os_timer_free(struct os_timer *timer)
{
	os_timer_stop(timer);
	free(timer);
}

int64_t model_next_timer_us(void)
{
	const struct heap_node *first = heap_first(&timers);

	return first != NULL ? first->key : INT64_MAX;
}

static void move_to(int64_t mono_us)
{
	model_wall_us += mono_us - model_mono_us;
	model_mono_us = mono_us;
}

void model_advance(int64_t us)
{
	int64_t until_us = model_mono_us + us;
	unsigned calls = 0;

	while (model_next_timer_us() <= until_us) {
		struct heap_node *first = heap_first(&timers);
		struct os_timer *timer = CONTAINER_OF(first, struct os_timer, node);

		if (first->key > model_mono_us)
			move_to(first->key);
		heap_remove(&timers, first);
		timer->call(timer->context);
		model_run_tasks();
		if (++calls > 1000000)
			model_fail("timers ring without end");
	}
	move_to(until_us);
}

/* --- descriptors --- */

struct os_watch {
	int descriptor;
	void (*call)(void *context, unsigned events);
	void *context;
	struct os_watch *next;
};

static struct os_watch *watches;

struct os_watch *os_watch_new(struct os_loop *loop, int descriptor, unsigned events,
			      void (*call)(void *context, unsigned events), void *context)
{
	struct os_watch *watch = memory_alloc_zero(1, sizeof *watch);

	model_check_loop(loop);
	(void)events;
	*watch = (struct os_watch){descriptor, call, context, watches};
	watches = watch;
	return watch;
}

void os_watch_free(struct os_watch *watch)
{
	if (watch == NULL)
		return;
	LL_DELETE(watches, watch);
	free(watch);
}

void model_ready(int descriptor)
{
	for (struct os_watch *watch = watches; watch != NULL; watch = watch->next)
		if (watch->descriptor == descriptor) {
			watch->call(watch->context, OS_WATCH_READ);
			break;
		}
	model_run_tasks();
}

/* --- orders --- */

uid_t model_orderer;
uid_t model_users[MODEL_HELPERS];
static const char *order;
static char order_answer[160];

const char *model_give_order(const char *text)
{
	order = text;
	order_answer[0] = '\0';
	model_ready(MODEL_NOTIFY);
	return order_answer;
}

ssize_t os_socket_receive_from(int socket, void *bytes, size_t size,
			       struct os_socket_sender *sender)
{
	size_t length;

	(void)socket;
	if (order == NULL)
		return -EAGAIN;
	length = strlen(order);
	if (length > size)
		length = size;
	memcpy(bytes, order, length);
	*sender = (struct os_socket_sender){.user = model_orderer};
	order = NULL;
	return (ssize_t)length;
}

void os_socket_answer(int socket, const void *bytes, size_t length,
		      const struct os_socket_sender *sender)
{
	(void)socket;
	(void)sender;
	memcpy(order_answer, bytes, length);
	order_answer[length] = '\0';
}

void os_socket_close(int socket)
{
	(void)socket;
}

uid_t os_socket_peer_user(int socket)
{
	return model_users[socket];
}

/* --- the log: nobody reads it, but for who looks for a fault (MODEL_LOG=1) --- */

static const char *const names[] = {
#define EVENT(name, ...) #name,
#include "log/events.def"
#undef EVENT
};

static const char *const keys[] = {
#define FIELD(name, kind, meaning) #name,
#include "log/fields.def"
#undef FIELD
};

const char *log_error_text(int negative_errno)
{
	return strerror(-negative_errno);
}

static unsigned logged[COUNT_OF(names)];

unsigned model_logged(enum log_name name)
{
	return logged[name];
}

void log_write(enum log_name name, const struct log_field *fields)
{
	logged[name]++;
	if (name == EVENT_BOUNCED || name == EVENT_BOUNCE_DROPPED)
		model_reported(fields[0].id.number);
	if (name == EVENT_NOTIFIED)
		model_notified(fields[0].id.number);
	if (getenv("MODEL_LOG") == NULL)
		return;
	printf("%lld %s", (long long)(model_mono_us / 1000), names[name]);
	for (; fields->kind != LOG_END; fields++)
		if (fields->kind == LOG_TEXT || fields->kind == LOG_SENDER)
			printf(" %s=" STR_FORMAT, keys[fields->key], STR_ARGUMENTS(fields->text));
		else if (fields->kind == LOG_ID)
			printf(" %s=%lld", keys[fields->key], (long long)fields->id.number);
		else if (fields->kind != LOG_NONE)
			printf(" %s=%lld", keys[fields->key], (long long)fields->number);
	printf("\n");
}

void log_write_rated(enum log_name name, const struct log_field *fields)
{
	log_write(name, fields);
}

/* Nobody asks for the story of a message: no line is kept. */
void log_recent_keep(bool is_kept)
{
	(void)is_kept;
}

void log_recent_each(struct str part, void (*each)(void *context, struct str line), void *context)
{
	(void)part;
	(void)each;
	(void)context;
}

void log_recent_write(enum log_name name, const struct log_field *fields)
{
	(void)name;
	(void)fields;
}

void log_recent_begin(struct buffer *out, int64_t time_us)
{
	(void)out;
	(void)time_us;
}

void log_recent_format(enum log_name name, const struct log_field *fields)
{
	(void)name;
	(void)fields;
}
