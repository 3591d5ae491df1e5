// SPDX-License-Identifier: ISC
/*
 * A million random events in several processes that count sessions, compared with a plain reference
 * after each: sessions that begin, are slowed and end, processes that are killed, reaped later and
 * started again, reloads of one process after the other with other classes.
 */
#include "chance.h"
#include "limit_scene.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { PROCESSES = 6, EVENTS = 1000000, HOSTS = 24, FILES = 4, KEYS_MAX = 32, OPEN_MAX = 60 };
enum { OUT, IN, SLOWED, SHOWN };

/* The classes of four configurations, which share some masks. */
static const char *const files[FILES] = {
	"class \"192.0.2.0/29\" { queue = 4 refuse = 6 }\n"
	"class \"192.0.2.0/24\" { queue = 9 refuse = 5 }\n"
	"class \"*\" { queue = 3 refuse = 3 }\n",
	"class \"192.0.2.0/29\" { queue = 5 refuse = 5 }\n"
	"class \"*\" { queue = 12 refuse = 12 }\n",
	"class \"192.0.2.1\" { queue = 1 refuse = 1 }\n"
	"class \"192.0.2.2\" { queue = 1 refuse = 2 }\n"
	"class \"192.0.2.8/30\" { queue = 7 refuse = 2 }\n"
	"class \"*\" { queue = 5 refuse = 9 }\n",
	"class \"192.0.2.16/28\" { queue = 3 refuse = 3 }\n"
	"class \"*\" { queue = 2 refuse = 8 }\n",
};

struct session {
	size_t host;
	bool is_in;
	bool is_slowed;
};

struct process {
	size_t file;
	struct session open[OPEN_MAX];
	size_t count;
	bool is_dead; /* and not reaped yet */
	/* what all others see of it: sessions out and in, and those of these that are slowed */
	uint32_t shown[KEYS_MAX][SHOWN];
};

struct model {
	struct limit_scene scene;
	struct limit_classes *classes[FILES];
	struct process processes[PROCESSES];
	uint64_t keys[KEYS_MAX];
	size_t key_count;
	uint64_t seen[8]; /* events by what they came to, so that none is missing */
};

enum seen {
	SEEN_ENTERED,
	SEEN_REFUSED,
	SEEN_LEFT,
	SEEN_KILLED,
	SEEN_REAPED,
	SEEN_RELOADED,
	SEEN_SLOWED
};

static size_t key_index(struct model *model, uint64_t key)
{
	for (size_t i = 0; i < model->key_count; i++)
		if (model->keys[i] == key)
			return i;
	assert_true(model->key_count < KEYS_MAX);
	model->keys[model->key_count] = key;
	return model->key_count++;
}

static size_t class_at(const struct model *model, size_t file, size_t host)
{
	struct in6_addr address;
	char text[40];

	snprintf(text, sizeof text, "::ffff:192.0.2.%zu", host);
	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return limit_classes_find(model->classes[file], STR(""), &address);
}

static uint32_t *shown(struct model *model, struct process *process, size_t host, unsigned what)
{
	const struct limit_class *class = limit_classes_at(model->classes[process->file],
							   class_at(model, process->file, host));

	return &process->shown[key_index(model, class->key)][what];
}

static uint64_t total(const struct model *model, size_t key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PROCESSES; i++)
		sum += model->processes[i].shown[key][0] + model->processes[i].shown[key][1];
	return sum;
}

static void begin_session(struct model *model, size_t i, size_t host, bool is_in)
{
	struct process *process = &model->processes[i];
	size_t index = class_at(model, process->file, host);
	const struct limit_class *class = limit_classes_at(model->classes[process->file], index);
	bool may =
		total(model, key_index(model, class->key)) < (is_in ? class->refuse : class->queue);
	bool did = is_in ? limit_enter_in(model->scene.counters[i], index)
			 : limit_enter_out(model->scene.counters[i], index);

	assert_int_equal(did, may);
	model->seen[may ? SEEN_ENTERED : SEEN_REFUSED]++;
	if (!may)
		return;
	++*shown(model, process, host, is_in);
	process->open[process->count++] = (struct session){host, is_in, false};
}

/* A session of a client is slowed, or no more. */
static void slow(struct model *model, size_t i, struct session *session)
{
	struct process *process = &model->processes[i];
	size_t index = class_at(model, process->file, session->host);

	session->is_slowed = !session->is_slowed;
	if (session->is_slowed)
		limit_slow_in(model->scene.counters[i], index);
	else
		limit_hasten_in(model->scene.counters[i], index);
	*shown(model, process, session->host, SLOWED) += session->is_slowed ? 1 : UINT32_MAX;
	model->seen[SEEN_SLOWED]++;
}

