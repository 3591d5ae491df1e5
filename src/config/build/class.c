// SPDX-License-Identifier: ISC
/* The sections class: their masks, and in which order they may come. */
#include "config/internal.h"
#include "config/type/value.h"
#include <string.h>

enum { IPV4_PREFIX = 96 };

static bool is_network_ipv4(const struct config_network *network)
{
	return IN6_IS_ADDR_V4MAPPED(&network->address) && network->prefix >= IPV4_PREFIX;
}

/* What is wrong with TEXT; NULL: nothing. */
static const char *parse_class_mask(const struct config *config, struct str text,
				    struct config_class *class)
{
	bool is_below = str_starts_with(text, STR("*."));

	if (str_equal(text, STR("*"))) {
		class->kind = CONFIG_CLASS_ALL;
		return NULL;
	}
	if (config_network_parse(config, text, &class->network) == NULL) {
		class->kind = CONFIG_CLASS_NETWORK;
		return NULL;
	}
	class->kind = is_below ? CONFIG_CLASS_DOMAIN : CONFIG_CLASS_HOST;
	class->name = config_text_to_host(config->arena, is_below ? str_skip(text, 2) : text);
	if (class->name != NULL)
		return NULL;
	return str_find(text, '/') < 0 ? "not a mask of hosts"
				       : config_network_parse(config, text, &class->network);
}

/* The canonical form: the same for all spellings of a mask. */
static const char *mask_of(const struct config *config, const struct config_class *class)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (class->kind == CONFIG_CLASS_NETWORK)
		config_network_print(&class->network, &text);
	else
		buffer_append_format(&text, "%s%s",
				     class->kind == CONFIG_CLASS_ALL      ? "*"
				     : class->kind == CONFIG_CLASS_DOMAIN ? "*."
									  : "",
				     class->name != NULL ? class->name : "");
	return arena_copy(config->arena, buffer_view(&text));
}

static bool is_host_below_domain(const char *name, const char *domain)
{
	size_t length = strlen(name);
	size_t end = strlen(domain);

	return length > end && name[length - end - 1] == '.' &&
	       strcmp(name + length - end, domain) == 0;
}

/* Whether every host in ONE is also in OTHER. */
static bool is_class_covering(const struct config_class *other, const struct config_class *one)
{
	switch (other->kind) {
	case CONFIG_CLASS_ALL:
		return true;
	case CONFIG_CLASS_HOST:
		return one->kind == CONFIG_CLASS_HOST && strcmp(one->name, other->name) == 0;
	case CONFIG_CLASS_DOMAIN:
		return one->name != NULL && (strcmp(one->name, other->name) == 0 ||
					     is_host_below_domain(one->name, other->name));
	case CONFIG_CLASS_NETWORK:
		return one->kind == CONFIG_CLASS_NETWORK &&
		       is_network_ipv4(&one->network) == is_network_ipv4(&other->network) &&
		       one->network.prefix >= other->network.prefix &&
		       config_network_has(&other->network, &one->network.address);
	}
	return false;
}

static void report_covered_class(const struct config_tree_section *section,
				 const struct config_class *other, unsigned line,
				 struct config_problems *problems)
{
	struct buffer message CLEANUP(buffer_clear) = {0};

	buffer_append_format(&message, "never applies: class \"%s\" in ", other->mask);
	config_problem_append_line(problems, line, &message);
	buffer_append_string(&message, " comes first and has all of its hosts");
	buffer_append_byte(&message, '\0');
	config_problem_report_section(section, buffer_data(&message),
				      other->kind == CONFIG_CLASS_ALL ? "\"*\" as the last class"
								      : "the narrower class first",
				      problems);
}

/* Against those before the one at INDEX. */
static void check_class_order(const struct config *config, size_t index,
			      const struct config_tree_section *section, const unsigned *lines,
			      struct config_problems *problems)
{
	const struct config_class *class = &config->classes[index];

	for (size_t i = 0; i < index; i++) {
		const struct config_class *other = &config->classes[i];

		if (*other->mask == '\0' || !is_class_covering(other, class))
			continue;
		if (strcmp(other->mask, class->mask) == 0)
			config_problem_add_repeated(
				problems, section->line,
				config_problem_name(problems, section->kind, section->title, NULL),
				STR(""), lines[i]);
		else
			report_covered_class(section, other, lines[i], problems);
		return;
	}
}

static void add_class(struct config *config, const struct config_tree_section *section,
		      unsigned *lines, struct config_problems *problems)
{
	size_t index = config->class_count++;
	struct config_class *class = &config->classes[index];
	const char *problem = parse_class_mask(config, str_from(section->title), class);

	lines[index] = section->line;
	class->mask = "";
	if (problem != NULL) {
		config_problem_report_section(
			section, problem,
			"NAME, \"*.NAME\", ADDRESS, ADDRESS/PREFIX (IPv4 or IPv6), \"*\"",
			problems);
	} else {
		class->mask = mask_of(config, class);
		check_class_order(config, index, section, lines, problems);
	}
	if (problem == NULL && class->name != NULL && !config->client_names)
		config_problem_report_section(section, "a class by name needs the names of clients",
					      "client_names = yes", problems);
	config_fill_section(config, section, class, problems);
}

void config_add_classes(struct config *config, const struct config_tree *tree,
			struct config_problems *problems)
{
	unsigned lines[CONFIG_CLASSES_MAX] = {0};
	const struct config_tree_section *last = NULL;
	bool has_all = false;

	config->classes = arena_alloc(config->arena, CONFIG_CLASSES_MAX * sizeof *config->classes);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind != CONFIG_SECTION_CLASS)
			continue;
		last = s;
		has_all |= strcmp(s->title, "*") == 0;
		if (config->class_count < CONFIG_CLASSES_MAX)
			add_class(config, s, lines, problems);
		else
			config_problem_report_section(s, "too many classes", "at most 128",
						      problems);
	}
	if (last != NULL && !has_all)
		config_problem_report_section(last,
					      "no class \"*\" follows, which has all other hosts",
					      "class \"*\" as the last class", problems);
}
