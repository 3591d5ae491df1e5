// SPDX-License-Identifier: ISC
/*
 * supervisor/start/log_settings.h - the log settings of the configuration.
 */
#ifndef SUPERVISOR_START_LOG_SETTINGS_H
#define SUPERVISOR_START_LOG_SETTINGS_H

#include "config/config.h"

/* Applies them; PROCESS is the process's name in the log. */
void log_settings_apply(const char *process, const struct config *config);

#endif
