// SPDX-License-Identifier: ISC
/* Which lists mail to a list reaches; the directory is this test's own. */
#include "base/panic.h"
#include "deliver/list/graph.h"
#include "deliver/list/seen.h"
#include "mail/localpart.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LATE_MAX = 2000 };

static const struct hash_key KEY = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

#define PAST_MARK "X-Stagepost-Loop: v1 ff71b06919f8b0ae\r\n" /* by KEY: past@a.test has it */

/* "LIST: MEMBER MEMBER ..." */
static const char *const *lists;
static bool is_late;
static const char *away; /* the member that the directory does not know of now */
static size_t asked;
static struct {
	directory_found *found;
	void *context;
	struct directory_request *request;
	bool is_cancelled;
	char address[64];
} late[LATE_MAX];
static size_t late_count;

static struct list_graph graph;
static struct deliver_helper_job job;
static char outcome[200];

/* What stands behind "NAME:"; NULL: it is no list. */
static const char *members_of(struct str name)
{
	for (size_t i = 0; lists[i] != NULL; i++)
		if (strncmp(lists[i], name.data, name.length) == 0 && lists[i][name.length] == ':')
			return lists[i] + name.length + 1;
	return NULL;
}

static void answer(struct str address, directory_found *found, void *context)
{
	struct directory_target targets[2] = {
		{.kind = DIRECTORY_TARGET_LIST,
		 .address = address,
		 .owner = STR("owner@a.test"),
		 .verp = str_equal(address, STR("verp@a.test"))},
		{.kind = DIRECTORY_TARGET_REMOTE, .address = STR("x@b.test")}};
	struct directory_result result = {.answer = DIRECTORY_NOT_LOCAL};

	if (members_of(address) != NULL)
		result = (struct directory_result){.targets = targets, .target_count = 1};
	else if (str_equal(address, STR("alias@a.test"))) { /* of one list, or of a list and more */
		targets[0].address = STR("two@a.test");
		result = (struct directory_result){.targets = targets, .target_count = 1};
	} else if (str_equal(address, STR("mixed@a.test"))) {
		targets[0].address = STR("two@a.test");
		result = (struct directory_result){.targets = targets, .target_count = 2};
	} else if (away != NULL && str_equal(address, str_from(away))) {
		result = (struct directory_result){.answer = DIRECTORY_UNKNOWN, .is_away = true};
		mail_verdict_set(&result.verdict, "4.4.3", "told");
	} else if (str_equal(mail_parts_of(address).domain, STR("a.test"))) {
		targets[0].kind = DIRECTORY_TARGET_LOCAL;
		result = (struct directory_result){.targets = targets, .target_count = 1};
	}
	found(context, &result);
}

void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request)
{
	(void)directory;
	(void)request;
	asked++;
	if (!is_late) {
		answer(address, found, context);
		return;
	}
	assert_true(late_count < LATE_MAX);
	late[late_count].found = found;
	late[late_count].context = context;
	late[late_count].request = request;
	late[late_count].is_cancelled = false;
	snprintf(late[late_count++].address, sizeof late->address, STR_FORMAT,
		 STR_ARGUMENTS(address));
}

void directory_request_cancel(struct directory_request *request)
{
	for (size_t i = 0; i < late_count; i++)
		late[i].is_cancelled |= late[i].request == request;
}

void directory_members_cancel(struct directory_members_request *request)
{
	(void)request;
}

/* Two members on a page. */
void directory_list_members(struct directory *directory, struct str list, struct str after,
			    void (*listed)(void *context, const struct directory_members *members),
			    void *context, struct directory_members_request *request)
{
	struct str members[2];
	struct directory_members page = {.members = members, .is_known = true, .is_end = true};
	struct str rest = str_from(members_of(list));
	bool is_behind = after.length == 0;
	struct str one;

	(void)directory;
	(void)request;
	while (str_split(&rest, ' ', &one)) {
		if (is_behind && page.count == 2)
			page.is_end = false;
		else if (is_behind && one.length > 0)
			members[page.count++] = one;
		is_behind |= str_equal(one, after);
	}
	listed(context, &page);
}

static void on_done(void *context, const struct mail_verdict *verdict, const char *trigger)
{
	assert_ptr_equal(context, &graph);
	if (verdict == NULL)
		snprintf(outcome, sizeof outcome, "ok");
	else
		snprintf(outcome, sizeof outcome, "%s %s %s", verdict->status, verdict->text,
			 trigger != NULL ? trigger : "-");
}

