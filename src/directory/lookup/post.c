// SPDX-License-Identifier: ISC
/* First asks whether the sender is a member of the list, which is one record; then, page by page,
 * which of its members are lists, and whether he is a member of one of these. */
#include "directory/lookup/post.h"
#include "base/panic.h"
#include "base/table.h"
#include "directory/lookup/internal.h"
#include "directory/record/key.h"
#include "mail/localpart.h"
#include <stdlib.h>

struct name { /* in a set, in order of insertion */
	struct str text;
	UT_hash_handle hh;
};

struct member { /* of a page; pending until it is known what it becomes */
	struct directory_posting *post;
	struct directory_request request;
	struct str address; /* in the page's arena */
};

struct directory_posting {
	struct directory *directory;
	directory_post_judged *judged;
	void *context;
	struct directory_post_request *request;
	struct arena *arena;
	struct arena *page_arena; /* of the present page */
	struct str sender;        /* in canonical form */
	struct name *lists;
	const struct name *list; /* the list being examined */
	struct name *foreign;    /* domains that are not ours */
	struct directory_question question;
	struct directory_members_request page;
	struct buffer after; /* the last member listed */
	bool is_last;        /* the page is the list's last */
	struct member *members;
	size_t member_count;
	size_t pending; /* of the members */
	bool is_away;
	struct mail_verdict verdict; /* why there is no answer; class OK: none failed so far */
};

const struct directory_target *directory_result_closed_list(const struct directory_result *result)
{
	bool is_closed = result->answer == DIRECTORY_FOUND && result->target_count == 1 &&
			 result->targets[0].kind == DIRECTORY_TARGET_LIST &&
			 result->targets[0].post != DIRECTORY_POST_ANYONE;

	return is_closed ? &result->targets[0] : NULL;
}

/* --- sets --- */

static bool has(const struct name *set, struct str text)
{
	struct name *found;

	HASH_FIND(hh, set, text.data, text.length, found);
	return found != NULL;
}

static void add(struct directory_posting *post, struct name **set, struct str text)
{
	struct name *added;

	if (has(*set, text))
		return;
	added = arena_alloc(post->arena, sizeof *added);
	added->text = arena_copy_str(post->arena, text);
	HASH_ADD_KEYPTR(hh, *set, added->text.data, added->text.length, added);
}

/* --- the end --- */

static void post_free(struct directory_posting *post)
{
	free(post->members);
	HASH_CLEAR(hh, post->lists);
	HASH_CLEAR(hh, post->foreign);
	buffer_clear(&post->after);
	arena_free(post->page_arena);
	arena_free(post->arena);
	free(post);
}

static void finish(struct directory_posting *post, const struct mail_verdict *verdict)
{
	struct mail_verdict copy = *verdict;
	directory_post_judged *judged = post->judged;
	void *context = post->context;
	bool is_away = post->is_away;

	post->request->post = NULL;
	post_free(post);
	judged(context, &copy, is_away);
}

static void say(struct directory_posting *post, const char *status, const char *text)
{
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, status, "%s", text);
	finish(post, &verdict);
}

static void grant(struct directory_posting *post)
{
	say(post, "2.1.5", "Recipient ok");
}

static void refuse(struct directory_posting *post)
{
	say(post, "5.7.2", "This list takes no mail from this sender");
}

/* --- a list --- */

static void next_page(struct directory_posting *post);

static void on_member(void *context, const struct directory_answer_text *answer)
{
	struct directory_posting *post = context;

	if (answer->error == DIRECTORY_ERROR_NONE) {
		if (answer->exists)
			grant(post);
		else
			next_page(post);
		return;
	}
	post->is_away = true;
	directory_read_error(answer, &post->verdict);
	finish(post, &post->verdict);
}

/* Asks whether the sender is a member of the next list. */
static void ask_list(struct directory_posting *post)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	if (post->list == NULL) {
		refuse(post);
		return;
	}
	buffer_append_str(&key, post->list->text);
	buffer_append_byte(&key, ' ');
	buffer_append_str(&key, post->sender);
	post->question = (struct directory_question){.answered = on_member, .context = post};
	directory_get_record(post->directory, DIRECTORY_MEMBER, buffer_view(&key), &post->question);
}

/* --- its members --- */

static bool is_lists(const struct directory_result *result)
{
	for (size_t i = 0; i < result->target_count; i++)
		if (result->targets[i].kind != DIRECTORY_TARGET_LIST)
			return false;
	return result->answer == DIRECTORY_FOUND;
}

