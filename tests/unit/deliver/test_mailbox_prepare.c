// SPDX-License-Identifier: ISC
/*
 * The way of a message until it is filed: it is identified, decoded, its sender's mailbox and the
 * quotas are looked up, each of which takes as long as it likes, while the configuration changes
 * and all may be given up. Everything that it asks is this test's.
 */
#include "chance.h"
#include "deliver/mailbox/prepare.h"
#include "deliver/mailbox/reader.h"
#include "heard.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 40000, ENTRIES = 8, CONFIGS = 3 };

enum where { NOWHERE, READING, DECODING, LOOKING, QUOTAS, READY, ENDED };

static struct test_entry {
	struct mailbox_entry entry;
	struct deliver_helper_job job;
	enum where where;
	size_t copies; /* that it will have */
	char sender[16];
	char sent[16];      /* whose sent mail it becomes; "": nobody's */
	const char *ending; /* how it is to end, if it does now */
	unsigned generation;
	decode_done *decoded;
	directory_found *found;
} all[ENTRIES];

static struct mailbox_prepare *prepare;
static struct config configs[CONFIGS];
static struct config_service services[CONFIGS] = {
	{.name = "box", .sent = CONFIG_SENT_ALL},
	{.name = "box", .sent = CONFIG_SENT_LOCAL},
	{.name = "other", .sent = CONFIG_SENT_LOCAL},
};
static size_t configured;   /* which of them */
static unsigned generation; /* how often */
static struct deliver_quotas_wanted *wanted[ENTRIES];
static size_t wanted_count;
static void (*on_quotas)(void *context, void *owner);
static void (*on_no_quotas)(void *context, void *owner);
static void *quotas_context;
static void (*on_read)(struct mailbox_entry *entry, int error);
static int read_error;

static struct test_entry *test_of(const struct mailbox_entry *entry)
{
	return (struct test_entry *)(uintptr_t)entry;
}

/* --- deliver/mailbox/entry.h, rules.h --- */

void mailbox_rules_fields(const struct config *config, struct arena *arena,
			  struct mailbox_rules_fields *out)
{
	size_t i = 0;

	assert_ptr_equal(config, &configs[configured]);
	while (all[i].job.arena != arena)
		i++;
	if (all[i].where == DECODING) { /* it begins anew, by the new configuration */
		assert_true(all[i].generation != generation);
		all[i].generation = generation;
		all[i].where = READING;
	}
	out->count = generation;
}

int mailbox_entry_identify(struct mailbox_entry *entry)
{
	assert_int_equal(entry->fields.count, generation);
	return read_error;
}

void mailbox_entry_decoded(struct mailbox_entry *entry, const struct decode_message *decoded)
{
	assert_true(str_equal(decoded->subject, STR("subject")));
	assert_int_equal(test_of(entry)->where, DECODING);
	entry->decoded = *decoded;
}

void mailbox_entry_decide(struct mailbox_entry *entry, const struct config *config,
			  const struct config_service *service)
{
	assert_int_equal(entry->fields.count, generation); /* by the same configuration */
	assert_true(str_equal(entry->decoded.subject, STR("subject")));
	assert_ptr_equal(config, &configs[configured]);
	assert_ptr_equal(service, &services[configured]);
	entry->message.copy_count = test_of(entry)->copies;
}

struct str mailbox_entry_sender(const struct mailbox_entry *entry)
{
	return str_from(test_of(entry)->sender);
}

void mailbox_entry_add_sent(struct mailbox_entry *entry, struct str address)
{
	struct test_entry *of = test_of(entry);

	assert_string_equal(of->sent, "");
	snprintf(of->sent, sizeof of->sent, STR_FORMAT, STR_ARGUMENTS(address));
}

void mailbox_entry_want_quotas(struct mailbox_entry *entry)
{
	entry->wanted.owner = entry;
}

void mailbox_entry_take_quotas(struct mailbox_entry *entry)
{
	assert_int_equal(test_of(entry)->where, QUOTAS);
	entry->is_last = true;
}

void mailbox_entry_give_up(struct mailbox_entry *entry, const struct mail_verdict *why)
{
	struct test_entry *of = test_of(entry);
	char text[MAIL_TEXT_SIZE + 16] = "";

	assert_true(of->where != NOWHERE && of->where != READY && of->where != ENDED);
	if (why != NULL)
		snprintf(text, sizeof text, "%s %s", why->status, why->text);
	assert_non_null(of->ending);
	assert_string_equal(text, of->ending);
	of->where = ENDED;
}

/* --- deliver/mailbox/reader.h --- */

struct mailbox_reader *mailbox_reader_new(struct os_loop *loop,
					  void (*done)(struct mailbox_entry *entry, int error))
{
	assert_ptr_equal(loop, &all);
	on_read = done;
	return (struct mailbox_reader *)&on_read;
}

