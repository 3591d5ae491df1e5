// SPDX-License-Identifier: ISC
/* The statements, and how a dialect writes them. */
#include "base/panic.h"
#include "filing/record/sql.h"

static const char *const TEXTS[RECORD_STATEMENTS] = {
	[RECORD_MESSAGE_FIND] =
		"SELECT count(*), coalesce(max(CASE WHEN digest = ?2 THEN number END), 0)"
		" FROM message WHERE message_id = ?1",
	[RECORD_MESSAGE_INSERT] =
		"INSERT INTO message(message_id, derived, digest, size, recorded_us, sender, "
		"subject,"
		" date_us, problem) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) {once}",
	[RECORD_PARTICIPANT_INSERT] =
		"INSERT INTO participant(message, position, role, address, domain, name)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[RECORD_PART_INSERT] = "INSERT INTO part(message, position, number, type, charset,"
			       " disposition, filename, size, digest)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[RECORD_DECISION_FIND] = "SELECT folder, rule, flags FROM decision"
				 " WHERE message = ?1 AND owner = ?2 AND purpose = ?3",
	[RECORD_DECISION_INSERT] =
		"INSERT INTO decision(message, owner, purpose, folder, rule, flags)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6) {once}",
	[RECORD_DECISION_MOVE] = "UPDATE decision SET folder = ?4"
				 " WHERE message = ?1 AND owner = ?2 AND purpose = ?3",
	[RECORD_MAILBOX_FIND] = "SELECT number FROM mailbox WHERE owner = ?1 AND folder = ?2",
	[RECORD_MAILBOX_INSERT] = "INSERT INTO mailbox(owner, folder) VALUES(?1, ?2)"
				  " {once}",
	[RECORD_MAILBOX_NEW] = "SELECT count(*) FROM mailbox m WHERE m.owner = ?1"
			       " AND EXISTS (SELECT 1 FROM filing f WHERE f.mailbox = m.number"
			       " AND f.opened_us >= ?2)"
			       " AND NOT EXISTS (SELECT 1 FROM filing f WHERE f.mailbox = m.number"
			       " AND f.opened_us < ?2)",
	/* an attempt a row, and at least one */
	[RECORD_FILING_FIND] = "SELECT f.number, f.state, f.copy, f.filed_us, a.token, a.began_us,"
			       " m.number FROM mailbox m"
			       " LEFT JOIN filing f ON f.mailbox = m.number AND f.message = ?1"
			       " LEFT JOIN attempt a ON a.filing = f.number"
			       " WHERE m.owner = ?2 AND m.folder = ?3",
	[RECORD_FILING_LOOK] = "SELECT f.number, f.state, f.copy, f.filed_us, a.token, a.began_us,"
			       " f.mailbox FROM filing f"
			       " LEFT JOIN attempt a ON a.filing = f.number WHERE f.number = ?1",
	[RECORD_FILING_INSERT] = "INSERT INTO filing(message, mailbox, state, copy, opened_us,"
				 " filed_us) VALUES(?1, ?2, 'filing', '', ?3, 0) {once}",
	[RECORD_FILING_FILED] = "UPDATE filing SET state = 'filed', copy = ?2, filed_us = ?3"
				" WHERE number = ?1",
	[RECORD_FILING_REMOVE] = "DELETE FROM filing WHERE number = ?1",
	[RECORD_ATTEMPT_INSERT] = "INSERT INTO attempt(filing, token, began_us)"
				  " VALUES(?1, ?2, ?3)",
	[RECORD_ATTEMPT_REMOVE] = "DELETE FROM attempt WHERE filing = ?1 AND token = ?2",
	[RECORD_ATTEMPT_SETTLE] = "DELETE FROM attempt WHERE filing = ?1 AND began_us < ?2",
	/* an attempt that is as old as the message cannot append any more */
	[RECORD_PRUNE_FIND] =
		"SELECT number, message_id FROM message m WHERE recorded_us < ?1"
		" AND NOT EXISTS (SELECT 1 FROM filing f LEFT JOIN attempt a ON a.filing = f.number"
		" WHERE f.message = m.number AND (f.state = 'filing' OR a.began_us >= ?1))"
		" ORDER BY recorded_us LIMIT ?2",
	[RECORD_PRUNE_REMOVE] =
		"DELETE FROM message WHERE number = ?1"
		" AND NOT EXISTS (SELECT 1 FROM filing f LEFT JOIN attempt a ON a.filing = f.number"
		" WHERE f.message = ?1 AND (f.state = 'filing' OR a.began_us >= ?2))",
	[RECORD_LIST_PARTICIPANTS] = "SELECT role, address, name FROM participant"
				     " WHERE message = ?1 ORDER BY position",
	[RECORD_LIST_PARTS] = "SELECT number, type, charset, disposition, filename, size, digest"
			      " FROM part WHERE message = ?1 ORDER BY position",
	[RECORD_LIST_FILINGS] =
		"SELECT f.number, f.state, f.copy, f.filed_us, m.owner, m.folder,"
		" (SELECT count(*) FROM attempt a WHERE a.filing = f.number),"
		" (SELECT coalesce(max(began_us), 0) FROM attempt a WHERE a.filing = f.number)"
		" FROM filing f JOIN mailbox m ON m.number = f.mailbox"
		" WHERE f.message = ?1 ORDER BY f.number",
};

bool record_sql_is_once(const struct record_call *call)
{
	return call->statement < RECORD_STATEMENTS &&
	       strstr(TEXTS[call->statement], "{once}") != NULL;
}

static const char *word_in_dialect(const struct record_dialect *dialect, struct str word)
{
	for (const char *at = dialect->words; *at != '\0';) {
		const char *found = at + strlen(at) + 1;

		if (str_equal(str_from(at), word))
			return found;
		at = found + strlen(found) + 1;
	}
	panic("a dialect has no word for \"" STR_FORMAT "\"", STR_ARGUMENTS(word));
}

/* A parameter's number at the start of TEXT, whose length comes into *LENGTH_OUT. */
static unsigned parameter_number_at(const char *text, size_t *length_out)
{
	unsigned number = 0;

	for (*length_out = 0; *text >= '0' && *text <= '9'; text++, ++*length_out)
		number = number * 10 + (unsigned)(*text - '0');
	if (number == 0 || number > RECORD_VALUES_MAX)
		panic("a statement has no such parameter: ?%u", number);
	return number;
}

static void write_parameter(const struct record_dialect *dialect, unsigned number,
			    struct buffer *out)
{
	buffer_append_byte(out, dialect->parameter);
	if (dialect->has_numbers)
		buffer_append_number(out, number);
}

size_t record_sql_write(const struct record_dialect *dialect, enum record_statement statement,
			const char *text, struct buffer *out,
			unsigned order[RECORD_PLACEHOLDER_MAX])
{
	size_t count = 0;
	size_t length;

	for (const char *at = statement < RECORD_STATEMENTS ? TEXTS[statement] : text; *at != '\0';
	     at += length) {
		length = 1;
		if (*at == '?') {
			unsigned number = parameter_number_at(at + 1, &length);

			if (count >= RECORD_PLACEHOLDER_MAX)
				panic("a statement has too many parameters");
			order[count++] = number - 1;
			write_parameter(dialect, number, out);
			length++;
		} else if (*at == '{') {
			length = strcspn(at, "}");
			buffer_append_string(
				out, word_in_dialect(dialect, str_slice(at + 1, length - 1)));
			length++;
		} else {
			buffer_append_byte(out, *at);
		}
	}
	buffer_append_byte(out, '\0');
	return count;
}
