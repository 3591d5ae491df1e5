// SPDX-License-Identifier: ISC
/* libunbound of a world: the questions of a process, and the records that all are answered from. */
#include "dns.h"
#include "description.h"
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unbound.h>

enum { TYPE_A = 1, TYPE_MX = 15 };
enum { RECORDS_MAX = 64, ANSWERS_MAX = 16, DATA_SIZE = 256, TTL = 60, ODDITY = 20 };

static const int64_t DELAY_US = 200000;

static struct record {
	const char *name;
	int type;
	int length;
	char data[DATA_SIZE];
} records[RECORDS_MAX];
static size_t record_count;
static int64_t odd_until_us;

/* --- what is known --- */

static struct record *add(const char *name, int type)
{
	if (record_count == RECORDS_MAX)
		errx(1, "too many records of the DNS");
	records[record_count] = (struct record){.name = name, .type = type};
	return &records[record_count++];
}

void dns_add_host(const char *name, uint32_t address)
{
	struct record *record = add(name, TYPE_A);
	uint32_t wire = htonl(address);

	memcpy(record->data, &wire, sizeof wire);
	record->length = sizeof wire;
}

void dns_add_mx(const char *domain, uint16_t preference, const char *host)
{
	struct record *record = add(domain, TYPE_MX);
	uint16_t wire = htons(preference);

	memcpy(record->data, &wire, sizeof wire);
	record->length = sizeof wire;
	for (const char *label = host; *label != '\0'; label += *label == '.') {
		size_t length = strcspn(label, ".");

		record->data[record->length++] = (char)length;
		memcpy(record->data + record->length, label, length);
		record->length += (int)length;
		label += length;
	}
	record->data[record->length++] = '\0';
}

void dns_be_odd(int64_t when_us)
{
	odd_until_us = when_us;
}

void dns_end(void)
{
	record_count = 0;
	odd_until_us = 0;
}

/* --- questions --- */

struct ub_ctx {
	struct description description;
	int descriptor;
	struct question *questions;
	int last_id;
};

struct question {
	struct ub_ctx *context;
	int id;
	char name[DATA_SIZE];
	int type;
	void *data;
	ub_callback_type callback;
	struct event *event; /* NULL: the answer is there, or never comes */
	bool is_answered;
	int error;
	struct question *next;
};

/* What ub_resolve_free() gets. */
struct answer {
	struct ub_result result;
	char *data[ANSWERS_MAX + 1];
	int lengths[ANSWERS_MAX + 1];
};

static unsigned poll_answers(struct description *description)
{
	struct ub_ctx *context = (void *)description;

	for (const struct question *one = context->questions; one != NULL; one = one->next)
		if (one->is_answered)
			return OS_WATCH_READ;
	return OS_WATCH_NONE;
}

static void drop(struct question *question)
{
	struct question **place = &question->context->questions;

	while (*place != question)
		place = &(*place)->next;
	*place = question->next;
	kernel_cancel(question->event);
	free(question);
}

static void close_context(struct description *description)
{
	struct ub_ctx *context = (void *)description;

	while (context->questions != NULL)
		drop(context->questions);
	free(context);
}

static const struct description_kind context_description = {"names", poll_answers, close_context,
							    NULL,    NULL,         S_IFIFO};

static void on_answer(void *context)
{
	struct question *question = context;

	question->event = NULL;
	question->is_answered = true;
	description_changed(&question->context->description);
}

int ub_resolve_async(struct ub_ctx *context, const char *name, int type, int class, void *data,
		     ub_callback_type callback, int *id)
{
	struct question *question = calloc(1, sizeof *question);
	bool is_local = strcmp(name, "localhost.") == 0; /* known without the network */
	bool is_odd = !is_local && kernel_now_us() < odd_until_us && kernel_one_in(ODDITY);

	(void)class;
	if (question == NULL)
		err(1, "no memory");
	*question = (struct question){.context = context,
				      .id = ++context->last_id,
				      .type = type,
				      .data = data,
				      .callback = callback,
				      .next = context->questions};
	snprintf(question->name, sizeof question->name, "%s", name);
	context->questions = question;
	if (is_odd)
		question->error = UB_SERVFAIL;
	if (!is_odd || kernel_one_in(2))
		question->event =
			kernel_at(kernel_now_us() + (int64_t)kernel_below((uint64_t)DELAY_US),
				  on_answer, question);
	*id = question->id;
	return 0;
}

