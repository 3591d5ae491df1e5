// SPDX-License-Identifier: ISC
/* What the judge of turns reads in the packets between a manager and its helpers. */
#include "ipc/job.h"
#include "queue/control/control.h"
#include "turns_internal.h"
#include <endian.h>
#include <string.h>

struct packet {
	uint64_t from, to;
	unsigned type;
	uint32_t tag;
	struct unpack body;
};

static bool read_packet(struct packet *packet, const void *data, size_t size)
{
	struct {
		uint16_t version, type;
		uint32_t tag;
	} header;

	if (size < sizeof header)
		return false;
	memcpy(&header, data, sizeof header);
	packet->type = le16toh(header.type);
	packet->tag = le32toh(header.tag);
	packet->body.rest = str_slice((const char *)data + sizeof header, size - sizeof header);
	return true;
}

static struct str domain_of(struct str address)
{
	return str_skip(address, (size_t)(str_find_last(address, '@') + 1));
}

/* --- from "resolve" --- */

/* One target. What cannot be resolved keeps its whole message waiting. */
static void hear_target(struct account *account, struct unpack *body)
{
	uint32_t route;
	struct str address;
	struct str status;

	(void)unpack_u32(body); /* recipient */
	route = unpack_u32(body);
	(void)unpack_str(body); /* service */
	(void)unpack_str(body); /* server */
	address = unpack_str(body);
	status = unpack_str(body);
	(void)unpack_str(body); /* text */
	if (body->failed || account == NULL)
		return;
	if (str_starts_with(status, STR("4.")))
		turns_forget(account);
	else if (status.length == 0 && route == QUEUE_ROUTE_REMOTE)
		turns_mapped(account, domain_of(address));
}

static void hear_resolve(struct books *books, struct packet *packet)
{
	struct unpack *body = &packet->body;

	while (packet->type == IPC_JOB_RESOLVED && body->rest.length > 0 && !body->failed) {
		struct account *account = account_of_number(books, unpack_u64(body));
		uint32_t count;

		(void)unpack_u32(body); /* question */
		(void)unpack_u32(body); /* flags */
		(void)unpack_u64(body); /* version */
		count = unpack_u32(body);
		for (uint32_t i = 0; i < count && !body->failed; i++)
			hear_target(account, body);
	}
}

/* --- from the manager --- */

static void hear_manager(struct books *books, struct packet *packet)
{
	struct unpack *body = &packet->body;
	unsigned long long number, born;
	struct str destination;
	char id[40];

	if (packet->type != IPC_JOB_START)
		return;
	number = unpack_u64(body);
	born = unpack_u64(body);
	snprintf(id, sizeof id, "%llu-%llx", number, born);
	(void)unpack_str(body); /* sender */
	(void)unpack_u64(body); /* size */
	(void)unpack_u32(body); /* needs */
	(void)unpack_u64(body); /* deadline */
	(void)unpack_u32(body); /* ret */
	(void)unpack_str(body); /* envid */
	destination = unpack_str(body);
	if (!body->failed)
		turns_begin(books, (struct turns_job){packet->to, packet->tag},
			    account_find(books, id), destination);
}

/* --- from other helpers --- */

static bool says_success(struct unpack body)
{
	(void)unpack_u32(&body); /* delivery */
	(void)unpack_u32(&body); /* flags */
	return str_starts_with(unpack_str(&body), STR("2."));
}

static void hear_helper(struct books *books, struct packet *packet)
{
	const struct turns_job job = {packet->from, packet->tag};
	const bool is_report = packet->type == IPC_JOB_REPORT || packet->type == IPC_JOB_FINISH;

	if (is_report && says_success(packet->body))
		turns_answer(books, job);
	if (packet->type == IPC_JOB_FINISH)
		turns_finish(books, job, 0);
	else if (packet->type == IPC_JOB_BUSY)
		turns_finish(books, job, unpack_u32(&packet->body) * INT64_C(1000));
}

/* --- all --- */

static void hear(const struct process *process, uint64_t from, uint64_t to, const void *data,
		 size_t size)
{
	struct books *books = accounts_of(process->machine);
	const char *name = process->program->name;
	struct packet packet = {.from = from, .to = to};

	if (!read_packet(&packet, data, size))
		return;
	turns_notice_moves(books);
	if (strcmp(name, "send") == 0)
		hear_manager(books, &packet);
	else if (strcmp(name, "resolve") == 0)
		hear_resolve(books, &packet);
	else
		hear_helper(books, &packet);
}

void turns_watch(struct books *books)
{
	turns_new(books);
	books->machine->packet = hear;
}
