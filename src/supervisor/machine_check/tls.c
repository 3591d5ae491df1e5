// SPDX-License-Identifier: ISC
/* Checks the files of TLS: would clients accept what they are shown? */
#include "base/timestamp.h"
#include "keys/certificate.h"
#include "keys/set.h"
#include "os/clock.h"
#include "supervisor/machine_check/internal.h"
#include "tls/certificate.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int64_t SOON_US = 30 * DAY_US;

struct file_check {
	struct machine_check *check;
	const struct config_certificate *wanted;
	char setting[MACHINE_SETTING_SIZE]; /* that names the chain */
};

void machine_check_name_setting(const struct config_certificate *wanted, const char *member,
			 char setting[MACHINE_SETTING_SIZE])
{
	static const char SECTION[] = "section ";

	if (strncmp(wanted->name, SECTION, strlen(SECTION)) == 0)
		snprintf(setting, MACHINE_SETTING_SIZE, "%s.%s", wanted->name + strlen(SECTION),
			 strcmp(member, "chain") == 0 ? "certificate" : member);
	else
		snprintf(setting, MACHINE_SETTING_SIZE, "certificate %s.%s", wanted->name, member);
}

static void check_dates(const struct file_check *files, const struct tls_chain *chain)
{
	int64_t now_us = os_clock_wall_us();

	for (size_t i = 0; i < chain->link_count; i++) {
		const struct tls_chain_link *link = &chain->links[i];
		char date[TIMESTAMP_SIZE];

		if (link->begins_us > now_us) {
			timestamp_format_seconds(link->begins_us, date);
			machine_check_report(files->check, MACHINE_FAULT, files->setting,
					     "%s: certificate %zu is not valid before %s",
					     files->wanted->chain, i + 1, date);
		} else if (link->ends_us < now_us + SOON_US) {
			bool is_over = link->ends_us < now_us;

			timestamp_format_seconds(link->ends_us, date);
			machine_check_report(
				files->check, is_over ? MACHINE_FAULT : MACHINE_WARNING,
				files->setting, "%s: certificate %zu %s %s", files->wanted->chain,
				i + 1, is_over ? "has expired at" : "expires at", date);
		}
	}
}

static void check_certificate_names(const struct file_check *files, const struct tls_chain *chain)
{
	const struct config_certificate *wanted = files->wanted;
	char setting[MACHINE_SETTING_SIZE];

	machine_check_name_setting(wanted, "names", setting);
	for (size_t i = 0; i < wanted->name_count; i++)
		if (!tls_chain_covers(chain, str_from(wanted->names[i])))
			machine_check_report(files->check, MACHINE_FAULT, setting,
					     "%s is not a name in %s", wanted->names[i],
					     wanted->chain);
}

static void check_chain(const struct file_check *files, struct str pem, bool *covers_host)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct arena *arena = arena_new();
	struct tls_chain chain;

	if (tls_chain_read(pem, arena, &chain, &reason) == 0) {
		if (chain.broken_at > 0)
			machine_check_report(files->check, MACHINE_FAULT, files->setting,
					     "%s: certificate %zu is not signed by the next one",
					     files->wanted->chain, chain.broken_at);
		check_dates(files, &chain);
		check_certificate_names(files, &chain);
		*covers_host |= tls_chain_covers(&chain, str_from(files->check->config->hostname));
	}
	arena_free(arena);
}

/* A file that only other users may read is theirs to check. */
static void check_certificate(struct machine_check *check, const struct config_certificate *wanted,
			      bool *covers_host)
{
	struct file_check files = {check, wanted, ""};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct keys_certificate read = {0};
	const char *file;
	int error = keys_certificate_read(wanted, &read, &file, &reason);
	bool is_key = file == wanted->key;

	machine_check_name_setting(wanted, is_key ? "key" : "chain", files.setting);
	if (error < 0 && error != -EACCES)
		machine_check_report(check, MACHINE_FAULT, files.setting, "%s: " STR_FORMAT, file,
				     STR_ARGUMENTS(buffer_view(&reason)));
	else if (error == -EACCES)
		machine_check_report(check, MACHINE_WARNING, files.setting,
				     "%s cannot be checked by this user", file);
	if (is_key || error == 0)
		check_chain(&files, buffer_view(&read.chain), covers_host);
	keys_certificate_clear(&read);
}

static bool is_repeated_authority(const struct config *config, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(config_authority_at(config, i), config_authority_at(config, index)) == 0)
			return true;
	return false;
}

void machine_check_authority_setting(const struct config *config, size_t index,
				     char setting[MACHINE_SETTING_SIZE])
{
	if (index < config->listen_count)
		snprintf(setting, MACHINE_SETTING_SIZE, "listen %s.client_authority",
			 config_protocol_name(config->listens[index].protocol));
	else
		snprintf(setting, MACHINE_SETTING_SIZE, "%s.authority",
			 config_authority_at(config, index) == config->node.authority
				 ? "node"
				 : "directory");
}

static void check_authorities(struct machine_check *check)
{
	const struct config *config = check->config;
	size_t room = KEYS_AUTHORITIES_SIZE_MAX;

	for (size_t i = 0; i < config_authority_count(config); i++) {
		const char *path = config_authority_at(config, i);
		char setting[MACHINE_SETTING_SIZE];
		struct buffer reason CLEANUP(buffer_clear) = {0};
		struct buffer text CLEANUP(buffer_clear) = {0};
		int error = 0;

		machine_check_authority_setting(config, i, setting);
		if (*path != '\0' && !is_repeated_authority(config, i))
			error = keys_read_authorities(path, room, &text, &reason);
		room -= error == 0 ? text.length : 0;
		if (error == -EACCES)
			machine_check_report(check, MACHINE_WARNING, setting,
					     "%s cannot be checked by this user", path);
		else if (error < 0)
			machine_check_report(check, MACHINE_FAULT, setting, "%s: " STR_FORMAT, path,
					     STR_ARGUMENTS(buffer_view(&reason)));
	}
}

void machine_check_tls(struct machine_check *check)
{
	const struct config *config = check->config;
	bool covers_host = false;
	bool ignored = false; /* what names machines have for the directory is theirs to say */

	for (size_t i = 0; i < config_key_count(config); i++) {
		const struct config_certificate one = config_key_at(config, i);

		check_certificate(check, &one,
				  i < config->certificate_count ? &covers_host : &ignored);
	}
	if (config_has_tls_in(config) && config->certificate_count > 0 && !covers_host)
		machine_check_report(check, MACHINE_WARNING, "hostname", "no certificate is for %s",
				     config->hostname);
	check_authorities(check);
}
