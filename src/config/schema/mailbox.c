// SPDX-License-Identifier: ISC
/* The settings of the sections record and rule. */
#include "config/schema/row.h"

static const struct config_word mailbox_backend_words[] = {{"sqlite", CONFIG_RECORD_SQLITE},
							   {"postgresql", CONFIG_RECORD_POSTGRESQL},
							   {"mariadb", CONFIG_RECORD_MARIADB},
							   {NULL, 0}};

static const struct config_word automatic_words[] = {{"any", CONFIG_RULE_ANY},
						     {"yes", CONFIG_RULE_AUTOMATIC},
						     {"no", CONFIG_RULE_NOT_AUTOMATIC},
						     {NULL, 0}};

#define RECORD(name) (1u << CONFIG_RECORD_##name)

static void check_client_certificate(const struct config_row_check *check)
{
	const struct config_record *record = check->base;

	if (*record->client_certificate == '\0')
		return;
	if (*record->authority == '\0')
		config_complain(check, "it is presented by TLS only", "authority beside it");
	config_complain_if(check, *record->client_key == '\0', "one of the two is missing",
			   "client_certificate and client_key, or neither");
}

static void check_client_key(const struct config_row_check *check)
{
	const struct config_record *record = check->base;

	config_complain_if(
		check, *record->client_key != '\0' && *record->client_certificate == '\0',
		"one of the two is missing", "client_certificate and client_key, or neither");
}