int ub_cancel(struct ub_ctx *context, int id)
{
	for (struct question *one = context->questions; one != NULL; one = one->next) {
		if (one->id != id)
			continue;
		drop(one);
		return 0;
	}
	return UB_NOID;
}

/* --- answers --- */

static struct ub_result *make_result(const struct question *question)
{
	struct answer *answer = calloc(1, sizeof *answer);
	size_t length = strlen(question->name);
	size_t count = 0;
	bool is_name = false;

	if (answer == NULL)
		err(1, "no memory");
	if (length > 0 && question->name[length - 1] == '.')
		length--;
	for (size_t i = 0; i < record_count && count < ANSWERS_MAX; i++) {
		if (strlen(records[i].name) != length ||
		    strncasecmp(records[i].name, question->name, length) != 0)
			continue;
		is_name = true;
		if (records[i].type != question->type)
			continue;
		answer->data[count] = records[i].data;
		answer->lengths[count++] = records[i].length;
	}
	answer->result = (struct ub_result){.data = answer->data,
					    .len = answer->lengths,
					    .havedata = count > 0,
					    .nxdomain = !is_name,
					    .rcode = is_name ? 0 : 3,
					    .ttl = TTL};
	return &answer->result;
}

void ub_resolve_free(struct ub_result *result)
{
	free(result); /* first in its answer */
}

static struct question *next_answered(const struct ub_ctx *context)
{
	struct question *found = NULL;

	for (struct question *one = context->questions; one != NULL; one = one->next)
		if (one->is_answered)
			found = one;
	return found;
}

int ub_process(struct ub_ctx *context)
{
	struct question *question;

	while ((question = next_answered(context)) != NULL) {
		ub_callback_type callback = question->callback;
		struct ub_result *result = question->error == 0 ? make_result(question) : NULL;
		void *data = question->data;
		int error = question->error;

		drop(question);
		callback(data, error, result);
	}
	return 0;
}

/* --- the rest --- */

struct ub_ctx *ub_ctx_create(void)
{
	struct ub_ctx *context = calloc(1, sizeof *context);
	int descriptor;

	if (context == NULL)
		err(1, "no memory");
	description_init(&context->description, &context_description);
	descriptor = table_add(&context->description);
	if (descriptor < 0) {
		errno = -descriptor;
		return NULL;
	}
	context->descriptor = descriptor;
	return context;
}

void ub_ctx_delete(struct ub_ctx *context)
{
	(void)table_close(context->descriptor);
}

int ub_fd(struct ub_ctx *context)
{
	return context->descriptor;
}

int ub_ctx_set_option(struct ub_ctx *context, const char *option, const char *value)
{
	(void)context;
	(void)option;
	(void)value;
	return 0;
}

int ub_ctx_add_ta(struct ub_ctx *context, const char *anchor)
{
	(void)context;
	(void)anchor;
	return 0;
}

int ub_ctx_set_fwd(struct ub_ctx *context, const char *address)
{
	(void)context;
	(void)address;
	return 0;
}

int ub_ctx_resolvconf(struct ub_ctx *context, const char *file)
{
	(void)context;
	(void)file;
	return 0;
}

int ub_ctx_hosts(struct ub_ctx *context, const char *file)
{
	(void)context;
	(void)file;
	return 0;
}

int ub_ctx_async(struct ub_ctx *context, int thread)
{
	(void)context;
	(void)thread;
	return 0;
}

int ub_ctx_zone_remove(struct ub_ctx *context, const char *zone)
{
	(void)context;
	(void)zone;
	return 0;
}

const char *ub_strerror(int error)
{
	return error == UB_SERVFAIL ? "the name servers of this world fail" : "no error";
}
