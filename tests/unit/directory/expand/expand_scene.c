// SPDX-License-Identifier: ISC
#include "expand_scene.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

static struct config_reach servers[] = {{.name = "mail.example", .is_below = true, .port = 24}};
static const char *command[] = {"/bin/filter", "--user=%u", "%x", "%a"};
static struct config_service services[] = {
	{.name = "maildir", .kind = CONFIG_SERVICE_MAILDIR, .path = "/mail/%d/%u"},
	{.name = "other",
	 .kind = CONFIG_SERVICE_LMTP,
	 .servers = servers,
	 .server_count = COUNT_OF(servers)},
	{.name = "filter",
	 .kind = CONFIG_SERVICE_PIPE,
	 .command = command,
	 .command_count = COUNT_OF(command)},
	{.name = "once", .kind = CONFIG_SERVICE_IMAP, .login = "%u*master"}};
static const char *listed[] = {"info", "o'neil", "sales", "sales+urgent"};
static struct config_domain domains[] = {
	{.name = "example.org", .service = &services[0]},
	{.name = "listed.example",
	 .service = &services[1],
	 .addresses = listed,
	 .address_count = COUNT_OF(listed)},
};
static const struct config_domain *domain_index[] = {&domains[0], &domains[1]};
const struct config expand_config = {.hostname = "mx1.example.org",
				     .recipient_delimiter = "+",
				     .domains = domains,
				     .domain_count = COUNT_OF(domains),
				     .domain_index = domain_index,
				     .services = services,
				     .service_count = COUNT_OF(services)};
const struct config expand_no_domains = {.hostname = "mx1.example.org",
					 .recipient_delimiter = "+",
					 .services = services,
					 .service_count = COUNT_OF(services)};

const struct config expand_default_domain = {.hostname = "mx1.example.org",
					     .recipient_delimiter = "+",
					     .default_domain = "alias.example",
					     .services = services,
					     .service_count = COUNT_OF(services)};

static void add_text(char **text, struct str more)
{
	struct buffer joined = {0};

	buffer_append_format(&joined, "%s%s" STR_FORMAT, *text, **text != '\0' ? "; " : "",
			     STR_ARGUMENTS(more));
	buffer_append_byte(&joined, '\0');
	free(*text);
	*text = strdup(buffer_data(&joined));
	buffer_clear(&joined);
}

void answer_expanded(void *context, int error, const struct directory_expansion *expansion)
{
	struct answer *answer = context;

	answer->count++;
	answer->error = error;
	assert_int_equal(error == 0, expansion != NULL);
	if (error == 0)
		answer->result_count = expansion->count;
	for (size_t i = 0; error == 0 && i < expansion->count && i < 19; i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};

		directory_route_write(&expansion->routes[i], &text);
		add_text(&answer->results, buffer_view(&text));
	}
	for (size_t i = 0; error == 0 && i < expansion->dependency_count; i++) {
		const struct directory_key *key = &expansion->dependencies[i];
		struct buffer text CLEANUP(buffer_clear) = {0};

		buffer_append_format(&text, "%s " STR_FORMAT, directory_table_name(key->table),
				     STR_ARGUMENTS(key->name));
		add_text(&answer->depends, buffer_view(&text));
	}
	if (error == 0) {
		answer->may_keep = expansion->may_keep;
		answer->version = expansion->version;
	}
}

struct answer answer_new(void)
{
	return (struct answer){.results = strdup(""), .depends = strdup("")};
}

void answer_clear(struct answer *answer)
{
	free(answer->results);
	free(answer->depends);
	*answer = answer_new();
}

void answer_free(struct answer *answer)
{
	free(answer->results);
	free(answer->depends);
}

/* What hears of the store's changes, as a server does. */
static void on_changed(void *context, const struct directory_key *keys, const uint64_t *versions,
		       size_t count)
{
	(void)versions;
	for (size_t i = 0; i < count; i++)
		directory_expander_changed(context, &keys[i]);
}

static void on_reset(void *context)
{
	directory_expander_reset(context);
}

static void on_state(void *context, bool is_up)
{
	(void)context;
	(void)is_up;
}

static const struct directory_store_handler handler = {on_changed, on_reset, on_state};

void scene_open(struct scene *scene, bool is_late)
{
	scene->store = memory_store_new(NULL);
	for (size_t i = 0; expand_records[i] != NULL; i++)
		memory_store_put(scene->store, expand_records[i]);
	scene->store->is_late = is_late;
	scene->expander = directory_expander_new(&scene->store->base, &expand_config);
	scene->store->base.handler = &handler;
	scene->store->base.context = scene->expander;
	scene->answer = answer_new();
}

void scene_close(struct scene *scene)
{
	directory_expander_free(scene->expander);
	memory_store_free(scene->store);
	answer_free(&scene->answer);
}

void scene_begin(struct scene *scene, const char *address)
{
	answer_clear(&scene->answer);
	directory_expand(scene->expander, str_from(address), answer_expanded, &scene->answer);
}

void scene_ask(struct scene *scene, const char *address)
{
	scene_begin(scene, address);
	assert_int_equal(scene->answer.count, scene->store->is_late ? scene->answer.count : 1);
	(void)memory_store_answer_all(scene->store);
	assert_int_equal(scene->answer.count, 1);
}
