// SPDX-License-Identifier: ISC
/*
 * How long GMime takes for a list of addresses.
 *
 * It looks for the end of each address at the next of "<@:;>", past commas, since names may have
 * them; without a name before that it goes back, to behind the next comma. So each byte costs as
 * much as there are commas between it and the last such character.
 *
 * In quotes and comments such a character ends nothing. Which are quotes is certain for those that
 * begin an address, and in which nothing is escaped, as nearly all do. With a comment, a domain in
 * brackets, a route or any other quote GMime may go on with what looks quoted here: then each comma
 * counts for all that follows.
 */
#include "filing/decode/mime/internal.h"
#include <string.h>

static bool is_unclear(const struct decode_list_work *work, char byte)
{
	if (work->is_quoted)
		return byte == '\\';
	if (byte == '"')
		return work->last != '\0' && work->last != ',';
	return str_is_one_of(byte, "([\\") || (byte == '@' && work->last == '<');
}

void decode_list_work_take(struct decode_list_work *work, char byte)
{
	work->steps += 1 + work->restarts;
	if (byte == ',')
		work->restarts++;
	if (str_is_one_of(byte, " \t\r\n"))
		return;
	work->is_unclear |= is_unclear(work, byte);
	if (byte == '"')
		work->is_quoted = !work->is_quoted;
	else if (!work->is_quoted && !work->is_unclear && str_is_one_of(byte, "<@:;>"))
		work->restarts = 0;
	work->last = byte;
}