/* The lists, in order, and why not: "ok". Valid until end(). */
static void find(const char *const *world, const char *text)
{
	lists = world;
	asked = late_count = 0;
	job.content = (struct ipc_content){.file = memfd_create("data", 0), .size = strlen(text)};
	assert_int_equal(write(job.content.file, text, strlen(text)), strlen(text));
	graph = (struct list_graph){
		.job = &job, .key = KEY, .via = STR(""), .done = on_done, .context = &graph};
	outcome[0] = '\0';
	list_graph_start(&graph, STR("list@a.test"));
	for (size_t i = 0; i < late_count; i++)
		answer(str_from(late[i].address), late[i].found, late[i].context);
}

static void check_nodes(const char *wanted)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	for (const struct list_node *node = graph.nodes; node != NULL; node = node->hh.next)
		buffer_append_format(&text, "%s" STR_FORMAT, node->parent != NULL ? " " : "",
				     STR_ARGUMENTS(node->address));
	if (!str_equal(buffer_view(&text), str_from(wanted)))
		fail_msg(STR_FORMAT, STR_ARGUMENTS(buffer_view(&text)));
}

static void end(void)
{
	list_graph_clear(&graph);
	close(job.content.file);
}

static void each_list_is_found_once(void **state)
{
	static const char *const world[] = {
		"list@a.test: x@b.test one@a.test two@a.test alias@a.test y@b.test mixed@a.test",
		"one@a.test: p@c.test deep@a.test two@a.test",
		"two@a.test: deep@a.test verp@a.test",
		"deep@a.test:",
		"verp@a.test: z@b.test",
		NULL,
	};

	(void)state;
	for (int round = 0; round < 2; round++) {
		is_late = round == 1;
		find(world, "Subject: x\r\n\r\n");
		assert_string_equal(outcome, "ok");
		check_nodes("list@a.test one@a.test two@a.test deep@a.test verp@a.test");
		assert_true(list_graph_is_list(&graph, STR("alias@a.test")));
		assert_true(list_graph_is_list(&graph, STR("deep@a.test")));
		assert_false(list_graph_is_list(&graph, STR("mixed@a.test")));
		assert_false(list_graph_is_list(&graph, STR("x@b.test")));
		end();
	}
	is_late = false;
}

/* Nobody answers what is not there any more: each question that is open is cancelled. */
static void what_is_asked_ends_with_it(void **state)
{
	static const char *const world[] = {"list@a.test: one@a.test two@a.test",
					    "one@a.test:", "two@a.test:", NULL};

	(void)state;
	is_late = true;
	lists = world;
	asked = late_count = 0;
	graph = (struct list_graph){
		.job = &job, .key = KEY, .via = STR(""), .done = on_done, .context = &graph};
	list_graph_start(&graph, STR("list@a.test"));
	assert_int_equal(late_count, 1);
	answer(str_from(late[0].address), late[0].found, late[0].context);
	assert_int_equal(late_count, 3);
	list_graph_clear(&graph);
	assert_true(late[1].is_cancelled && late[2].is_cancelled);
	is_late = false;
}

/* No list is entered whose mark might be in the message. */
static void what_cannot_be_read_is_tried_later(void **state)
{
	static const char *const world[] = {"list@a.test: x@b.test one@a.test",
					    "one@a.test: y@b.test", NULL};

	(void)state;
	lists = world;
	asked = late_count = 0;
	job.content = (struct ipc_content){.file = open("/dev/null", O_WRONLY), .size = 10};
	assert_true(job.content.file >= 0);
	graph = (struct list_graph){
		.job = &job, .key = KEY, .via = STR(""), .done = on_done, .context = &graph};
	outcome[0] = '\0';
	list_graph_start(&graph, STR("list@a.test"));
	assert_string_equal(outcome, "4.3.0 the message cannot be read -");
	check_nodes("list@a.test");
	end();
}

/* Its fields but for the marks, one after each of them. */
static void assert_head(const struct list_node *node, const char *fields)
{
	struct buffer found CLEANUP(buffer_clear) = {0};
	struct str rest = node->head;
	struct str line;
	size_t marks = 0;
	size_t others = 0;

	while (str_split(&rest, '\n', &line)) {
		bool is_mark = str_starts_with(line, STR("X-Stagepost-Loop: v1 "));

		marks += is_mark;
		if (is_mark || line.length == 0)
			continue;
		assert_int_equal(others++, marks);
		buffer_append_str(&found, line);
		buffer_append_byte(&found, '\n');
	}
	assert_int_equal(marks, others);
	assert_true(str_equal(buffer_view(&found), str_from(fields)));
}

