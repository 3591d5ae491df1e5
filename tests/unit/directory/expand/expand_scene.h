// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/expand/expand_scene.h - an expander over a store in memory that is full of
 * records, and what it answers as text.
 */
#ifndef TESTS_UNIT_EXPAND_SCENE_H
#define TESTS_UNIT_EXPAND_SCENE_H

#include "directory/expand/expand.h"
#include "unit/directory/store/memory_store.h"

/* Domains example.org, where everybody exists, and listed.example; three services. */
extern const struct config expand_config;
extern const struct config expand_no_domains;     /* the same without domains */
extern const struct config expand_default_domain; /* without, but alias.example is the default */

struct answer {
	unsigned count;
	int error;
	bool may_keep;
	uint64_t version;
	char *results; /* "; " between */
	char *depends; /* the same, without "on " */
	size_t result_count;
};

struct answer answer_new(void);
void answer_clear(struct answer *answer);
void answer_free(struct answer *answer);
/* For directory_expand(), with a struct answer. */
void answer_expanded(void *context, int error, const struct directory_expansion *expansion);

struct scene {
	struct memory_store *store;
	struct directory_expander *expander;
	struct answer answer;
};

/* Over the records of expand_records.c. */
void scene_open(struct scene *scene, bool is_late);
void scene_close(struct scene *scene);
void scene_begin(struct scene *scene, const char *address);
/* And answers until it has ended. */
void scene_ask(struct scene *scene, const char *address);

extern const char *const expand_records[]; /* NULL after the last */

#endif
