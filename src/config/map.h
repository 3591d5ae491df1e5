// SPDX-License-Identifier: ISC
/*
 * config/map.h - the fields that the setting map of section directory can map to other LDAP
 * attributes, and their default attributes.
 */
#ifndef CONFIG_MAP_H
#define CONFIG_MAP_H

#include "base/str.h"

enum config_map_field {
	CONFIG_MAP_ADDRESS_KEY,
	CONFIG_MAP_ADDRESS_ALIAS,
	CONFIG_MAP_ADDRESS_TARGET,
	CONFIG_MAP_ADDRESS_USER,
	CONFIG_MAP_ADDRESS_MAILBOX,
	CONFIG_MAP_ADDRESS_SERVICE,
	CONFIG_MAP_ADDRESS_QUOTA,
	CONFIG_MAP_ADDRESS_STATE,
	CONFIG_MAP_USER_KEY,
	CONFIG_MAP_USER_SERVER,
	CONFIG_MAP_USER_NAME,
	CONFIG_MAP_USER_PASSWORD,
	CONFIG_MAP_USER_SEND_AS,
	CONFIG_MAP_USER_STATE,
	CONFIG_MAP_LIST_CLASS,
	CONFIG_MAP_LIST_KEY,
	CONFIG_MAP_LIST_ALIAS,
	CONFIG_MAP_LIST_MEMBER,
	CONFIG_MAP_LIST_TEXT,
	CONFIG_MAP_LIST_OWNER,
	CONFIG_MAP_LIST_VERP,
	CONFIG_MAP_LIST_POST,
	CONFIG_MAP_DOMAIN_CLASS,
	CONFIG_MAP_DOMAIN_KEY,
	CONFIG_MAP_DOMAIN_SERVICE,
	CONFIG_MAP_SERVER_KEY,
	CONFIG_MAP_SERVER_SERVICE,
	CONFIG_MAP_SERVER_ADDRESS,
	CONFIG_MAP_NODE_CLASS,
	CONFIG_MAP_NODE_KEY,
	CONFIG_MAP_NODE_ADDRESS,
	CONFIG_MAP_NODE_GROUP,
	CONFIG_MAP_NODE_WEIGHT,
	CONFIG_MAP_NODE_STATE,
	CONFIG_MAP_FIELDS,
};

struct config_map_field_info {
	const char *name;
	const char *attributes; /* separated by spaces; for ..._CLASS object classes */
	const char *meaning;
};

extern const struct config_map_field_info config_map_fields[CONFIG_MAP_FIELDS];

/* CONFIG_MAP_FIELDS if no field has that NAME. */
enum config_map_field config_map_field_find(struct str name);

#endif
