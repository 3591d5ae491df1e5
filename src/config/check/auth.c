// SPDX-License-Identifier: ISC
/* Checks that involve several settings of section auth, and its URL. */
#include "config/internal.h"
#include "mail/host.h"
#include <string.h>

bool config_url_split(struct str url, struct str *host_out, uint16_t *port_out,
		      struct str *path_out)
{
	struct str rest = str_skip(url, 8);
	ptrdiff_t slash = str_find(rest, '/');
	struct str host;
	struct str port;
	uint64_t number = 443;

	if (!str_starts_with(url, STR("https://")) || slash <= 0)
		return false;
	*path_out = str_skip(rest, (size_t)slash);
	for (size_t i = 0; i < path_out->length; i++)
		if (path_out->data[i] <= ' ' || path_out->data[i] > '~' || path_out->data[i] == '#')
			return false;
	port = str_slice(rest.data, (size_t)slash);
	(void)str_split(&port, ':', &host);
	if (port.data != NULL && (!str_to_u64(port, &number) || number < 1 || number > 65535))
		return false;
	*host_out = host;
	*port_out = (uint16_t)number;
	return mail_host_is_name(host);
}

/* RFC 4422 section 3.1. */
static bool is_mechanism(const char *name)
{
	return *name != '\0' && strlen(name) <= 20 &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == strlen(name);
}

static void check_auth_mechanisms(const struct config_auth *auth,
				  const struct config_tree_section *section,
				  struct config_problems *problems)
{
	for (size_t i = 0; i < auth->mechanism_count; i++)
		if (!is_mechanism(auth->mechanisms[i]))
			config_problem_report(section, "mechanisms", "not the name of a mechanism",
					      "1 to 20 of A-Z, 0-9, '-', '_'", problems);
}

static void check_auth_users(const struct config *config, const struct config_tree_section *section,
			     struct config_problems *problems)
{
	enum config_backend backend = config->directory.backend;

	if (config->auth.users == CONFIG_AUTH_DIRECTORY && backend == CONFIG_BACKEND_NONE)
		config_problem_report(section, "users", "there is no section directory",
				      "with a section directory", problems);
	if (config->auth.users == CONFIG_AUTH_LDAP && backend != CONFIG_BACKEND_LDAP)
		config_problem_report(section, "users", "the directory's backend is not ldap",
				      "with a section directory of backend ldap", problems);
}

static void check_tokens(const struct config_auth *auth, const struct config_tree_section *section,
			 struct config_problems *problems)
{
	struct str host;
	struct str path;
	uint16_t port;

	for (size_t i = 0; i < auth->token_key_count; i++)
		if (auth->token_keys[i][0] != '/')
			config_problem_report(section, "token_keys", "not an absolute path",
					      "absolute paths", problems);
	if (auth->token_key_count > 0 && *auth->token_issuer == '\0')
		config_problem_report(section, "token_issuer",
				      "must be set: any key could sign for any service",
				      "the claim iss of the tokens", problems);
	if (auth->token_key_count > 0 && *auth->token_audience == '\0')
		config_problem_report(section, "token_audience",
				      "must be set: a token for another service would be accepted",
				      "the claim aud of the tokens", problems);
	if (*auth->token_claim == '\0')
		config_problem_report(section, "token_claim", "must not be empty",
				      "a claim that names the user", problems);
	if (*auth->introspection_url != '\0' &&
	    !config_url_split(str_from(auth->introspection_url), &host, &port, &path))
		config_problem_report(section, "introspection_url", "not such a URL",
				      "https://HOST/PATH, https://HOST:PORT/PATH", problems);
	if (*auth->introspection_user != '\0' && *auth->introspection_secret_file == '\0')
		config_problem_report(section, "introspection_secret_file",
				      "must be set with introspection_user", "an absolute path",
				      problems);
}

void config_check_auth(const struct config *config, const struct config_tree *tree,
		       struct config_problems *problems)
{
	const struct config_tree_section *section = tree->first;

	while (section != NULL && section->kind != CONFIG_SECTION_AUTH)
		section = section->next;
	if (section == NULL || !config_has_auth(config))
		return;
	config_check_kinds(&config->auth, section, problems);
	check_auth_users(config, section, problems);
	check_auth_mechanisms(&config->auth, section, problems);
	check_tokens(&config->auth, section, problems);
}
