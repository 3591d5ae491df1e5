// SPDX-License-Identifier: ISC
/*
 * config/type/type.h - shared by the types of settings (config_type_ in schema.h).
 */
#ifndef CONFIG_TYPE_TYPE_H
#define CONFIG_TYPE_TYPE_H

#include "config/schema/schema.h"

/* Accepted. */
extern const struct config_complaint config_type_fine;
/* Rejected with MESSAGE, which the caller owns; allowed is what the setting's row says. */
struct config_complaint config_type_complain(const char *message);

/* Stores a copy of TEXT, in CONFIG's arena, in the char * at PLACE. Accepted. */
struct config_complaint config_type_keep(const struct config *config, struct str text, void *place);
/* print() for types whose values are char *. */
void config_type_print_text(const struct config_setting *setting, const void *place,
			    struct buffer *out);

/* Prints a limit (a row's min or max) of a number with its unit. */
void config_type_print_number(const struct config_type *type, uint64_t number, struct buffer *out);

/* Whether PATH is valid for a UNIX socket: absolute, and not too long for a sockaddr_un. */
struct config_complaint config_type_check_socket_path(struct str path);
/* Whether each '%' in TEXT is followed by one of LETTERS. */
struct config_complaint config_type_check_percents(struct str text, const char *letters);
/* Removes "[" and "]" around HOST; false, and unchanged, if they are missing. */
bool config_type_unbracket(struct str *host);

#endif
