// SPDX-License-Identifier: ISC
#include "directory/lookup/lookup.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/lookup/internal.h"
#include "directory/record/key.h"
#include "directory/wire/frame.h"
#include "mail/localpart.h"
#include "os/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* For a server that is silent; when none is connected, the answer comes at once. */
static const int64_t PATIENCE_US = DIRECTORY_PATIENCE_US;
/* Between two probes of a directory that does not answer; longer if it answers the probes, but
 * not the questions. */
static const int64_t LOOK_US = SECOND_US / 10;
static const int64_t LOOK_MAX_US = 10 * SECOND_US;
static const int64_t SOON_US = 2 * SECOND_US;

struct directory {
	struct os_loop *loop;
	const struct config *config;
	struct directory_expander *configured; /* for domains of the configuration only */
	char *server;
	struct directory_client *client; /* NULL before there is a section directory */
	struct directory_question look;
	struct os_timer *look_timer;
	int64_t look_delay_us;
	int64_t back_at_us;          /* when BACK was last called */
	void (*back)(void *context); /* NULL: nobody waits */
	void *back_context;
};

bool directory_is_served(const struct directory *directory)
{
	return directory->config->directory.backend != CONFIG_BACKEND_NONE;
}

/* --- what becomes of an address --- */

static void on_route_answered(void *context, const struct directory_answer_text *answer)
{
	struct directory_request *request = context;
	struct directory_result result = {.arena = arena_new()};

	directory_read_route(request->directory->config, answer, &result);
	request->directory = NULL;
	request->found(request->context, &result);
	arena_free(result.arena);
}

/* --- without section directory --- */

struct configured {
	const struct directory *directory;
	directory_found *found;
	void *context;
};

static void on_configured(void *context, int error, const struct directory_expansion *expansion)
{
	const struct configured *question = context;
	struct directory_result result = {.arena = arena_new()};

	directory_read_expansion(question->directory->config, error, expansion, &result);
	question->found(question->context, &result);
	arena_free(result.arena);
}

void directory_lookup(struct directory *directory, struct str address, directory_found *found,
		      void *context, struct directory_request *request)
{
	if (!directory_is_served(directory)) {
		directory_expand(directory->configured, address, on_configured,
				 &(struct configured){directory, found, context});
		return;
	}
	if (request->directory != NULL)
		panic("a directory request is made twice");
	*request = (struct directory_request){
		.found = found,
		.context = context,
		.directory = directory,
		.question = {.answered = on_route_answered, .context = request},
	};
	directory_client_get(directory->client, "route", address, PATIENCE_US, &request->question);
}

void directory_request_cancel(struct directory_request *request)
{
	if (request->directory == NULL)
		return;
	directory_question_cancel(request->directory->client, &request->question);
	request->directory = NULL;
}

/* --- a record --- */

void directory_get_record(struct directory *directory, enum directory_table table, struct str key,
			  struct directory_question *question)
{
	directory_client_get(directory->client, directory_table_name(table), key, PATIENCE_US,
			     question);
}

void directory_cancel_record(struct directory *directory, struct directory_question *question)
{
	if (question->private != NULL)
		directory_question_cancel(directory->client, question);
}

int directory_mailbox_key(struct str address, struct buffer *out)
{
	struct mail_parts parts = mail_parts_of(address);
	struct mail_localpart local;
	struct buffer plain CLEANUP(buffer_clear) = {0};

	if (mail_localpart_parse(parts.local, &local) < 0)
		return -EINVAL;
	mail_address_write(mail_localpart_user(&local), parts.domain, &plain);
	return directory_key_address(buffer_view(&plain), out);
}

bool directory_is_default_address(const struct directory *directory, struct str name,
				  struct str address)
{
	struct buffer form CLEANUP(buffer_clear) = {0};
	struct buffer whole CLEANUP(buffer_clear) = {0};

	buffer_append_format(&whole, STR_FORMAT "@%s", STR_ARGUMENTS(name),
			     config_default_domain(directory->config));
	return directory_key_address(buffer_view(&whole), &form) == 0 &&
	       str_equal(buffer_view(&form), address);
}

