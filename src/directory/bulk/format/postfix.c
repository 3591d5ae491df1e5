// SPDX-License-Identifier: ISC
/* virtual(5), and virtual_mailbox_maps, which have the same format. */
#include "directory/bulk/format/internal.h"
#include "directory/record/key.h"
#include <errno.h>
#include <string.h>

static int quote_problem(struct bulk_reader *reader, struct bulk_entry *entry, struct str text,
			 const char *problem)
{
	return bulk_problem(reader, entry, "\"%.*s\" %s",
			    text.length < 100 ? (int)text.length : 100, text.data, problem);
}

static bool is_domain_pattern(struct str text)
{
	return text.length > 0 && text.data[0] == '@';
}

static bool is_alias_domain(struct str key, struct str value)
{
	return is_domain_pattern(key) && is_domain_pattern(value) && bulk_find_bare(value, ",") < 0;
}

/* "@a.example @b.example": each address of one domain is that of the other. */
static int take_alias_domain(struct bulk_reader *reader, struct bulk_entry *entry,
			     struct str domain, struct str target)
{
	if (bulk_add_field(reader, "kind", STR("alias")) < 0 ||
	    bulk_add_field(reader, "target", str_skip(target, 1)) < 0)
		return -E2BIG;
	return bulk_finish(reader, entry, DIRECTORY_DOMAIN, str_skip(domain, 1));
}

static int add_mailbox_service(struct bulk_reader *reader)
{
	const char *service = reader->settings->service;

	return service != NULL ? bulk_add_field(reader, "service", str_from(service)) : 0;
}

/* "a.example anything": the domain is ours. */
static int take_domain(struct bulk_reader *reader, struct bulk_entry *entry, struct str domain)
{
	if (bulk_add_field(reader, "kind", STR("local")) < 0 || add_mailbox_service(reader) < 0)
		return -E2BIG;
	return bulk_finish(reader, entry, DIRECTORY_DOMAIN, domain);
}

static int take_postfix_mailbox(struct bulk_reader *reader, struct bulk_entry *entry,
				struct str address)
{
	if (bulk_add_field(reader, "kind", STR("mailbox")) < 0 || add_mailbox_service(reader) < 0)
		return -E2BIG;
	return bulk_finish(reader, entry, DIRECTORY_ADDRESS, address);
}

static int take_postfix_forward(struct bulk_reader *reader, struct bulk_entry *entry,
				struct str address, struct str targets)
{
	struct str piece;

	if (bulk_add_field(reader, "kind", STR("forward")) < 0)
		return -E2BIG;
	while (bulk_split(&targets, &piece)) {
		const char *problem;
		struct str target;

		if (piece.length == 0)
			continue;
		if (is_domain_pattern(piece))
			return quote_problem(
				reader, entry, piece,
				"is a domain, and is allowed only alone after another: "
				"@DOMAIN @DOMAIN");
		problem = bulk_address(reader, piece, &target);
		if (problem != NULL)
			return quote_problem(reader, entry, piece, problem);
		if (bulk_add_field(reader, "target", target) < 0)
			return bulk_problem(reader, entry, "more than %d addresses",
					    DIRECTORY_FIELDS_MAX - 2);
	}
	return bulk_finish(reader, entry, DIRECTORY_ADDRESS, address);
}

/* KEY as an address with a domain. */
static const char *complete_postfix_key(struct bulk_reader *reader, struct str key,
					struct str *address_out)
{
	if (is_domain_pattern(key)) {
		*address_out = key;
		return NULL;
	}
	return bulk_address(reader, key, address_out);
}

static int take_postfix_pair(struct bulk_reader *reader, struct bulk_entry *entry, struct str key,
			     struct str value)
{
	bool has_at = bulk_find_bare(key, "@") >= 0;
	bool is_address = bulk_find_bare(value, "@") >= 0;
	const char *problem;
	struct str address;

	if (is_alias_domain(key, value) && reader->format == BULK_POSTFIX)
		return take_alias_domain(reader, entry, key, value);
	if (!has_at && bulk_find_bare(key, ".") >= 0) {
		if (is_address && reader->format == BULK_POSTFIX)
			return quote_problem(
				reader, entry, key,
				"could be a domain or a user: write @DOMAIN or "
				"USER@DOMAIN; after a domain of ours no address is allowed");
		return take_domain(reader, entry, key);
	}
	problem = complete_postfix_key(reader, key, &address);
	if (problem != NULL)
		return quote_problem(reader, entry, key, problem);
	bulk_set_key(reader, entry, DIRECTORY_ADDRESS, address);
	if (reader->format == BULK_MAILBOXES)
		return take_postfix_mailbox(reader, entry, address);
	return take_postfix_forward(reader, entry, address, value);
}

/* Splits "KEY VALUE"; false: nothing follows the key. */
static bool split_line(struct str line, struct str *key_out, struct str *value_out)
{
	ptrdiff_t space = bulk_find_bare(line, " \t");

	if (space < 0)
		return false;
	*key_out = str_slice(line.data, (size_t)space);
	*value_out = str_trim(str_skip(line, (size_t)space));
	return value_out->length > 0;
}

static void take_alias_domain_name(struct bulk_reader *reader, struct bulk_names *names,
				   struct str line)
{
	struct buffer name CLEANUP(buffer_clear) = {0};
	struct str value;
	struct str key;

	(void)reader;
	if (split_line(line, &key, &value) && is_alias_domain(key, value) &&
	    directory_key_domain(str_skip(key, 1), &name) == 0)
		bulk_names_add(names, buffer_view(&name));
}

int bulk_alias_domains_read(struct bulk_reader *reader, struct bulk_names **domains_out)
{
	return bulk_names_read(reader, take_alias_domain_name, domains_out);
}

/* Whether "a.example anything" only accompanies another line, "@a.example @b.example": for an alias
 * domain Postfix requires both. */
static bool is_only_declared(const struct bulk_reader *reader, struct str key, struct str value)
{
	struct buffer name CLEANUP(buffer_clear) = {0};

	return reader->names != NULL && bulk_find_bare(value, "@") < 0 &&
	       directory_key_domain(key, &name) == 0 &&
	       bulk_names_have(reader->names, buffer_view(&name));
}

static int take_postfix_line(struct bulk_reader *reader, struct bulk_entry *entry, struct str line)
{
	struct str value;
	struct str key;

	if (line.data[0] == ' ' || line.data[0] == '\t')
		return bulk_problem(reader, entry, "the line continues nothing");
	if (line.data[0] == '/')
		return quote_problem(
			reader, entry, line,
			"is a pattern; the keys of these maps are addresses and domains");
	if (!split_line(line, &key, &value))
		return quote_problem(reader, entry, line, "has no value: \"key value, value\"");
	return is_only_declared(reader, key, value) ? 0
						    : take_postfix_pair(reader, entry, key, value);
}

int bulk_postfix_next(struct bulk_reader *reader, struct bulk_entry *entry)
{
	struct str line;
	int result;

	do {
		result = bulk_lines_next_logical(&reader->lines, &line);
		entry->line = reader->lines.line;
		if (result <= 0)
			return bulk_line_problem(reader, entry, result);
		result = take_postfix_line(reader, entry, line);
	} while (result == 0);
	return result;
}
