// SPDX-License-Identifier: ISC
/* Completes and checks the settings of listeners about users who authenticate. */
#include "config/internal.h"

static bool is_given(const struct config_tree_section *section, const char *setting)
{
	return config_tree_use(section, setting)->line > 0;
}

/* Only what can succeed is required of clients. */
static void complete_listen_auth(const struct config *config, struct config_listen *listen,
				 const struct config_tree_section *section)
{
	bool is_possible =
		config_has_auth(config) && (listen->tls != CONFIG_LISTEN_TLS_NONE ||
					    listen->auth_without_tls != CONFIG_CLEAR_AUTH_NO);

	if (!is_given(section, "auth") && listen->protocol == CONFIG_SUBMISSION && is_possible)
		listen->auth = CONFIG_LISTEN_AUTH_REQUIRED;
	if (!is_given(section, "auth_binding"))
		listen->auth_binding = listen->protocol != CONFIG_SUBMISSION;
	if (!is_given(section, "submission"))
		listen->submission = listen->protocol == CONFIG_SUBMISSION;
	if (!is_given(section, "repair"))
		listen->repair = listen->submission;
}

/* Settings that need AUTH. */
static void check_without(const struct config_listen *listen,
			  const struct config_tree_section *section,
			  struct config_problems *problems)
{
	bool has_binding = listen->protocol != CONFIG_SUBMISSION;

	const struct {
		const char *setting;
		bool is_changed;
	} about[] = {
		{"auth_without_tls", listen->auth_without_tls != CONFIG_CLEAR_AUTH_NO},
		{"auth_binding", listen->auth_binding != has_binding},
		{"sender_login", listen->sender_login != CONFIG_SENDER_LOGIN_STRICT},
		{"received_user", listen->received_user},
		{"received_client", !listen->received_client},
	};

	for (size_t i = 0; i < COUNT_OF(about); i++)
		if (about[i].is_changed)
			config_problem_report(section, about[i].setting, "means nothing here",
					      "with auth", problems);
}

static void check_listen_auth(const struct config *config, const struct config_listen *listen,
			      const struct config_tree_section *section,
			      struct config_problems *problems)
{
	if (listen->auth == CONFIG_LISTEN_AUTH_NO)
		check_without(listen, section, problems);
	else if (!config_has_auth(config))
		config_problem_report(section, "auth", "nobody knows the users",
				      "no, or with a section auth", problems);
	else if (listen->tls == CONFIG_LISTEN_TLS_NONE &&
		 listen->auth_without_tls == CONFIG_CLEAR_AUTH_NO)
		config_problem_report(section, "auth", "can never be offered",
				      "no, or with tls or auth_without_tls", problems);
}

void config_check_listen_auth(struct config *config, const struct config_tree *tree,
			      struct config_problems *problems)
{
	size_t listens = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind != CONFIG_SECTION_LISTEN || listens == config->listen_count)
			continue;
		complete_listen_auth(config, &config->listens[listens], s);
		check_listen_auth(config, &config->listens[listens++], s, problems);
	}
}
