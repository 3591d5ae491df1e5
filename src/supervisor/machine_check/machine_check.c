// SPDX-License-Identifier: ISC
#include "base/attributes.h"
#include "base/buffer.h"
#include "deliver/owner.h"
#include "mail/text/text.h"
#include "os/file/rights.h"
#include "os/process/process.h"
#include "queue/store.h"
#include "supervisor/machine_check/internal.h"
#include "supervisor/talk/lmtp.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --- users --- */

/* Only root can change the user: others serve as themselves. */
static void check_existence_of_user(struct machine_check *check, enum machine_severity severity,
				    const char *setting, const char *user)
{
	struct os_process_user found;

	if (*user == '\0' || strcmp(user, "%u") == 0 ||
	    os_process_user_find(user, &found) != -ENOENT)
		return;
	machine_check_report(check, os_process_may_change_user() ? severity : MACHINE_FAULT,
			     setting, "there is no user %s on this machine", user);
}

/* A program of the group of the sockets in the run directory could connect to them
 * (deliver/owner.h refuses to run it). */
static void check_program_group(struct machine_check *check, const struct config_service *service)
{
	const char *owner = check->config->user;
	char setting[MACHINE_SETTING_SIZE];
	struct os_process_user ours;
	struct os_process_user found;

	if (service->kind != CONFIG_SERVICE_PIPE || *owner == '\0' || *service->user == '\0' ||
	    strcmp(service->user, "%u") == 0 || os_process_user_find(owner, &ours) < 0 ||
	    os_process_user_find(service->user, &found) < 0 || ours.gid != found.gid)
		return;
	snprintf(setting, sizeof setting, "service %s.user", service->name);
	machine_check_report(check, MACHINE_FAULT, setting,
			     "the group of %s is that of %s, which may connect to the sockets in "
			     "%s: its programs are not run",
			     service->user, owner, check->config->run);
}

static void check_submit_group(struct machine_check *check)
{
	const char *name = check->config->submit_group;
	gid_t group;

	if (*name != '\0' && os_process_group_find(name, &group) == -ENOENT)
		machine_check_report(check, MACHINE_FATAL, "submit_group",
				     "there is no group %s on this machine", name);
}

static void check_configured_users(struct machine_check *check)
{
	const struct config *config = check->config;
	char setting[MACHINE_SETTING_SIZE];

	check_existence_of_user(check, MACHINE_FATAL, "user", config->user);
	check_submit_group(check);
	for (size_t i = 0; i < CONFIG_PROCESSES; i++) {
		snprintf(setting, sizeof setting, "process %s.user", config->processes[i].name);
		check_existence_of_user(check, MACHINE_FATAL, setting, config->processes[i].user);
	}
	for (size_t i = 0; i < config->service_count; i++) {
		snprintf(setting, sizeof setting, "service %s.user", config->services[i].name);
		check_existence_of_user(check, MACHINE_FAULT, setting, config->services[i].user);
		check_program_group(check, &config->services[i]);
	}
}

/* --- services --- */

static void check_program_of_service(struct machine_check *check,
				     const struct config_service *service)
{
	const char *path = service->command[0];
	char setting[MACHINE_SETTING_SIZE];
	struct os_file_info info;
	int error;

	snprintf(setting, sizeof setting, "service %s.command", service->name);
	error = os_file_info_behind(path, &info);
	if (error < 0) {
		if (error != -EACCES)
			machine_check_report(check, MACHINE_FAULT, setting, "%s: %s", path,
					     strerror(-error));
	} else if (!S_ISREG(info.mode) || (info.mode & 0111) == 0) {
		machine_check_report(check, MACHINE_FAULT, setting,
				     "%s cannot be run: no executable file", path);
	}
}

/* Warns if several users' mail would go into one mailbox, which is seldom intended. */
static void check_mailbox_path(struct machine_check *check, const struct config_service *service)
{
	char setting[MACHINE_SETTING_SIZE];

	if (strstr(service->path, "%u") != NULL)
		return;
	snprintf(setting, sizeof setting, "service %s.path", service->name);
	machine_check_report(check, MACHINE_WARNING, setting,
			     "%s has no %%u: all addresses of a domain share one mailbox",
			     service->path);
}

/* The directory of files like /var/mail/USER, where each user's lock files are made: by its group.
 */
