// SPDX-License-Identifier: ISC
/* What errors of the server and of libmariadb mean, and the end of a connection. */
#include "base/attributes.h"
#include "filing/record/mariadb/internal.h"
#include <errmsg.h>
#include <errno.h>
#include <mysqld_error.h>

static const struct {
	unsigned number;
	int error;
} NUMBERS[] = {
	{ER_LOCK_DEADLOCK, -EDEADLK},
	{ER_CHECKREAD, -EDEADLK},           /* a row has changed since it was read */
	{ER_NO_REFERENCED_ROW_2, -EDEADLK}, /* what it refers to was removed meanwhile */
	{ER_DUP_ENTRY, -EDEADLK},
	{ER_DISK_FULL, -ENOSPC},
	{ER_RECORD_FILE_FULL, -ENOSPC},
	{ER_OPTION_PREVENTS_STATEMENT, -EROFS}, /* read_only */
	{ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, -EROFS},
	{ER_CON_COUNT_ERROR, -EUSERS},
	{ER_TOO_MANY_USER_CONNECTIONS, -EUSERS},
	{ER_USER_LIMIT_REACHED, -EUSERS},
	{ER_ACCESS_DENIED_ERROR, -EACCES},
	{ER_DBACCESS_DENIED_ERROR, -EACCES},
	{ER_TABLEACCESS_DENIED_ERROR, -EACCES},
	{ER_COLUMNACCESS_DENIED_ERROR, -EACCES},
	{ER_SPECIFIC_ACCESS_DENIED_ERROR, -EACCES},
	{ER_BAD_DB_ERROR, -EACCES},
	{ER_NO_SUCH_TABLE, -EPROTO},
	{ER_BAD_FIELD_ERROR, -EPROTO},
	{ER_LOCK_WAIT_TIMEOUT, -ETIMEDOUT},
	{ER_STATEMENT_TIMEOUT, -ETIMEDOUT},
	{ER_QUERY_INTERRUPTED, -ETIMEDOUT},
	{ER_SERVER_SHUTDOWN, -ENOTCONN},
	{ER_NORMAL_SHUTDOWN, -ENOTCONN},
	{ER_CONNECTION_KILLED, -ENOTCONN},
	{ER_NEW_ABORTING_CONNECTION, -ENOTCONN},
	{CR_PLUGIN_NOT_ALLOWED, -EACCES},
};

/* Errors of the client begin with 2000, and with 5000 (also of reading and writing): the connection
 * is not there, or not to be trusted. */
static bool is_client(unsigned number)
{
	return (number >= CR_MIN_ERROR && number <= CR_MAX_ERROR) || number >= CER_MIN_ERROR;
}

/* Other errors of files have the number of the system in their words. */
static bool is_disk_full(const char *text)
{
	return strstr(text, "rror 28 ") != NULL || strstr(text, "rrno: 28") != NULL;
}

static int error_of_mariadb_number(unsigned number, const char *text)
{
	for (size_t i = 0; i < COUNT_OF(NUMBERS); i++)
		if (NUMBERS[i].number == number)
			return NUMBERS[i].error;
	if (is_client(number))
		return -ENOTCONN;
	return is_disk_full(text) ? -ENOSPC : -EIO;
}

void record_mariadb_close(struct record_mariadb *mariadb)
{
	for (size_t i = 0; i < RECORD_STATEMENTS; i++) {
		if (mariadb->statements[i] != NULL)
			(void)mysql_stmt_close(mariadb->statements[i]);
		mariadb->statements[i] = NULL;
	}
	if (mariadb->connection != NULL)
		mysql_close(mariadb->connection);
	mariadb->connection = NULL;
	mariadb->is_open = false;
	mariadb->locks = NULL;
	arena_reset(mariadb->lock_memory);
}

int record_mariadb_fail(struct record_mariadb *mariadb, unsigned number, const char *text)
{
	int error;

	if (number == CR_PLUGIN_NOT_ALLOWED) /* whose name the library has overwritten by then */
		text = "the server asks for an authentication method that discloses the password";
	error = record_sql_fail(&mariadb->sql, error_of_mariadb_number(number, text),
				"%s, error %u", text, number);

	if (error == -ENOTCONN)
		record_mariadb_close(mariadb);
	return error;
}
