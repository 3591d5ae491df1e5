// SPDX-License-Identifier: ISC
/* What the judges of turns, waiting and attempts read in the packets between a manager and its
 * helpers. */
#include "ipc/job.h"
#include "queue/control/control.h"
#include "turns_internal.h"
#include "waits.h"
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
static void hear_target(struct books *books, uint64_t number, struct unpack *body)
{
	struct account *account = account_of_number(books, number);
	uint32_t route;
	struct str service;
	struct str address;
	struct str status;

	(void)unpack_u32(body); /* recipient */
	route = unpack_u32(body);
	service = unpack_str(body);
	(void)unpack_str(body); /* server */
	address = unpack_str(body);
	status = unpack_str(body);
	(void)unpack_str(body); /* text */
	if (body->failed)
		return;
	if (status.length == 0 && route != QUEUE_ROUTE_NONE)
		waits_map(books, number,
			  route == QUEUE_ROUTE_REMOTE
				  ? waits_place_of_domain(books, domain_of(address))
				  : waits_place_of_service(books, service));
	if (account == NULL)
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
		const uint64_t number = unpack_u64(body);
		uint32_t count;

		(void)unpack_u32(body); /* question */
		(void)unpack_u32(body); /* flags */
		(void)unpack_u64(body); /* version */
		count = unpack_u32(body);
		for (uint32_t i = 0; i < count && !body->failed; i++)
			hear_target(books, number, body);
	}
}

/* --- from the manager --- */

static void hear_questions(struct books *books, struct unpack *body)
{
	while (body->rest.length > 0 && !body->failed) {
		const uint64_t number = unpack_u64(body);
		uint32_t count;

		(void)unpack_u32(body); /* question */
		(void)unpack_str(body); /* sender */
		count = unpack_u32(body);
		for (uint32_t i = 0; i < count && !body->failed; i++) {
			(void)unpack_u32(body); /* number */
			(void)unpack_str(body); /* address */
		}
		if (!body->failed)
			waits_ask(books, number);
	}
}

/* What is in a START after its destination. */
static void hear_deliveries(struct account *account, struct wait_place *place, struct unpack *body)
{
	uint32_t count;

	(void)unpack_str(body); /* received */
	count = unpack_u32(body);
	for (uint32_t i = 0; i < count && !body->failed; i++) {
		const uint32_t number = unpack_u32(body);

		(void)unpack_u32(body); /* notify */
		(void)unpack_str(body); /* address */
		(void)unpack_str(body); /* orcpt */
		(void)unpack_str(body); /* via */
		if (!body->failed) {
			waits_try(account, place, number);
			handing_try(account, number);
		}
	}
}

static void hear_start(struct books *books, const struct packet *packet)
{
	struct unpack body = packet->body;
	unsigned long long number, born;
	struct str destination;
	struct account *account;
	struct wait_place *place;
	char id[40];

	number = unpack_u64(&body);
	born = unpack_u64(&body);
	snprintf(id, sizeof id, "%llu-%llx", number, born);
	(void)unpack_str(&body); /* sender */
	(void)unpack_u64(&body); /* size */
	(void)unpack_u32(&body); /* checksum */
	(void)unpack_u32(&body); /* needs */
	(void)unpack_u64(&body); /* deadline */
	(void)unpack_u32(&body); /* ret */
	(void)unpack_str(&body); /* envid */
	destination = unpack_str(&body);
	if (body.failed)
		return;
	account = account_find(books, id);
	place = waits_place(books, destination, packet->to);
	if (account != NULL && place != NULL) {
		waits_begin(account, place);
		hear_deliveries(account, place, &body);
	}
	if (place != NULL && place->program != NULL && strcmp(place->program, "mailbox") == 0)
		books->filing_us = kernel_now_us();
	turns_begin(books, (struct turns_job){packet->to, packet->tag}, account, destination,
		    place);
}

/* "map: RECIPIENT local SERVICE NUMBER <ADDRESS>", or "map: RECIPIENT remote NUMBER <ADDRESS>" */
static struct wait_place *mapped_place(struct books *books, struct str line)
{
	struct str word;
	struct str address;

	(void)str_split(&line, ' ', &word);
	(void)str_split(&line, ' ', &word); /* the recipient */
	(void)str_split(&line, ' ', &word);
	if (str_equal(word, STR("local")) && str_split(&line, ' ', &word))
		return waits_place_of_service(books, word);
	address = str_skip(line, (size_t)(str_find(line, '<') + 1));
	(void)str_split(&address, '>', &word);
	return waits_place_of_domain(books, domain_of(word));
}

