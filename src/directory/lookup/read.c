// SPDX-License-Identifier: ISC
/* What a directory server says, read with distrust. */
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
	struct str text; /* of the result, whole */
	size_t refusals; /* targets that are refused */
	bool is_elsewhere;
	struct mail_verdict put_off; /* of a target that has to wait; class OK: none */
};

static void put_off(struct directory_result *result, const char *status, const char *text)
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
	log_event(EVENT_DIRECTORY_STRANGE, log_str("result", text));
}

/* This node's configuration lacks it, or that of the server that said so. */
static void log_service(struct str address, const char *text)
{
	log_event(EVENT_DIRECTORY_SERVICE, log_str("address", address), log_string("text", text));
}

/* Quotes are not in the directory's keys (directory/record/key.h). */
static bool take_address(struct reader *reader, struct str text, struct str *address_out)
{
	struct mail_address parsed;
	struct mail_parts parts;
	struct buffer quoted CLEANUP(buffer_clear) = {0};

	if (mail_address_parse(text, MAIL_ADDRESS_UTF8, &parsed) == 0) {
		*address_out = text;
		return true;
	}
	parts = mail_parts_of(text);
	if (parts.local.length == 0)
		return false;
	mail_address_write(parts.local, parts.domain, &quoted);
	if (mail_address_parse(buffer_view(&quoted), MAIL_ADDRESS_UTF8, &parsed) < 0)
		return false;
	*address_out = arena_copy_str(reader->result->arena, buffer_view(&quoted));
	return true;
}

static void put_off_service(struct reader *reader, const struct directory_target *target)
{
	mail_verdict_set(&reader->put_off, "4.3.5",
			 "The configuration has no service \"" STR_FORMAT "\"",
			 STR_ARGUMENTS(target->service));
	log_service(target->address, reader->put_off.text);
}

static bool take_local(struct reader *reader, struct str rest)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LOCAL};

	if (!str_split(&rest, ' ', &target.service) || !take_address(reader, rest, &target.address))
		return false;
	if (config_service_find(reader->config, target.service) == NULL)
		put_off_service(reader, &target);
	else
		directory_result_add(reader->result, &target);
	return true;
}

/* "SERVICE SERVER ADDRESS". That a directory names a server is no reason to deliver there. */
static bool take_server(struct reader *reader, struct str rest)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LOCAL};
	const struct config_service *service;
	const char *problem;

	if (!str_split(&rest, ' ', &target.service) || !str_split(&rest, ' ', &target.server) ||
	    !mail_server_is_in_form(target.server) || !take_address(reader, rest, &target.address))
		return false;
	service = config_service_find(reader->config, target.service);
	if (service == NULL) {
		put_off_service(reader, &target);
		return true;
	}
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

static bool take_remote(struct reader *reader, struct str rest)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_REMOTE};

	if (!take_address(reader, rest, &target.address))
		return false;
	directory_result_add(reader->result, &target);
	return true;
}

/* An address without its quotes may have spaces: it ends with the first word that has an @. */
static bool split_address(struct str *rest, struct str *address_out)
{
	ptrdiff_t at = str_find(*rest, '@');
	struct str behind;
	struct str domain;

	if (at < 0) {
		*address_out = *rest;
		return false;
	}
	behind = str_skip(*rest, (size_t)at);
	(void)str_split(&behind, ' ', &domain);
	*address_out = str_slice(rest->data, (size_t)at + domain.length);
	*rest = behind.data != NULL ? behind : STR("");
	return true;
}

/* "ADDRESS owner OWNER", perhaps " verp yes" */
static bool take_list(struct reader *reader, struct str rest)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_LIST};
	struct str word = {NULL, 0};

	if (!split_address(&rest, &target.address) ||
	    !take_address(reader, target.address, &target.address))
		return false;
	if (rest.length > 0 && (!str_split(&rest, ' ', &word) || !str_equal(word, STR("owner")) ||
				!split_address(&rest, &target.owner) ||
				!take_address(reader, target.owner, &target.owner)))
		return false;
	target.verp = str_equal(rest, STR("verp yes"));
	target.owner = arena_copy_str(reader->result->arena, target.owner);
	directory_result_add(reader->result, &target);
	return true;
}

static bool take_refusal(struct reader *reader, struct str rest)
{
	struct directory_target target = {.kind = DIRECTORY_TARGET_NONE};
	char status[MAIL_STATUS_SIZE] = "";
	struct str word;

	if (!str_split(&rest, ' ', &word) || !mail_status_is_valid(word) || word.data[0] == '2' ||
	    !split_address(&rest, &target.address))
		return false;
	memcpy(status, word.data, word.length);
	mail_verdict_set(&target.verdict, status, STR_FORMAT, STR_ARGUMENTS(rest));
	if (target.verdict.class == MAIL_WAIT)
		reader->put_off = target.verdict;
	if (str_equal(word, STR("4.3.5")))
		log_service(target.address, target.verdict.text);
	/* what is no address is told of as the one that was asked for */
	if (!take_address(reader, target.address, &target.address))
		target.address = STR("");
	reader->refusals++;
	directory_result_add(reader->result, &target);
	return true;
}

static bool take_elsewhere(struct reader *reader, struct str rest)
{
	reader->is_elsewhere = true;
	return rest.length == 0;
}

static bool read_result(struct reader *reader)
{
	static const struct {
		const char *word;
		bool (*take)(struct reader *reader, struct str rest);
	} kinds[] = {
		{"local", take_local},    {"remote", take_remote},       {"list", take_list},
		{"refuse", take_refusal}, {"elsewhere", take_elsewhere}, {"server", take_server},
	};
	struct str rest = reader->text;
	struct str word;

	if (!str_split(&rest, ' ', &word))
		rest = STR("");
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (str_equal(word, str_from(kinds[i].word)))
			return kinds[i].take(reader, rest);
	return false;
}

/* All results are read. */
static bool conclude(struct reader *reader)
{
	struct directory_result *result = reader->result;

	if (result->answer == DIRECTORY_UNKNOWN) { /* too many */
		result->target_count = 0;
		result->ttl_us = 0;
		return true;
	}
	if (reader->put_off.class != MAIL_OK) {
		put_off(result, reader->put_off.status, reader->put_off.text);
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

	result->version = answer->version;
	result->ttl_us = answer->ttl_us;
	if (answer->error != DIRECTORY_ERROR_NONE) {
		directory_read_error(answer, &result->verdict);
		result->answer = DIRECTORY_UNKNOWN;
		result->is_away = true;
		return;
	}
	for (size_t i = 0; i < answer->result_count; i++) {
		reader.text = answer->results[i];
		if (read_result(&reader))
			continue;
		log_strange(reader.text);
		put_off(result, "4.3.0", "The directory's answer makes no sense");
		return;
	}
	if (!conclude(&reader)) {
		log_strange(STR(""));
		put_off(result, "4.3.0", "The directory's answer makes no sense");
	}
}

bool directory_read_members(const struct directory_answer_text *answer, struct str prefix,
			    struct str *members_out, size_t *count_out)
{
	size_t count = 0;

	for (size_t i = 0; i < answer->result_count; i++) {
		struct str key = answer->results[i];

		if (!str_starts_with(key, STR("= ")))
			continue; /* a field */
		key = str_skip(key, 2);
		if (!str_starts_with(key, prefix)) {
			log_strange(key);
			return false;
		}
		members_out[count++] = str_skip(key, prefix.length);
	}
	*count_out = count;
	return true;
}
