// SPDX-License-Identifier: ISC
/* What becomes of mail to lists; the directory and the queue are this test's own. */
#include "base/panic.h"
#include "deliver/list/list.h"
#include "directory/lookup/post.h"
#include "header/loop.h"
#include "queue/message.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct hash_key KEY = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

#define MARK      "X-Stagepost-Loop: v1 8489f5000e5c552f\r\n"
#define NEST_MARK "X-Stagepost-Loop: v1 56c5ab42396be7ee\r\n"
#define HEAD      "Delivered-To: list@a.test\r\n" MARK

static const char TEXT[] = "Received: x\r\nSubject: hello\r\n\r\nA line.\r\n";

enum { PEOPLE_MAX = 150000 };

static struct {
	struct os_loop *loop;
	struct deliver_list *list;
	const char *text; /* of the message */
	struct str via;   /* that leads to the list; empty: nothing does */
	/* the directory */
	size_t members; /* m0@b.test and so on */
	const char *odd_member;
	const char *route; /* "list", "none", "away", "mailbox", "ownerless" */
	bool verp;
	const char *post; /* the verdict about who posts to a list of owners; NULL: to anyone's */
	size_t away_from; /* members, once lists among them were looked for; 0: never */
	size_t away_times;
	/* who looks for lists: who asked first */
	void (*looks)(void *context, const struct directory_members *members);
	/* the queue */
	size_t open, most_open, opened, shared, committed, abandoned;
	size_t fail_open;   /* the how manieth; 0: none */
	size_t fail_commit; /* the same */
	size_t fail_write;  /* the same */
	size_t writes;
	int commit_error;
	size_t recipients;
	unsigned char has[PEOPLE_MAX]; /* how often a member has it */
	char first[4096];              /* message */
	char senders[256];
	struct mail_deadline deadline;      /* of what comes */
	struct mail_deadline last_deadline; /* of a message to members */
	bool is_special;                    /* the sender of what comes asks for all that he may */
	char wishes[32];                    /* of a message to members */
	char outcome[1024];
	size_t jobs;
} world;

/* --- the directory --- */

bool directory_is_served(const struct directory *directory)
{
	(void)directory;
	return true;
}

void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request)
{
	struct directory_target target = {
		.kind = strcmp(world.route, "mailbox") == 0 ? DIRECTORY_TARGET_LOCAL
							    : DIRECTORY_TARGET_LIST,
		.address = address,
		.owner = strcmp(world.route, "ownerless") == 0 ? STR("") : STR("owner@a.test"),
		.verp = world.verp,
		.post = world.post != NULL ? DIRECTORY_POST_OWNERS : DIRECTORY_POST_ANYONE,
	};
	struct directory_result result = {.targets = &target, .target_count = 1};

	(void)directory;
	(void)request;
	if ((!str_equal(address, STR("list@a.test")) && !str_equal(address, STR("nest@a.test"))) ||
	    strcmp(world.route, "none") == 0)
		result = (struct directory_result){.answer = DIRECTORY_REFUSED};
	if (strcmp(world.route, "away") == 0)
		result = (struct directory_result){.answer = DIRECTORY_UNKNOWN, .is_away = true};
	mail_verdict_set(&result.verdict, result.answer == DIRECTORY_UNKNOWN ? "4.4.3" : "5.1.1",
			 "told");
	found(context, &result);
}

void directory_request_cancel(struct directory_request *request)
{
	(void)request;
}

void directory_post_ask(struct directory *directory, const struct directory_target *list,
			struct str sender, directory_post_judged *judged, void *context,
			struct directory_post_request *request)
{
	struct mail_verdict verdict;

	(void)directory;
	(void)request;
	assert_true(str_equal(list->address, STR("list@a.test")));
	assert_true(str_equal(list->owner, STR("owner@a.test")));
	assert_int_equal(list->post,
			 world.post != NULL ? DIRECTORY_POST_OWNERS : DIRECTORY_POST_ANYONE);
	assert_true(str_equal(sender, STR("ann@c.test")));
	mail_verdict_set(&verdict, world.post != NULL ? world.post : "2.1.5", "judged");
	judged(context, &verdict, verdict.class == MAIL_WAIT);
}

void directory_post_cancel(struct directory_post_request *request)
{
	(void)request;
}

void directory_members_cancel(struct directory_members_request *request)
{
	(void)request;
}

