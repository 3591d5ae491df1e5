// SPDX-License-Identifier: ISC
/* The maps: a question to the store or the expander, and its answer as a line. */
#include "directory/record/key.h"
#include "directory/socketmap/internal.h"
#include "mail/server.h"
#include <errno.h>
#include <string.h>

/* The summary of a route (directory/expand/expand.h). */
struct socketmap_route {
	struct buffer addresses; /* separated by commas */
	size_t count;            /* of deliverable and refused targets */
	bool has_itself;         /* the key is among the deliverable ones */
	struct str service;      /* of the last mailbox */
	struct str server;       /* that a record names for it; or empty */
	struct str status;       /* of the last refused target */
	struct str text;
	size_t refused;
};

struct socketmap_row {
	const char *name;
	bool is_domain; /* its keys are domains */
	/* Answers for an address with a deliverable target. */
	void (*answer)(struct socketmap_question *question, const struct socketmap_route *route);
	/* Returns the answer for a domain of KIND, or NULL for none. */
	const char *(*answer_domain)(struct str kind);
};

static void answer_socketmap_question(struct socketmap_question *question, const char *word,
				      struct str text)
{
	question->answered(question, word, text);
}

static void answer_none(struct socketmap_question *question)
{
	answer_socketmap_question(question, "NOTFOUND", STR(""));
}

static void answer_socketmap_error(struct socketmap_question *question, int error)
{
	if (error == -ETIMEDOUT)
		answer_socketmap_question(question, "TIMEOUT",
					  STR("the directory does not answer in time"));
	else
		answer_socketmap_question(question, "TEMP",
					  STR("the directory cannot be read now"));
}

static struct str key_of_socketmap_question(const struct socketmap_question *question)
{
	return str_slice(question->key, question->key_length);
}

/* --- routes --- */

static void add_address_of_route(struct socketmap_route *route, struct str key, struct str address,
				 bool is_refused)
{
	if (route->addresses.length > 0)
		buffer_append_byte(&route->addresses, ',');
	buffer_append_str(&route->addresses, address);
	route->count++;
	if (!is_refused && str_equal(address, key))
		route->has_itself = true;
}

/* Adds a route; ignores kinds that do not matter here. */
static void take_route(struct socketmap_route *to, struct str key,
		       const struct directory_route *route)
{
	bool is_refused = route->kind == DIRECTORY_ROUTE_REFUSE;

	if (route->kind == DIRECTORY_ROUTE_ELSEWHERE || route->kind == DIRECTORY_ROUTE_OTHER)
		return;
	add_address_of_route(to, key, route->address, is_refused);
	if (route->kind == DIRECTORY_ROUTE_LOCAL) {
		to->service = route->service;
		to->server = route->server;
	} else if (is_refused) {
		to->status = route->status;
		to->text = route->text;
		to->refused++;
	}
}

/* Nothing is deliverable: no such address, a temporary failure, or wrong data. */
static void answer_refused(struct socketmap_question *question, const struct socketmap_route *route)
{
	if (str_starts_with(route->status, STR("4")))
		answer_socketmap_question(question, "TEMP", route->text);
	else
		answer_none(question);
}

static void on_route_expanded(void *context, int error, const struct directory_expansion *expansion)
{
	struct socketmap_question *question = context;
	struct socketmap_route route = {.count = 0};

	if (error < 0) {
		answer_socketmap_error(question, error);
		return;
	}
	for (size_t i = 0; i < expansion->count; i++)
		take_route(&route, key_of_socketmap_question(question), &expansion->routes[i]);
	if (route.count == 0)
		answer_none(question);
	else if (route.refused == route.count)
		answer_refused(question, &route);
	else
		question->row->answer(question, &route);
	buffer_clear(&route.addresses);
}

static void answer_virtual(struct socketmap_question *question, const struct socketmap_route *route)
{
	answer_socketmap_question(question, "OK", buffer_view(&route->addresses));
}

static void answer_alias(struct socketmap_question *question, const struct socketmap_route *route)
{
	if (route->count == 1 && route->has_itself)
		answer_none(question);
	else
		answer_socketmap_question(question, "OK", buffer_view(&route->addresses));
}

static void answer_mailbox(struct socketmap_question *question, const struct socketmap_route *route)
{
	if (route->has_itself && route->service.length > 0)
		answer_socketmap_question(question, "OK", key_of_socketmap_question(question));
	else
		answer_none(question);
}

