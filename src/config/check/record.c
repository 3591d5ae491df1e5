// SPDX-License-Identifier: ISC
/* Checks services that record what they file. */
#include "config/internal.h"
#include "config/type/type.h"
#include "mail/mailbox/folder.h"
#include <string.h>

static bool is_message_flag(const char *text)
{
	static const char *const known[] = {"seen", "flagged", "draft"};

	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (strcmp(known[i], text) == 0)
			return true;
	return false;
}

void config_check_flags(const char *const *flags, size_t count, bool may_be_none,
			const struct config_tree_section *section, struct config_problems *problems)
{
	bool is_none = may_be_none && count == 1 && strcmp(flags[0], "none") == 0;

	for (size_t i = 0; !is_none && i < count; i++)
		if (!is_message_flag(flags[i]))
			config_problem_report(section, "flags", "not a flag",
					      may_be_none ? "seen, flagged, draft; or none alone"
							  : "seen, flagged, draft",
					      problems);
}

/* Levels between slashes, none of them empty or a name that a file system gives a meaning. */
static void check_service_folder(const char *folder, const char *setting,
				 const struct config_tree_section *section, bool is_maildir,
				 struct config_problems *problems)
{
	if (!mail_folder_is_valid(str_from(folder)))
		config_problem_report(section, setting, "not a folder",
				      "names of at most 255 bytes of UTF-8, with / between levels",
				      problems);
	else if (is_maildir && !mail_folder_is_portable(str_from(folder)))
		config_problem_report(section, setting, "not a folder of a Maildir",
				      "names without \".\" and without \"~\" at the beginning",
				      problems);
}

static void check_login(const struct config_service *service,
			const struct config_tree_section *section, struct config_problems *problems)
{
	if (service->login == NULL)
		return; /* reported: it must be set */
	if (config_type_check_percents(str_from(service->login), "aud%").message != NULL)
		config_problem_report(section, "login", "an unknown % sequence", "%a, %u, %d, %%",
				      problems);
}

static void check_recorded_service(const struct config_service *service,
				   const struct config_tree_section *section,
				   struct config_problems *problems)
{
	bool is_maildir = service->kind == CONFIG_SERVICE_MAILBOX;

	if (!config_service_records(service))
		return;
	config_check_flags(service->flags, service->flag_count, false, section, problems);
	check_service_folder(service->folder, "folder", section, is_maildir, problems);
	check_service_folder(service->sent_folder, "sent_folder", section, is_maildir, problems);
	if (service->kind != CONFIG_SERVICE_IMAP)
		return;
	check_login(service, section, problems);
	if (service->address.port == 0 && service->address.host != NULL)
		config_problem_report(section, "address", "an IMAP server is reached by TCP",
				      "IPV4:PORT, [IPV6]:PORT", problems);
}

void config_check_record(const struct config *config, const struct config_tree *tree,
			 struct config_problems *problems)
{
	size_t index = 0;

	for (const struct config_tree_section *s = tree->first; s != NULL; s = s->next) {
		if (s->kind == CONFIG_SECTION_SERVICE && index < config->service_count)
			check_recorded_service(&config->services[index++], s, problems);
	}
}
