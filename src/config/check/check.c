// SPDX-License-Identifier: ISC
/* Checks that involve more than one setting. */
#include "base/panic.h"
#include "config/internal.h"
#include "mail/host.h"
#include "os/process/process.h"
#include <stdlib.h>
#include <string.h>

static void set_hostname(struct config *config, const struct config_tree *tree,
			 struct config_problems *problems)
{
	char name[256] = "";

	if (config->hostname != NULL || config_tree_use(&tree->root, "hostname")->line != 0)
		return;
	if (os_host_name(name, sizeof name) == 0 && strchr(name, '.') != NULL &&
	    mail_host_is_name(str_from(name))) {
		config->hostname = config_copy_lower(config->arena, str_from(name));
		return;
	}
	config_problem_add(problems, 0, "hostname", STR(""),
			   "must be set: this machine's own name has no domain",
			   "a host name of letters, digits, hyphens and dots");
}

static void complete_doublebounceto(struct config *config)
{
	struct buffer address = {0};

	if (config->doublebounceto == NULL || *config->doublebounceto == '\0' ||
	    strchr(config->doublebounceto, '@') != NULL || config->hostname == NULL)
		return;
	buffer_append_string(&address, config->doublebounceto);
	buffer_append_byte(&address, '@');
	buffer_append_string(&address, config->hostname);
	config->doublebounceto = arena_copy(config->arena, buffer_view(&address));
	buffer_clear(&address);
}

struct named { /* something whose name must be unique */
	const char *name;
	const char *setting;
	unsigned line;
	size_t order;
};

static int compare_named_sections(const void *a, const void *b)
{
	const struct named *one = a;
	const struct named *other = b;
	int result = strcmp(one->name, other->name);

	if (result != 0)
		return result;
	return one->order < other->order ? -1 : 1;
}

/* Sorts NAMES; the caller must not use them afterwards. */
static void check_once(struct named *names, size_t count, struct config_problems *problems)
{
	const struct named *first = names;

	qsort(names, count, sizeof *names, compare_named_sections);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(names[i].name, first->name) == 0)
			config_problem_add_repeated(problems, names[i].line, names[i].setting,
						    str_from(names[i].name), first->line);
		else
			first = &names[i];
	}
	free(names);
}

/* No two sections of KIND have the same name; NAME_OF is the canonical form of one's. */
static void check_titles(const struct config *config, const struct config_tree *tree,
			 enum config_section kind, size_t most,
			 const char *(*name_of)(const struct config *config, size_t index),
			 struct config_problems *problems)
{
	struct named *names = memory_alloc_zero(most, sizeof *names);
	size_t count = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind != kind)
			continue;
		names[count] = (struct named){name_of(config, count),
					      config_section_info(kind)->name, s->line, count};
		count++;
	}
	check_once(names, count, problems);
}

static const char *domain_name(const struct config *config, size_t index)
{
	return config->domains[index].name;
}