static void check_spool(struct machine_check *check, const struct config_service *service)
{
	struct str base = config_mailbox_base(service);
	char setting[MACHINE_SETTING_SIZE];
	char path[PATH_MAX];
	struct os_file_info info;
	int error;

	snprintf(setting, sizeof setting, "service %s.path", service->name);
	snprintf(path, sizeof path, STR_FORMAT, STR_ARGUMENTS(base));
	error = os_file_info_behind(path, &info);
	if (error < 0)
		machine_check_report(check, MACHINE_FAULT, setting,
				     "%s: %s; mail waits until it is there", path,
				     strerror(-error));
	else if (!info.is_directory)
		machine_check_report(check, MACHINE_FAULT, setting, "%s is no directory", path);
	else if (str_find_last(str_from(service->path), '/') == (ptrdiff_t)base.length &&
		 ((info.mode & 020) == 0 || info.group == 0) && (info.mode & 002) == 0)
		machine_check_report(
			check, MACHINE_WARNING, setting,
			"%s has mode %04o: no group but root's may make lock files there, "
			"so mail for users waits; /var/mail has group mail and mode 2775",
			path, (unsigned)info.mode & 07777);
}

static void check_pipe_services(struct machine_check *check)
{
	for (size_t i = 0; i < check->config->service_count; i++) {
		const struct config_service *service = &check->config->services[i];

		if (service->kind == CONFIG_SERVICE_PIPE && service->command_count > 0)
			check_program_of_service(check, service);
		if (config_service_is_local(service) && service->path != NULL)
			check_mailbox_path(check, service);
		if (service->kind == CONFIG_SERVICE_MBOX && service->path != NULL &&
		    service->user != NULL && strcmp(service->user, "%u") == 0)
			check_spool(check, service);
	}
}

/* --- files --- */

/* The nearest existing directory above PATH, in which it would be created. */
static void copy_parent_path(const char *path, char parent[PATH_MAX])
{
	char *slash;

	snprintf(parent, PATH_MAX, "%s", path);
	slash = strrchr(parent, '/');
	if (slash == parent)
		slash++;
	if (slash != NULL)
		*slash = '\0';
}

/* A directory that exists or will be created by "serve", which does not create its parents. */
static void check_configured_directory(struct machine_check *check, const char *setting,
				       const char *path)
{
	char parent[PATH_MAX];
	struct os_file_info info;
	int error;

	error = os_file_info_behind(path, &info);
	if (error == 0) {
		if (!info.is_directory)
			machine_check_report(check, MACHINE_FATAL, setting, "%s is no directory",
					     path);
		else if (os_file_may_write(path) == -EROFS)
			machine_check_report(check, MACHINE_FATAL, setting, "%s: %s", path,
					     strerror(EROFS));
		return;
	}
	if (error != -ENOENT)
		return;
	copy_parent_path(path, parent);
	if (os_file_info_behind(parent, &info) == -ENOENT) {
		machine_check_report(check, MACHINE_FATAL, setting,
				     "%s cannot be made: there is no %s", path, parent);
		return;
	}
	error = os_file_may_write(parent);
	if (error < 0)
		machine_check_report(check, MACHINE_FATAL, setting, "%s cannot be made in %s: %s",
				     path, parent, strerror(-error));
}

/* The directory of the file PATH. */
static void check_directory_of(struct machine_check *check, const char *setting, const char *path)
{
	char directory[PATH_MAX];

	copy_parent_path(path, directory);
	check_configured_directory(check, setting, directory);
}

static void check_queue_place(struct machine_check *check)
{
	const struct config *config = check->config;
	struct buffer reason = {0};

	if (!config->queue_unsafe && queue_store_check_place(config->queue, &reason) == -ENOTSUP)
		machine_check_report(check, MACHINE_FATAL, "queue", "%s: " STR_FORMAT,
				     config->queue, STR_ARGUMENTS(buffer_view(&reason)));
	buffer_clear(&reason);
}