static void each_has_its_sender_and_the_way_to_it(void **state)
{
	static const char *const world[] = {"list@a.test: one@a.test", "one@a.test: verp@a.test",
					    "verp@a.test:", NULL};
	const struct list_node *node;

	(void)state;
	find(world, "Subject: x\r\n\r\n");
	node = graph.nodes;
	assert_true(str_equal(node->sender, STR("owner@a.test")));
	assert_head(node, "Delivered-To: list@a.test\r\n");
	node = node->hh.next;
	node = node->hh.next;
	assert_true(str_equal(node->sender, STR("owner+@a.test-@[]")));
	assert_head(node, "Delivered-To: verp@a.test\r\n"
			  "Delivered-To: one@a.test\r\n"
			  "Delivered-To: list@a.test\r\n");
	end();
}

static void a_foreign_domain_is_asked_for_once(void **state)
{
	static const char *const world[] = {
		"list@a.test: a@b.test b@b.test c@b.test d@b.test e@c.test f@b.test", NULL};

	(void)state;
	find(world, "Subject: x\r\n\r\n");
	assert_string_equal(outcome, "ok");
	assert_int_equal(asked, 1 + 2 + 1); /* the list; a page of two at once; c.test */
	end();
}

static void loops_are_not_followed(void **state)
{
	static const char *const world[] = {"list@a.test: one@a.test list@a.test",
					    "one@a.test: list@a.test past@a.test two@a.test",
					    "past@a.test: one@a.test", "two@a.test:", NULL};

	(void)state;
	find(world, PAST_MARK "Subject: x\r\n\r\n");
	assert_string_equal(outcome, "ok");
	check_nodes("list@a.test one@a.test two@a.test");
	end();
}

static void too_many_defer(void **state)
{
	static char texts[1100][64];
	static const char *world[1100];
	static const unsigned depths[] = {DIRECTORY_DEPTH_MAX, DIRECTORY_DEPTH_MAX + 1};
	struct buffer many CLEANUP(buffer_clear) = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(depths); i++) { /* a chain */
		snprintf(texts[0], sizeof *texts, "list@a.test: l1@a.test");
		for (unsigned k = 1; k < depths[i]; k++)
			snprintf(texts[k], sizeof *texts, "l%u@a.test: l%u@a.test", k, k + 1);
		for (unsigned k = 0; k < depths[i]; k++)
			world[k] = texts[k];
		world[depths[i]] = NULL;
		find(world, "\r\n");
		assert_string_equal(outcome, i == 0 ? "ok"
						    : "4.4.6 the list leads to more lists than "
						      "are allowed -");
		end();
	}
	for (unsigned count = DIRECTORY_TARGETS_MAX - 1; count <= DIRECTORY_TARGETS_MAX; count++) {
		buffer_reset(&many);
		buffer_append_string(&many, "list@a.test:");
		for (unsigned k = 0; k < count; k++) {
			snprintf(texts[k], sizeof *texts, "w%u@a.test:", k);
			world[k + 1] = texts[k];
			buffer_append_format(&many, " w%u@a.test", k);
		}
		buffer_append_byte(&many, '\0');
		world[0] = buffer_data(&many);
		world[count + 1] = NULL;
		find(world, "\r\n");
		assert_int_equal(strcmp(outcome, "ok") == 0, count < DIRECTORY_TARGETS_MAX);
		end();
	}
}

static void all_waits_for_the_directory(void **state)
{
	static const char *const world[] = {"list@a.test: x@a.test one@a.test y@a.test",
					    "one@a.test:", NULL};

	(void)state;
	away = "y@a.test";
	for (int round = 0; round < 2; round++) {
		is_late = round == 1;
		find(world, "\r\n");
		assert_string_equal(outcome, "4.4.3 told directory");
		end();
	}
	is_late = false;
	away = NULL;
}

static void who_was_seen_is_known(void **state)
{
	struct list_seen seen = {0};
	char text[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 20000; i++) {
			snprintf(text, sizeof text, "m%u@b.test", i);
			assert_int_equal(list_seen_add(&seen, str_from(text)), round == 0);
		}
	}
	assert_int_equal(seen.count, 20000);
	list_seen_clear(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_read_is_tried_later),
		cmocka_unit_test(each_list_is_found_once),
		cmocka_unit_test(what_is_asked_ends_with_it),
		cmocka_unit_test(each_has_its_sender_and_the_way_to_it),
		cmocka_unit_test(a_foreign_domain_is_asked_for_once),
		cmocka_unit_test(loops_are_not_followed),
		cmocka_unit_test(too_many_defer),
		cmocka_unit_test(all_waits_for_the_directory),
		cmocka_unit_test(who_was_seen_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