static void answer_transport(struct socketmap_question *question,
			     const struct socketmap_route *route)
{
	const struct config_service *service = NULL;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct mail_server server;

	if (route->count == 1 && route->service.length > 0)
		service = config_service_find(*question->config, route->service);
	if (service == NULL || service->kind != CONFIG_SERVICE_LMTP) {
		answer_none(question);
		return;
	}
	if (mail_server_parse(route->server, &server) == 0)
		buffer_append_format(&text, "lmtp:inet:[" STR_FORMAT "]:%u",
				     STR_ARGUMENTS(server.host), (unsigned)server.port);
	else if (service->address.port == 0)
		buffer_append_format(&text, "lmtp:unix:%s", service->address.host);
	else
		buffer_append_format(&text, "lmtp:inet:[%s]:%u", service->address.host,
				     (unsigned)service->address.port);
	answer_socketmap_question(question, "OK", buffer_view(&text));
}

/* --- domains --- */

static const char *answer_domain(struct str kind)
{
	if (str_equal(kind, STR("local")))
		return "local";
	return str_equal(kind, STR("alias")) ? "alias" : NULL;
}

static const char *answer_relay(struct str kind)
{
	return str_equal(kind, STR("relay")) ? "relay" : NULL;
}

static void answer_kind(struct socketmap_question *question, struct str kind)
{
	const char *text = question->row->answer_domain(kind);

	if (text == NULL)
		answer_none(question);
	else
		answer_socketmap_question(question, "OK", str_from(text));
}

static void on_domain(void *context, int error, const struct directory_record *const *records,
		      uint64_t version)
{
	struct socketmap_question *question = context;

	(void)version;
	if (error == 0 && records[0] == NULL && question->store->lost_us != 0)
		error = -ENOTCONN; /* it may exist by now */
	if (error < 0)
		answer_socketmap_error(question, error);
	else if (records[0] == NULL)
		answer_none(question);
	else
		answer_kind(question, directory_record_field(records[0], "kind"));
}

static void ask_domain(struct socketmap_question *question)
{
	const struct directory_key key = {DIRECTORY_DOMAIN, key_of_socketmap_question(question)};

	if (config_domain_find(*question->config, key.name) != NULL)
		answer_kind(question, STR("local"));
	else if (question->store == NULL)
		answer_none(question);
	else
		question->store->operations->get(question->store, &key, 1, on_domain, question);
}

/* --- the table --- */

static const struct socketmap_row rows[] = {
	{"virtual", false, answer_virtual, NULL}, {"alias", false, answer_alias, NULL},
	{"mailbox", false, answer_mailbox, NULL}, {"transport", false, answer_transport, NULL},
	{"domain", true, NULL, answer_domain},    {"relay", true, NULL, answer_relay},
};

static const struct socketmap_row *find_row(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (str_equal(name, str_from(rows[i].name)))
			return &rows[i];
	return NULL;
}

static void answer_no_map(struct socketmap_question *question, struct str name)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "there is no map %.*s; there are",
			     name.length < 32 ? (int)name.length : 32, name.data);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		buffer_append_format(&text, "%s %s", i > 0 ? "," : "", rows[i].name);
	answer_socketmap_question(question, "PERM", buffer_view(&text));
}

/* Stores the canonical form of KEY; false if KEY is not valid. */
static bool set_socketmap_key(struct socketmap_question *question, struct str key)
{
	struct buffer whole CLEANUP(buffer_clear) = {0};
	struct buffer form CLEANUP(buffer_clear) = {0};
	int error;

	if (key.length >= sizeof question->key)
		return false;
	buffer_append_str(&whole, key);
	if (question->row->answer == answer_alias && str_find(key, '@') < 0)
		buffer_append_format(&whole, "@%s", config_default_domain(*question->config));
	error = question->row->is_domain ? directory_key_domain(buffer_view(&whole), &form)
					 : directory_key_address(buffer_view(&whole), &form);
	if (error < 0 || form.length > sizeof question->key)
		return false;
	memcpy(question->key, buffer_data(&form), form.length);
	question->key_length = form.length;
	return true;
}

/* Domains of the configuration are expanded here even if other servers compute routes. */
static void ask_route(struct socketmap_question *question)
{
	struct directory_store *store = question->store;
	struct str key = key_of_socketmap_question(question);
	struct str domain = str_skip(key, (size_t)str_find_last(key, '@') + 1);

	if (store != NULL && store->operations->route != NULL &&
	    config_domain_find(*question->config, domain) == NULL)
		store->operations->route(store, key, on_route_expanded, question);
	else
		directory_expand(question->expander, key, on_route_expanded, question);
}

void socketmap_ask(struct socketmap_question *question, struct str request)
{
	struct str key = request;
	struct str name = STR("");

	(void)str_split(&key, ' ', &name);
	question->row = find_row(name);
	if (name.length == request.length)
		answer_socketmap_question(question, "PERM",
					  STR("a request is a map, a space and a key"));
	else if (question->row == NULL)
		answer_no_map(question, name);
	else if (!set_socketmap_key(question, key))
		answer_none(question);
	else if (question->row->is_domain)
		ask_domain(question);
	else
		ask_route(question);
}