/* The directory "run" is emptied when the system starts. */
static bool is_inside(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

static void check_configured_places(struct machine_check *check)
{
	const struct config *config = check->config;

	if (is_inside(config->queue, config->run))
		machine_check_report(
			check, MACHINE_FATAL, "queue",
			"%s is inside run, %s: that is emptied when the machine starts",
			config->queue, config->run);
	else if (is_inside(config->run, config->queue))
		machine_check_report(check, MACHINE_FATAL, "run", "%s is inside queue, %s",
				     config->run, config->queue);
	check_configured_directory(check, "queue", config->queue);
	check_configured_directory(check, "run", config->run);
	if (config->mta_sts || config->tls_reports)
		check_configured_directory(check, "policy_path", config->policy_path);
	check_queue_place(check);
}

static void check_directory_files(struct machine_check *check)
{
	const struct config_directory *directory = &check->config->directory;

	if (directory->backend == CONFIG_BACKEND_NONE)
		return;
	if (directory->backend == CONFIG_BACKEND_SQLITE ||
	    directory->backend == CONFIG_BACKEND_LDAP)
		check_directory_of(check, "directory.path", directory->path);
	machine_check_file(check, "directory.password_file", directory->password_file);
	if (config_directory_has_tls(directory))
		return; /* machine_check_tls() reads them */
	machine_check_file(check, "directory.certificate", directory->certificate);
	machine_check_file(check, "directory.key", directory->key);
	machine_check_file(check, "directory.authority", directory->authority);
}

static void check_auth_files(struct machine_check *check)
{
	const struct config_auth *auth = &check->config->auth;

	if (!config_has_auth(check->config))
		return;
	for (size_t i = 0; i < auth->token_key_count; i++)
		machine_check_file(check, "auth.token_keys", auth->token_keys[i]);
	machine_check_file(check, "auth.introspection_secret_file",
			   auth->introspection_secret_file);
}

static void check_configured_listens(struct machine_check *check)
{
	size_t count = 0;

	for (size_t i = 0; i < check->config->listen_count; i++)
		count += check->config->listens[i].address_count;
	if (count == 0)
		machine_check_report(
			check, MACHINE_WARNING, "listen",
			"not configured: mail comes only from commands on this machine");
}

/* RFC 5321 section 4.5.1: a postmaster without a domain, whose mail, and that of double bounces,
 * has to end somewhere. */
static void check_postmaster(struct machine_check *check)
{
	const struct config *config = check->config;
	const char *domain = config->default_domain;

	if (config->directory.backend == CONFIG_BACKEND_NONE || config->domain_count > 0 ||
	    (domain != NULL && *domain != '\0'))
		return;
	machine_check_report(
		check, MACHINE_WARNING, "default_domain",
		"not set, and there is no section domain: unless the directory has the "
		"domain %s, mail for postmaster and for doublebounceto is refused",
		config->hostname);
}

/* Whether the service of DOMAIN has certainly no mailbox for its postmaster, for whom a server is
 * asked if ASKS_SERVERS. The directory may lead him to a user: "directory check" knows. */
static bool lacks_postmaster_of_domain(const struct config *config,
				       const struct config_domain *domain, bool asks_servers,
				       struct buffer *why)
{
	const struct config_service *service = domain->service;
	struct buffer address CLEANUP(buffer_clear) = {0};
	struct os_process_account owner;
	struct mail_verdict verdict;

	buffer_append_format(&address, "postmaster@%s", domain->name);
	if (service->kind == CONFIG_SERVICE_LMTP)
		return asks_servers && lmtp_talk_lacks(config, service, buffer_view(&address), why);
	if (service->user == NULL || strcmp(service->user, "%u") != 0 ||
	    config->directory.backend != CONFIG_BACKEND_NONE ||
	    owner_find_recipient(config, buffer_view(&address), &owner, &verdict))
		return false;
	buffer_append_string(why, verdict.text);
	return true;
}

static void check_postmaster_of(struct machine_check *check, const struct config_domain *domain,
				bool asks_servers)
{
	bool is_nodes = strcmp(domain->name, config_default_domain(check->config)) == 0;
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct buffer shown CLEANUP(buffer_clear) = {0};
	char setting[MACHINE_SETTING_SIZE];

	if (!lacks_postmaster_of_domain(check->config, domain, asks_servers, &why))
		return;
	mail_text_append(&shown, buffer_view(&why), MAIL_TEXT_ASCII);
	snprintf(setting, sizeof setting, "domain %s.service", domain->name);
	machine_check_report(check, MACHINE_WARNING, setting,
			     "service %s has no mailbox for its postmaster (" STR_FORMAT "), %s",
			     domain->service->name, STR_ARGUMENTS(buffer_view(&shown)),
			     is_nodes ? "who is the postmaster of this node, too: his mail fails"
				      : "whose mail goes to the postmaster of this node");
}

int machine_check(const struct config *config, struct str text, bool reads_secrets,
		  machine_found *found, void *context)
{
	struct machine_check check = {config, text, found, context, -1};

	machine_check_programs(&check);
	check_configured_users(&check);
	check_pipe_services(&check);
	check_configured_places(&check);
	check_directory_files(&check);
	check_auth_files(&check);
	if (config->dane)
		machine_check_file(&check, "dns_trust_anchor", config->dns_trust_anchor);
	check_configured_listens(&check);
	check_postmaster(&check);
	for (size_t i = 0; i < config->domain_count; i++)
		check_postmaster_of(&check, &config->domains[i], reads_secrets);
	machine_check_sources(&check);
	machine_check_peers(&check);
	machine_check_openness(&check);
	if (reads_secrets) {
		machine_check_tls(&check);
		machine_check_logins(&check);
	}
	return check.worst;
}
