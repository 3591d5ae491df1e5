// SPDX-License-Identifier: ISC
/* First asks whether the sender is a member of the list: one record, cached like other answers.
 * Then searches from the sender up: the lists of which he is a member, and those of which these are
 * members. So a stranger costs two questions, however many members the list has. */
#include "directory/lookup/post.h"
#include "base/panic.h"
#include "base/table.h"
#include "directory/lookup/internal.h"
#include "directory/record/key.h"
#include <stdlib.h>

struct name { /* in a set, in order of insertion */
	struct str text;
	UT_hash_handle hh;
};

struct directory_posting {
	struct directory *directory;
	directory_post_judged *judged;
	void *context;
	struct directory_post_request *request;
	struct arena *arena;
	struct str list;    /* the recipient */
	struct name *names; /* the sender, and lists that have one of them as a member */
	struct name *name;  /* the one being examined */
	struct directory_question question;
	struct directory_request route;
	struct directory_members_request page;
};

const struct directory_target *directory_result_closed_list(const struct directory_result *result)
{
	bool is_closed = result->answer == DIRECTORY_FOUND && result->target_count == 1 &&
			 result->targets[0].kind == DIRECTORY_TARGET_LIST &&
			 result->targets[0].post != DIRECTORY_POST_ANYONE;

	return is_closed ? &result->targets[0] : NULL;
}

static void add_name_of_poster(struct directory_posting *post, struct str text)
{
	struct name *added;

	HASH_FIND(hh, post->names, text.data, text.length, added);
	if (added != NULL)
		return;
	added = arena_alloc(post->arena, sizeof *added);
	added->text = arena_copy_str(post->arena, text);
	HASH_ADD_KEYPTR(hh, post->names, added->text.data, added->text.length, added);
}

/* --- the end --- */

static void post_free(struct directory_posting *post)
{
	HASH_CLEAR(hh, post->names);
	arena_free(post->arena);
	free(post);
}

static void finish_posting(struct directory_posting *post, const struct mail_verdict *verdict,
			   bool is_away)
{
	struct mail_verdict copy = *verdict;
	directory_post_judged *judged = post->judged;
	void *context = post->context;

	post->request->post = NULL;
	post_free(post);
	judged(context, &copy, is_away);
}

static void finish_posting_with_text(struct directory_posting *post, const char *status,
				     const char *text)
{
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, status, "%s", text);
	finish_posting(post, &verdict, false);
}

static void grant_posting(struct directory_posting *post)
{
	finish_posting_with_text(post, "2.1.5", "Recipient ok");
}

static void refuse_posting(struct directory_posting *post)
{
	finish_posting_with_text(post, "5.7.2", "This list takes no mail from this sender");
}

/* --- from the sender up --- */

static void ask_page(struct directory_posting *post);

static void next_name(struct directory_posting *post);

static void on_route_of_list(void *context, const struct directory_result *result)
{
	struct directory_posting *post = context;

	if (result->answer == DIRECTORY_UNKNOWN && result->is_away)
		finish_posting(post, &result->verdict, true);
	else if (result->answer == DIRECTORY_FOUND && result->target_count == 1 &&
		 result->targets[0].kind == DIRECTORY_TARGET_LIST)
		ask_page(post);
	else
		next_name(post);
}

/* Continues with the next name, if it is a list. */
static void next_name(struct directory_posting *post)
{
	post->name = post->name->hh.next;
	if (post->name == NULL)
		refuse_posting(post);
	else
		directory_lookup(post->directory, post->name->text, on_route_of_list, post,
				 &post->route);
}

static void on_lists_of_poster(void *context, const struct directory_members *page)
{
	struct directory_posting *post = context;

	if (!page->is_known) {
		finish_posting(post, &page->verdict, true);
		return;
	}
	for (size_t i = 0; i < page->count; i++) {
		if (str_equal(page->members[i], post->list)) {
			grant_posting(post);
			return;
		}
		add_name_of_poster(post, page->members[i]);
	}
	if (HASH_COUNT(post->names) > DIRECTORY_TARGETS_MAX)
		finish_posting_with_text(post, "4.4.6",
					 "The sender is on more lists than are looked at");
	else
		next_name(post);
}

_Static_assert((int)DIRECTORY_LIST_MAX >= (int)DIRECTORY_TARGETS_MAX, "one page is enough");

/* Asks for the lists that have the name as a member. */
static void ask_page(struct directory_posting *post)
{
	directory_list_memberships(post->directory, post->name->text, STR(""), on_lists_of_poster,
				   post, &post->page);
}

static void on_membership_answered(void *context, const struct directory_answer_text *answer)
{
	struct directory_posting *post = context;
	struct mail_verdict verdict;

	if (answer->error != DIRECTORY_ERROR_NONE) {
		directory_read_error(answer, &verdict);
		finish_posting(post, &verdict, true);
	} else if (answer->exists) {
		grant_posting(post);
	} else {
		ask_page(post);
	}
}

static void ask_member(struct directory_posting *post)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	buffer_append_str(&key, post->list);
	buffer_append_byte(&key, ' ');
	buffer_append_str(&key, post->name->text);
	post->question =
		(struct directory_question){.answered = on_membership_answered, .context = post};
	directory_get_record(post->directory, DIRECTORY_MEMBER, buffer_view(&key), &post->question);
}

/* --- the question --- */

/* False: it is no address. */
static bool take_poster(struct directory_posting *post, struct str sender)
{
	struct buffer form CLEANUP(buffer_clear) = {0};

	if (directory_key_address(sender, &form) < 0)
		return false;
	add_name_of_poster(post, buffer_view(&form));
	post->name = post->names;
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
					   .arena = arena_new()};
	request->post = post;
	post->list = arena_copy_str(post->arena, list->address);
	is_address = take_poster(post, sender);
	is_owner = is_address && str_equal(post->name->text, list->owner);
	if (list->post == DIRECTORY_POST_ANYONE || is_owner)
		grant_posting(post);
	else if (!directory_is_served(directory)) /* any more */
		finish_posting_with_text(post, "4.3.5", "no directory is configured");
	else if (list->post == DIRECTORY_POST_OWNERS || !is_address)
		refuse_posting(post);
	else
		ask_member(post);
}

void directory_post_cancel(struct directory_post_request *request)
{
	struct directory_posting *post = request->post;

	if (post == NULL)
		return;
	request->post = NULL;
	directory_cancel_record(post->directory, &post->question);
	directory_request_cancel(&post->route);
	directory_members_cancel(&post->page);
	post_free(post);
}
