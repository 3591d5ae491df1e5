// SPDX-License-Identifier: ISC
#include "command/directory/dangling.h"
#include "base/panic.h"
#include "deliver/owner.h"
#include "directory/record/key.h"
#include "directory/wire/route.h"
#include "supervisor/talk/lmtp.h"
#include <stdlib.h>
#include <string.h>

enum { LOOKS_MAX = 2 }; /* questions about a record */

enum wanted {
	WANTED_OURS,   /* a route of an address of a domain of ours */
	WANTED_ROUTE,  /* a route, anywhere */
	WANTED_RECORD, /* a record */
	WANTED_NODES,  /* the route of this node's postmaster */
};

struct survey {
	struct bulk_server *server;
	const struct config *config;
	directory_dangles *dangles;
	void *context;
	struct arena *arena;
	struct dangling_look *looks;
	size_t count;
};

/* A question about a record. */
struct dangling_look {
	struct survey *survey;
	const struct directory_key *key; /* of the record */
	enum wanted wanted;
	struct str name; /* asked for */
	struct directory_question question;
};

static void tell_dangling_name(const struct survey *survey, const struct directory_key *key,
			       struct str name, struct str why)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (!str_equal(name, key->name)) {
		directory_key_display(name, &text);
		buffer_append_string(&text, ": ");
	}
	buffer_append_str(&text, why);
	survey->dangles(survey->context, key, buffer_view(&text));
}

/* An intended refusal ("kind refused") is not a problem. */
static bool is_dangling(struct str status)
{
	static const struct str statuses[] = {STR("4.3.5"), STR("5.1.1"), STR("5.1.3"),
					      STR("4.4.6")};

	for (size_t i = 0; i < COUNT_OF(statuses); i++)
		if (str_equal(status, statuses[i]))
			return true;
	return false;
}

/* Where a service delivers as the user whose mailbox it is, this machine needs that user. */
static bool lacks_owner(const struct config *config, const struct config_service *service,
			const struct directory_route *route, struct buffer *why)
{
	struct os_process_account owner;
	struct mail_verdict verdict;

	if (service->user == NULL || strcmp(service->user, "%u") != 0 ||
	    owner_find_recipient(config, route->address, &owner, &verdict))
		return false;
	buffer_append_string(why, verdict.text);
	return true;
}

/* LMTP servers are asked for postmasters only: other users may be many. */
static bool lacks_postmaster_of_route(const struct dangling_look *look,
				      const struct config_service *service,
				      const struct directory_route *route, struct buffer *why)
{
	bool is_postmaster = look->wanted == WANTED_NODES || look->key->table == DIRECTORY_DOMAIN;

	return is_postmaster && service->kind == CONFIG_SERVICE_LMTP && route->server.length == 0 &&
	       lmtp_talk_lacks(look->survey->config, service, route->address, why);
}

static void take_local_route(const struct dangling_look *look, const struct directory_route *route)
{
	const struct config_service *service =
		config_service_find(look->survey->config, route->service);
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer why CLEANUP(buffer_clear) = {0};

	if (service == NULL || (!lacks_owner(look->survey->config, service, route, &why) &&
				!lacks_postmaster_of_route(look, service, route, &why)))
		return;
	buffer_append_format(&text, "service %s cannot deliver it: " STR_FORMAT, service->name,
			     STR_ARGUMENTS(buffer_view(&why)));
	tell_dangling_name(look->survey, look->key, route->address, buffer_view(&text));
}

static void take_route_result(const struct dangling_look *look, struct str result)
{
	struct directory_route route = directory_route_read(result);

	if (route.kind == DIRECTORY_ROUTE_ELSEWHERE && look->wanted == WANTED_OURS)
		tell_dangling_name(look->survey, look->key, look->name,
				   STR("its domain is not one of ours"));
	else if (route.kind == DIRECTORY_ROUTE_REFUSE && look->wanted == WANTED_NODES)
		tell_dangling_name(
			look->survey, look->key, look->key->name,
			STR("this node has none: default_domain is not a domain of ours"));
	else if (route.kind == DIRECTORY_ROUTE_REFUSE && is_dangling(route.status))
		tell_dangling_name(look->survey, look->key, route.address, route.text);
	else if (route.kind == DIRECTORY_ROUTE_LOCAL)
		take_local_route(look, &route);
}

static void on_answered(void *context, const struct directory_answer_text *answer)
{
	struct dangling_look *look = context;
	struct bulk_server *server = look->survey->server;

	if (bulk_server_has_failed(server, answer)) {
		bulk_server_stop(server);
		return;
	}
	if (look->wanted == WANTED_RECORD && !answer->exists)
		tell_dangling_name(look->survey, look->key, look->name,
				   STR("there is no such record"));
	for (size_t i = 0; look->wanted != WANTED_RECORD && i < answer->result_count; i++)
		take_route_result(look, answer->results[i]);
	bulk_server_stop(server);
}

static void look_for(struct survey *survey, const struct directory_record *record,
		     enum wanted wanted, enum directory_table table, struct str name)
{
	struct dangling_look *look = &survey->looks[survey->count++];
	const char *asked = wanted == WANTED_RECORD ? directory_table_name(table) : "route";

