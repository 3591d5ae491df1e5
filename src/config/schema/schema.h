// SPDX-License-Identifier: ISC
/*
 * config/schema/schema.h - the table of settings.
 *
 * The parser, the error texts, config_print() and the reference manual all
 * derive from it; to add a setting, add its row: schema/row.h says in which
 * file.
 */
#ifndef CONFIG_SCHEMA_SCHEMA_H
#define CONFIG_SCHEMA_SCHEMA_H

#include "config/text.h"

enum config_section {
	CONFIG_SECTION_ROOT, /* outside all sections */
	CONFIG_SECTION_LISTEN,
	CONFIG_SECTION_SERVICE,
	CONFIG_SECTION_DOMAIN,
	CONFIG_SECTION_TRANSPORT,
	CONFIG_SECTION_PROCESS,
	CONFIG_SECTION_CERTIFICATE,
	CONFIG_SECTION_TLS,
	CONFIG_SECTION_CLASS,
	CONFIG_SECTION_RATE,
	CONFIG_SECTION_SOURCE,
	CONFIG_SECTION_DESTINATION,
	CONFIG_SECTION_NODE,
	CONFIG_SECTION_STAGE,
	CONFIG_SECTION_DIRECTORY,
	CONFIG_SECTION_AUTH,
	CONFIG_SECTION_RECORD,
	CONFIG_SECTION_RULE,
	CONFIG_SECTION_COUNT,
};

struct config_word {
	const char *name; /* NULL ends the list */
	unsigned value;   /* of the enum */
};

/* Why a value is rejected; without a message, it is accepted. */
struct config_complaint {
	const char *message;
	const char *allowed; /* NULL: as in the setting's row */
};

struct config_setting;
struct config_row_check;

/* How the values of a setting are written and stored. */
struct config_type {
	const char *name;    /* for the manual */
	const char *allowed; /* for people; NULL: from the row's range or words */
	size_t size;         /* bytes of one value in memory */
	uint64_t max;        /* bytes of a text whose row has no max */
	bool is_list;        /* the field is a pointer to values, next to their number */
	bool is_bare;        /* printed without quotes */
	bool is_secret;      /* no message shows what was written */
	/* Parses TEXT into the value at PLACE; memory is in CONFIG's arena. */
	struct config_complaint (*parse)(const struct config_setting *setting,
					 const struct config *config, struct str text, void *place);
	/* Prints the value at PLACE so that parse() returns the same, without quotes. */
	void (*print)(const struct config_setting *setting, const void *place, struct buffer *out);
	/* Of a number: its units, the largest first, else NULL; the value in memory is SCALE times
	 * what is written. */
	const struct config_unit *units;
	uint64_t scale;
};

struct config_setting {
	enum config_section section;
	const char *name;
	const struct config_type *type;
	size_t offset;        /* of the field in the section's struct */
	size_t count_offset;  /* of a list's length (a size_t) */
	const char *initial;  /* the default, as text; of a list: with ", " between values */
	const char *computed; /* the default in words, if check/ computes it */
	uint64_t min;         /* of a number; in seconds for a duration */
	uint64_t max;         /* likewise; of a text or path: its length */
	const struct config_word *words; /* of a word */
	unsigned kinds; /* of services or backends that have it, a bit each; 0: all.
			 * Without a default these require it */
	/* Looks, when all settings are known, at the others, and says what is wrong with this one:
	 * config_complain(). Only where it applies. NULL: nothing can be. */
	void (*check)(const struct config_row_check *check);
	const char *meaning; /* for the manual: sentences */
	bool is_secret;      /* there may be a password in it, which the type does not hide when it
			      * prints      a value: not in what everybody may read */
	bool is_of_machine;  /* each of several nodes that do the same has its own value */
};

/* A kind of section: "listen smtp { ... }". */
struct config_section_info {
	const char *name;    /* "" for the root */
	const char *title;   /* what follows the name, for people; "": nothing */
	const char *meaning; /* for the manual */
	size_t size;         /* bytes of its struct, which is zeroed first */
	const char *kind;    /* the setting that decides which others apply; or NULL */
};

