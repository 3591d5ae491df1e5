// SPDX-License-Identifier: ISC
/*
 * config/suggest.h - what somebody may have meant by a name that does not exist.
 */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

#include "config/schema.h"

/* Reports NAME, which is neither a setting nor a section in SECTION, as unknown. */
void config_suggest(struct config_problems *problems, unsigned line, const char *setting,
		    enum config_section section, struct str name);

#endif
