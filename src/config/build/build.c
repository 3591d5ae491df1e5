// SPDX-License-Identifier: ISC
/* Converts the tree to the structs, section by section. */
#include "config/internal.h"
#include "config/type/value.h"
#include <stdlib.h>
#include <string.h>

enum { SERVICES_MAX = 250, LISTENS_MAX = 64, CERTIFICATES_MAX = 256 };

static size_t count_sections(const struct config_tree *tree, enum config_section kind)
{
	size_t count = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next)
		count += s->kind == kind;
	return count;
}

static void report_twice(const struct config_tree_section *section, unsigned first_line,
			 struct config_problems *problems)
{
	config_problem_add_repeated(
		problems, section->line,
		config_problem_name(problems, section->kind, section->title, NULL), STR(""),
		first_line);
}

static void add_listen(struct config *config, const struct config_tree_section *section,
		       struct config_problems *problems)
{
	struct config_listen *listen = &config->listens[config->listen_count++];
	enum config_protocol protocol = CONFIG_SMTP;

	while (protocol < CONFIG_PROTOCOLS &&
	       strcmp(section->title, config_protocol_name(protocol)) != 0)
		protocol = (enum config_protocol)(protocol + 1);
	listen->protocol = protocol < CONFIG_PROTOCOLS ? protocol : CONFIG_SMTP;
	listen->stage = protocol == CONFIG_SUBMISSION ? MAIL_STAGE_SUBMIT : MAIL_STAGE_ARRIVE;
	if (protocol == CONFIG_PROTOCOLS)
		config_problem_report_section(section, "unknown protocol",
					      "smtp, submission, lmtp, qmtp, qmqp", problems);
	config_fill_section(config, section, listen, problems);
}

/* Others are names of helpers of "send" that are no services. */
static bool is_service_name(struct str name)
{
	static const struct str taken[] = {STR("remote"), STR(CONFIG_LIST_SERVICE), STR("resolve"),
					   STR("handover")};
	enum mail_stage stage;

	for (size_t i = 0; i < COUNT_OF(taken); i++)
		if (str_equal(name, taken[i]))
			return false;
	return config_text_is_short_name(name) && !mail_stage_parse(name, &stage);
}

static void add_configured_service(struct config *config, const struct config_tree_section *section,
				   unsigned *lines, struct config_problems *problems)
{
	struct str name = str_from(section->title);
	const struct config_service *other = config_service_find(config, name);
	struct config_service *service;

	if (!is_service_name(name))
		config_problem_report_section(
			section, "a service cannot be called this",
			"1 to 32 of a-z, 0-9, '-', '_'; not \"remote\", \"list\", \"resolve\", "
			"\"handover\", \"submit\" or \"arrive\"",
			problems);
	if (other != NULL)
		report_twice(section, lines[other - config->services], problems);
	if (config->service_count == SERVICES_MAX) {
		config_problem_report_section(section, "too many services", "at most 250",
					      problems);
		return;
	}
	lines[config->service_count] = section->line;
	service = &config->services[config->service_count++];
	service->name = arena_copy(config->arena, name);
	config_fill_section(config, section, service, problems);
}

/* Adds a transport with its defaults, as if the file had an empty section for it. */
static void add_default_transport(struct config *config, const char *name)
{
	struct config_tree_section empty = {.kind = CONFIG_SECTION_TRANSPORT, .title = name};
	struct config_problems none = {0};
	struct config_transport *transport = &config->transports[config->transport_count++];

	empty.uses = arena_alloc(config->arena, config_section_count(CONFIG_SECTION_TRANSPORT) *
							sizeof *empty.uses);
	transport->name = name;
	config_fill_section(config, &empty, transport, &none);
}

static void set_transport(struct config *config, const struct config_tree_section *section,
			  unsigned *lines, struct config_problems *problems)
{
	const struct config_transport *found =
		config_transport_find(config, str_from(section->title));
	struct config_transport ignored = {0};
	size_t index;

	if (found == NULL) {
		config_problem_report_section(
			section, "no such transport",
			"remote, list, a stage that has nodes, or the name of a service", problems);
		config_fill_section(config, section, &ignored, problems);
		return;
	}
	index = (size_t)(found - config->transports);
	if (lines[index] != 0)
		report_twice(section, lines[index], problems);
	else
		lines[index] = section->line;
	config_fill_section(config, section, &config->transports[index], problems);
}

/* A stage whose mail other nodes map is a transport to them. */
static void set_stages(struct config *config, const struct config_tree *tree,
		       struct config_problems *problems)
{
	unsigned lines[MAIL_STAGE_COUNT] = {0};
	struct config_stage ignored;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		enum mail_stage stage;
		bool is_known;

		if (s->kind != CONFIG_SECTION_STAGE)
			continue;
		is_known = mail_stage_parse(str_from(s->title), &stage);
		if (!is_known)
			config_problem_report_section(s, "no such stage", "submit, arrive",
						      problems);
		else if (lines[stage] != 0)
			report_twice(s, lines[stage], problems);
		else
			lines[stage] = s->line;
		config_fill_section(config, s, is_known ? &config->stages[stage] : &ignored,
				    problems);
	}
}

