// SPDX-License-Identifier: ISC
/* Parses a directory's answers for the processes that move mail; checks all that a server sends. */
#include "base/buffer.h"
#include "directory/lookup/internal.h"
#include "log/event.h"
#include "mail/address.h"
#include "mail/localpart.h"
#include "mail/server.h"
#include <string.h>

enum { SHOWN_MAX = 200 };

/* One result on its way into the answer. */
struct reader {
	const struct config *config;
	struct directory_result *result;
	struct directory_route route; /* being read */
	size_t refusals;              /* refused targets */
	bool is_elsewhere;
	struct mail_verdict put_off; /* of a deferred target; class OK: no target is deferred */
};

static void put_off_result(struct directory_result *result, const char *status, const char *text)
{
	result->answer = DIRECTORY_UNKNOWN;
	result->target_count = 0;
	result->ttl_us = 0;
	mail_verdict_set(&result->verdict, status, "%s", text);
}

static void log_strange(struct str text)
{
	if (text.length > SHOWN_MAX)
		text.length = SHOWN_MAX;
	log_event(EVENT_DIRECTORY_STRANGE, log_str(result, text));
}

/* The service is missing in this node's configuration, or in the one of the server that answered.
 * */
static void log_service(struct str address, const char *text)
{
	log_event(EVENT_DIRECTORY_SERVICE, log_str(address, address), log_string(text, text));
}

static bool take_target_address(struct str text, struct str *address_out)
{
	struct mail_address parsed;

	if (mail_address_parse(text, MAIL_ADDRESS_UTF8, &parsed) < 0)
		return false;
	*address_out = text;
	return true;
}

static void put_off_service(struct reader *reader, const struct directory_target *target)
{
	mail_verdict_set(&reader->put_off, "4.3.5",
			 "The configuration has no service \"" STR_FORMAT "\"",
			 STR_ARGUMENTS(target->service));
	log_service(target->address, reader->put_off.text);
}

/* The directory alone must not decide where we deliver: the service must list the server. */
static bool take_local_target(struct reader *reader)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LOCAL,
					  .service = reader->route.service,
					  .server = reader->route.server};
	const struct config_service *service;
	const char *problem = NULL;

	if ((target.server.length > 0 && !mail_server_is_in_form(target.server)) ||
	    !take_target_address(reader->route.address, &target.address))
		return false;
	service = config_service_find(reader->config, target.service);
	if (service == NULL) {
		put_off_service(reader, &target);
		return true;
	}
	if (target.server.length > 0)
		problem = config_service_server_problem(service, target.server);
	if (problem == NULL) {
		directory_result_add(reader->result, &target);
		return true;
	}
	mail_verdict_set(&reader->put_off, "4.3.5", "Server " STR_FORMAT ": service %s %s",
			 STR_ARGUMENTS(target.server), service->name, problem);
	log_service(target.address, reader->put_off.text);
	return true;
}

static bool take_remote(struct reader *reader)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_REMOTE};

	if (!take_target_address(reader->route.address, &target.address))
		return false;
	directory_result_add(reader->result, &target);
	return true;
}

static bool take_list_target(struct reader *reader)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LIST,
					  .verp = reader->route.verp,
					  .post = reader->route.post};
	struct str owner = reader->route.owner;

	if (!take_target_address(reader->route.address, &target.address) ||
	    (owner.length > 0 && !take_target_address(owner, &target.owner)))
		return false;
	target.owner = arena_copy_str(reader->result->arena, target.owner);
	directory_result_add(reader->result, &target);
	return true;
}

static bool take_refused_target(struct reader *reader)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_NONE};
	struct str code = reader->route.status;
	char status[MAIL_STATUS_SIZE] = "";

	if (!mail_status_is_valid(code) || code.data[0] == '2')
		return false;
	memcpy(status, code.data, code.length);
	mail_verdict_set(&target.verdict, status, STR_FORMAT, STR_ARGUMENTS(reader->route.text));
	if (target.verdict.class == MAIL_WAIT)
		reader->put_off = target.verdict;
	if (str_equal(code, STR("4.3.5")))
		log_service(reader->route.address, target.verdict.text);
	/* an invalid address is reported as the one that was asked for */
	if (!take_target_address(reader->route.address, &target.address))
		target.address = STR("");
	reader->refusals++;
	directory_result_add(reader->result, &target);
	return true;
}

