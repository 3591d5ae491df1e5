// SPDX-License-Identifier: ISC
/*
 * config/schema/row.h - macros for the rows of the table of settings, and its parts: those outside
 * all sections are in root.c (machine, queue, bounces), receive.c and send.c; users.c has those of
 * directory and auth, node.c those of node and stage, mailbox.c those of record and rule, rate.c
 * those of rate and destination, listen.c and tls.c those of these, section.c the others. A row's
 * check stands beside it.
 */
#ifndef CONFIG_SCHEMA_ROW_H
#define CONFIG_SCHEMA_ROW_H

#include "config/schema/schema.h"

#define SETTING(where, label, kind, ...)                                                       \
	{                                                                                      \
		.section = CONFIG_SECTION_##where, .name = label, .type = &config_type_##kind, \
		__VA_ARGS__                                                                    \
	}
#define AT(structure, field) .offset = offsetof(struct structure, field)
#define LIST(structure, values, count) \
	AT(structure, values), .count_offset = offsetof(struct structure, count)
#define INITIAL(text)      .initial = (text)
#define COMPUTED(text)     .computed = (text)
#define RANGE(least, most) .min = (least), .max = (most)
#define WORDS(list)        .words = (list)
#define KIND(name)         (1u << CONFIG_SERVICE_##name)
#define BACKEND(name)      (1u << CONFIG_BACKEND_##name)
#define USERS(name)        (1u << CONFIG_AUTH_##name)
#define KINDS(bits)        .kinds = (bits)
#define SECRET             .is_secret = true
#define OF_MACHINE         .is_of_machine = true
#define CHECK(function)    .check = (function)
#define MEANING(text)      .meaning = (text)

/* What the check of a row looks at. */
struct config_row_check {
	const struct config *config;
	const void *base; /* the struct of the section */
	/* The setting is wrong; may be called for each thing that is. */
	void (*complain)(const struct config_row_check *check, const char *message,
			 const char *allowed);
};

static inline void config_complain(const struct config_row_check *check, const char *message,
				   const char *allowed)
{
	check->complain(check, message, allowed);
}

static inline void config_complain_if(const struct config_row_check *check, bool is_wrong,
				      const char *message, const char *allowed)
{
	if (is_wrong)
		config_complain(check, message, allowed);
}

extern const struct config_word config_tls_version_words[];

/* The rows and their number; within a part those of a section are adjacent. */
extern const struct config_setting config_schema_root[];
extern const size_t config_schema_root_count;
extern const struct config_setting config_schema_receive[];
extern const size_t config_schema_receive_count;
extern const struct config_setting config_schema_send[];
extern const size_t config_schema_send_count;
extern const struct config_setting config_schema_bounces[];
extern const size_t config_schema_bounces_count;
extern const struct config_setting config_schema_listen[];
extern const size_t config_schema_listen_count;
extern const struct config_setting config_schema_tls[];
extern const size_t config_schema_tls_count;
extern const struct config_setting config_schema_section[];
extern const size_t config_schema_section_count;
extern const struct config_setting config_schema_rate[];
extern const size_t config_schema_rate_count;
extern const struct config_setting config_schema_record[];
extern const size_t config_schema_record_count;
extern const struct config_setting config_schema_node[];
extern const size_t config_schema_node_count;
extern const struct config_setting config_schema_users[];
extern const size_t config_schema_users_count;

#endif