	*look = (struct dangling_look){.survey = survey, .key = &record->key, .wanted = wanted};
	look->name = name;
	look->question = (struct directory_question){.answered = on_answered, .context = look};
	directory_client_get(survey->server->client, asked, name, DIRECTORY_PATIENCE_US,
			     &look->question);
}

static struct str join_address_parts(struct survey *survey, const char *local, struct str domain)
{
	struct buffer address CLEANUP(buffer_clear) = {0};

	buffer_append_format(&address, "%s" STR_FORMAT, local, STR_ARGUMENTS(domain));
	return arena_copy_str(survey->arena, buffer_view(&address));
}

static void look_at_domain(struct survey *survey, const struct directory_record *record)
{
	struct str target = directory_record_field(record, "target");

	if (str_equal(directory_record_field(record, "kind"), STR("relay")))
		return;
	look_for(survey, record, WANTED_OURS, DIRECTORY_NO_TABLE,
		 join_address_parts(survey, "postmaster@", record->key.name));
	if (target.length > 0 && config_domain_find(survey->config, target) == NULL)
		look_for(survey, record, WANTED_RECORD, DIRECTORY_DOMAIN, target);
}

static void look_at_address(struct survey *survey, const struct directory_record *record)
{
	struct str owner = directory_record_field(record, "owner");
	struct str address = record->key.name;

	if (str_equal(directory_record_field(record, "kind"), STR("refused")))
		return;
	if (address.length > 0 && address.data[0] == '@') /* the catch-all: try an address in it */
		address = join_address_parts(survey, "nobody-else", address);
	look_for(survey, record, WANTED_OURS, DIRECTORY_NO_TABLE, address);
	if (owner.length > 0)
		look_for(survey, record, WANTED_ROUTE, DIRECTORY_NO_TABLE, owner);
}

static void look_at_member(struct survey *survey, const struct directory_record *record)
{
	struct str list;
	struct str member;

	directory_key_member(record->key.name, &list, &member);
	look_for(survey, record, WANTED_RECORD, DIRECTORY_ADDRESS, list);
	look_for(survey, record, WANTED_ROUTE, DIRECTORY_NO_TABLE, member);
}

static void look_at_server(struct survey *survey, const struct directory_record *record)
{
	struct str service = directory_record_field(record, "service");

	struct str address = directory_record_field(record, "address");
	const struct config_service *found = config_service_find(survey->config, service);
	struct buffer why CLEANUP(buffer_clear) = {0};
	const char *problem = NULL;

	if (found == NULL) {
		tell_dangling_name(survey, &record->key, service,
				   STR("the configuration has no such service"));
		return;
	}
	if (address.length > 0)
		problem = config_service_server_problem(found, address);
	if (problem == NULL)
		return;
	buffer_append_format(&why, "service %s %s", found->name, problem);
	tell_dangling_name(survey, &record->key, address, buffer_view(&why));
}

static void look_at_record(struct survey *survey, const struct directory_record *record)
{
	struct str server;

	switch (record->key.table) {
	case DIRECTORY_DOMAIN:
		look_at_domain(survey, record);
		break;
	case DIRECTORY_ADDRESS:
		look_at_address(survey, record);
		break;
	case DIRECTORY_MEMBER:
		look_at_member(survey, record);
		break;
	case DIRECTORY_USER:
		server = directory_record_field(record, "server");
		if (server.length > 0)
			look_for(survey, record, WANTED_RECORD, DIRECTORY_SERVER, server);
		break;
	case DIRECTORY_SERVER:
		look_at_server(survey, record);
		break;
	case DIRECTORY_NODE: /* names nothing else of the directory */
	case DIRECTORY_NO_TABLE:
	case DIRECTORY_MEMBERSHIP:
	case DIRECTORY_LISTED_TABLES:
		break;
	}
}

static void begin_survey(struct survey *survey, struct bulk_server *server,
			 const struct config *config, size_t records)
{
	survey->server = server;
	survey->config = config;
	survey->arena = arena_new();
	survey->looks = memory_alloc_zero(records * LOOKS_MAX + 1, sizeof *survey->looks);
}

static int end_survey(struct survey *survey)
{
	struct bulk_server *server = survey->server;

	for (size_t i = 0; i < survey->count; i++)
		bulk_server_wait(server, &survey->looks[i].question);
	arena_free(survey->arena);
	free(survey->looks);
	return server->error == DIRECTORY_ERROR_NONE ? 0 : bulk_server_errno(server);
}

int directory_dangling(struct bulk_server *server, const struct config *config,
		       const struct directory_record *records, size_t count,
		       directory_dangles *dangles, void *context)
{
	struct survey survey = {.dangles = dangles, .context = context};

	begin_survey(&survey, server, config, count);
	for (size_t i = 0; i < count; i++)
		look_at_record(&survey, &records[i]);
	return end_survey(&survey);
}

int directory_dangling_postmaster(struct bulk_server *server, const struct config *config,
				  directory_dangles *dangles, void *context)
{
	const struct directory_record nobody = {{DIRECTORY_ADDRESS, STR("postmaster")}, NULL, 0};
	struct survey survey = {.dangles = dangles, .context = context};

	begin_survey(&survey, server, config, 1);
	look_for(&survey, &nobody, WANTED_NODES, DIRECTORY_NO_TABLE, nobody.key.name);
	return end_survey(&survey);
}
