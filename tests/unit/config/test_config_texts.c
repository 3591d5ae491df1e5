// SPDX-License-Identifier: ISC
/*
 * The types of settings that are kept as text, against a second description by regular expressions:
 * all texts near to some that are right, and lengths at their bounds.
 */
#include "type_text.h"
#include <ctype.h>
#include <regex.h>
#include <stdio.h>

/* The first pattern that matches decides; what it says, or NULL: it is accepted. */
struct text_rule {
	const char *pattern;
	const char *complaint;
};

struct text_kind {
	struct config_setting row;
	const char *letters;
	const char *seeds[6];
	struct text_rule rules[7];
	void (*form)(struct str text, struct buffer *out); /* what is printed; NULL: as written */
};

#define LABEL     "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
#define NAME      LABEL "(\\." LABEL ")*"
#define ATOM      "[]A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define LOCAL     ATOM "(\\." ATOM ")*"
#define ALL       ""
#define SEPARATED "aZ9_-. @*/:%"

static void lower(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		buffer_append_byte(out, (char)tolower((unsigned char)text.data[i]));
}

static void lower_without_colons(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != ':')
			buffer_append_byte(out, (char)tolower((unsigned char)text.data[i]));
}

/* "Name:  mask " as "name: mask", and "Name" for any. */
static void header_form(struct str text, struct buffer *out)
{
	struct str name;
	struct str mask = text;

	(void)str_split(&mask, ':', &name);
	lower(name, out);
	while (mask.length > 0 && mask.data[0] == ' ')
		mask = str_skip(mask, 1);
	while (mask.length > 0 && mask.data[mask.length - 1] == ' ')
		mask.length--;
	if (mask.length > 0 && !str_equal(mask, STR("*"))) {
		buffer_append_string(out, ": ");
		buffer_append_str(out, mask);
	}
}

#define TYPE(kind)           .row = {.type = &config_type_##kind}
#define TYPE_MAX(kind, most) .row = {.type = &config_type_##kind, .max = (most)}
#define NOT_HOST             "not a host name"
#define HOST_RULES                                                                \
	{".{256}", NOT_HOST}, {"(^|\\.)[0-9]+$", NOT_HOST}, {"^" NAME "$", NULL}, \
	{                                                                         \
		ALL, NOT_HOST                                                     \
	}

