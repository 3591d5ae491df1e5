// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/postgresql/fake_rows.h - the rows of the database, and statements on
 * them. */
#ifndef TESTS_UNIT_FAKE_ROWS_H
#define TESTS_UNIT_FAKE_ROWS_H

#include "fake_database.h"

enum { FAKE_PARAMETERS_MAX = 20 };

struct fake_parameter {
	char *data;
	size_t length;
};

struct fake_statement {
	char *text; /* a name, or SQL */
	struct fake_parameter parameters[FAKE_PARAMETERS_MAX];
	size_t count;
};

void fake_rows_begin(void);
void fake_rows_end(void);
/* What tells these tables from others. */
unsigned fake_rows_shape(void);
/* NULL: it fails as a condition that is not met. */
PGresult *fake_rows_run(const struct fake_statement *statement);
char *fake_copy_text(const char *text, size_t length);

#endif
