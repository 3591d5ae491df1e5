// SPDX-License-Identifier: ISC
#include "played_server.h"
#include "heard.h"
#include "os/clock.h"
#include "test.h"
#include <inttypes.h>
#include <string.h>

struct played_server played;

static struct queue_store store;
static struct buffer lines;
static char channels[2], group, loop, intake;

enum { TIMERS = 4 };
static char timers[TIMERS];
static bool is_running[TIMERS];
static const char *const timer_names[TIMERS] = {"missed", "settle", "again", "proof"};

#define SAY(...) buffer_append_format(&lines, __VA_ARGS__)

static size_t timer_number(const void *timer)
{
	size_t number = (size_t)((const char *)timer - timers);

	assert_true(number < TIMERS);
	return number;
}

void played_begin(void)
{
	struct queue_server *server = &played.server;

	(void)heard_take();
	memset(&played, 0, sizeof played);
	memset(is_running, 0, sizeof is_running);
	store = (struct queue_store){.split = 3};
	played.now_us = 1000 * SECOND_US;
	played.is_settled = true;
	played.sync = QUEUE_SYNC_FILES;
	server->sync = QUEUE_SYNC_FILES;
	server->store = &store;
	server->loop = (void *)&loop;
	server->intake = (void *)&intake;
	server->group = (void *)&group;
	server->missed_timer = (void *)&timers[0];
	server->settle_timer = (void *)&timers[1];
	server->again_timer = (void *)&timers[2];
	server->proof_timer = (void *)&timers[3];
	server->reserve = 5000;
	server->peers.users.size = 700;
	played.manager = (struct server_client){.server = server, .channel = (void *)&channels[0]};
	played.other = (struct server_client){.server = server, .channel = (void *)&channels[1]};
}

void played_end(void)
{
	buffer_clear(&lines);
	buffer_clear(&played.server.notice);
	buffer_clear(&played.server.removed);
	buffer_clear(&played.server.moved);
	buffer_clear(&played.server.reached);
	buffer_clear(&played.server.refused);
}

void played_manage(void)
{
	played.server.manager = &played.manager;
}

void played_expect(const char *wanted)
{
	SAY("%s", heard_take());
	if (!str_equal(buffer_view(&lines), str_from(wanted)))
		fail_msg("\n--- wanted\n%s--- said\n" STR_FORMAT, wanted,
			 STR_ARGUMENTS(buffer_view(&lines)));
	buffer_reset(&lines);
}

/* --- what is sent --- */

static const char *type_name(uint16_t type)
{
	return type == QUEUE_PROTOCOL_QUEUED    ? "QUEUED"
	       : type == QUEUE_PROTOCOL_MISSED  ? "MISSED"
	       : type == QUEUE_PROTOCOL_MANAGED ? "MANAGED"
	       : type == QUEUE_PROTOCOL_REMOVED ? "REMOVED"
	       : type == QUEUE_PROTOCOL_LOAD    ? "LOAD"
	       : type == QUEUE_PROTOCOL_STANDS  ? "STANDS"
	       : type == QUEUE_PROTOCOL_RELEASE ? "RELEASE"
	       : type == QUEUE_PROTOCOL_UNKNOWN ? "UNKNOWN"
						: "?";
}

static void say_text(struct str text)
{
	if (text.length > 12)
		SAY(" %zu bytes", text.length);
	else
		SAY(" \"" STR_FORMAT "\"", STR_ARGUMENTS(text));
}

static void say_entry(uint16_t type, struct unpack *body)
{
	if (type == QUEUE_PROTOCOL_QUEUED || type == QUEUE_PROTOCOL_STANDS)
		SAY(" %" PRIu32, unpack_u32(body));
	if (type == QUEUE_PROTOCOL_RELEASE)
		say_text(unpack_str(body));
	else
		SAY(" %" PRIu64, unpack_u64(body));
	if (type == QUEUE_PROTOCOL_QUEUED) {
		say_text(unpack_str(body));
		say_text(unpack_str(body));
	}
	assert_false(body->failed);
}

void __wrap_ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag,
			     struct str body, const int *files, size_t count);
void __wrap_ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag,
			     struct str body, const int *files, size_t count)
{
	struct unpack unpack = {body, false};

	assert_ptr_equal(channel, &channels[0]);
	assert_true(tag == 0 && files == NULL && count == 0);
	SAY("%s", type_name(type));
	if (body.length > 400)
		SAY(" %zu bytes", body.length);
	while (body.length <= 400 && unpack.rest.length > 0)
		say_entry(type, &unpack);
	SAY("\n");
}

size_t __wrap_ipc_channel_backlog(const struct ipc_channel *channel);
size_t __wrap_ipc_channel_backlog(const struct ipc_channel *channel)
{
	assert_ptr_equal(channel, &channels[0]);
	return played.backlog;
}

/* --- time --- */

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return played.now_us;
}

void __wrap_os_timer_start(struct os_timer *timer, int64_t delay_us);
void __wrap_os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	SAY("%s in %" PRId64 " ms\n", timer_names[timer_number(timer)], delay_us / 1000);
	is_running[timer_number(timer)] = true;
}

bool __wrap_os_timer_is_running(const struct os_timer *timer);
bool __wrap_os_timer_is_running(const struct os_timer *timer)
{
	return is_running[timer_number(timer)];
}

void __wrap_os_loop_defer(struct os_loop *of, struct os_task *task);
void __wrap_os_loop_defer(struct os_loop *of, struct os_task *task)
{
	assert_ptr_equal(of, &loop);
	assert_ptr_equal(task, &played.server.removed_task);
	SAY("later: tell of removals\n");
}

/* --- groups --- */