static const char *policy_destination(const struct config *config, size_t index)
{
	return config->tls_policies[index].destination;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_domains(const void *a, const void *b)
{
	const struct config_domain *const *one = a;
	const struct config_domain *const *other = b;

	return strcmp((*one)->name, (*other)->name);
}

/* For the binary searches of config_domain_find() and config_domain_has(). */
static void sort_domains(struct config *config)
{
	size_t count = config->domain_count;

	config->domain_index = arena_alloc(config->arena, count * sizeof *config->domain_index);
	for (size_t i = 0; i < count; i++) {
		config->domain_index[i] = &config->domains[i];
		if (config->domains[i].address_count > 0)
			qsort(config->domains[i].addresses, config->domains[i].address_count,
			      sizeof(char *), compare_strings);
	}
	if (count > 0)
		qsort(config->domain_index, count, sizeof *config->domain_index, compare_domains);
}

/* The values of a list, in lower case and cut at the first of END, must be unique. */
static void check_values(struct config *config, const struct config_tree_section *section,
			 const char *setting, const char *end, struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(section, setting);
	struct named *names = memory_alloc_zero(use->count, sizeof *names);
	const char *name = config_problem_name(problems, section->kind, section->title, setting);
	size_t count = 0;

	for (const struct config_tree_value *v = use->first; v != NULL; v = v->next) {
		char *copy = config_copy_lower(config->arena, v->text);

		copy[strcspn(copy, end)] = '\0';
		if (strcmp(copy, "!@") == 0) /* a route's alternative spelling: type/list.c */
			copy[1] = '\0';
		names[count] = (struct named){copy, name, v->line, count};
		count++;
	}
	check_once(names, count, problems);
}

void config_check_once(const struct config_tree_section *section, const char *setting,
		       const char *const *keys, struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(section, setting);
	struct named *names = memory_alloc_zero(use->count, sizeof *names);
	size_t count = 0;

	for (const struct config_tree_value *v = use->first; v != NULL; v = v->next, count++)
		names[count] = (struct named){
			keys[count],
			config_problem_name(problems, section->kind, section->title, setting),
			v->line, count};
	check_once(names, count, problems);
}

/* No sender has two routes. What was wrong in itself is left out: then lines are not known. */
static void check_senders(const struct config *config, const struct config_tree *tree,
			  struct config_problems *problems)
{
	const char **keys = arena_alloc(config->arena, config->senderroute_count * sizeof *keys);

	for (size_t i = 0; i < config->senderroute_count; i++)
		keys[i] = config->senderroutes[i].domain;
	if (config_tree_use(&tree->root, "senderroutes")->count == config->senderroute_count)
		config_check_once(&tree->root, "senderroutes", keys, problems);
}

struct bound { /* an address to listen at */
	const struct config_endpoint *endpoint;
	const char *setting;
	unsigned line;
};

static bool is_unspecified_host(const char *host)
{
	struct in6_addr address;
	bool is_ipv4;

	if (!config_text_to_address(str_from(host), &address, &is_ipv4))
		return false;
	return is_ipv4 ? strcmp(host, "0.0.0.0") == 0 : IN6_IS_ADDR_UNSPECIFIED(&address);
}

static bool are_endpoints_overlapping(const struct config_endpoint *a,
				      const struct config_endpoint *b)
{
	struct in6_addr one;
	struct in6_addr other;
	bool one_is_ipv4;
	bool other_is_ipv4;

	if (a->port != b->port)
		return false;
	if (a->port == 0)
		return strcmp(a->host, b->host) == 0;
	if (!config_text_to_address(str_from(a->host), &one, &one_is_ipv4) ||
	    !config_text_to_address(str_from(b->host), &other, &other_is_ipv4) ||
	    one_is_ipv4 != other_is_ipv4)
		return false;
	return is_unspecified_host(a->host) || is_unspecified_host(b->host) ||
	       IN6_ARE_ADDR_EQUAL(&one, &other);
}

static void check_bound(const struct bound *all, size_t index, struct config_problems *problems)
{
	for (size_t i = 0; i < index; i++) {
		struct buffer message = {0};

		if (!are_endpoints_overlapping(all[i].endpoint, all[index].endpoint))
			continue;
		buffer_append_format(&message, "already taken by %s in ", all[i].endpoint->text);
		config_problem_append_line(problems, all[i].line, &message);
		buffer_append_byte(&message, '\0');
		config_problem_add(problems, all[index].line, all[index].setting,
				   str_from(all[index].endpoint->text), buffer_data(&message),
				   NULL);
		buffer_clear(&message);
		return;
	}
}

/* The addresses of one setting, without those that were rejected. */
static size_t add_bounds(const struct config_endpoint *endpoints, size_t endpoint_count,
			 const struct config_tree_section *section, const char *setting,
			 struct bound *bounds, size_t room, struct config_problems *problems)
{
	const struct config_tree_use *use = config_tree_use(section, setting);
	const char *name = config_problem_name(problems, section->kind, section->title, setting);
	size_t count = 0;

	for (const struct config_tree_value *v = use->first; v != NULL; v = v->next) {
		if (count == endpoint_count || !str_equal(v->text, str_from(endpoints[count].text)))
			continue;
		if (count == room) {
			config_problem_add(problems, v->line, name, STR(""), "too many addresses",
					   "at most 256 in all listen sections");
			break;
		}
		bounds[count] = (struct bound){&endpoints[count], name, v->line};
		count++;
	}
	return count;
}

static size_t add_listen_bounds(const struct config_listen *listen,
				const struct config_tree_section *section, struct bound *bounds,
				size_t room, struct config_problems *problems)
{
	return add_bounds(listen->addresses, listen->address_count, section, "address", bounds,
			  room, problems);
}

static size_t add_directory_bounds(const struct config_directory *directory,
				   const struct config_tree_section *section, struct bound *bounds,
				   size_t room, struct config_problems *problems)
{
	size_t count = add_bounds(directory->listens, directory->listen_count, section, "listen",
				  bounds, room, problems);

	return count + add_bounds(directory->socketmaps, directory->socketmap_count, section,
				  "socketmap", bounds + count, room - count, problems);
}

static void check_listen_bounds(const struct config *config, const struct config_tree *tree,
				struct config_problems *problems)
{
	bool is_directory_met = false; /* only the first one counts */
	struct bound bounds[CONFIG_ADDRESSES_MAX];
	size_t count = 0;
	size_t index = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		struct bound *next = bounds + count;

		if (s->kind == CONFIG_SECTION_LISTEN && index < config->listen_count) {
			count += add_listen_bounds(&config->listens[index++], s, next,
						   CONFIG_ADDRESSES_MAX - count, problems);
		} else if (s->kind == CONFIG_SECTION_DIRECTORY && !is_directory_met) {
			is_directory_met = true;
			count += add_directory_bounds(&config->directory, s, next,
						      CONFIG_ADDRESSES_MAX - count, problems);
		}
	}
	for (size_t i = 1; i < count; i++)
		check_bound(bounds, i, problems);
}