void mailbox_reader_free(struct mailbox_reader *reader)
{
	assert_ptr_equal(reader, &on_read);
	on_read = NULL;
}

int mailbox_reader_give(struct mailbox_reader *reader, struct mailbox_entry *entry)
{
	assert_ptr_equal(reader, &on_read);
	assert_true(entry->job->content.size >= MAILBOX_READER_FROM);
	if (read_error != 0)
		return read_error;
	assert_int_equal(test_of(entry)->where, READING);
	return 0;
}

void mailbox_reader_drop(struct mailbox_reader *reader)
{
	assert_ptr_equal(reader, &on_read);
	for (size_t i = 0; i < ENTRIES; i++)
		if (all[i].where == READING)
			mailbox_entry_give_up(&all[i].entry, NULL);
}

/* --- who is asked --- */

struct decode_question *decode_client_ask(struct decode_client *client,
					  const struct ipc_content *content, decode_done *done,
					  void *context)
{
	struct test_entry *of = test_of(context);

	assert_ptr_equal(client, &configs);
	assert_ptr_equal(content, &of->job.content);
	assert_int_equal(of->where, READING);
	of->where = DECODING;
	of->decoded = done;
	return (struct decode_question *)of;
}

void decode_client_cancel(struct decode_question *question)
{
	struct test_entry *of = (struct test_entry *)question;

	assert_int_equal(of->where, DECODING);
	of->decoded = NULL;
}

void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request)
{
	struct test_entry *of = test_of(context);

	assert_ptr_equal(directory, &services);
	assert_true(str_equal(address, str_from(of->sender)));
	assert_ptr_equal(request, &of->entry.request);
	of->where = LOOKING;
	of->found = found;
	request->directory = directory;
}

void directory_request_cancel(struct directory_request *request)
{
	request->directory = NULL;
}

struct deliver_quotas *deliver_quotas_new(void (*ready)(void *context, void *owner),
					  void (*given_up)(void *context, void *owner),
					  void *context)
{
	on_quotas = ready;
	on_no_quotas = given_up;
	quotas_context = context;
	return (struct deliver_quotas *)&wanted;
}

void deliver_quotas_free(struct deliver_quotas *quotas)
{
	assert_ptr_equal(quotas, &wanted);
	assert_int_equal(wanted_count, 0);
	on_quotas = NULL;
}

void deliver_quotas_find(struct deliver_quotas *quotas, struct directory *directory,
			 const struct config_service *service, struct deliver_quotas_wanted *of)
{
	assert_ptr_equal(quotas, &wanted);
	assert_ptr_equal(directory, &services);
	assert_ptr_equal(service, &services[configured]);
	test_of(of->owner)->where = QUOTAS;
	wanted[wanted_count++] = of;
}

void deliver_quotas_give_up(struct deliver_quotas *quotas)
{
	assert_ptr_equal(quotas, &wanted);
	while (wanted_count > 0)
		on_no_quotas(quotas_context, wanted[--wanted_count]->owner);
}

static void on_ready(void *context, struct mailbox_entry *entry)
{
	struct test_entry *of = test_of(entry);

	assert_ptr_equal(context, &read_error);
	assert_int_equal(of->where, QUOTAS);
	assert_true(entry->is_last);
	of->where = READY;
}

/* --- what happens --- */

static void start_one(void)
{
	struct test_entry *of = &all[chance(ENTRIES)];

	if (of->where == READY || of->where == ENDED)
		arena_free(of->job.arena);
	else if (of->where != NOWHERE)
		return;
	memset(of, 0, sizeof *of);
	of->where = READING;
	of->entry.job = &of->job;
	of->entry.identity.id = STR("id");
	of->job.arena = arena_new();
	of->job.content.size = chance(2) == 0 ? MAILBOX_READER_FROM : MAILBOX_READER_FROM - 1;
	of->copies = chance(3);
	snprintf(of->sender, sizeof of->sender, "%s", chance(3) == 0 ? "" : "s@a.test");
	of->generation = generation;
	read_error = chance(8) == 0 ? -EIO : 0;
	of->ending =
		read_error != 0 ? "4.3.0 The message cannot be read: Input/output error" : NULL;
	mailbox_prepare_start(prepare, &of->entry);
	if (read_error != 0)
		assert_int_equal(of->where, ENDED);
	else
		assert_int_equal(of->where,
				 of->job.content.size < MAILBOX_READER_FROM ? DECODING : READING);
	read_error = 0;
	of->ending = NULL;
}

static void read_one(struct test_entry *of)
{
	int error = chance(8) == 0 ? -EBADMSG : 0;

	of->ending = error != 0
			     ? "4.3.0 The message cannot be read: a checksum differs: the data are "
			       "not those that were written"
			     : NULL;
	on_read(&of->entry, error);
	assert_int_equal(of->where, error != 0 ? ENDED : DECODING);
}