/* --- members of lists --- */

static void on_members_answered(void *context, const struct directory_answer_text *answer)
{
	struct directory_members_request *request = context;
	struct str *members = memory_alloc((answer->result_count + 1) * sizeof *members);
	struct directory_members page = {.members = members};

	request->directory = NULL;
	page.is_known =
		answer->error == DIRECTORY_ERROR_NONE &&
		directory_read_members(answer, buffer_view(&request->prefix), members, &page.count);
	buffer_clear(&request->prefix);
	page.is_end = page.count < DIRECTORY_LIST_MAX;
	if (!page.is_known)
		directory_read_error(answer, &page.verdict);
	request->listed(request->context, &page);
	free(members);
}

static void list_pairs(struct directory *directory, enum directory_table table, struct str first,
		       struct str after, directory_members_listed *listed, void *context,
		       struct directory_members_request *request)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	if (request->directory != NULL)
		panic("a directory request is made twice");
	if (!directory_is_served(directory)) {
		listed(context, &(struct directory_members){.is_known = true, .is_end = true});
		return;
	}
	*request = (struct directory_members_request){
		.listed = listed,
		.context = context,
		.directory = directory,
		.question = {.answered = on_members_answered, .context = request},
	};
	buffer_append_str(&request->prefix, first);
	buffer_append_byte(&request->prefix, ' ');
	if (after.length > 0) {
		buffer_append_str(&key, buffer_view(&request->prefix));
		buffer_append_str(&key, after);
	}
	directory_client_list(directory->client, directory_table_name(table),
			      buffer_view(&request->prefix), buffer_view(&key), DIRECTORY_LIST_MAX,
			      &request->question);
}

void directory_list_members(struct directory *directory, struct str list, struct str after,
			    directory_members_listed *listed, void *context,
			    struct directory_members_request *request)
{
	list_pairs(directory, DIRECTORY_MEMBER, list, after, listed, context, request);
}

void directory_list_memberships(struct directory *directory, struct str member, struct str after,
				directory_members_listed *listed, void *context,
				struct directory_members_request *request)
{
	list_pairs(directory, DIRECTORY_MEMBERSHIP, member, after, listed, context, request);
}

void directory_members_cancel(struct directory_members_request *request)
{
	if (request->directory == NULL)
		return;
	directory_question_cancel(request->directory->client, &request->question);
	request->directory = NULL;
	buffer_clear(&request->prefix);
}

/* --- quotas --- */

static enum directory_quota_answer read_quota(const struct directory_answer_text *answer,
					      struct mail_quota *quota)
{
	*quota = (struct mail_quota){0};
	if (answer->error != DIRECTORY_ERROR_NONE)
		return DIRECTORY_QUOTA_UNKNOWN;
	for (size_t i = 0; i < answer->result_count; i++) {
		struct str name;
		struct str value;

		directory_frame_split_result(answer->results[i], &name, &value);
		if (str_equal(name, STR("quota")))
			return mail_quota_parse(value, quota) == 0 ? DIRECTORY_QUOTA_FOUND
								   : DIRECTORY_QUOTA_UNKNOWN;
	}
	return DIRECTORY_QUOTA_NONE;
}

static void on_quota(void *context, const struct directory_answer_text *answer)
{
	struct directory_quota_request *request = context;
	struct mail_quota quota;
	enum directory_quota_answer kind = read_quota(answer, &quota);

	request->directory = NULL;
	request->found(request->context, kind, &quota);
}

void directory_find_quota(struct directory *directory, struct str address,
			  directory_quota_found *found, void *context,
			  struct directory_quota_request *request)
{
	struct buffer key CLEANUP(buffer_clear) = {0};