static void check_configured_services(const struct config *config, const struct config_tree *tree,
				      struct config_problems *problems)
{
	size_t index = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		const struct config_service *service = &config->services[index];

		if (s->kind != CONFIG_SECTION_SERVICE || index == config->service_count)
			continue;
		index++;
		if (service->kind == CONFIG_SERVICE_PIPE)
			config_check_program(config, service, s, problems);
	}
}

static void complete_reserve(struct config *config, const struct config_tree *tree)
{
	const uint64_t least = 4 << 20;
	uint64_t half = config->maxsize / 2;

	if (config_tree_use(&tree->root, "queue_reserve")->line == 0)
		config->queue_reserve = half > least ? half : least;
}

/* What other nodes do needs the section: its certificate has no default. */
static void check_node_section(const struct config *config, struct config_problems *problems)
{
	if (config_hands_over(config) && !config->node.is_given)
		config_problem_add(problems, 0, "node", STR(""),
				   "must be given: nodes show each other who they are",
				   "a section node with certificate, key and authority");
}

void config_check(struct config *config, const struct config_tree *tree,
		  struct config_problems *problems)
{
	set_hostname(config, tree, problems);
	complete_doublebounceto(config);
	check_listen_bounds(config, tree, problems);
	check_values(config, &tree->root, "smtproutes", ":", problems);
	check_values(config, &tree->root, "qmtproutes", ":", problems);
	check_senders(config, tree, problems);
	check_configured_services(config, tree, problems);
	complete_reserve(config, tree);
	config_complete_sections(config, tree);
	config_check_rows(config, tree, problems);
	check_node_section(config, problems);
	config_check_record(config, tree, problems);
	check_titles(config, tree, CONFIG_SECTION_DOMAIN, config->domain_count, domain_name,
		     problems);
	check_titles(config, tree, CONFIG_SECTION_TLS, config->tls_policy_count, policy_destination,
		     problems);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next)
		if (s->kind == CONFIG_SECTION_DOMAIN || s->kind == CONFIG_SECTION_SOURCE)
			check_values(config, s, "addresses", "", problems);
	sort_domains(config);
}
