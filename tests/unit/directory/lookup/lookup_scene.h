// SPDX-License-Identifier: ISC
/*
 * Whoever asks the directory about senders and lists, on a client of the test's own: each question
 * is answered by a function of the test, at once or later.
 */
#pragma once
#include "base/str.h"
#include "config/config.h"
#include "directory/client/client.h"
#include "directory/lookup/lookup.h"
#include "os/loop.h"
#include <stdbool.h>
#include <stddef.h>

enum { LOOKUP_SCENE_TEXT_SIZE = 300, LOOKUP_SCENE_LATE_MAX = 2000 };

struct directory_question_private {
	struct directory_question *question; /* NULL: cancelled */
	const char *table;
	bool is_list;
	char key[LOOKUP_SCENE_TEXT_SIZE]; /* the prefix of a list */
	char after[LOOKUP_SCENE_TEXT_SIZE];
};

/* Fills in TEXT, which has room for DIRECTORY_LIST_MAX results. */
typedef void lookup_scene_answer(const struct directory_question_private *asked,
				 struct directory_answer_text *text, struct str *results);

extern struct lookup_scene {
	lookup_scene_answer *answer;
	struct config config;
	struct os_loop *loop;
	struct directory *directory;
	bool is_late; /* the questions wait in LATE */
	struct directory_question_private late[LOOKUP_SCENE_LATE_MAX];
	size_t late_count;
	char outcome[LOOKUP_SCENE_TEXT_SIZE]; /* for the test */
} lookup_scene;

void lookup_scene_open(lookup_scene_answer *answer);
void lookup_scene_close(void);

/* The question that was asked as the INDEXth. */
void lookup_scene_tell(size_t index);
/* All that wait, and those that are asked meanwhile. */
void lookup_scene_tell_all(void);
/* None of those from the FIRSTth on waits any more. */
void lookup_scene_expect_cancelled(size_t first);
