// SPDX-License-Identifier: ISC
#include "packet_scene.h"
#include "base/buffer.h"
#include "ipc/job.h"
#include "judge_scene.h"
#include "kernel.h"
#include "queue/control/control.h"
#include <string.h>

static uint32_t last_tag;
static uint64_t last_helper;

void packets_log(unsigned number, const char *event, const char *rest)
{
	char line[256];

	snprintf(line, sizeof line, "time=- process=send[1] event=%s id=%u-a%s", event, number,
		 rest);
	scene_node->heard(scene_node, line);
}

void packets_say(const char *name, uint64_t from, uint64_t to, uint16_t type, uint32_t tag,
		 const struct buffer *body)
{
	const struct world_program program = {name, scene_wait_for_ever, NULL};
	const struct process process = {.machine = scene_node, .program = &program};
	struct buffer packet CLEANUP(buffer_clear) = {0};

	pack_u32(&packet, IPC_VERSION | (uint32_t)type << 16);
	pack_u32(&packet, tag);
	buffer_append_str(&packet, buffer_view(body));
	scene_node->packet(&process, from, to, buffer_view(&packet).data,
			   buffer_view(&packet).length);
}

void packets_begin_at(uint64_t helper, unsigned number, const char *destination)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, number);
	pack_u64(&body, 0xa);
	pack_str(&body, STR("sender@client.example"));
	pack_u64(&body, 0);       /* size */
	pack_u32(&body, 0);       /* checksum */
	pack_u32(&body, 0);       /* needs */
	pack_u64(&body, 0);       /* deadline */
	pack_u32(&body, 0);       /* ret */
	pack_str(&body, STR("")); /* envid */
	pack_str(&body, str_from(destination));
	pack_str(&body, STR("")); /* received */
	pack_u32(&body, 1);       /* deliveries */
	pack_u32(&body, 1);       /* number */
	pack_u32(&body, 0);       /* notify */
	pack_str(&body, STR("user1@hop.example"));
	pack_str(&body, STR("")); /* orcpt */
	pack_str(&body, STR("")); /* via */
	last_helper = helper;
	packets_say("send", PACKETS_MANAGER, helper, IPC_JOB_START, ++last_tag, &body);
}

void packets_begin(unsigned number, const char *destination)
{
	packets_begin_at(PACKETS_HELPER, number, destination);
}

static void map(unsigned number, uint32_t route, const char *service, const char *address,
		const char *status)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, number);
	pack_u32(&body, 1); /* question */
	pack_u32(&body, 0); /* flags */
	pack_u64(&body, 0); /* version */
	pack_u32(&body, 1); /* count */
	pack_u32(&body, 1); /* recipient */
	pack_u32(&body, route);
	pack_str(&body, str_from(service));
	pack_str(&body, STR("")); /* server */
	pack_str(&body, str_from(address));
	pack_str(&body, str_from(status));
	pack_str(&body, STR("")); /* text */
	packets_say("resolve", PACKETS_RESOLVER, PACKETS_MANAGER, IPC_JOB_RESOLVED, 0, &body);
}

void packets_resolve(unsigned number, const char *address, const char *status)
{
	map(number, QUEUE_ROUTE_REMOTE, "", address, status);
}

void packets_resolve_to_service(unsigned number, const char *service)
{
	map(number, QUEUE_ROUTE_LOCAL, service, "user1@one.example", "");
}

void packets_finish_until(const char *status, const char *trigger)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, 1);
	pack_u32(&body, 0);
	pack_str(&body, str_from(status));
	pack_str(&body, STR("")); /* text */
	pack_str(&body, str_from(trigger));
	packets_say("remote", last_helper, PACKETS_MANAGER, IPC_JOB_FINISH, last_tag, &body);
}

void packets_finish(const char *status)
{
	packets_finish_until(status, "");
}

void packets_be_busy(uint32_t milliseconds)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, milliseconds);
	pack_u32(&body, 0); /* flags */
	pack_str(&body, STR("throttled"));
	packets_say("remote", last_helper, PACKETS_MANAGER, IPC_JOB_BUSY, last_tag, &body);
}

void packets_hello(uint64_t helper, const char *service, const char *program)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_str(&body, str_from(service));
	pack_u32(&body, 1);       /* concurrency */
	pack_str(&body, STR("")); /* token */
	packets_say(program, helper, PACKETS_MANAGER, IPC_JOB_HELLO, 0, &body);
}

void packets_ask(unsigned number)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, number);
	pack_u32(&body, 1);       /* question */
	pack_str(&body, STR("")); /* sender */
	pack_u32(&body, 0);       /* count */
	packets_say("send", PACKETS_MANAGER, PACKETS_RESOLVER, IPC_JOB_RESOLVE, 0, &body);
}
