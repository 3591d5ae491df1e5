// SPDX-License-Identifier: ISC
/* What is said of a word that must be the name of a table or of a format. */
#include "command/command.h"
#include "command/directory/directory.h"
#include "directory/bulk/reader.h"
#include "directory/record/record.h"

static const char *table_name(unsigned i)
{
	return directory_table_name((enum directory_table)(DIRECTORY_NO_TABLE + 1 + i));
}

static const char *name_of_bulk_format(unsigned i)
{
	return bulk_format_name((enum bulk_format)i);
}

static const char NO_TABLE[] = "there is no such table";

const char *command_directory_no_table(void)
{
	return command_allowed(NO_TABLE, table_name, DIRECTORY_TABLES - DIRECTORY_NO_TABLE - 1);
}

const char *command_directory_no_listed_table(void)
{
	return command_allowed(NO_TABLE, table_name, DIRECTORY_MEMBERSHIP - DIRECTORY_NO_TABLE);
}

const char *command_directory_no_format(const char *what)
{
	return command_allowed(what, name_of_bulk_format, BULK_FORMATS);
}
