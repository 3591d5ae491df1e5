// SPDX-License-Identifier: ISC
/* Checks that involve several settings of section directory. */
#include "config/internal.h"

const struct config_tree_section *config_directory_section(const struct config_tree *tree)
{
	const struct config_tree_section *section = tree->first;

	while (section != NULL && section->kind != CONFIG_SECTION_DIRECTORY)
		section = section->next;
	return section;
}

/* The TLS files must be set together, and are required for listening or asking elsewhere. */
static void check_tls(const struct config_directory *directory,
		      const struct config_tree_section *section, struct config_problems *problems)
{
	const struct {
		const char *setting;
		const char *value;
	} files[] = {
		{"certificate", directory->certificate},
		{"key", directory->key},
		{"authority", directory->authority},
	};
	bool is_needed = config_directory_has_tls(directory);
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(files); i++)
		count += files[i].value != NULL && *files[i].value != '\0';
	for (size_t i = 0; i < COUNT_OF(files); i++)
		if ((is_needed || count > 0) && files[i].value != NULL && *files[i].value == '\0')
			config_problem_report(
				section, files[i].setting,
				is_needed
					? "must be set: machines show each other who they are"
					: "must be set: certificate, key and authority go together",
				"an absolute path", problems);
}

static void check_directory_listens(const struct config_directory *directory,
				    const struct config_tree_section *section,
				    struct config_problems *problems)
{
	for (size_t i = 0; i < directory->listen_count; i++)
		if (directory->listens[i].port == 0)
			config_problem_report(section, "listen",
					      "a UNIX socket, which RUN/directory is already",
					      "IPV4:PORT, [IPV6]:PORT", problems);
	if (directory->listen_count > 0 && directory->reader_count + directory->changer_count == 0)
		config_problem_report(section, "readers", "must be set: nobody may ask at listen",
				      "names of certificates, in readers or changers", problems);
	if (directory->listen_count == 0 && directory->reader_count > 0)
		config_problem_report(section, "readers", "means nothing without listen",
				      "with listen", problems);
	if (directory->listen_count == 0 && directory->changer_count > 0)
		config_problem_report(section, "changers", "means nothing without listen",
				      "with listen", problems);
}

void config_check_directory(const struct config *config, const struct config_tree *tree,
			    struct config_problems *problems)
{
	const struct config_tree_section *section = config_directory_section(tree);
	const struct config_directory *directory = &config->directory;

	if (section == NULL || directory->backend == CONFIG_BACKEND_NONE)
		return;
	config_check_kinds(directory, section, problems);
	check_tls(directory, section, problems);
	check_directory_listens(directory, section, problems);
}