static void end_page(struct directory_posting *post)
{
	free(post->members);
	post->members = NULL;
	post->member_count = 0;
	arena_reset(post->page_arena);
	if (HASH_COUNT(post->lists) > DIRECTORY_TARGETS_MAX)
		mail_verdict_set(&post->verdict, "4.4.6",
				 "The list leads to more lists than are allowed");
	if (post->verdict.class != MAIL_OK) {
		finish(post, &post->verdict);
	} else if (post->is_last) {
		post->list = post->list->hh.next;
		buffer_reset(&post->after);
		ask_list(post);
	} else {
		next_page(post);
	}
}

static void on_route(void *context, const struct directory_result *result)
{
	struct member *member = context;
	struct directory_posting *post = member->post;

	if (result->answer == DIRECTORY_NOT_LOCAL) {
		add(post, &post->foreign, mail_parts_of(member->address).domain);
	} else if (result->answer == DIRECTORY_UNKNOWN && result->is_away) {
		post->verdict = result->verdict;
		post->is_away = true;
	} else if (is_lists(result)) {
		for (size_t i = 0; i < result->target_count; i++)
			add(post, &post->lists, result->targets[i].address);
	}
	if (--post->pending == 0)
		end_page(post);
}

static void take_page(struct directory_posting *post, const struct directory_members *page)
{
	post->is_last = page->is_end;
	if (page->count > 0) {
		buffer_reset(&post->after);
		buffer_append_str(&post->after, page->members[page->count - 1]);
	}
	post->members = memory_alloc_zero(page->count + 1, sizeof *post->members);
	for (size_t i = 0; i < page->count; i++)
		if (!has(post->foreign, mail_parts_of(page->members[i]).domain))
			post->members[post->member_count++] = (struct member){
				.post = post,
				.address = arena_copy_str(post->page_arena, page->members[i])};
}

static void on_page(void *context, const struct directory_members *page)
{
	struct directory_posting *post = context;

	if (!page->is_known) {
		post->is_away = true;
		finish(post, &page->verdict);
		return;
	}
	take_page(post, page);
	post->pending = post->member_count + 1; /* one extra, as answers may come during the loop */
	for (size_t i = 0; i < post->member_count; i++)
		directory_lookup(post->directory, post->members[i].address, on_route,
				 &post->members[i], &post->members[i].request);
	if (--post->pending == 0)
		end_page(post);
}

static void next_page(struct directory_posting *post)
{
	directory_list_members(post->directory, post->list->text, buffer_view(&post->after),
			       on_page, post, &post->page);
}

/* --- the question --- */

/* False: not a valid address. */
static bool take_sender(struct directory_posting *post, struct str sender)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	if (directory_key_address(sender, &form) < 0)
		return false;
	post->sender = arena_copy_str(post->arena, buffer_view(&form));
	return true;
}

void directory_post_ask(struct directory *directory, const struct directory_target *list,
			struct str sender, directory_post_judged *judged, void *context,
			struct directory_post_request *request)
{
	struct directory_posting *post = memory_alloc_zero(1, sizeof *post);
	bool is_address;
	bool is_owner;

	if (request->post != NULL)
		panic("a sender is asked about twice");
	*post = (struct directory_posting){.directory = directory,
					   .judged = judged,
					   .context = context,
					   .request = request,
					   .arena = arena_new(),
					   .page_arena = arena_new()};
	request->post = post;
	add(post, &post->lists, list->address);
	post->list = post->lists;
	is_address = take_sender(post, sender);
	is_owner = is_address && str_equal(post->sender, list->owner);
	if (list->post == DIRECTORY_POST_ANYONE || is_owner)
		grant(post);
	else if (!directory_is_served(directory)) /* no longer, after a reload */
		say(post, "4.3.5", "no directory is configured");
	else if (list->post == DIRECTORY_POST_OWNERS || !is_address)
		refuse(post);
	else
		ask_list(post);
}

void directory_post_cancel(struct directory_post_request *request)
{
	struct directory_posting *post = request->post;

	if (post == NULL)
		return;
	request->post = NULL;
	directory_cancel_record(post->directory, &post->question);
	directory_members_cancel(&post->page);
	for (size_t i = 0; i < post->member_count; i++)
		directory_request_cancel(&post->members[i].request);
	post_free(post);
}