	if (request->directory != NULL)
		panic("a directory request is made twice");
	if (directory_mailbox_key(address, &key) < 0) {
		found(context, DIRECTORY_QUOTA_NONE, &(struct mail_quota){0});
		return;
	}
	*request = (struct directory_quota_request){
		.found = found,
		.context = context,
		.directory = directory,
		.question = {.answered = on_quota, .context = request},
	};
	directory_client_get(directory->client, "address", buffer_view(&key), PATIENCE_US,
			     &request->question);
}

void directory_quota_cancel(struct directory_quota_request *request)
{
	if (request->directory == NULL)
		return;
	directory_question_cancel(request->directory->client, &request->question);
	request->directory = NULL;
}

/* --- whether the directory answers --- */

static void tell_back(struct directory *directory)
{
	void (*back)(void *context) = directory->back;

	directory->back = NULL;
	if (back == NULL)
		return;
	directory->back_at_us = os_clock_monotonic_us();
	back(directory->back_context);
}

static void on_look(void *context, const struct directory_answer_text *answer)
{
	struct directory *directory = context;

	if (answer->error == DIRECTORY_ERROR_LATER)
		os_timer_start(directory->look_timer, LOOK_US);
	else
		tell_back(directory);
}

/* Probes with a question whose answer is never cached, so it shows whether the data are readable.
 * */
static void probe_directory(void *context)
{
	struct directory *directory = context;

	if (!directory_is_served(directory)) {
		tell_back(directory);
		return;
	}
	if (directory->back == NULL || directory->look.private != NULL)
		return;
	directory->look = (struct directory_question){.answered = on_look, .context = directory};
	directory_client_list(directory->client, "domain", STR(""), STR(""), 1, &directory->look);
}

void directory_await(struct directory *directory, void (*back)(void *context), void *context)
{
	int64_t now_us = os_clock_monotonic_us();

	if (directory->back != NULL)
		return;
	directory->back = back;
	directory->back_context = context;
	if (now_us - directory->back_at_us > SOON_US + directory->look_delay_us)
		directory->look_delay_us = LOOK_US;
	else if (directory->look_delay_us < LOOK_MAX_US)
		directory->look_delay_us *= 2;
	os_timer_start(directory->look_timer, directory->look_delay_us);
}

/* A server was connected, or lost. */
static void on_directory_server_state(void *context, bool is_up)
{
	struct directory *directory = context;

	if (is_up && os_timer_is_running(directory->look_timer) &&
	    directory->look_delay_us == LOOK_US)
		os_timer_start(directory->look_timer, 0);
}

static const struct directory_client_handler client_handler = {on_directory_server_state};

/* --- life --- */

void directory_configure(struct directory *directory, const struct config *config)
{
	const char *servers[] = {directory->server};

	directory->config = config;
	directory_expander_configure(directory->configured, config);
	if (directory_is_served(directory) && directory->client == NULL)
		directory->client = directory_client_new(directory->loop, servers, 1, NULL,
							 &client_handler, directory);
}

struct directory *directory_new(struct os_loop *loop, const struct config *config, const char *path)
{
	struct directory *directory = memory_alloc_zero(1, sizeof *directory);
	struct buffer server CLEANUP(buffer_clear) = {0};

	buffer_append_format(&server, "unix:%s", path);
	buffer_append_byte(&server, '\0');
	directory->loop = loop;
	directory->server = memory_copy_string(buffer_data(&server));
	directory->look_timer = os_timer_new(loop, probe_directory, directory);
	directory->look_delay_us = LOOK_US;
	directory->back_at_us = INT64_MIN / 2;
	directory->configured = directory_expander_new(NULL, config);
	directory_configure(directory, config);
	return directory;
}

void directory_when_greeted(struct directory *directory, void (*call)(void *context), void *context)
{
	directory_client_when_greeted(directory->client, call, context);
}

void directory_free(struct directory *directory)
{
	if (directory == NULL)
		return;
	if (directory->look.private != NULL)
		directory_question_cancel(directory->client, &directory->look);
	if (directory->client != NULL)
		directory_client_free(directory->client);
	os_timer_free(directory->look_timer);
	directory_expander_free(directory->configured);
	free(directory->server);
	free(directory);
}