bool __wrap_queue_group_is_idle(const struct queue_group *of);
bool __wrap_queue_group_is_idle(const struct queue_group *of)
{
	assert_ptr_equal(of, &group);
	return !played.is_busy;
}

void __wrap_queue_group_add(struct queue_group *of, void *item);
void __wrap_queue_group_add(struct queue_group *of, void *item)
{
	assert_ptr_equal(of, &group);
	assert_null(item);
	SAY("an empty group\n");
}

int64_t __wrap_queue_group_worked_us(const struct queue_group *of);
int64_t __wrap_queue_group_worked_us(const struct queue_group *of)
{
	assert_ptr_equal(of, &group);
	return 77;
}

/* --- the intake --- */

#define INTAKE(type, name, what)                                  \
	type __wrap_queue_intake_##name(struct queue_intake *of); \
	type __wrap_queue_intake_##name(struct queue_intake *of)  \
	{                                                         \
		assert_ptr_equal(of, &intake);                    \
		what;                                             \
	}

INTAKE(size_t, held, return played.held)
INTAKE(uint64_t, moved, return played.moved)
INTAKE(uint64_t, settled, return played.settled)
INTAKE(uint64_t, await, return ++played.awaited)
INTAKE(uint64_t, durable, return played.durable)
INTAKE(uint64_t, retired, return played.retired)
INTAKE(bool, is_durable, return played.durable == played.awaited)
INTAKE(bool, is_settled, return played.is_settled)
INTAKE(bool, must_prove, return played.must_prove)
INTAKE(bool, is_blind, return played.is_blind)
INTAKE(void, remove_stuck, SAY("remove what is stuck\n"))
INTAKE(void, trust_names, SAY("trust names\n"))
INTAKE(void, drop_spares, SAY("drop spares\n"); played.has_no_spares = true)

bool __wrap_queue_intake_has_released(struct queue_intake *of, uint64_t retired);
bool __wrap_queue_intake_has_released(struct queue_intake *of, uint64_t retired)
{
	assert_ptr_equal(of, &intake);
	return retired > 0 && retired <= played.released;
}

bool __wrap_queue_intake_has_refused(struct queue_intake *of, uint64_t number);
bool __wrap_queue_intake_has_refused(struct queue_intake *of, uint64_t number)
{
	assert_ptr_equal(of, &intake);
	return number == played.refused;
}

void __wrap_queue_handed_report(struct queue_intake *of, uint64_t number);
void __wrap_queue_handed_report(struct queue_intake *of, uint64_t number)
{
	assert_ptr_equal(of, &intake);
	assert_int_not_equal(number, 0);
}

#define REMOVAL(name, parameters, stage)                            \
	int __wrap_queue_message_##name parameters;                 \
	int __wrap_queue_message_##name parameters                  \
	{                                                           \
		assert_ptr_equal(of, &intake);                      \
		played.retired += played.has_file;                  \
		SAY(#name " %" PRIu64 "%s\n", number,               \
		    (stage) == MAIL_STAGE_ARRIVE ? " arrive" : ""); \
		return played.removal;                              \
	}

#define STAGED (struct queue_intake * of, enum mail_stage stage, uint64_t number)

REMOVAL(remove_queued, STAGED, stage)
REMOVAL(remove_todo, STAGED, stage)
REMOVAL(remove_void, STAGED, stage)
REMOVAL(remove_data, (struct queue_intake * of, uint64_t number), MAIL_STAGE_SUBMIT)

/* --- the store --- */

int __wrap_queue_store_has_room(struct queue_store *of, uint64_t size, uint64_t reserve);
int __wrap_queue_store_has_room(struct queue_store *of, uint64_t size, uint64_t reserve)
{
	assert_ptr_equal(of, &store);
	SAY("room for %" PRIu64 " beside %" PRIu64 "?\n", size, reserve);
	return played.has_no_spares ? played.room_without : played.room;
}

int __wrap_queue_store_has_bytes(struct queue_store *of, uint64_t bytes);
int __wrap_queue_store_has_bytes(struct queue_store *of, uint64_t bytes)
{
	assert_ptr_equal(of, &store);
	SAY("%" PRIu64 " bytes?\n", bytes);
	return played.has_no_spares ? played.bytes_without : played.bytes;
}

int __wrap_queue_store_sample(struct queue_store *of, struct queue_misnamed *misnamed_out);
int __wrap_queue_store_sample(struct queue_store *of, struct queue_misnamed *misnamed_out)
{
	assert_ptr_equal(of, &store);
	*misnamed_out = (struct queue_misnamed){"mess/1/4", 5};
	return played.sample;
}

enum queue_sync __wrap_queue_store_sync(const struct queue_store *of);
enum queue_sync __wrap_queue_store_sync(const struct queue_store *of)
{
	assert_ptr_equal(of, &store);
	return played.sync;
}

int __wrap_queue_store_look(const struct queue_store *of, const enum mail_stage *stage,
			    uint64_t number, uint64_t *inode_out);
int __wrap_queue_store_look(const struct queue_store *of, const enum mail_stage *stage,
			    uint64_t number, uint64_t *inode_out)
{
	assert_ptr_equal(of, &store);
	SAY("look at %" PRIu64 "%s\n", number, *stage == MAIL_STAGE_ARRIVE ? " arrive" : "");
	*inode_out = 5;
	return played.look;
}

int __wrap_queue_store_is_committing(const struct queue_store *of, enum mail_stage stage,
				     uint64_t number);
int __wrap_queue_store_is_committing(const struct queue_store *of, enum mail_stage stage,
				     uint64_t number)
{
	assert_ptr_equal(of, &store);
	SAY("is %" PRIu64 "%s being committed?\n", number,
	    stage == MAIL_STAGE_ARRIVE ? " arrive" : "");
	return played.is_committing;
}