static void decode_one(struct test_entry *of)
{
	bool has_problem = chance(4) == 0;
	const struct decode_message message = {.subject = STR("subject"),
					       .problem = str_from(has_problem ? "odd" : "")};
	enum where next = QUOTAS;

	if (of->generation != generation) /* all begins anew */
		next = of->job.content.size < MAILBOX_READER_FROM ? DECODING : READING;
	else if (of->copies == 0)
		next = ENDED;
	else if (of->sender[0] != '\0' && services[configured].sent != CONFIG_SENT_ALL)
		next = LOOKING;
	of->ending = next == ENDED ? "" : NULL;
	(void)heard_take();
	of->decoded(&of->entry, &message);
	assert_string_equal(heard_take(),
			    has_problem ? "message_undecoded message_id=id text=odd\n" : "");
	assert_int_equal(of->where, next);
	assert_string_equal(of->sent, next == QUOTAS && of->sender[0] != '\0' ? "s@a.test" : "");
}

static const struct {
	enum directory_answer answer;
	size_t count;
	enum directory_target_kind kind;
	const char *service;
	bool is_his; /* the mailbox of the service "box" */
} answers[] = {
	{DIRECTORY_FOUND, 1, DIRECTORY_TARGET_LOCAL, "box", true},
	{DIRECTORY_FOUND, 1, DIRECTORY_TARGET_LOCAL, "elsewhere", false},
	{DIRECTORY_FOUND, 1, DIRECTORY_TARGET_LIST, "box", false},
	{DIRECTORY_FOUND, 2, DIRECTORY_TARGET_LOCAL, "box", false},
	{DIRECTORY_NOT_LOCAL, 1, DIRECTORY_TARGET_LOCAL, "box", false},
	{DIRECTORY_REFUSED, 1, DIRECTORY_TARGET_LOCAL, "box", false},
	{DIRECTORY_UNKNOWN, 1, DIRECTORY_TARGET_LOCAL, "box", false},
};

static void find_sender_of_one(struct test_entry *of)
{
	size_t i = chance(COUNT_OF(answers));
	struct directory_target targets[2] = {{.kind = answers[i].kind,
					       .service = str_from(answers[i].service),
					       .address = STR("b@a.test")}};
	struct directory_result result = {answers[i].answer, targets, answers[i].count};
	bool is_his = answers[i].is_his && strcmp(services[configured].name, "box") == 0;
	bool is_unknown = answers[i].answer == DIRECTORY_UNKNOWN;

	mail_verdict_set(&result.verdict, "4.4.3", "away");
	of->ending = is_unknown ? "4.4.3 away" : NULL;
	of->entry.request.directory = NULL;
	of->found(&of->entry, &result);
	assert_int_equal(of->where, is_unknown ? ENDED : QUOTAS);
	assert_string_equal(of->sent, is_his ? "b@a.test" : "");
}

static void find_quotas_of_one(void)
{
	size_t i = wanted_count > 0 ? chance(wanted_count) : 0;
	struct test_entry *of;

	if (wanted_count == 0)
		return;
	of = test_of(wanted[i]->owner);
	wanted[i] = wanted[--wanted_count];
	on_quotas(quotas_context, &of->entry);
	assert_int_equal(of->where, READY);
}

static void drop_all(void)
{
	for (size_t i = 0; i < ENTRIES; i++)
		all[i].ending = "";
	mailbox_prepare_drop(prepare);
	for (size_t i = 0; i < ENTRIES; i++) {
		assert_true(all[i].where == NOWHERE || all[i].where == READY ||
			    all[i].where == ENDED);
		assert_null(all[i].entry.request.directory);
	}
}

static void configure(void)
{
	configured = chance(CONFIGS);
	generation++;
	mailbox_prepare_configure(prepare, &configs[configured], &services[configured]);
}

static void play_prepare_step(void)
{
	struct test_entry *of = &all[chance(ENTRIES)];

	if (chance(4) == 0)
		start_one();
	else if (chance(40) == 0)
		configure();
	else if (chance(100) == 0)
		drop_all();
	else if (chance(4) == 0)
		find_quotas_of_one();
	else if (of->where == READING)
		read_one(of);
	else if (of->where == DECODING)
		decode_one(of);
	else if (of->where == LOOKING)
		find_sender_of_one(of);
}

static void each_is_ready_or_ended(void **state)
{
	const struct deliver_mailbox_peers peers = {(struct os_loop *)&all,
						    (struct decode_client *)&configs,
						    (struct directory *)&services};

	(void)state;
	prepare = mailbox_prepare_new(&peers, on_ready, &read_error);
	configure();
	for (unsigned i = 0; i < STEPS; i++)
		play_prepare_step();
	drop_all();
	mailbox_prepare_free(prepare);
	mailbox_prepare_free(NULL);
	assert_true(on_read == NULL && on_quotas == NULL);
	for (size_t i = 0; i < ENTRIES; i++)
		if (all[i].where != NOWHERE)
			arena_free(all[i].job.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_ready_or_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
