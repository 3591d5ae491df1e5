// SPDX-License-Identifier: ISC
/*
 * config/suggest.h - what somebody may have meant by a name that does not exist.
 */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

#include "config/schema.h"

/* Reports NAME, which stands in SECTION as a setting or a section, but is none there. */
void config_suggest(struct config_problems *problems, unsigned line, const char *setting,
		    enum config_section section, struct str name, bool is_section);

#endif