static void end_session(struct model *model, size_t i, size_t which)
{
	struct process *process = &model->processes[i];
	struct session session = process->open[which];
	size_t index = class_at(model, process->file, session.host);

	if (session.is_slowed)
		slow(model, i, &process->open[which]);
	if (session.is_in)
		limit_leave_in(model->scene.counters[i], index);
	else
		limit_leave_out(model->scene.counters[i], index);
	--*shown(model, process, session.host, session.is_in);
	process->open[which] = process->open[--process->count];
	model->seen[SEEN_LEFT]++;
}

static void reload(struct model *model, size_t i, size_t file)
{
	struct process *process = &model->processes[i];
	struct limit_counter *counter = model->scene.counters[i];

	process->file = file;
	memset(process->shown, 0, sizeof process->shown);
	limit_recount_begin(counter, model->scene.memories[i], model->classes[file]);
	for (size_t j = 0; j < process->count; j++) {
		const struct session *session = &process->open[j];
		size_t index = class_at(model, file, session->host);

		if (session->is_in)
			limit_recount_in(counter, index);
		else
			limit_recount_out(counter, index);
		++*shown(model, process, session->host, session->is_in);
		if (session->is_slowed) {
			limit_recount_slowed(counter, index);
			++*shown(model, process, session->host, SLOWED);
		}
	}
	limit_recount_end(counter);
	model->seen[SEEN_RELOADED]++;
}

static void kill_process(struct model *model, size_t i)
{
	limit_scene_kill(&model->scene, i);
	model->processes[i].is_dead = true;
	model->processes[i].count = 0;
	model->seen[SEEN_KILLED]++;
}

static void reap(struct model *model, size_t i)
{
	struct process *process = &model->processes[i];

	limit_scene_reap(&model->scene, i);
	limit_scene_start(&model->scene, i, model->classes[process->file]);
	memset(process->shown, 0, sizeof process->shown);
	process->is_dead = false;
	model->seen[SEEN_REAPED]++;
}

static void compare(const struct model *model)
{
	for (size_t key = 0; key < model->key_count; key++) {
		struct limit_total found;
		uint64_t in = 0;
		uint64_t out = 0;
		uint64_t slowed = 0;

		limit_total_of(model->scene.supervisor, model->keys[key], &found);
		for (size_t i = 0; i < PROCESSES; i++) {
			in += model->processes[i].shown[key][IN];
			out += model->processes[i].shown[key][OUT];
			slowed += model->processes[i].shown[key][SLOWED];
		}
		assert_int_equal(found.in, in);
		assert_int_equal(found.out, out);
		assert_int_equal(found.slowed, slowed);
	}
}

static void slow_one(struct model *model, size_t i, struct session *session)
{
	if (session->is_in)
		slow(model, i, session);
}

static void happen(struct model *model)
{
	size_t i = chance(PROCESSES);
	struct process *process = &model->processes[i];
	unsigned what = (unsigned)chance(1000);

	if (process->is_dead)
		reap(model, i);
	else if (what < 1)
		kill_process(model, i);
	else if (what < 4)
		reload(model, i, chance(FILES));
	else if (what < 200 && process->count > 0)
		slow_one(model, i, &process->open[chance(process->count)]);
	else if (what < 600 && process->count > 0)
		end_session(model, i, chance(process->count));
	else if (process->count < OPEN_MAX)
		begin_session(model, i, chance(HOSTS), chance(2) == 0);
}

static void a_million_events_agree_with_the_reference(void **state)
{
	static struct model model;

	(void)state;
	limit_scene_init(&model.scene, PROCESSES);
	for (size_t i = 0; i < FILES; i++)
		model.classes[i] = limit_scene_classes(files[i]);
	for (size_t i = 0; i < PROCESSES; i++)
		limit_scene_start(&model.scene, i, model.classes[0]);
	for (unsigned i = 0; i < EVENTS; i++) {
		happen(&model);
		if (i % 64 == 0)
			compare(&model);
	}
	compare(&model);
	for (enum seen i = SEEN_ENTERED; i <= SEEN_SLOWED; i++)
		assert_true(model.seen[i] > 100);
	limit_scene_clear(&model.scene);
	for (size_t i = 0; i < FILES; i++)
		limit_classes_free(model.classes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_events_agree_with_the_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