/* The package TEXT, for the nodes of GROUP: what it says of where its COUNT deliveries go. */
static void hear_package(struct account *account, struct wait_place *nodes, struct str text,
			 uint32_t count)
{
	struct books *books = account->books;
	struct str line;
	struct str stage = STR("");
	bool is_mapped = false;

	while (str_split(&text, '\n', &line)) {
		if (str_starts_with(line, STR("stage: ")))
			stage = str_skip(line, strlen("stage: "));
		if (!str_starts_with(line, STR("map: ")))
			continue;
		is_mapped = true;
		waits_hand(account, nodes, mapped_place(books, line));
	}
	if (!is_mapped)
		waits_hand_unmapped(account, nodes, waits_place_of_service(books, stage), count);
}

static void hear_hand(struct books *books, const struct packet *packet)
{
	struct unpack body = packet->body;
	const unsigned long long number = unpack_u64(&body);
	const unsigned long long born = unpack_u64(&body);
	struct str group;
	struct str text;
	struct account *account;
	struct wait_place *nodes;
	uint32_t count;
	char id[40];

	(void)unpack_u64(&body); /* size */
	(void)unpack_u32(&body); /* flags */
	group = unpack_str(&body);
	(void)unpack_str(&body); /* name */
	text = unpack_str(&body);
	count = unpack_u32(&body);
	if (body.failed)
		return;
	snprintf(id, sizeof id, "%llu-%llx", number, born);
	account = account_find(books, id);
	nodes = waits_place_of_nodes(books, group);
	if (account != NULL)
		hear_package(account, nodes, text, count);
	turns_begin(books, (struct turns_job){packet->to, packet->tag}, account, STR(""), nodes);
}

static void hear_manager(struct books *books, struct packet *packet)
{
	const struct wait_helper *helper = waits_find_helper(books, packet->to);

	if (packet->type == IPC_JOB_START)
		hear_start(books, packet);
	else if (packet->type == IPC_JOB_HAND)
		hear_hand(books, packet);
	else if (packet->type == IPC_JOB_RESOLVE && helper != NULL && helper->is_resolver)
		hear_questions(books, &packet->body);
}

/* --- from other helpers --- */

static bool says_success(struct unpack body)
{
	(void)unpack_u32(&body); /* delivery */
	(void)unpack_u32(&body); /* flags */
	return str_starts_with(unpack_str(&body), STR("2."));
}

/* All reports of a packet. */
static void hear_reports(struct books *books, struct turns_job job, struct unpack body)
{
	struct wait_place *place;
	struct account *account = turns_account(books, job, &place);

	while (account != NULL && place != NULL && body.rest.length > 0 && !body.failed) {
		struct wait_report report = {.number = unpack_u32(&body)};
		const uint32_t flags = unpack_u32(&body);
		unsigned others =
			(flags & IPC_JOB_SECURED ? 4 : 0) + (flags & IPC_JOB_SOURCED ? 1 : 0);

		report.status = unpack_str(&body);
		report.text = unpack_str(&body);
		report.trigger = unpack_str(&body);
		for (; others > 0; others--)
			(void)unpack_str(&body);
		if (!body.failed)
			waits_report(account, place, &report);
	}
}

static void hear_busy(struct books *books, struct turns_job job, int64_t us)
{
	struct wait_place *place;

	(void)turns_account(books, job, &place);
	waits_busy(place, us);
	(void)turns_finish(books, job, us);
}

/* A helper is there: who else sends packets of that number says something else. */
static void hear_hello(struct books *books, const struct process *process, struct packet *packet)
{
	struct unpack *body = &packet->body;
	const struct str service = unpack_str(body);

	(void)unpack_u32(body); /* concurrency */
	(void)unpack_str(body); /* token */
	if (!body->failed && body->rest.length == 0 && service.length > 0)
		waits_helper(books, packet->from, service, process->program->name);
	if (str_equal(service, STR("handover")))
		waits_groups(books, false);
}

static void hear_end(struct books *books, struct turns_job job)
{
	struct wait_place *place;
	int64_t took_us;

	(void)turns_account(books, job, &place);
	took_us = turns_finish(books, job, 0);
	if (place != NULL)
		waits_filed(books, place, took_us);
}

static void hear_helper(struct books *books, struct packet *packet)
{
	const struct turns_job job = {packet->from, packet->tag};
	const bool is_report = packet->type == IPC_JOB_REPORT || packet->type == IPC_JOB_FINISH;

	if (is_report)
		hear_reports(books, job, packet->body);
	if (is_report && says_success(packet->body))
		turns_answer(books, job);
	if (packet->type == IPC_JOB_FINISH)
		hear_end(books, job);
	else if (packet->type == IPC_JOB_GROUPS)
		waits_groups(books, true);
	else if (packet->type == IPC_JOB_BUSY)
		hear_busy(books, job, unpack_u32(&packet->body) * INT64_C(1000));
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
	waits_notice(books);
	turns_notice_moves(books);
	if (strcmp(name, "send") == 0)
		hear_manager(books, &packet);
	else if (packet.type == IPC_JOB_HELLO)
		hear_hello(books, process, &packet);
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
