// SPDX-License-Identifier: ISC
/* What errors of the server and of libpq mean, and the end of a connection. */
#include "base/attributes.h"
#include "filing/record/postgresql/internal.h"
#include <errno.h>

/* SQLSTATEs, or the classes that they begin with; the first that fits counts. */
static const struct {
	const char *state;
	int error;
} STATES[] = {
	{"40001", -EDEADLK}, /* serialization */
	{"40P01", -EDEADLK}, /* deadlock */
	{"40", -EDEADLK},    /* rolled back for another such reason */
	{"23", -EDEADLK},   /* what it refers to was removed, or what it makes was made meanwhile */
	{"53100", -ENOSPC}, /* disk full */
	{"53300", -EUSERS}, /* too many connections */
	{"25006", -EROFS},  /* read-only */
	{"25P03", -ENOTCONN},  /* idle in a transaction for too long */
	{"57014", -ETIMEDOUT}, /* statement_timeout */
	{"55P03", -ETIMEDOUT}, /* lock_timeout */
	{"57P", -ENOTCONN},    /* shut down, crashed, starting */
	{"08", -ENOTCONN},     {"28", -EACCES},
	{"42501", -EACCES},    {"3D000", -EACCES}, /* no such database */
	{"42P01", -EPROTO},                        /* no such table */
	{"42703", -EPROTO},                        /* no such column */
};

void record_postgresql_close(struct record_postgresql *postgresql)
{
	PQfinish(postgresql->connection);
	postgresql->connection = NULL;
	postgresql->is_open = false;
	memset(postgresql->is_prepared, 0, sizeof postgresql->is_prepared);
}

static int error_of_sqlstate(const char *state, int otherwise)
{
	for (size_t i = 0; state != NULL && i < COUNT_OF(STATES); i++)
		if (strncmp(state, STATES[i].state, strlen(STATES[i].state)) == 0)
			return STATES[i].error;
	return otherwise;
}

static struct str one_line(const char *text)
{
	struct str all = str_from(text);
	ptrdiff_t end = str_find(all, '\n');

	return end < 0 ? all : str_slice(text, (size_t)end);
}

int record_postgresql_fail(struct record_postgresql *postgresql, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	int error = error_of_sqlstate(state, state != NULL ? -EIO : -ENOTCONN);

	if (text == NULL)
		text = PQresultErrorMessage(result);
	error = record_sql_fail(&postgresql->sql, error, STR_FORMAT "%s%s",
				STR_ARGUMENTS(one_line(text)), state != NULL ? ", SQLSTATE " : "",
				state != NULL ? state : "");
	if (error == -ENOTCONN)
		record_postgresql_close(postgresql);
	return error;
}

int record_postgresql_lost(struct record_postgresql *postgresql, int error)
{
	const char *text =
		error == -ETIMEDOUT ? "no answer in time" : PQerrorMessage(postgresql->connection);

	error = record_sql_fail(&postgresql->sql, error, STR_FORMAT, STR_ARGUMENTS(one_line(text)));
	record_postgresql_close(postgresql);
	return error;
}

/* With PQERRORS_VERBOSE the server's words are "FATAL:  53300: sorry, too many clients". */
int record_postgresql_refused(struct record_postgresql *postgresql, const char *text)
{
	const char *state = strstr(text, "FATAL:  ");
	struct str line = one_line(text);

	return record_sql_fail(
		&postgresql->sql,
		error_of_sqlstate(state != NULL ? state + strlen("FATAL:  ") : NULL, -ENOTCONN),
		STR_FORMAT, STR_ARGUMENTS(line));
}
