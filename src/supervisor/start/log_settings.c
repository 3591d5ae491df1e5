// SPDX-License-Identifier: ISC
#include "supervisor/start/log_settings.h"
#include "log/event.h"

void log_settings_apply(const char *process, const struct config *config)
{
	enum log_level level = LOG_INFO_LEVEL;

	(void)log_level_parse(str_from(config->log_level), &level);
	log_configure(config->log_format == CONFIG_LOG_JSON ? LOG_FORMAT_JSON : LOG_FORMAT_LOGFMT,
		      config->log_target == CONFIG_LOG_SYSLOG ? LOG_TARGET_SYSLOG
							      : LOG_TARGET_STDERR);
	log_open(process, level);
}