static void add_transports_of_stages(struct config *config)
{
	for (enum mail_stage stage = 0; stage < MAIL_STAGE_COUNT; stage++)
		if (config->stages[stage].nodes != NULL && *config->stages[stage].nodes != '\0')
			add_default_transport(config, mail_stage_name(stage));
}

static void add_services(struct config *config, const struct config_tree *tree,
			 struct config_problems *problems)
{
	unsigned lines[SERVICES_MAX + 2 + MAIL_STAGE_COUNT] = {0};

	config->services = arena_alloc(config->arena, SERVICES_MAX * sizeof *config->services);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next)
		if (s->kind == CONFIG_SECTION_SERVICE)
			add_configured_service(config, s, lines, problems);
	config->transports =
		arena_alloc(config->arena, (config->service_count + 2 + MAIL_STAGE_COUNT) *
						   sizeof *config->transports);
	add_default_transport(config, "remote");
	for (size_t i = 0; i < config->service_count; i++)
		add_default_transport(config, config->services[i].name);
	add_default_transport(config, CONFIG_LIST_SERVICE);
	add_transports_of_stages(config);
	memset(lines, 0, sizeof lines);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next)
		if (s->kind == CONFIG_SECTION_TRANSPORT)
			set_transport(config, s, lines, problems);
}

static void set_process(struct config *config, const struct config_tree_section *section,
			unsigned *lines, struct config_problems *problems)
{
	struct config_process ignored = {0};
	size_t i = 0;

	while (i < CONFIG_PROCESSES && strcmp(config->processes[i].name, section->title) != 0)
		i++;
	if (i == CONFIG_PROCESSES) {
		config_problem_report_section(
			section, "no such process",
			"smtpd, qmtpd, names, keys, policy, auth, resolve, remote, lmtp, "
			"local, mailbox, decode, pipe, list, directory, handover, noded",
			problems);
		config_fill_section(config, section, &ignored, problems);
		return;
	}
	if (lines[i] != 0)
		report_twice(section, lines[i], problems);
	else
		lines[i] = section->line;
	config_fill_section(config, section, &config->processes[i], problems);
}

static void add_processes(struct config *config, const struct config_tree *tree,
			  struct config_problems *problems)
{
	static const char *const names[CONFIG_PROCESSES] = {
		"smtpd",   "qmtpd",  "names",     "keys",     "policy",  "auth",
		"resolve", "remote", "lmtp",      "local",    "mailbox", "decode",
		"pipe",    "list",   "directory", "handover", "noded"};
	unsigned lines[CONFIG_PROCESSES] = {0};

	for (size_t i = 0; i < CONFIG_PROCESSES; i++)
		config->processes[i] = (struct config_process){names[i], ""};
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next)
		if (s->kind == CONFIG_SECTION_PROCESS)
			set_process(config, s, lines, problems);
}

static void add_listens(struct config *config, const struct config_tree *tree,
			struct config_problems *problems)
{
	config->listens = arena_alloc(config->arena, LISTENS_MAX * sizeof *config->listens);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind != CONFIG_SECTION_LISTEN)
			continue;
		if (config->listen_count < LISTENS_MAX)
			add_listen(config, s, problems);
		else
			config_problem_report_section(s, "too many listen sections", "at most 64",
						      problems);
	}
}

static void add_domains(struct config *config, const struct config_tree *tree,
			struct config_problems *problems)
{
	config->domains = arena_alloc(config->arena, count_sections(tree, CONFIG_SECTION_DOMAIN) *
							     sizeof *config->domains);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		struct config_domain *domain;

		if (s->kind != CONFIG_SECTION_DOMAIN)
			continue;
		domain = &config->domains[config->domain_count++];
		domain->name = config_text_to_host(config->arena, str_from(s->title));
		if (domain->name == NULL) {
			domain->name = s->title;
			config_problem_report_section(s, "not a domain name",
						      "letters, digits, hyphens and dots",
						      problems);
		}
		config_fill_section(config, s, domain, problems);
	}
}

static void add_certificate(struct config *config, const struct config_tree_section *section,
			    unsigned *lines, struct config_problems *problems)
{
	struct str name = str_from(section->title);
	const struct config_certificate *other = config_certificate_find(config, name);
	struct config_certificate *certificate;

	if (!config_text_is_short_name(name))
		config_problem_report_section(section, "a certificate cannot be called this",
					      "1 to 32 of a-z, 0-9, '-', '_'", problems);
	if (other != NULL)
		report_twice(section, lines[other - config->certificates], problems);
	if (config->certificate_count == CERTIFICATES_MAX) {
		config_problem_report_section(section, "too many certificates", "at most 256",
					      problems);
		return;
	}
	lines[config->certificate_count] = section->line;
	certificate = &config->certificates[config->certificate_count++];
	certificate->name = arena_copy(config->arena, name);
	config_fill_section(config, section, certificate, problems);
}

