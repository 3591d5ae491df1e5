// SPDX-License-Identifier: ISC
#include "directory/record/rules.h"
#include "base/text/utf8.h"
#include "directory/record/key.h"
#include "mail/mailbox/quota.h"
#include "mail/server.h"
#include "mail/verdict.h"
#include <errno.h>
#include <string.h>

enum {
	TEXT_MAX = 400, /* bytes: leaves room for the rest of an SMTP reply line */
	SERVICE_MAX = 32,
	SOURCE_MAX = 32,
};

#define VALUE(type) DIRECTORY_VALUE_##type
#define REQUIRED    DIRECTORY_RULE_REQUIRED
#define SEVERAL     DIRECTORY_RULE_SEVERAL

/* Each kind has one address, so kinds are compared by pointer. */
static const char LOCAL[] = "local";
static const char RELAY[] = "relay";
static const char ALIAS[] = "alias";
static const char MAILBOX[] = "mailbox";
static const char FORWARD[] = "forward";
static const char LIST[] = "list";
static const char PROGRAM[] = "program";
static const char REFUSED[] = "refused";

static const struct directory_rule domain_rules[] = {
	{NULL, "kind", VALUE(KIND), REQUIRED, "what the domain is to us"},
	{LOCAL, "service", VALUE(SERVICE), 0, "where its mailboxes are"},
	{RELAY, NULL, VALUE(TEXT), 0, NULL},
	{ALIAS, "target", VALUE(DOMAIN), REQUIRED, "the domain that it stands for"},
	{0},
};

static const struct directory_rule address_rules[] = {
	{NULL, "kind", VALUE(KIND), REQUIRED, "what becomes of its mail"},
	{MAILBOX, "service", VALUE(SERVICE), 0,
	 "where the mailbox is; else the user's server says, or the domain"},
	{MAILBOX, "user", VALUE(NAME), 0, "whose mailbox it is"},
	{MAILBOX, "mailbox", VALUE(ADDRESS), 0,
	 "the address that the service is told, where it is another"},
	{MAILBOX, "quota", VALUE(QUOTA), 0, "what the mailbox may hold; else the service says"},
	{FORWARD, "target", VALUE(ADDRESS), REQUIRED | SEVERAL,
	 "to whom; its own address: into its mailbox, too"},
	{ALIAS, "target", VALUE(ADDRESS), REQUIRED, "the address of ours that it stands for"},
	{LIST, "owner", VALUE(ADDRESS), REQUIRED, "who hears of failures"},
	{LIST, "verp", VALUE(FLAG), 0, "whether mail to each member has a sender of its own"},
	{LIST, "post", VALUE(POST), 0, "who may post to it"},
	{PROGRAM, "service", VALUE(SERVICE), REQUIRED, "a service of kind pipe"},
	{REFUSED, "text", VALUE(TEXT), REQUIRED, "what the sender is told"},
	{REFUSED, "status", VALUE(STATUS), 0, "and its code, else 5.7.1"},
	{NULL, "source", VALUE(SOURCE), 0, "what made the record and may remove it again"},
	{NULL, "state", VALUE(STATE), 0, "whether it takes mail"},
	{0},
};

static const struct directory_rule user_rules[] = {
	{NULL, "password", VALUE(PASSWORD), SEVERAL, "never the password itself"},
	{NULL, "server", VALUE(NAME), 0, "where the user's mailboxes are"},
	{NULL, "name", VALUE(TEXT), 0, "for people"},
	{NULL, "send_as", VALUE(SENDERS), 0,
	 "as whom the user may send, besides the user's own addresses"},
	{NULL, "state", VALUE(STATE), 0,
	 "whether the user's mailboxes take mail, and the passwords count"},
	{0},
};

static const struct directory_rule server_rules[] = {
	{NULL, "service", VALUE(SERVICE), REQUIRED,
	 "of the configuration, that delivers to the server"},
	{NULL, "address", VALUE(SERVER), 0,
	 "where the server is, of those that the service lists; else where the service says"},
	{0},
};

static const struct directory_rule node_rules[] = {
	{NULL, "address", VALUE(SERVER), REQUIRED, "where it takes mail of other nodes"},
	{NULL, "group", VALUE(GROUP), SEVERAL, "of nodes, to which the configuration hands mail"},
	{NULL, "weight", VALUE(WEIGHT), 0, "its share among the nodes of a group, else 1"},
	{NULL, "state", VALUE(NODE_STATE), 0, "whether it takes mail of other nodes"},
	{0},
};

static const struct directory_rule no_rules[] = {{0}};