const struct config_setting config_schema_record[] = {
	SETTING(RECORD, "backend", word, AT(config_record, backend), INITIAL("sqlite"),
		WORDS(mailbox_backend_words),
		MEANING("Where the record is: an SQLite file on this machine, PostgreSQL, or "
			"MariaDB or MySQL. Servers on several machines that file into the same "
			"mailboxes must share one.")),
	SETTING(RECORD, "path", path, AT(config_record, path),
		INITIAL("/var/lib/stagepost/record/record.db"), RANGE(1, 4000),
		KINDS(RECORD(SQLITE)),
		MEANING("The database file; it is created if it does not exist, as are other "
			"files next to it.")),
	SETTING(RECORD, "database", text, AT(config_record, database),
		KINDS(RECORD(POSTGRESQL) | RECORD(MARIADB)), SECRET,
		MEANING("postgresql: a connection string of libpq; of several hosts, the one that "
			"can be written is used. mariadb: the name of the database.")),
	SETTING(RECORD, "servers", text, AT(config_record, servers), INITIAL(""),
		KINDS(RECORD(MARIADB)),
		MEANING("The servers, separated by commas, each a name or an address, with :PORT "
			"if it is not 3306; the first that can be written is used. Empty: the one "
			"at socket.")),
	SETTING(RECORD, "socket", optional_path, AT(config_record, socket), INITIAL(""),
		RANGE(0, 100), KINDS(RECORD(MARIADB)),
		MEANING("The UNIX socket of the server on this machine, without servers; empty: "
			"that of the library.")),
	SETTING(RECORD, "user", text, AT(config_record, user), INITIAL(""), KINDS(RECORD(MARIADB)),
		MEANING("The user to connect as; empty: the name of the process's user.")),
	SETTING(RECORD, "password_file", optional_path, AT(config_record, password_file),
		INITIAL(""), RANGE(0, 4000), KINDS(RECORD(MARIADB)),
		MEANING("The file whose first line is the password of user.")),
	SETTING(RECORD, "authority", optional_path, AT(config_record, authority), INITIAL(""),
		RANGE(0, 4000), KINDS(RECORD(MARIADB)),
		MEANING("The file, in PEM form, of the authorities that sign the servers' "
			"certificates; TLS is then demanded, and a certificate for the name or "
			"address in servers. Empty: no TLS.")),
	SETTING(RECORD, "client_certificate", optional_path, AT(config_record, client_certificate),
		INITIAL(""), RANGE(0, 4000), KINDS(RECORD(MARIADB)),
		CHECK(check_client_certificate),
		MEANING("The file, in PEM form, of the certificate that is presented to the "
			"servers, followed by the intermediate certificates. Needs authority and "
			"client_key. Empty: none.")),
	SETTING(RECORD, "client_key", optional_path, AT(config_record, client_key), INITIAL(""),
		RANGE(0, 4000), KINDS(RECORD(MARIADB)), CHECK(check_client_key),
		MEANING("The file, in PEM form, of the private key of client_certificate.")),
	SETTING(RECORD, "connections", number, AT(config_record, connections), INITIAL("4"),
		RANGE(1, 64),
		MEANING("How many groups of messages are filed at a time, each with a connection "
			"of its own to the database.")),
	SETTING(RECORD, "lock_timeout", seconds, AT(config_record, lock_timeout), INITIAL("10s"),
		RANGE(1, 3600),
		MEANING("How long a message waits while another process or machine files one "
			"with its Message-ID, or has lost the connection to the IMAP server while "
			"it did so, and the server may still store it; after that it is tried "
			"again later (4.4.5).")),
	SETTING(RECORD, "timeout", seconds, AT(config_record, timeout), INITIAL("30s"),
		RANGE(1, 3600), MEANING("How long to wait for an answer of the database.")),
	SETTING(RECORD, "keep", duration, AT(config_record, keep_us), INITIAL("0"),
		RANGE(0, UINT64_C(100) * 366 * 86400),
		MEANING("For how long messages are kept in the record, not in mailboxes; one that "
			"comes once more after that is filed again. They are removed once a day, "
			"except those that are still being filed. 0: for ever.")),
	SETTING(RULE, "service", text, AT(config_rule, service), INITIAL(""), RANGE(0, 32),
		MEANING("The service whose messages the rule is for; empty: all of kind mailbox "
			"and imap.")),
	SETTING(RULE, "header", header_tests, LIST(config_rule, headers, header_count), INITIAL(""),
		MEANING("NAME: the message has such a header field. \"NAME: MASK\": the first "
			"field of that name matches the mask; it is unfolded, and its first 998 "
			"bytes count; Subject is decoded.")),
	SETTING(RULE, "sender", address_masks, LIST(config_rule, senders, sender_count),
		INITIAL(""),
		MEANING("The sender of the envelope: a mask of an address (\"*-owner@*\"), a mask "
			"of its domain (\"*.example.net\"), or \"<>\", which reports have.")),
	SETTING(RULE, "recipient", address_masks, LIST(config_rule, recipients, recipient_count),
		INITIAL(""),
		MEANING("The address of the recipient's mailbox, a mask likewise: without the "
			"extension, in lower case.")),
	SETTING(RULE, "detail", masks, LIST(config_rule, details, detail_count), INITIAL(""),
		MEANING("The recipient's extension (lists of user+lists); an address without one "
			"does not match. See recipient_delimiter.")),
	SETTING(RULE, "larger", size, AT(config_rule, larger), INITIAL("0"),
		RANGE(0, UINT64_C(1) << 40),
		MEANING("The message is larger than so many bytes; 0: "
			"any size.")),
	SETTING(RULE, "smaller", size, AT(config_rule, smaller), INITIAL("0"),
		RANGE(0, UINT64_C(1) << 40),
		MEANING("The message is smaller than so many bytes; "
			"0: any size.")),
	SETTING(RULE, "automatic", word, AT(config_rule, automatic), INITIAL("any"),
		WORDS(automatic_words),
		MEANING("yes: the message is a report or a list's (Auto-Submitted other than no, "
			"List-Id, Precedence bulk, list or junk); no: it is not.")),
	SETTING(RULE, "folder", text, AT(config_rule, folder), INITIAL(""), RANGE(0, 255),
		MEANING("The folder for the copy, in UTF-8, with / between levels. %x is the "
			"recipient's extension; if the result cannot be a "
			"folder (in a Maildir, if it has a dot), or the setting is empty, the "
			"service's folder and detail_folders apply. A folder that the mailbox "
			"refuses becomes the service's folder, which is logged (folder_refused).")),
	SETTING(RULE, "flags", texts, LIST(config_rule, flags, flag_count), INITIAL(""),
		MEANING("The flags with which the copy is filed, instead of the service's: seen, "
			"flagged, draft; or none.")),
	SETTING(RULE, "sent", boolean, AT(config_rule, sent), INITIAL("yes"),
		MEANING("no: the sender's copy of the message is not kept, if the rules of all "
			"recipients of a delivery say so.")),
};

const size_t config_schema_record_count = COUNT_OF(config_schema_record);