static const struct text_kind kinds[] = {
	{TYPE(log_level),
	 "dw",
	 {"debug", "info", "warning", "error"},
	 {{"^(debug|info|warning|error)$", NULL}, {ALL, "unknown word"}},
	 NULL},
	{TYPE(boolean),
	 "ny",
	 {"no", "off", "false"},
	 {{"^(no|off|false)$", NULL}, {"^(yes|on|true)$", NULL}, {ALL, "neither yes nor no"}},
	 NULL},
	{TYPE(host), SEPARATED, {"Mx-1.example.org", "a", "x.9a"}, {HOST_RULES}, lower},
	{.row = {.type = &config_type_host, .initial = ""},
	 .letters = SEPARATED,
	 .seeds = {"", "Mx.org"},
	 .rules = {{"^$", NULL}, HOST_RULES},
	 .form = lower},
	{TYPE(path),
	 "a/ %",
	 {"/", "/a b", "", "a"},
	 {{"^([^/].*)?$", "not an absolute path"}, {ALL, NULL}},
	 NULL},
	{TYPE_MAX(path, 20),
	 "a/ %",
	 {"/", "/xxxxxxxxxxxxxxxxxxx", ""},
	 {{"^([^/].*)?$", "not an absolute path"}, {".{21}", "too long"}, {ALL, NULL}},
	 NULL},
	{TYPE_MAX(optional_path, 20),
	 "a/ %",
	 {"/", "/xxxxxxxxxxxxxxxxxxx", ""},
	 {{"^$", NULL},
	  {"^([^/].*)?$", "not an absolute path"},
	  {".{21}", "too long"},
	  {ALL, NULL}},
	 NULL},
	{TYPE_MAX(mailbox_path, 20),
	 "du/%x",
	 {"/%d/%u", "/%%%u", "/xxxxxxxxxxxxxxxx%u%", ""},
	 {{"^([^/].*)?$", "not an absolute path"},
	  {".{21}", "too long"},
	  {"^([^%]|%[du%])*$", NULL},
	  {ALL, "a % that means nothing"}},
	 NULL},
	{TYPE(user),
	 "azAZ09_-. @[`{/:%",
	 {"mail-1.x_Y", "_a", "", "abcdefghijklmnopqrstuvwxyz012345"},
	 {{"^([A-Za-z_][A-Za-z0-9_.-]{0,31})?$", NULL}, {ALL, "not a user name"}},
	 NULL},
	{TYPE(group),
	 "azAZ09_-. @[`{/:%",
	 {"mail-1.x_Y", "z", "abcdefghijklmnopqrstuvwxyz012345"},
	 {{"^([A-Za-z_][A-Za-z0-9_.-]{0,31})?$", NULL}, {ALL, "not a group name"}},
	 NULL},
	{TYPE(owner),
	 "aZ%u-",
	 {"mail-1", "", "%u"},
	 {{"^%u$", NULL}, {"^([A-Za-z_][A-Za-z0-9_.-]{0,31})?$", NULL}, {ALL, "not a user name"}},
	 NULL},
	{TYPE(local_part),
	 "azAZ09.!#$%&'*+-/=?^_`{|}~ @\"\\()<>[]:;,\177\001",
	 {"Mailer-Daemon.x", "a", "!#$%&'*+-/=?^_`{|}~",
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
	 {{".{65}", "not a local part"},
	  {"]", "not a local part"},
	  {"^" LOCAL "$", NULL},
	  {ALL, "not a local part"}},
	 NULL},
	{TYPE(delimiter),
	 "+-=_#/.a",
	 {"+", "+-=_#/", ""},
	 {{"[^-+=_#/]", "not a delimiter"}, {".{7}", "too long"}, {ALL, NULL}},
	 NULL},
	{TYPE(quota),
	 "0KMGTkmgt,noe -B",
	 {"1G", "500m,10000", "none", ""},
	 {{"^(none|[0-9]+[KMGTkmgt]?(,[0-9]+)?)?$", NULL}, {ALL, "not a quota"}},
	 NULL},
	{TYPE(address),
	 "aZ9.@- \"",
	 {"root@Example.org", "root", "", "a.b@c",
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx@d"},
	 {{"^$", NULL},
	  {"^[^@]{65}|]", "not a mail address"},
	  {"@.{256}", "not a mail address"},
	  {"@(.*\\.)?[0-9]+$", "not a mail address"},
	  {"^" LOCAL "(@" NAME ")?$", NULL},
	  {ALL, "not a mail address"}},
	 NULL},
	{TYPE(text), "a \"", {"", "a"}, {{".{4097}", "too long"}, {ALL, NULL}}, NULL},
	{TYPE_MAX(text, 20),
	 "a",
	 {"", "xxxxxxxxxxxxxxxxxxxx"},
	 {{".{21}", "too long"}, {ALL, NULL}},
	 NULL},
	{TYPE(texts), "a ", {"", "a"}, {{"^$", "an empty text"}, {ALL, NULL}}, NULL},
	{TYPE_MAX(texts, 20),
	 "a",
	 {"", "xxxxxxxxxxxxxxxxxxxx"},
	 {{"^$", "an empty text"}, {".{21}", "too long"}, {ALL, NULL}},
	 NULL},
	{TYPE(names), "a ", {"", "a"}, {{"^$", "not a name"}, {ALL, NULL}}, NULL},
	{TYPE(urls),
	 "ldapsi:/x",
	 {"ldap://h", "ldaps://h:1", "ldapi:///run/x", "ldap://"},
	 {{"^ldap[si]?://", NULL}, {ALL, "not the URL of an LDAP server"}},
	 NULL},
	{TYPE(mappings),
	 "uk.= x",
	 {"user.key=uid", "server.address = a=b", " list.verp\t=x", "x", "=x"},
	 {{"^[^=]*=?$", "not a mapping"},
	  {"^[ \t]*(user\\.key|server\\.address|list\\.verp)[ \t]*=", NULL},
	  {ALL, "no such field"}},
	 NULL},
	{TYPE(arguments),
	 "adsux%zb",
	 {"/bin/x", "%a%d%s%u%x%%", "", "%"},
	 {{"^([^%]|%[adsux%])*$", NULL}, {ALL, "a % that means nothing"}},
	 NULL},
	{TYPE(local_parts),
	 "aZ9.!+@\" ()",
	 {"Ann.Lee+tag", "a", "!x"},
	 {{"^([A-Za-z0-9!+.])+$", NULL}, {ALL, "not a local part"}},
	 lower},
	{TYPE(domains), SEPARATED, {"Example.org", "a"}, {HOST_RULES}, lower},
	{TYPE(tls_names),
	 SEPARATED,
	 {"Mx.example.org", "*.Example.org", "*"},
	 {{"^\\*$", NULL},
	  {"(^|\\.)[0-9]+$", NOT_HOST},
	  {"^(\\*\\.)?" NAME "$", NULL},
	  {ALL, NOT_HOST}},
	 lower},
	{TYPE(tls_matches),
	 SEPARATED,
	 {"Mx.example.org", ".Example.org", "nexthop", "hostname"},
	 {{"(^|\\.)[0-9]+$", NOT_HOST}, {"^\\.?" NAME "$", NULL}, {ALL, NOT_HOST}},
	 lower},
	{TYPE(fingerprints),
	 "0afF:g ",
	 {"0123456789abcdef0123456789abcdef0123456789ABCDEF0123456789ABCDEF",
	  "01:23:45:67:89:ab:cd:ef:01:23:45:67:89:ab:cd:ef:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:"
	  "AB:"
	  "CD:EF",
	  "01:23456789abcdef0123456789abcdef0123456789ABCDEF0123456789ABCDEF", ""},
	 {{"^[0-9a-fA-F]{64}$", NULL},
	  {"^([0-9a-fA-F]{2}:){31}[0-9a-fA-F]{2}$", NULL},
	  {ALL, "not a SHA-256 fingerprint"}},
	 lower_without_colons},
	{TYPE(ciphers),
	 "ERC-A2S_",
	 {"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-SHA",
	  "ECDHE-ECDSA-AES128-SHA256", "TLS_AES_128_GCM_SHA256"},
	 {{"^TLS_", "the ciphers of TLS 1.3 cannot be chosen"},
	  {"^ECDHE-(ECDSA|RSA)-(AES256-GCM-SHA384|AES128-GCM-SHA256|CHACHA20-POLY1305|AES256-"
	   "SHA384|"
	   "AES128-SHA256|AES(256|128)-SHA)$",
	   NULL},
	  {ALL, "not a cipher of TLS 1.2 that can be used"}},
	 NULL},
	{TYPE(masks), "a*? ", {"", "*x?"}, {{"^$", "not a mask"}, {ALL, NULL}}, NULL},
	{TYPE(address_masks),
	 "a@* <>",
	 {"", "*@x.org", "<>", "@"},
	 {{" |@$", "not a mask of addresses"}, {"^$", "not a mask"}, {ALL, NULL}},
	 NULL},
	{TYPE(header_tests),
	 "Xa-:* !~\177\001",
	 {"X-Spam", "X-Spam: yes", "a:*", "!:  b ~ ", "a:", ""},
	 {{"^(:.*)?$|^[^:]*[^!-~:]", "not the name of a header field"},
	  {"^[^:]{77}", "not the name of a header field"},
	  {"^[^:]*: *$", "not a mask"},
	  {ALL, NULL}},
	 header_form},
};

struct compiled {
	const struct text_kind *kind;
	regex_t rules[COUNT_OF(kinds[0].rules)];
	size_t count; /* of the texts */
	struct config *config;
};

/* What the second description says of TEXT. */
static struct buffer expected_of(const struct compiled *compiled, struct str text)
{
	const struct text_kind *kind = compiled->kind;
	struct buffer expected = {0};
	struct buffer ended CLEANUP(buffer_clear) = {0}; /* AddressSanitizer looks for its end */
	regmatch_t all = {0, (regoff_t)text.length};
	size_t i = 0;

	buffer_append_str(&ended, text);
	buffer_append_byte(&ended, '\0');
	while (regexec(&compiled->rules[i], buffer_data(&ended), 1, &all, REG_STARTEND) != 0) {
		all = (regmatch_t){0, (regoff_t)text.length};
		i++;
		assert_true(i < COUNT_OF(kind->rules) && kind->rules[i].pattern != NULL);
	}
	if (kind->rules[i].complaint != NULL)
		buffer_append_string(&expected, kind->rules[i].complaint);
	else if (kind->row.type == &config_type_boolean)
		buffer_append_string(&expected, i == 0 ? "= no" : "= yes");
	else {
		buffer_append_string(&expected, "= ");
		if (kind->form != NULL)
			kind->form(text, &expected);
		else
			buffer_append_str(&expected, text);
	}
	return expected;
}

static void try_text(void *context, struct str text)
{
	struct compiled *compiled = context;
	struct buffer expected CLEANUP(buffer_clear) = expected_of(compiled, text);
	const char *found = outcome_of_value(&compiled->kind->row, compiled->config, text);

	if (!str_equal(str_from(found), buffer_view(&expected)))
		fail_msg("type \"%s\": \"%.*s\": \"%s\" and not \"" STR_FORMAT "\"",
			 compiled->kind->row.type->name, STR_ARGUMENTS(text), found,
			 STR_ARGUMENTS(buffer_view(&expected)));
	compiled->count++;
}

static void texts_are_what_is_said(void **state)
{
	struct config *config = config_of(HOST);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct compiled compiled = {.kind = &kinds[i], .config = config};
		size_t rules = 0;

		for (; rules < COUNT_OF(kinds[i].rules) && kinds[i].rules[rules].pattern != NULL;
		     rules++)
			assert_int_equal(regcomp(&compiled.rules[rules],
						 kinds[i].rules[rules].pattern, REG_EXTENDED),
					 0);
		for (size_t k = 0; k < COUNT_OF(kinds[i].seeds) && kinds[i].seeds[k] != NULL; k++)
			try_near(kinds[i].seeds[k], kinds[i].letters, try_text, &compiled);
		assert_true(compiled.count > 3);
		while (rules > 0)
			regfree(&compiled.rules[--rules]);
	}
	config_free(config);
}

/* A text of a length, the longest and one more. */
struct length_case {
	const struct config_type *type;
	const char *before, *filler, *after;
	size_t most; /* bytes, of the whole */
	const char *complaint;
};

static const struct length_case lengths[] = {
	{&config_type_text, "", "x", "", 4096, "too long"},
	{&config_type_texts, "", "x", "", 4096, "too long"},
	{&config_type_names, "", "x", "", 255, "not a name"},
	{&config_type_urls, "ldap://", "x", "", 4096, "not the URL of an LDAP server"},
	{&config_type_mappings, "user.key=", "x", "", 4096, "not a mapping"},
	{&config_type_masks, "", "x", "", 255, "too long"},
	{&config_type_address_masks, "", "x", "", 255, "too long"},
	{&config_type_header_tests, "", "x", ": a", 79, "not the name of a header field"},
	{&config_type_header_tests, "a: ", "x", "", 258, "too long"},
	{&config_type_local_parts, "", "x", "", 255, "not a local part"},
	{&config_type_local_part, "", "x", "", 64, "not a local part"},
	{&config_type_node_group, "", "x", "", 32, "not the name of a group"},
	{&config_type_node_name, "", "x", "", 64, "not the name of a node"},
	{&config_type_host, "", "a.a.", "aa", 254, NULL},
	{&config_type_host, "", "a.", "a", 255, "not a host name"},
	{&config_type_host, "", "x", ".org", 67, "not a host name"},
};

static void texts_have_a_longest(void **state)
{
	struct config *config = config_of(HOST);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		const struct length_case *row = &lengths[i];
		struct config_setting setting = {.type = row->type};

		for (size_t beyond = 0; beyond <= (row->complaint != NULL); beyond++) {
			struct buffer text CLEANUP(buffer_clear) = {0};
			const char *found;

			buffer_append_string(&text, row->before);
			while (text.length + strlen(row->after) < row->most + beyond)
				buffer_append_string(&text, row->filler);
			buffer_append_string(&text, row->after);
			found = outcome_of_value(&setting, config, buffer_view(&text));
			if (beyond > 0)
				assert_string_equal(found, row->complaint);
			else
				assert_true(text.length == row->most &&
					    str_starts_with(str_from(found), STR("= ")) &&
					    str_equal(str_skip(str_from(found), 2),
						      buffer_view(&text)));
		}
	}
	config_free(config);
}

static void quotas_have_a_largest(void **state)
{
	static const char *const cases[][2] = {
		{"18446744073709551615,18446744073709551615",
		 "= 18446744073709551615,18446744073709551615"},
		{"18446744073709551616", "not a quota"},
		{"1,18446744073709551616", "not a quota"},
		{"18014398509481983K", "= 18014398509481983K"},
		{"18014398509481984K", "not a quota"},
		{"17592186044415M", "= 17592186044415M"},
		{"17592186044416M", "not a quota"},
		{"17179869183G", "= 17179869183G"},
		{"17179869184G", "not a quota"},
		{"16777215T", "= 16777215T"},
		{"16777216T", "not a quota"},
	};
	struct config_setting row = {.type = &config_type_quota};
	struct config *config = config_of(HOST);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(outcome_of_value(&row, config, str_from(cases[i][0])),
				    cases[i][1]);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_what_is_said),
		cmocka_unit_test(texts_have_a_longest),
		cmocka_unit_test(quotas_have_a_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
