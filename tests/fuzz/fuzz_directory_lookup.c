// SPDX-License-Identifier: ISC
/*
 * tests/fuzz/fuzz_directory_lookup.c - results of a directory server, a line each. The first
 * byte chooses the question. Whatever they are: mail is delivered to addresses, by services that
 * there are, or it waits, or it is refused with a status of that class; members are views of the
 * results.
 */
#include "base/panic.h"
#include "directory/lookup/lookup.h"
#include "input.h"
#include "mail/address.h"
#include <stdlib.h>

enum { RESULTS_MAX = 1100 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct directory_answer_text answer;

/* --- a client that answers at once --- */

struct directory_client *directory_client_new(struct os_loop *loop, const char *const *servers,
					      size_t server_count,
					      const struct directory_dialer *dialer,
					      const struct directory_client_handler *handler,
					      void *context)
{
	(void)loop;
	(void)servers;
	(void)server_count;
	(void)dialer;
	(void)handler;
	(void)context;
	return memory_alloc_zero(1, 1);
}

void directory_client_free(struct directory_client *client)
{
	free(client);
}

void directory_client_when_greeted(struct directory_client *client, void (*call)(void *context),
				   void *context)
{
	(void)client, (void)call, (void)context;
}

void directory_client_get(struct directory_client *client, const char *table, struct str key,
			  int64_t patience_us, struct directory_question *question)
{
	(void)client;
	(void)table;
	(void)key;
	(void)patience_us;
	question->answered(question->context, &answer);
}

void directory_client_list(struct directory_client *client, const char *table, struct str prefix,
			   struct str after, size_t limit, struct directory_question *question)
{
	(void)client;
	(void)table;
	(void)prefix;
	(void)after;
	(void)limit;
	question->answered(question->context, &answer);
}

void directory_question_cancel(struct directory_client *client, struct directory_question *question)
{
	(void)client;
	(void)question;
}

/* --- what comes of it --- */

static void check_address(struct str text)
{
	struct mail_address address;

	if (mail_address_parse(text, MAIL_ADDRESS_UTF8, &address) < 0)
		panic("mail is sent to what is no address");
}

static void check_target(const struct directory_target *target)
{
	switch (target->kind) {
	case DIRECTORY_TARGET_LOCAL:
		if (!str_equal(target->service, STR("maildir")))
			panic("a service that is not configured");
		check_address(target->address);
		break;
	case DIRECTORY_TARGET_LIST:
		if (target->owner.length > 0)
			check_address(target->owner);
		check_address(target->address);
		break;
	case DIRECTORY_TARGET_REMOTE:
		check_address(target->address);
		break;
	case DIRECTORY_TARGET_NONE:
		if (target->address.length > 0)
			check_address(target->address);
		if (target->verdict.class != MAIL_FAIL)
			panic("a refusal that is none");
		break;
	}
}

static void found(void *context, const struct directory_result *result)
{
	static const enum mail_verdict_class classes[] = {
		[DIRECTORY_FOUND] = MAIL_OK,
		[DIRECTORY_NOT_LOCAL] = MAIL_OK,
		[DIRECTORY_REFUSED] = MAIL_FAIL,
		[DIRECTORY_UNKNOWN] = MAIL_WAIT,
	};

	*(bool *)context = true;
	if (result->verdict.class != classes[result->answer])
		panic("a verdict of another class");
	if ((result->answer == DIRECTORY_FOUND) != (result->target_count > 0) &&
	    result->answer != DIRECTORY_REFUSED)
		panic("an answer without targets, or targets without an answer");
	if (result->target_count > DIRECTORY_TARGETS_MAX)
		panic("too many targets");
	for (size_t i = 0; i < result->target_count; i++)
		check_target(&result->targets[i]);
}

/* The rest of a result. */
static void check_member(struct str member)
{
	static size_t next;

	for (size_t tried = 0; tried < answer.result_count; tried++) {
		struct str result = answer.results[next++ % answer.result_count];

		if (result.data != NULL &&
		    result.data + result.length == member.data + member.length &&
		    member.length <= result.length)
			return;
	}
	panic("a member that is none of the results");
}

static void listed(void *context, const struct directory_members *members)
{
	*(bool *)context = true;
	if (!members->is_known && members->verdict.class != MAIL_WAIT)
		panic("no members, and no wait");
	for (size_t i = 0; members->is_known && i < members->count; i++)
		check_member(members->members[i]);
}

static size_t split_lines(struct str text, struct str *results)
{
	size_t count = 0;

	while (count < RESULTS_MAX && str_split(&text, '\n', &results[count]))
		count++;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config_service services[] = {{.name = "maildir"}};
	static const struct config config = {.recipient_delimiter = "+",
					     .services = services,
					     .service_count = 1,
					     .directory = {.backend = CONFIG_BACKEND_SQLITE}};
	static struct str results[RESULTS_MAX];
	struct input input = {str_slice((const char *)data, size)};
	bool is_list = input_byte(&input) % 2 != 0;
	struct os_loop *loop = os_loop_new();
	struct directory *directory = directory_new(loop, &config, "/nowhere");
	struct directory_request request = {0};
	struct directory_members_request members = {0};
	bool is_answered = false;

	answer = (struct directory_answer_text){.exists = true, .results = results};
	answer.result_count = split_lines(input.rest, results);
	if (is_list)
		directory_list_members(directory, STR("list@a.test"), STR(""), listed, &is_answered,
				       &members);
	else
		directory_lookup(directory, STR("ann@a.test"), found, &is_answered, &request);
	if (!is_answered)
		panic("no answer");
	directory_free(directory);
	os_loop_free(loop);
	return 0;
}
