// SPDX-License-Identifier: ISC
/*
 * config/type.h - what the types of settings (config_type_ in schema.h) share; only they use it.
 */
#ifndef CONFIG_TYPE_H
#define CONFIG_TYPE_H

#include "config/schema.h"

/* No complaint. */
extern const struct config_complaint config_type_fine;
/* MESSAGE, which stays the caller's, with what the setting's row says is allowed. */
struct config_complaint config_type_complain(const char *message);

/* Puts a copy of TEXT, in CONFIG's arena, into the char * at PLACE. No complaint. */
struct config_complaint config_type_keep(const struct config *config, struct str text, void *place);
/* The print() of a type whose values are char *. */
void config_type_print_text(const struct config_setting *setting, const void *place,
			    struct buffer *out);

/* Whether PATH can be a UNIX socket's: absolute, and it fits into a sockaddr_un. */
struct config_complaint config_type_check_socket_path(struct str path);
/* Whether each '%' of TEXT is followed by one of LETTERS. */
struct config_complaint config_type_check_percents(struct str text, const char *letters);
/* Takes "[" and "]" from around HOST; false, and as it was, where they are not there. */
bool config_type_unbracket(struct str *host);

#endif
