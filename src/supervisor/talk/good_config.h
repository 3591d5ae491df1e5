// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/good_config.h - RUN/stagepost.conf, the last good configuration: the one with
 * which the node in RUN has started, or that a reload has taken over since.
 *
 * Commands use it while the file that they should read is wrong, or closed to their user. So
 * everybody may read it, and passwords and keys are not in it (config_print_public()). It stays
 * when the node ends. It is replaced atomically.
 */
#ifndef SUPERVISOR_TALK_GOOD_CONFIG_H
#define SUPERVISOR_TALK_GOOD_CONFIG_H

#include "config/text.h"

#define GOOD_CONFIG_NAME "stagepost.conf"

/* Replaces that in CONFIG's directory run by CONFIG, which was read from FILE; -errno. */
MUST_CHECK int good_config_write(const struct config *config, const char *file);
/* The one in the directory RUN, if it was read from FILE, by the same path: 0 and *CONFIG_OUT,
 * which the caller frees. -ENOENT: there is none from FILE; -EPERM: it is not of RUN's owner, and
 * not trusted; -EINVAL: this version does not understand it; another -errno. */
MUST_CHECK int good_config_read(const char *run, const char *file, struct config **config_out);

#endif