void directory_list_members(struct directory *directory, struct str list, struct str after,
			    void (*listed)(void *context, const struct directory_members *members),
			    void *context, struct directory_members_request *request)
{
	static char texts[DIRECTORY_LIST_MAX][32];
	static struct str members[DIRECTORY_LIST_MAX + 1];
	struct directory_members page = {.members = members, .is_known = true};
	bool is_nested = str_equal(list, STR("nest@a.test"));
	char key[32] = "";
	size_t next = 0;

	(void)directory;
	(void)request;
	assert_true(is_nested || str_equal(list, STR("list@a.test")));
	if (after.length > 0) {
		memcpy(key, after.data, after.length);
		next = strtoul(key + 1, NULL, 10) + 1;
	}
	if (world.looks == NULL)
		world.looks = listed;
	if (world.away_times > 0 && next >= world.away_from && listed != world.looks) {
		world.away_times--;
		page = (struct directory_members){0};
		mail_verdict_set(&page.verdict, "4.4.3", "told");
		listed(context, &page);
		return;
	}
	while (page.count < DIRECTORY_LIST_MAX && next < world.members) {
		snprintf(texts[page.count], sizeof *texts, "m%zu@b.test", next++);
		members[page.count] = str_from(texts[page.count]);
		page.count++;
	}
	page.is_end = page.count < DIRECTORY_LIST_MAX;
	if (world.odd_member != NULL && page.count > 0 && !is_nested)
		members[0] = str_from(world.odd_member);
	listed(context, &page);
}

/* --- the queue --- */

void queue_client_open(struct queue_client *client, struct queue_client_message *message)
{
	(void)client;
	assert_int_equal(message->state, QUEUE_CLIENT_IDLE);
	if (++world.opened == world.fail_open) {
		message->done(message->context, -ENOSPC);
		return;
	}
	message->file = -1;
	message->number = world.opened;
	message->state = QUEUE_CLIENT_OPEN;
	if (++world.open > world.most_open)
		world.most_open = world.open;
	message->done(message->context, 0);
}

void queue_client_share(struct queue_client_message *message)
{
	assert_int_equal(message->state, QUEUE_CLIENT_OPEN);
	message->file = memfd_create("message", 0);
	assert_true(message->file >= 0);
	message->written = 0;
	world.shared++;
	message->done(message->context, 0);
}

bool queue_client_is_shared(const struct queue_client_message *message)
{
	return message->file >= 0;
}

int queue_client_write(struct queue_client_message *message, struct str bytes)
{
	if (++world.writes == world.fail_write)
		return -ENOSPC;
	assert_int_equal(pwrite(message->file, bytes.data, bytes.length, (off_t)message->written),
			 bytes.length);
	message->written += bytes.length;
	return 0;
}

static void check_data(const struct queue_client_message *message,
		       const struct mail_envelope *envelope, struct str data)
{
	struct buffer wanted = {0};
	struct buffer found = {0};

	if (str_starts_with(data, STR("Delivered-To: nest@a.test\r\n")))
		buffer_append_string(&wanted, "Delivered-To: nest@a.test\r\n" NEST_MARK);
	buffer_append_string(&wanted, HEAD);
	if (world.via.length > 0)
		header_loop_append(KEY, HEADER_LOOP_LED_ON, world.via, "\r\n", &wanted);
	buffer_append_string(&wanted, world.text);
	buffer_append_str(&found, data);
	if (message->file >= 0) {
		char *space = buffer_reserve(&found, message->written);

		assert_int_equal(data.length, 0);
		assert_int_equal(pread(message->file, space, message->written, 0),
				 message->written);
		buffer_commit(&found, message->written);
	}
	assert_true(str_equal(buffer_view(&found), buffer_view(&wanted)));
	assert_int_equal(envelope->size, wanted.length);
	assert_int_equal(envelope->id.number, message->number);
	assert_int_equal(envelope->envid.length + (size_t)envelope->ret, 0);
	buffer_clear(&wanted);
	buffer_clear(&found);
}

static void count_recipients(const struct mail_envelope *envelope)
{
	for (size_t i = 0; i < envelope->recipient_count; i++) {
		const struct mail_recipient *recipient = &envelope->recipients[i];
		char text[64] = "";

		assert_int_equal(recipient->notify + recipient->original.length, 0);
		memcpy(text, recipient->address.data, recipient->address.length);
		if (text[0] == 'm')
			world.has[strtoul(text + 1, NULL, 10)]++;
		else
			snprintf(world.first, sizeof world.first, "%s", text);
		world.recipients++;
	}
}

