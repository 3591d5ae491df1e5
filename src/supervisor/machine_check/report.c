// SPDX-License-Identifier: ISC
/* What the check of the machine found, with the position of the setting. */
#include "base/buffer.h"
#include "config/text.h"
#include "os/file/rights.h"
#include "supervisor/machine_check/internal.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void machine_check_report(struct machine_check *check, enum machine_severity severity,
			  const char *setting, const char *format, ...)
{
	struct config_position position = config_setting_position(check->text, setting);
	struct buffer out = {0};
	char message[2 * PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	if (position.file.length == 0)
		position.file = str_from(check->config->file);
	buffer_append_str(&out, position.file);
	if (position.line != 0)
		buffer_append_format(&out, ":%u", position.line);
	buffer_append_format(&out, ": %s%s: %s", severity == MACHINE_WARNING ? "warning: " : "",
			     setting, message);
	buffer_append_byte(&out, '\0');
	if ((int)severity > check->worst)
		check->worst = (int)severity;
	check->found(check->context,
		     &(struct machine_finding){severity, position.file, position.line, setting,
					       message, buffer_data(&out)});
	buffer_clear(&out);
}

void machine_check_file(struct machine_check *check, const char *setting, const char *path)
{
	struct os_file_info info;
	int error;

	if (path == NULL || *path == '\0')
		return;
	error = os_file_info_behind(path, &info);
	if (error < 0 && error != -EACCES)
		machine_check_report(check, MACHINE_FAULT, setting, "%s: %s", path,
				     strerror(-error));
}