static bool take_elsewhere(struct reader *reader)
{
	reader->is_elsewhere = true;
	return true;
}

static bool take_route_as_target(struct reader *reader, const struct directory_route *route)
{
	static bool (*const kinds[])(struct reader * reader) = {
		[DIRECTORY_ROUTE_LOCAL] = take_local_target,
		[DIRECTORY_ROUTE_REMOTE] = take_remote,
		[DIRECTORY_ROUTE_LIST] = take_list_target,
		[DIRECTORY_ROUTE_REFUSE] = take_refused_target,
		[DIRECTORY_ROUTE_ELSEWHERE] = take_elsewhere,
	};

	reader->route = *route;
	return route->kind != DIRECTORY_ROUTE_OTHER && kinds[route->kind](reader);
}

/* After the last result. */
static bool conclude_route_result(struct reader *reader)
{
	struct directory_result *result = reader->result;

	if (result->answer == DIRECTORY_UNKNOWN) { /* too many targets */
		result->target_count = 0;
		result->ttl_us = 0;
		return true;
	}
	if (reader->put_off.class != MAIL_OK) {
		put_off_result(result, reader->put_off.status, reader->put_off.text);
		return true;
	}
	if (reader->is_elsewhere)
		result->answer = DIRECTORY_NOT_LOCAL;
	if (reader->is_elsewhere ? result->target_count > 0 : result->target_count == 0)
		return false;
	if (!reader->is_elsewhere && reader->refusals == result->target_count) {
		result->answer = DIRECTORY_REFUSED;
		result->verdict = result->targets[0].verdict;
		return true;
	}
	mail_verdict_set(&result->verdict, "2.1.5", "Recipient ok");
	return true;
}

void directory_read_error(const struct directory_answer_text *answer, struct mail_verdict *verdict)
{
	if (answer->error == DIRECTORY_ERROR_DENIED)
		mail_verdict_set(verdict, "4.3.5", "The directory may not be asked");
	else
		mail_verdict_set(verdict, "4.4.3", "The directory does not answer");
}

void directory_read_route(const struct config *config, const struct directory_answer_text *answer,
			  struct directory_result *result)
{
	struct reader reader = {.config = config, .result = result};
	bool good = true;

	result->version = answer->version;
	result->ttl_us = answer->ttl_us;
	if (answer->error != DIRECTORY_ERROR_NONE) {
		directory_read_error(answer, &result->verdict);
		result->answer = DIRECTORY_UNKNOWN;
		result->is_away = true;
		return;
	}
	for (size_t i = 0; i < answer->result_count && good; i++) {
		struct directory_route route = directory_route_read(answer->results[i]);

		good = take_route_as_target(&reader, &route);
		if (!good)
			log_strange(answer->results[i]);
	}
	if (good && !conclude_route_result(&reader)) {
		log_strange(STR(""));
		good = false;
	}
	if (!good)
		put_off_result(result, "4.3.0", "The directory's answer makes no sense");
}

void directory_read_expansion(const struct config *config, int error,
			      const struct directory_expansion *expansion,
			      struct directory_result *result)
{
	struct reader reader = {.config = config, .result = result};
	bool good = error == 0;

	for (size_t i = 0; good && i < expansion->count; i++)
		good = take_route_as_target(&reader, &expansion->routes[i]);
	if (!good || !conclude_route_result(&reader))
		put_off_result(result, "4.3.0", "The address cannot be looked up now");
}

bool directory_read_members(const struct directory_answer_text *answer, struct str prefix,
			    struct str *members_out, size_t *count_out)
{
	size_t count = 0;

	for (size_t i = 0; i < answer->result_count; i++) {
		struct str key;

		if (!directory_frame_begins_record(answer->results[i], &key))
			continue; /* a field */
		if (!str_starts_with(key, prefix)) {
			log_strange(key);
			return false;
		}
		members_out[count++] = str_skip(key, prefix.length);
	}
	*count_out = count;
	return true;
}