void queue_client_commit(struct queue_client_message *message, const struct mail_envelope *envelope,
			 struct str data)
{
	assert_int_equal(message->state, QUEUE_CLIENT_OPEN);
	check_data(message, envelope, data);
	if (message->file >= 0)
		close(message->file);
	message->state = QUEUE_CLIENT_IDLE;
	world.open--;
	if (++world.committed == world.fail_commit) {
		message->done(message->context, world.commit_error);
		return;
	}
	count_recipients(envelope);
	world.last_deadline = envelope->deadline;
	snprintf(world.wishes, sizeof world.wishes, "%d%d%d %d", envelope->require_tls,
		 envelope->binary, envelope->utf8, envelope->priority);
	snprintf(world.senders, sizeof world.senders, STR_FORMAT, STR_ARGUMENTS(envelope->sender));
	message->done(message->context, 0);
}

void queue_client_abandon(struct queue_client_message *message)
{
	if (message->state != QUEUE_CLIENT_OPEN)
		return;
	if (message->file >= 0)
		close(message->file);
	message->state = QUEUE_CLIENT_IDLE;
	world.open--;
	world.abandoned++;
}

/* --- "send" --- */

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	size_t used = strlen(world.outcome);

	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	snprintf(world.outcome + used, sizeof world.outcome - used, "%s %s%s%s;", verdict->status,
		 verdict->text, trigger != NULL ? " " : "", trigger != NULL ? trigger : "");
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	close(job->content.file);
	arena_free(job->arena);
	free(job);
	if (--world.jobs == 0)
		os_loop_stop(world.loop);
}

static struct deliver_helper_job *job_new(const char *sender, const char *text, size_t count)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);

	job->arena = arena_new();
	job->sender = str_from(sender);
	job->envid = STR("QQ1");
	job->deadline = world.deadline;
	job->requires_tls = job->binary = job->utf8 = world.is_special;
	job->priority = world.is_special ? 4 : 0;
	job->ret = MAIL_RET_FULL;
	job->content = (struct ipc_content){.file = memfd_create("data", 0), .size = strlen(text)};
	assert_int_equal(write(job->content.file, text, job->content.size), job->content.size);
	job->recipients = arena_alloc(job->arena, count * sizeof *job->recipients);
	job->recipient_count = count;
	for (size_t i = 0; i < count; i++)
		job->recipients[i] =
			(struct deliver_helper_recipient){.number = (uint32_t)i + 1,
							  .address = STR("list@a.test"),
							  .via = world.via,
							  .notify = MAIL_NOTIFY_SUCCESS};
	world.text = text;
	world.jobs++;
	return job;
}

static void deliver(const char *sender, const char *text, size_t count)
{
	world.outcome[0] = '\0';
	deliver_list_start(world.list, job_new(sender, text, count));
	os_loop_run(world.loop);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	world.route = "list";
	world.loop = os_loop_new();
	world.list = deliver_list_new(world.loop, NULL, NULL, KEY);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	deliver_list_free(world.list);
	os_loop_free(world.loop);
	assert_int_equal(world.open, 0);
	return 0;
}

static void each_has_it(size_t times)
{
	for (size_t i = 0; i < world.members; i++)
		assert_int_equal(world.has[i], times);
}

/* --- tests --- */

static void each_member_has_it_once(void **state)
{
	static const struct {
		size_t members;
		const char *outcome;
		size_t most_open;
	} cases[] = {
		{0, "2.0.0 the list has no members;", 0},
		{1, "2.0.0 sent on to 1 members in 1 messages;", 1},
		{999, "2.0.0 sent on to 999 members in 1 messages;", 1},
		{1000, "2.0.0 sent on to 1000 members in 1 messages;", 1},
		{1001, "2.0.0 sent on to 1001 members in 2 messages;", 2},
		{100000, "2.0.0 sent on to 100000 members in 100 messages;", 100},
		{150000, "2.0.0 sent on to 150000 members in 150 messages;", DELIVER_LIST_GROUP},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_up(state);
		world.members = cases[i].members;
		deliver("ann@c.test", TEXT, 1);
		assert_string_equal(world.outcome, cases[i].outcome);
		assert_int_equal(world.most_open, cases[i].most_open);
		assert_int_equal(world.recipients, cases[i].members);
		each_has_it(1);
		if (cases[i].members > 0)
			assert_string_equal(world.senders, "owner@a.test");
		tear_down(state);
	}
}