const struct directory_rule *const directory_rules[DIRECTORY_LISTED_TABLES] = {
	[DIRECTORY_NO_TABLE] = no_rules,     [DIRECTORY_DOMAIN] = domain_rules,
	[DIRECTORY_ADDRESS] = address_rules, [DIRECTORY_MEMBER] = no_rules,
	[DIRECTORY_USER] = user_rules,       [DIRECTORY_SERVER] = server_rules,
	[DIRECTORY_NODE] = node_rules,       [DIRECTORY_MEMBERSHIP] = no_rules,
};

const char *directory_kind_find(enum directory_table table, struct str kind)
{
	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++)
		if (rule->kind != NULL && str_equal(str_from(rule->kind), kind))
			return rule->kind;
	return NULL;
}

static int copy_if(bool is_valid, struct str text, struct buffer *out)
{
	if (!is_valid)
		return -EINVAL;
	buffer_append_str(out, text);
	return 0;
}

/* The name of a service or of a group of nodes. */
static int normalize_configured_name(struct str text, struct buffer *out)
{
	bool is_valid = text.length > 0 && text.length <= SERVICE_MAX;

	for (size_t i = 0; is_valid && i < text.length; i++) {
		char c = text.data[i];

		is_valid = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
	}
	return copy_if(is_valid, text, out);
}

static int normalize_user_name(struct str text, struct buffer *out)
{
	return directory_key_normalize(DIRECTORY_USER, text, out);
}

/* On failure OUT has what came before. */
static int append_senders(struct str text, struct buffer *out)
{
	const char *separator = "";
	struct str one;

	while (str_split(&text, ' ', &one)) {
		if (one.length == 0)
			continue;
		buffer_append_string(out, separator);
		if (directory_key_normalize(DIRECTORY_ADDRESS, one, out) < 0)
			return -EINVAL;
		separator = " ";
	}
	return *separator == '\0' ? -EINVAL : 0;
}

static int normalize_senders(struct str text, struct buffer *out)
{
	size_t before = out->length;

	if (append_senders(text, out) == 0 && out->length - before <= DIRECTORY_FIELD_MAX)
		return 0;
	buffer_truncate(out, before);
	return -EINVAL;
}

static int normalize_flag(struct str text, struct buffer *out)
{
	return copy_if(str_equal(text, STR("yes")) || str_equal(text, STR("no")), text, out);
}

static int normalize_state(struct str text, struct buffer *out)
{
	return copy_if(str_equal(text, STR("active")) || str_equal(text, STR("deferred")) ||
			       str_equal(text, STR("disabled")),
		       text, out);
}

static int normalize_post(struct str text, struct buffer *out)
{
	return copy_if(str_equal(text, STR("anyone")) || str_equal(text, STR("members")) ||
			       str_equal(text, STR("owners")),
		       text, out);
}

static int normalize_status(struct str text, struct buffer *out)
{
	return copy_if(mail_status_is_valid(text) && text.data[0] != '2', text, out);
}

static int normalize_refusal_text(struct str text, struct buffer *out)
{
	bool is_valid = text.length > 0 && text.length <= TEXT_MAX;

	for (struct str rest = text; is_valid && rest.length > 0;
	     rest = str_skip(rest, utf8_length(rest))) {
		uint32_t code = utf8_code_point(rest);

		is_valid = utf8_length(rest) > 0 && code >= 0x20 && (code < 0x7f || code >= 0xa0);
	}
	return copy_if(is_valid, text, out);
}

/* A hash of crypt(5), "$ID$...", or of RFC 5803, "SCRAM-SHA-256$...": printable ASCII without
 * spaces; crypt(5) has no colons either. */
static int normalize_password(struct str text, struct buffer *out)
{
	bool is_crypt =
		text.length >= 4 && text.data[0] == '$' && str_find(str_skip(text, 2), '$') >= 0;
	bool is_valid = is_crypt || str_starts_with(text, STR("SCRAM-SHA-256$")) ||
			str_starts_with(text, STR("SCRAM-SHA-1$"));

	for (size_t i = 0; is_valid && i < text.length; i++)
		is_valid = text.data[i] > ' ' && text.data[i] < 0x7f &&
			   (text.data[i] != ':' || !is_crypt);
	return copy_if(is_valid, text, out);
}

static int normalize_weight(struct str text, struct buffer *out)
{
	uint64_t weight;

	if (!str_to_u64(text, &weight) || weight < 1 || weight > DIRECTORY_NODE_WEIGHT_MAX)
		return -EINVAL;
	buffer_append_number(out, weight);
	return 0;
}

static int normalize_node_state(struct str text, struct buffer *out)
{
	return copy_if(str_equal(text, STR("active")) || str_equal(text, STR("draining")) ||
			       str_equal(text, STR("away")),
		       text, out);
}

static int normalize_source(struct str text, struct buffer *out)
{
	bool is_valid = text.length > 0 && text.length <= SOURCE_MAX;

	for (size_t i = 0; is_valid && i < text.length; i++) {
		char c = text.data[i];

		is_valid = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
	}
	return copy_if(is_valid, text, out);
}