static void add_certificates(struct config *config, const struct config_tree *tree,
			     struct config_problems *problems)
{
	unsigned lines[CERTIFICATES_MAX] = {0};

	config->certificates =
		arena_alloc(config->arena, CERTIFICATES_MAX * sizeof *config->certificates);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next)
		if (s->kind == CONFIG_SECTION_CERTIFICATE)
			add_certificate(config, s, lines, problems);
}

static void add_tls_policies(struct config *config, const struct config_tree *tree,
			     struct config_problems *problems)
{
	config->tls_policies = arena_alloc(config->arena, count_sections(tree, CONFIG_SECTION_TLS) *
								  sizeof *config->tls_policies);
	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		struct config_tls_policy *policy;

		if (s->kind != CONFIG_SECTION_TLS)
			continue;
		policy = &config->tls_policies[config->tls_policy_count++];
		policy->destination = config_text_to_destination(config->arena, str_from(s->title));
		if (policy->destination == NULL) {
			policy->destination = s->title;
			config_problem_report_section(s, "not a destination",
						      "a domain, .DOMAIN, or [ADDRESS]", problems);
		}
		config_fill_section(config, s, policy, problems);
	}
}

/* Fills BASE from the section of KIND, of which there may be one: it is returned, or NULL. IGNORED
 * has room for others. */
static const struct config_tree_section *fill_only(struct config *config,
						   const struct config_tree *tree,
						   enum config_section kind, void *base,
						   void *ignored, struct config_problems *problems)
{
	const struct config_tree_section *first = NULL;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind != kind)
			continue;
		if (first != NULL)
			report_twice(s, first->line, problems);
		memset(ignored, 0, config_section_info(kind)->size);
		config_fill_section(config, s, first == NULL ? base : ignored, problems);
		first = first == NULL ? s : first;
	}
	return first;
}

/* Fills BASE with the defaults of the section of KIND. */
static void fill_defaults(struct config *config, enum config_section kind, void *base,
			  struct config_problems *problems)
{
	struct config_tree_section empty = {.kind = kind, .title = ""};

	empty.uses = arena_alloc(config->arena, config_section_count(kind) * sizeof *empty.uses);
	config_fill_section(config, &empty, base, problems);
}

static void set_node(struct config *config, const struct config_tree *tree,
		     struct config_problems *problems)
{
	struct config_node ignored;
	const struct config_tree_section *first =
		fill_only(config, tree, CONFIG_SECTION_NODE, &config->node, &ignored, problems);

	config->node.is_given = first != NULL;
	if (first == NULL)
		fill_defaults(config, CONFIG_SECTION_NODE, &config->node, problems);
}

static void set_directory(struct config *config, const struct config_tree *tree,
			  struct config_problems *problems)
{
	struct config_directory ignored;

	(void)fill_only(config, tree, CONFIG_SECTION_DIRECTORY, &config->directory, &ignored,
			problems);
}

/* Users are expected. */
static bool has_users(const struct config *config)
{
	for (size_t i = 0; i < config->listen_count; i++)
		if (config->listens[i].protocol == CONFIG_SUBMISSION ||
		    config->listens[i].auth != CONFIG_LISTEN_AUTH_NO)
			return true;
	return false;
}

/* Without a section, its defaults apply where users are expected and can be known. */
static void set_auth(struct config *config, const struct config_tree *tree,
		     struct config_problems *problems)
{
	struct config_auth ignored;
	const struct config_tree_section *first =
		fill_only(config, tree, CONFIG_SECTION_AUTH, &config->auth, &ignored, problems);

	if (first == NULL && has_users(config) && config->directory.backend != CONFIG_BACKEND_NONE)
		fill_defaults(config, CONFIG_SECTION_AUTH, &config->auth, problems);
}

/* Without a section, its defaults apply where a service needs them. */
static void set_record(struct config *config, const struct config_tree *tree,
		       struct config_problems *problems)
{
	struct config_record ignored;
	const struct config_tree_section *first =
		fill_only(config, tree, CONFIG_SECTION_RECORD, &config->record, &ignored, problems);

	if (first == NULL && config_has_recording_service(config))
		fill_defaults(config, CONFIG_SECTION_RECORD, &config->record, problems);
}

void config_build(struct config *config, const struct config_tree *tree,
		  struct config_problems *problems)
{
	config_fill_section(config, &tree->root, config, problems);
	add_listens(config, tree, problems);
	set_stages(config, tree, problems);
	add_services(config, tree, problems);
	add_processes(config, tree, problems);
	add_domains(config, tree, problems);
	add_certificates(config, tree, problems);
	add_tls_policies(config, tree, problems);
	config_add_classes(config, tree, problems);
	config_add_sources(config, tree, problems);
	config_add_destinations(config, tree, problems);
	config_add_rates(config, tree, problems);
	config_add_rules(config, tree, problems);
	set_node(config, tree, problems);
	set_directory(config, tree, problems);
	set_auth(config, tree, problems);
	set_record(config, tree, problems);
	config_check(config, tree, problems);
	config_check_sources(config, tree, problems);
}