/* Up to its bound a message goes with its commit, larger ones into files. */
static void large_messages_are_copied_into_files(void **state)
{
	enum { HEAD_SIZE = sizeof HEAD - 1 };
	static char text[3 * QUEUE_BY_VALUE_MAX];

	for (size_t i = 0; i < 3; i++) {
		size_t size = i == 2 ? sizeof text - 1 : QUEUE_BY_VALUE_MAX - HEAD_SIZE + i;

		set_up(state);
		memset(text, 'x', size);
		memcpy(text, "Subject: x\r\n\r\n", 14);
		text[size] = '\0';
		world.members = 1001;
		deliver("ann@c.test", text, 1);
		assert_int_equal(world.committed, 2);
		assert_int_equal(world.shared, i == 0 ? 0 : 2);
		each_has_it(1);
		tear_down(state);
	}
}

static void all_recipients_of_a_job_are_seen_to(void **state)
{
	(void)state;
	world.members = 2;
	deliver("ann@c.test", TEXT, 20);
	each_has_it(20);
}

static void a_member_of_two_lists_has_it_once(void **state)
{
	(void)state;
	world.members = 1500;
	world.odd_member = "nest@a.test"; /* instead of the first of each page, who are in it */
	deliver("ann@c.test", TEXT, 1);
	assert_string_equal(world.outcome, "2.0.0 sent on to 1500 members in 4 messages;");
	assert_int_equal(world.recipients, 1500);
	each_has_it(1);
}

static void members_may_have_senders_of_their_own(void **state)
{
	(void)state;
	world.members = 1;
	world.verp = true;
	deliver("ann@c.test", TEXT, 1);
	assert_string_equal(world.senders, "owner+@a.test-@[]");
}

/* What is of no use later is not sent on later. Who asked to hear of a delay does not hear from the
 * list, and its owner has not asked. */
static void a_deadline_is_the_members_too(void **state)
{
	static const struct {
		enum mail_deadline_mode mode;
		enum mail_deadline_mode then;
	} cases[] = {{MAIL_DEADLINE_NONE, MAIL_DEADLINE_NONE},
		     {MAIL_DEADLINE_NOTIFY, MAIL_DEADLINE_NONE},
		     {MAIL_DEADLINE_RETURN, MAIL_DEADLINE_RETURN}};

	(void)state;
	world.members = 1;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		world.deadline = (struct mail_deadline){cases[i].mode, true, false, 7 * SECOND_US};
		deliver("ann@c.test", TEXT, 1);
		assert_int_equal(world.last_deadline.mode, cases[i].then);
		assert_false(world.last_deadline.is_traced);
		assert_int_equal(world.last_deadline.at_us,
				 cases[i].then == MAIL_DEADLINE_NONE ? 0 : 7 * SECOND_US);
	}
}

static void what_its_sender_wants_is_kept(void **state)
{
	(void)state;
	world.members = 1;
	deliver("ann@c.test", TEXT, 1);
	assert_string_equal(world.wishes, "000 0");
	world.is_special = true;
	deliver("ann@c.test", TEXT, 1);
	assert_string_equal(world.wishes, "111 4");
}

