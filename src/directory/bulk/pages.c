// SPDX-License-Identifier: ISC
#include "directory/bulk/pages.h"
#include "base/arena.h"
#include "base/panic.h"
#include "directory/wire/frame.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct bulk_pages {
	struct bulk_server *server;
	enum directory_table table;
	struct buffer prefix;
	struct buffer after; /* the last key of the last page */
	struct directory_question question;
	struct arena *arena; /* of the page */
	struct directory_page page;
	bulk_malformed *malformed; /* NULL: not reported */
	void *context;
	bool at_end;
	bool has_failed;
};

/* --- one question --- */

void bulk_server_wait(struct bulk_server *server, const struct directory_question *question)
{
	while (question->private != NULL)
		os_loop_run(server->loop);
}

void bulk_server_stop(struct bulk_server *server)
{
	os_loop_stop(server->loop);
}

static void explain_server_problem(struct bulk_server *server, const char *text)
{
	struct buffer problem = {0};

	if (server->error == DIRECTORY_ERROR_LATER)
		directory_client_problem(server->client, &problem);
	buffer_append_byte(&problem, '\0');
	if (problem.length > 1)
		snprintf(server->error_text, sizeof server->error_text,
			 "the directory cannot be asked: %s (%s)", buffer_data(&problem), text);
	else if (server->error == DIRECTORY_ERROR_LATER)
		snprintf(server->error_text, sizeof server->error_text,
			 "the directory does not answer");
	else
		snprintf(server->error_text, sizeof server->error_text, "%s", text);
	buffer_clear(&problem);
}

bool bulk_server_has_failed(struct bulk_server *server, const struct directory_answer_text *answer)
{
	if (answer->error == DIRECTORY_ERROR_NONE)
		return false;
	server->error = answer->error;
	explain_server_problem(server, answer->error_text != NULL ? answer->error_text : "");
	return true;
}

const char *bulk_server_problem(const struct bulk_server *server)
{
	switch (server->error) {
	case DIRECTORY_ERROR_NONE:
		return "nothing is wrong";
	case DIRECTORY_ERROR_DENIED:
		return "the directory does not let this user do that";
	case DIRECTORY_ERROR_LATER:
	case DIRECTORY_ERROR_BAD:
	case DIRECTORY_ERROR_STORAGE:
	case DIRECTORY_ERROR_CHANGED:
		break;
	}
	return server->error_text[0] != '\0' ? server->error_text : "the directory has failed";
}

int bulk_server_errno(const struct bulk_server *server)
{
	switch (server->error) {
	case DIRECTORY_ERROR_LATER:
		return -ECONNREFUSED;
	case DIRECTORY_ERROR_DENIED:
		return -EACCES;
	case DIRECTORY_ERROR_CHANGED:
		return -ESTALE;
	case DIRECTORY_ERROR_BAD:
		return -EINVAL;
	case DIRECTORY_ERROR_NONE:
	case DIRECTORY_ERROR_STORAGE:
		break;
	}
	return -EIO;
}

/* --- pages --- */

void bulk_fields(const struct str *words, size_t count, struct directory_field *fields)
{
	for (size_t i = 0; i < count; i++)
		directory_frame_split_result(words[i], &fields[i].name, &fields[i].value);
}

static void on_page_of_table(void *context, const struct directory_answer_text *answer)
{
	struct bulk_pages *pages = context;

	pages->has_failed = bulk_server_has_failed(pages->server, answer);
	if (!pages->has_failed)
		pages->page = directory_client_page(answer, pages->table, pages->arena);
	bulk_server_stop(pages->server);
}

struct bulk_pages *bulk_pages_new(struct bulk_server *server, enum directory_table table,
				  struct str prefix)
{
	struct bulk_pages *pages = memory_alloc_zero(1, sizeof *pages);

	pages->server = server;
	pages->table = table;
	pages->arena = arena_new();
	pages->question =
		(struct directory_question){.answered = on_page_of_table, .context = pages};
	buffer_append_str(&pages->prefix, prefix);
	return pages;
}

int bulk_pages_next(struct bulk_pages *pages, const struct directory_record **records_out,
		    size_t *count_out)
{
	const struct directory_page *page = &pages->page;

	if (pages->at_end)
		return 0;
	arena_reset(pages->arena);
	pages->page = (struct directory_page){0};
	directory_client_list(pages->server->client, directory_table_name(pages->table),
			      buffer_view(&pages->prefix), buffer_view(&pages->after),
			      DIRECTORY_LIST_MAX, &pages->question);
	bulk_server_wait(pages->server, &pages->question);
	if (pages->has_failed)
		return bulk_server_errno(pages->server);
	for (size_t i = 0; pages->malformed != NULL && i < page->malformed_count; i++)
		pages->malformed(pages->context, pages->table, &page->malformed[i]);
	pages->at_end = page->count < DIRECTORY_LIST_MAX;
	if (page->count == 0)
		return 0;
	buffer_reset(&pages->after);
	buffer_append_str(&pages->after, page->records[page->count - 1].key.name);
	*records_out = page->records;
	*count_out = page->count;
	return 1;
}

void bulk_pages_hear_malformed(struct bulk_pages *pages, bulk_malformed *malformed, void *context)
{
	pages->malformed = malformed;
	pages->context = context;
}

void bulk_pages_free(struct bulk_pages *pages)
{
	arena_free(pages->arena);
	buffer_clear(&pages->prefix);
	buffer_clear(&pages->after);
	free(pages);
}
