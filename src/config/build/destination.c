// SPDX-License-Identifier: ISC
/* The sections destination: their masks, and that each may apply. */
#include "config/internal.h"
#include "config/type/value.h"
#include <string.h>

static const char DESTINATION_ALLOWED[] = "NAME, \".NAME\", \"mx:NAME\", \"mx:*.NAME\", \"*\"";

static const struct {
	const char *prefix;
	enum config_destination_kind kind;
} prefixes[] = {
	{"mx:*.", CONFIG_DESTINATION_HOSTS},
	{"mx:", CONFIG_DESTINATION_HOST},
	{".", CONFIG_DESTINATION_BELOW},
	{"", CONFIG_DESTINATION_DOMAIN},
};

/* An address as it is written where mail is routed to one; NULL: TEXT is none. */
static const char *address_of_destination(struct config *config, struct str text)
{
	struct config_network network;

	return str_find(text, '/') < 0 && config_network_parse(config, text, &network) == NULL
		       ? arena_copy(config->arena, text)
		       : NULL;
}

/* False: TITLE is no mask. */
static bool parse_destination_mask(struct config *config, const char *title,
				   struct config_destination *out)
{
	size_t i = 0;
	struct buffer mask CLEANUP(buffer_clear) = {0};

	out->mask = out->name = "";
	if (strcmp(title, "*") == 0) {
		out->kind = CONFIG_DESTINATION_ALL;
		out->mask = "*";
		return true;
	}
	while (!str_starts_with(str_from(title), str_from(prefixes[i].prefix)))
		i++;
	out->kind = prefixes[i].kind;
	out->name =
		config_text_to_host(config->arena, str_from(title + strlen(prefixes[i].prefix)));
	if (out->name == NULL && out->kind == CONFIG_DESTINATION_HOST)
		out->name = address_of_destination(config,
						   str_from(title + strlen(prefixes[i].prefix)));
	if (out->name == NULL) {
		out->name = "";
		return false;
	}
	buffer_append_format(&mask, "%s%s", prefixes[i].prefix, out->name);
	out->mask = arena_copy(config->arena, buffer_view(&mask));
	return true;
}

static void check_destination_order(const struct config *config,
				    const struct config_destination *destination,
				    const struct config_tree_section *section,
				    struct config_problems *problems)
{
	for (const struct config_destination *d = config->destinations; d < destination; d++) {
		bool is_same = strcmp(d->mask, destination->mask) == 0;

		if (!is_same && d->kind != CONFIG_DESTINATION_ALL)
			continue;
		config_problem_report_section(
			section,
			is_same ? "is there twice"
				: "never applies: destination \"*\" comes first and has all mail",
			is_same ? "another mask" : "\"*\" as the last destination", problems);
		return;
	}
}

void config_add_destinations(struct config *config, const struct config_tree *tree,
			     struct config_problems *problems)
{
	size_t count = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next)
		count += s->kind == CONFIG_SECTION_DESTINATION;
	config->destinations = arena_alloc(config->arena, count * sizeof *config->destinations);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		struct config_destination *destination;

		if (s->kind != CONFIG_SECTION_DESTINATION)
			continue;
		if (config->destination_count == CONFIG_DESTINATIONS_MAX) {
			config_problem_report_section(s, "too many destinations", "at most 1000",
						      problems);
			return;
		}
		destination = &config->destinations[config->destination_count++];
		config_fill_section(config, s, destination, problems);
		if (parse_destination_mask(config, s->title, destination))
			check_destination_order(config, destination, s, problems);
		else
			config_problem_report_section(s, "not a mask of destinations",
						      DESTINATION_ALLOWED, problems);
	}
}