static void who_may_not_post_is_refused(void **state)
{
	static const char *const cases[][2] = {
		{"2.1.5", "2.0.0 sent on to 3 members in 1 messages;"},
		{"5.7.2", "5.7.2 judged;"},
		{"4.4.3", "4.4.3 judged directory;"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_up(state);
		world.members = 3;
		world.post = cases[i][0];
		deliver("ann@c.test", TEXT, 1);
		assert_string_equal(world.outcome, cases[i][1]);
		assert_int_equal(world.recipients, i == 0 ? 3 : 0);
		tear_down(state);
	}
}

static void what_is_no_address_is_left_out(void **state)
{
	static const struct {
		const char *member;
		const char *address; /* NULL: left out */
	} cases[] = {
		{"nobody", NULL},
		{"@b.test", NULL},
		{"b@", NULL},
		{"b\n@b.test", NULL},
		{"\"b b\"@b.test", "\"b b\"@b.test"},
		{"b b@b.test", NULL},
		{"<b@b.test>", NULL},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_up(state);
		world.members = 3;
		world.odd_member = cases[i].member;
		deliver("ann@c.test", TEXT, 1);
		assert_int_equal(world.recipients, cases[i].address != NULL ? 3 : 2);
		if (cases[i].address != NULL)
			assert_string_equal(world.first, cases[i].address);
		tear_down(state);
	}
}

static void some_mail_is_not_for_members(void **state)
{
	static const struct {
		const char *route;
		const char *sender;
		const char *text;
		const char *outcome;
	} cases[] = {
		{"list", "", TEXT, "5.7.2 the list takes no bounces;"},
		{"list", "#@[]", TEXT, "5.7.2 the list takes no bounces;"},
		{"none", "ann@c.test", TEXT, "5.1.1 there is no such list any more;"},
		{"mailbox", "ann@c.test", TEXT, "5.1.1 there is no such list any more;"},
		{"ownerless", "ann@c.test", TEXT, "4.3.5 the list has no owner;"},
		{"away", "ann@c.test", TEXT, "4.4.3 told directory;"},
		{"list", "ann@c.test", HEAD "\r\n", "5.4.6 mail loop: list@a.test > list@a.test;"},
		{"list", "ann@c.test", "Delivered-To: l\\x{FC}ste@a.test\r\n" HEAD "\r\n",
		 "5.4.6 mail loop: list@a.test > l\\x{FC}ste@a.test > list@a.test;"},
		{"list", "ann@c.test",
		 "delivered-to: two@a.test\r\nReceived: x\r\nDelivered-To: one@a.test\r\n"
		 "DELIVERED-TO:List@a.test\r\n" MARK "Delivered-To: before@a.test\r\n\r\n",
		 "5.4.6 mail loop: List@a.test > one@a.test > two@a.test > List@a.test;"},
		/* others have taken the fields away */
		{"list", "ann@c.test", "Delivered-To: one@a.test\r\n" MARK "\r\n",
		 "5.4.6 mail loop: list@a.test > one@a.test > list@a.test;"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_up(state);
		world.members = 3;
		world.route = cases[i].route;
		deliver(cases[i].sender, cases[i].text, 1);
		assert_string_equal(world.outcome, cases[i].outcome);
		assert_int_equal(world.opened, 0);
		tear_down(state);
	}
}

/* Mail that comes back to the address that leads to the list is as well known as to the list. */
static void what_leads_to_it_is_marked(void **state)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	set_up(state);
	world.members = 3;
	world.via = STR("Info+x@A.test");
	deliver("ann@c.test", TEXT, 1);
	each_has_it(1);
	tear_down(state);

	set_up(state);
	world.via = STR("info+x@a.test");
	header_loop_append(KEY, HEADER_LOOP_LED_ON, world.via, "\r\n\r\n", &text);
	buffer_append_byte(&text, '\0');
	deliver("ann@c.test", buffer_data(&text), 1);
	assert_string_equal(world.outcome, "5.4.6 mail loop: list@a.test > list@a.test;");
	tear_down(state);
}

static void what_looks_like_a_loop_is_none(void **state)
{
	static const char *const texts[] = {
		"Delivered-To: list@a.test\r\n\r\n", /* anybody may have written it */
		NEST_MARK "\r\n",
		"Delivered-To: other@a.test\r\n\r\nA line.\r\n",
		"Subject: x\r\n\r\n" HEAD,
		"X-Delivered-To: list@a.test\r\n\r\n",
		"Delivered-To: list@a.test.example\r\n\r\n",
		"Delivered-To\r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		set_up(state);
		world.members = 3;
		deliver("ann@c.test", texts[i], 1);
		each_has_it(1);
		tear_down(state);
	}
}

/* Nobody has it before all pages are there. */
static void a_directory_that_goes_away_is_waited_for(void **state)
{
	(void)state;
	world.members = 5000;
	world.away_from = 3000;
	world.away_times = 1;
	deliver("ann@c.test", TEXT, 1);
	assert_string_equal(world.outcome, "4.4.3 told directory;");
	assert_int_equal(world.committed, 0);
	assert_int_equal(world.abandoned, 3);
	deliver("ann@c.test", TEXT, 1);
	each_has_it(1);
}

/* Those who have it do not get it again. */
static void it_goes_on_where_it_was(void **state)
{
	(void)state;
	world.members = 140000;
	world.away_from = 135000;
	world.away_times = 1;
	deliver("ann@c.test", TEXT, 1);
	assert_string_equal(world.outcome, "2.0.0 sent on to 140000 members in 140 messages;");
	each_has_it(1);
}

static void what_is_not_queued_is_tried_again(void **state)
{
	static const struct {
		size_t fail_open, fail_commit;
		int error;
		const char *outcome;
	} cases[] = {
		{3, 0, 0, "4.3.1 Insufficient system storage;"},
		{0, 3, -ENOSPC, "2.0.0 sent on to 5000 members in 5 messages;"},
		{0, 3, -ENOTCONN, "2.0.0 sent on to 5000 members in 5 messages;"},
		{0, 1, -EIO, "2.0.0 sent on to 5000 members in 5 messages;"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		set_up(state);
		world.members = 5000;
		world.fail_open = cases[i].fail_open;
		world.fail_commit = cases[i].fail_commit;
		world.commit_error = cases[i].error;
		deliver("ann@c.test", TEXT, 1);
		assert_string_equal(world.outcome, cases[i].outcome);
		if (cases[i].fail_open > 0)
			deliver("ann@c.test", TEXT, 1);
		each_has_it(1);
		tear_down(state);
	}
}

/* Each of the writes fails once, of two large messages. */
static void what_is_not_written_is_tried_again(void **state)
{
	static char text[3 * QUEUE_BY_VALUE_MAX];
	size_t writes = 0;

	memset(text, 'x', sizeof text - 1);
	memcpy(text, "Subject: x\r\n\r\n", 14);
	for (size_t failing = 0; failing <= writes; failing++) {
		set_up(state);
		world.members = 1001;
		world.fail_write = failing;
		deliver("ann@c.test", text, 1);
		if (strncmp(world.outcome, "2.0.0", 5) != 0) {
			assert_string_equal(world.outcome, "4.3.1 Insufficient system storage;");
			deliver("ann@c.test", text, 1);
		}
		assert_string_equal(world.outcome + strlen(world.outcome) - 12, " 2 messages;");
		assert_int_equal(world.abandoned > 0, failing > 0);
		assert_int_equal(world.open, 0);
		each_has_it(1);
		if (failing == 0)
			writes = world.writes;
		tear_down(state);
	}
}

static void a_lone_message_that_fails_waits_in_the_queue(void **state)
{
	(void)state;
	world.members = 5;
	world.fail_commit = 1;
	world.commit_error = -EIO;
	deliver("ann@c.test", TEXT, 1);
	assert_string_equal(world.outcome, "4.3.0 The queue cannot take the list's mail now;");
	deliver("ann@c.test", TEXT, 1);
	each_has_it(1);
}

static void stop_loop(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

static void nothing_is_left_when_it_is_given_up(void **state)
{
	struct os_timer *stop;

	(void)state;
	world.members = 140000;
	world.away_from = 135000;
	world.away_times = 1000;
	for (unsigned i = 0; i < 20; i++)
		deliver_list_start(world.list, job_new("ann@c.test", TEXT, 2));
	stop = os_timer_new(world.loop, stop_loop, NULL);
	os_timer_start(stop, SECOND_US / 2);
	os_loop_run(world.loop);
	os_timer_free(stop);
	assert_true(world.open > 0);
	deliver_list_give_up(world.list);
	assert_int_equal(world.jobs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_member_has_it_once),
		cmocka_unit_test(who_may_not_post_is_refused),
		cmocka_unit_test(large_messages_are_copied_into_files),
		cmocka_unit_test_setup_teardown(all_recipients_of_a_job_are_seen_to, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_member_of_two_lists_has_it_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_deadline_is_the_members_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_its_sender_wants_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(members_may_have_senders_of_their_own, set_up,
						tear_down),
		cmocka_unit_test(what_is_no_address_is_left_out),
		cmocka_unit_test(some_mail_is_not_for_members),
		cmocka_unit_test(what_leads_to_it_is_marked),
		cmocka_unit_test(what_looks_like_a_loop_is_none),
		cmocka_unit_test_setup_teardown(a_directory_that_goes_away_is_waited_for, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(it_goes_on_where_it_was, set_up, tear_down),
		cmocka_unit_test(what_is_not_queued_is_tried_again),
		cmocka_unit_test(what_is_not_written_is_tried_again),
		cmocka_unit_test_setup_teardown(a_lone_message_that_fails_waits_in_the_queue,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_left_when_it_is_given_up, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
