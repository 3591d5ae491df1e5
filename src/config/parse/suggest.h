// SPDX-License-Identifier: ISC
/*
 * config/parse/suggest.h - suggests what an unknown name may have meant.
 */
#ifndef CONFIG_PARSE_SUGGEST_H
#define CONFIG_PARSE_SUGGEST_H

#include "config/schema/schema.h"

/* Reports NAME in SECTION, which is not known there as a setting or section. */
void config_suggest(struct config_problems *problems, unsigned line, const char *setting,
		    enum config_section section, struct str name, bool is_section);

#endif