const struct config_section_info *config_section_info(enum config_section section);
/* CONFIG_SECTION_COUNT if no section is called NAME. */
enum config_section config_section_find(struct str name);

/* Walks the rows of a section; begins as {.section = SECTION}. */
struct config_rows {
	enum config_section section;
	size_t part, index; /* of the next row to look at */
};

/* The next row of the section, in the order of the manual; NULL: there are no more. */
const struct config_setting *config_rows_next(struct config_rows *rows);
size_t config_section_count(enum config_section section);
const struct config_setting *config_setting_find(enum config_section section, struct str name);

/* The allowed values in words, for messages and the manual. */
void config_setting_allowed(const struct config_setting *setting, struct buffer *out);
/* The kinds that have the setting, in words: "kind = lmtp, pipe". */
void config_setting_kinds(const struct config_setting *setting, struct buffer *out);
/* Whether the kind of the struct at BASE has the setting. */
bool config_setting_applies(const struct config_setting *setting, const void *base);

/* Takes the next value from *REST, which begins as the default of a setting that is a list. */
bool config_initial_next(struct str *rest, struct str *value_out);

/* Whether changing it needs a restart (schema/fixed.c). */
bool config_setting_is_fixed(const struct config_setting *setting);

extern const struct config_type config_type_number;   /* uint32_t */
extern const struct config_type config_type_size;     /* uint64_t, bytes */
extern const struct config_type config_type_seconds;  /* uint32_t */
extern const struct config_type config_type_duration; /* int64_t, microseconds */
extern const struct config_type config_type_boolean;
extern const struct config_type config_type_word; /* an enum */
extern const struct config_type config_type_log_level;
extern const struct config_type config_type_host;
extern const struct config_type config_type_path;
extern const struct config_type config_type_delimiter;
extern const struct config_type config_type_quota;
extern const struct config_type config_type_optional_path;
extern const struct config_type config_type_mailbox_path;
extern const struct config_type config_type_text;
extern const struct config_type config_type_key; /* struct hash_key */
extern const struct config_type config_type_user;
extern const struct config_type config_type_group;
extern const struct config_type config_type_local_part;
extern const struct config_type config_type_address;
extern const struct config_type config_type_node_group;
extern const struct config_type config_type_node_name;
extern const struct config_type config_type_server;
extern const struct config_type config_type_owner;
extern const struct config_type config_type_service;
extern const struct config_type config_type_endpoint;
extern const struct config_type config_type_local_parts;
extern const struct config_type config_type_endpoints;
extern const struct config_type config_type_networks;
extern const struct config_type config_type_routes;
extern const struct config_type config_type_qmtproutes;
extern const struct config_type config_type_senderroutes;
extern const struct config_type config_type_relays;         /* struct config_route */
extern const struct config_type config_type_addresses;      /* struct in6_addr */
extern const struct config_type config_type_sender_sources; /* struct config_source_use */
extern const struct config_type config_type_domain_sources;
extern const struct config_type config_type_arguments;
extern const struct config_type config_type_texts;
extern const struct config_type config_type_names;
extern const struct config_type config_type_urls;
extern const struct config_type config_type_domains;
extern const struct config_type config_type_mappings;
extern const struct config_type config_type_servers;
extern const struct config_type config_type_tls_names;    /* of a certificate or a client */
extern const struct config_type config_type_tls_matches;  /* of a server's certificate */
extern const struct config_type config_type_ciphers;      /* of TLS 1.2 */
extern const struct config_type config_type_fingerprints; /* lower case, without colons */
extern const struct config_type config_type_reaches;      /* struct config_reach */
extern const struct config_type config_type_header_tests; /* struct config_header_test */
extern const struct config_type config_type_address_masks;
extern const struct config_type config_type_masks;

#endif