static const struct {
	int (*normalize)(struct str text, struct buffer *out);
	const char *allowed;
} RULES_VALUES[] = {
	[VALUE(DOMAIN)] = {directory_key_domain, "a domain"},
	[VALUE(ADDRESS)] = {directory_key_address, "an address, LOCAL@DOMAIN"},
	[VALUE(SENDERS)] = {normalize_senders,
			    "addresses, LOCAL@DOMAIN, or @DOMAIN for all of a domain, with "
			    "spaces between; at most 1024 bytes"},
	[VALUE(SERVICE)] = {normalize_configured_name, "a service: 1 to 32 of a-z, 0-9, _ and -"},
	[VALUE(NAME)] = {normalize_user_name, "a name: a local part, or an address"},
	[VALUE(FLAG)] = {normalize_flag, "yes, no"},
	[VALUE(STATUS)] = {normalize_status, "4.x.x or 5.x.x"},
	[VALUE(TEXT)] = {normalize_refusal_text, "a line of text, at most 400 bytes"},
	[VALUE(PASSWORD)] = {normalize_password, "a hash of crypt(5), or SCRAM-SHA-256$... or "
						 "SCRAM-SHA-1$..., RFC 5803"},
	[VALUE(SOURCE)] = {normalize_source, "a word: 1 to 32 of a-z, 0-9 and -"},
	[VALUE(SERVER)] = {mail_server_normalize, "HOST:PORT, with a name or an IPv4 address, or "
						  "[IPV6]:PORT"},
	[VALUE(QUOTA)] =
		{mail_quota_normalize,
		 "bytes, or of K, M, G or T, and perhaps a comma and a number of messages; "
		 "or none"},
	[VALUE(POST)] = {normalize_post, "anyone, members, owners"},
	[VALUE(STATE)] = {normalize_state, "active, deferred, disabled"},
	[VALUE(GROUP)] = {normalize_configured_name, "a group: 1 to 32 of a-z, 0-9, _ and -"},
	[VALUE(WEIGHT)] = {normalize_weight, "1 to 100"},
	[VALUE(NODE_STATE)] = {normalize_node_state, "active, draining, away"},
};

const char *directory_value_allowed(enum directory_value value)
{
	return RULES_VALUES[value].allowed;
}

int directory_value_normalize(enum directory_value value, struct str text, struct buffer *out)
{
	return RULES_VALUES[value].normalize(text, out);
}

/* Whether an earlier rule of TABLE is about the same field as RULE. */
static bool is_repeated_rule(enum directory_table table, const struct directory_rule *rule)
{
	for (const struct directory_rule *one = directory_rules[table]; one < rule; one++)
		if (one->name != NULL && strcmp(one->name, rule->name) == 0)
			return true;
	return false;
}

const char *directory_table_field(enum directory_table table, size_t position, bool *is_many_out)
{
	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++) {
		if (rule->name == NULL || is_repeated_rule(table, rule) || position-- > 0)
			continue;
		if (is_many_out != NULL)
			*is_many_out = directory_table_field_is_many(table, str_from(rule->name));
		return rule->name;
	}
	return NULL;
}

bool directory_table_field_is_many(enum directory_table table, struct str name)
{
	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++)
		if (rule->name != NULL && (rule->flags & SEVERAL) &&
		    str_equal(name, str_from(rule->name)))
			return true;
	return false;
}

static void describe_flags(const struct directory_rule *rule, struct buffer *out)
{
	if (rule->kind != NULL)
		buffer_append_format(out, " (%s)", rule->kind);
	if (rule->flags & REQUIRED)
		buffer_append_string(out, ", required");
	if (rule->flags & SEVERAL)
		buffer_append_string(out, ", may come again");
}

static void describe_kinds(enum directory_table table, struct buffer *out)
{
	const char *before = ": ";
	const char *last = NULL;

	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++) {
		if (rule->kind == NULL || rule->kind == last)
			continue;
		buffer_append_format(out, "%s%s", before, rule->kind);
		before = ", ";
		last = rule->kind;
	}
}

void directory_record_describe(enum directory_table table, struct buffer *out)
{
	for (const struct directory_rule *rule = directory_rules[table]; rule->value != 0; rule++) {
		if (rule->name == NULL)
			continue;
		buffer_append_string(out, rule->name);
		describe_flags(rule, out);
		buffer_append_format(out, ": %s", rule->meaning);
		if (rule->value == VALUE(KIND))
			describe_kinds(table, out);
		else
			buffer_append_format(out, "; %s", RULES_VALUES[rule->value].allowed);
		buffer_append_byte(out, '\n');
	}
}
