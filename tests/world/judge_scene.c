// SPDX-License-Identifier: ISC
#include "judge_scene.h"
#include "accounts.h"
#include "damages.h"
#include "files.h"
#include "judge.h"
#include "mail.h"
#include "states.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct machine *scene_node;
uint64_t scene_queued;

int scene_begin(void **state)
{
	(void)state;
	world_begin(1, NULL);
	judge_begin();
	ledger_begin();
	scene_node = machine_new("one", 0x0a000001);
	files_begin(scene_node);
	accounts_watch(scene_node);
	return 0;
}

int scene_end(void **state)
{
	(void)state;
	states_end();
	accounts_end();
	damages_end();
	ledger_end();
	world_end();
	return 0;
}

static void nothing(void *context)
{
	(void)context;
}

const char *scene_path_of(const char *place)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "/var/queue/%s/%llu/%llu", place,
		 (unsigned long long)(scene_queued % STATES_SPLIT),
		 (unsigned long long)scene_queued);
	return path;
}

void scene_link_to(const char *from, const char *place)
{
	assert_int_equal(disk_link(scene_node->disk, NULL, from, scene_path_of(place)), 0);
}

void scene_unlink_at(const char *place)
{
	assert_int_equal(disk_unlink(scene_node->disk, NULL, scene_path_of(place)), 0);
}

void scene_queue_text(const char *text, bool is_durable)
{
	static const char *const places[] = {"todo/arrive", "intd",   "mess",  "info",
					     "local/box",   "remote", "bounce"};
	char folder[128];

	states_begin(scene_node);
	files_put(scene_node, "/var/queue/pid/spare", text);
	scene_queued = files_inode(scene_node, "/var/queue/pid/spare");
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		snprintf(folder, sizeof folder, "%s/", scene_path_of(places[i]));
		*strrchr(folder, '/') = '\0';
		strrchr(folder, '/')[1] = '\0';
		files_put(scene_node, folder, "");
	}
	files_put(scene_node, "/var/queue/control", "control");
	assert_int_equal(disk_rename(scene_node->disk, NULL, "/var/queue/pid/spare",
				     scene_path_of("todo/arrive"), false),
			 0);
	if (is_durable)
		assert_int_equal(disk_sync_all(scene_node->disk), 0);
}

void scene_preprocess(void)
{
	scene_link_to(scene_path_of("todo/arrive"), "mess");
	scene_link_to("/var/queue/control", "info");
	scene_link_to("/var/queue/control", "remote");
	scene_unlink_at("todo/arrive");
}

void scene_pass(int64_t seconds)
{
	kernel_at(kernel_now_us() + seconds * SCENE_SECOND, nothing, NULL);
	world_run(kernel_now_us() + seconds * SCENE_SECOND);
}

void scene_say(const char *event, const char *rest)
{
	char line[256];

	snprintf(line, sizeof line, "time=- process=send[1] event=%s id=7-a%s", event, rest);
	scene_node->heard(scene_node, line);
}

void scene_say_delivered(void)
{
	scene_say("delivered", " delivery=1 to=user1@hop.example by=remote status=2.0.0");
}

uint64_t scene_offer(void)
{
	uint64_t message = ledger_new();

	ledger_add(message, "user1@hop.example");
	return message;
}

uint64_t scene_accept(void)
{
	uint64_t message = scene_offer();

	scene_pass(1);
	scene_say("message_queued", "");
	scene_say("message_accepted", "");
	ledger_promise(message);
	accounts_promised(scene_node->address, "7-a", message);
	return message;
}

void scene_arrive(uint64_t message)
{
	char *text;
	size_t size = ledger_text(message, &text);

	ledger_deliver("user1@hop.example", text, size - 3);
	free(text);
}

int scene_wait_for_ever(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int64_t i = 1; i < 1000; i++) {
		task_sleep_until(i * 60 * SCENE_SECOND);
		for (unsigned k = 0; k < 100; k++)
			world_free(i % 2 == 0 ? world_malloc(1) : NULL);
		for (unsigned k = 0; i > 3 && k < 100; k++)
			(void)world_malloc(1);
	}
	return 0;
}
