// SPDX-License-Identifier: ISC
/* Checks the passwords of logins to relays: are there any, and who else could read them? */
#include "config/text.h"
#include "keys/passwords.h"
#include "os/file/file.h"
#include "supervisor/machine_check/internal.h"
#include <errno.h>
#include <sys/stat.h>

/* The configuration, or the included file, that has passwords. */
static void check_configuration(struct machine_check *check)
{
	struct config_position position = config_setting_position(check->text, "smtproutes");
	struct buffer path CLEANUP(buffer_clear) = {0};
	struct os_file_info info;
	int file;

	if (!config_has_passwords(check->config))
		return;
	buffer_append_str(&path,
			  position.file.length > 0 ? position.file : str_from(check->config->file));
	buffer_append_byte(&path, '\0');
	file = os_file_open(OS_FILE_HERE, buffer_data(&path), OS_FILE_READ | OS_FILE_NO_BLOCK);
	if (file < 0)
		return;
	if (os_file_info(file, &info) == 0 && (info.mode & S_IRWXO) != 0)
		machine_check_report(check, MACHINE_FAULT, "smtproutes",
				     "there are passwords in it, and users other than the file's "
				     "owner and group have access to it");
	os_file_close(file);
}

static void check_route(struct machine_check *check, const struct config_route *route)
{
	struct buffer password CLEANUP(buffer_clear) = {.is_secret = true};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	const char *path = check->config->relay_passwords;
	int error = keys_password_find(check->config, str_from(route->relay), route->port,
				       str_from(route->user), &password, &reason);

	if (error == -EACCES)
		machine_check_report(check, MACHINE_WARNING, "relay_passwords",
				     "%s cannot be checked by this user", path);
	else if (error < 0 && *path == '\0')
		machine_check_report(check, MACHINE_FAULT, "smtproutes",
				     "%s has no password, and relay_passwords is not set",
				     route->user);
	else if (error < 0)
		machine_check_report(check, MACHINE_FAULT, "relay_passwords",
				     "%s: %s at %s: " STR_FORMAT, path, route->user, route->relay,
				     STR_ARGUMENTS(buffer_view(&reason)));
}

void machine_check_logins(struct machine_check *check)
{
	const struct config_route *route;
	const struct config *config = check->config;

	check_configuration(check);
	for (size_t i = 0; (route = config_login_route(config, i)) != NULL; i++)
		if (*route->user != '\0')
			check_route(check, route);
}
