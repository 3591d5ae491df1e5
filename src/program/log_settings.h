// SPDX-License-Identifier: ISC
/*
 * program/log_settings.h - what the configuration says of logs.
 */
#ifndef PROGRAM_LOG_SETTINGS_H
#define PROGRAM_LOG_SETTINGS_H

#include "config/config.h"

/* Carries it out for the process that is called PROCESS in the log. */
void log_settings_apply(const char *process, const struct config *config);

#endif
