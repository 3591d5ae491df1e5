// SPDX-License-Identifier: ISC
/* What is wrong before values are looked at: every problem, exactly. */
#include "config_outcome.h"

static const struct refusal syntax_cases[] = {
	{HOST "listen smtp {",
	 "t:2: listen smtp: the section that begins here has no end; allowed: }\n"},
	{HOST "\"hostname\" = x", "t:2: a value without a setting: found \"\"hostname\"\"\n"},
	{"hostname \"x\"", "t:1: hostname: an '=' is missing; allowed: = VALUE\n"},
	{"hostname = ",
	 "t:1: hostname: the file ends before the value; allowed: a value or { VALUE, ... }\n"},
	{"hostname = = x",
	 "t:1: hostname: no value: found \"=\"; allowed: a value or { VALUE, ... }\n"},
	{HOST "}", "t:2: a closing brace, and none is open: found \"}\"\n"},
	{HOST "relay_from = { 10.0.0.0/8",
	 "t:2: relay_from: the list that begins here has no end; allowed: }\n"},
	{HOST "user = \"abc", "t:2: the string has no end on its line: found \"\"abc\"\n"},
	{HOST "user = 'abc\n"
	      "spares = 5",
	 "t:2: the string has no end on its line: found \"'abc\"\n"},
	{HOST "/* never\n"
	      "closed",
	 "t:2: the comment that begins here has no end; allowed: */\n"},
	{HOST "user = \"a${HOME}b\"", "t:2: variables are not put in: found \"${\"\n"},
	{HOST "user = ${HOME}", "t:2: variables are not put in: found \"${\"\n"},
	{HOST "user = '${HOME}'", "t:2: variables are not put in: found \"${\"\n"},
	{HOST "user = \"a\\nb\"",
	 "t:2: unknown escape in a string: found \"\\n\"; allowed: \\\" and \\\\\n"},
	{HOST "user = a*b", "t:2: a value with this character needs quotes: found \"a*b\"\n"},
	{HOST "queue = /a+b", "t:2: a value with this character needs quotes: found \"/a+b\"\n"},
	{HOST "user = (x)", "t:2: unexpected character: found \"(\"\n"},
	{HOST "include(\"/etc/passwd\")", "t:2: unexpected character: found \"(\"\n"},
	{HOST "x = { 1, 2 }\n"
	      "y = 3 z { a = 1 b c { d = 2 } }",
	 "t:2: x: unknown setting; allowed: see stagepost.conf(5)\n"
	 "t:3: y: unknown setting; allowed: see stagepost.conf(5)\n"
	 "t:3: z: unknown section; allowed: see stagepost.conf(5)\n"},
	{HOST "\001", "t:2: unexpected character: found \"?\"\n"},
	{HOST "user = \"a\001\"", "t:2: a control character in a string\n"},
	{HOST "# \"unbalanced { ${X}\n"
	      "// the same \" {\n"
	      "/* and \" {\n"
	      " ${X} */ spares = x",
	 "t:5: spares: not a number: found \"x\"; allowed: a number from 0 to 1000000\n"},
	{HOST "listen smtp address = x",
	 "t:2: listen: a section without its opening brace; allowed: {\n"},
	{"#\n"
	 "#\n"
	 "#0123456789012345678901234567890\n"
	 "spares = x\n"
	 "hostname = mx.example.org\n",
	 "t:4: spares: not a number: found \"x\"; allowed: a number from 0 to 1000000\n"},
	{HOST "+", "t:2: unexpected character: found \"+\"\n"},

	{HOST "listen\n"
	      "{ address = x }",
	 "t:2: listen: a section without its name; allowed: smtp, submission, lmtp, qmtp or "
	 "qmqp\n"},
	{HOST "unknown {", "t:2: unknown: unknown section; allowed: see stagepost.conf(5)\n"
			   "t:2: unknown: the section that begins here has no end; allowed: }\n"},
	{HOST "unknown { a = \"x }",
	 "t:2: unknown: unknown section; allowed: see stagepost.conf(5)\n"
	 "t:2: the string has no end on its line: found \"\"x }\"\n"},
	{HOST "user a{}", "t:2: user: a setting, not a section: an '=' is missing\n"},
	{HOST "a b", "t:2: a: unknown setting; allowed: see stagepost.conf(5)\n"},
	{HOST "a|b = 3", "t:2: a|b: unknown setting; allowed: see stagepost.conf(5)\n"},
	{HOST "user", "t:2: user: an '=' is missing; allowed: = VALUE\n"},
	{HOST "listen }", "t:2: listen: a section without its opening brace; allowed: {\n"},
	{HOST "a\n\nb", "t:2: a: unknown setting; allowed: see stagepost.conf(5)\n"},
	{HOST "listen smtp { } }", "t:2: a closing brace, and none is open: found \"}\"\n"},
	{HOST "listen smtp { split 3 }",
	 "t:2: listen smtp.split: belongs outside of every section\n"},
	{HOST "user = a user = b user += c", "t:2: user: given twice: first in line 2\n"},
	{HOST "split += 3\n"
	      "split += 4",
	 "t:2: split: takes one value, not a list; allowed: a number from 1 to 10000\n"},
};

static const struct refusal list_cases[] = {
	{HOST "relay_from = { 10.0.0.0/8 ::1 }", "t:2: relay_from: values of a list have a comma "
						 "between them: found \"::1\"; allowed: , or }\n"},
	{HOST "relay_from = { 10.0.0.0/8, ::1\n"
	      "127.0.0.1 }",
	 "t:3: relay_from: values of a list have a comma between them: found \"127.0.0.1\"; "
	 "allowed: , or }\n"},
	{HOST "relay_from = { 10.0.0.0/8 { ::1 } }",
	 "t:2: relay_from: values of a list have a comma between them: found \"{\"; allowed: , or "
	 "}\n"},
	{HOST "relay_from = { 10.0.0.0/8 = ::1 }", "t:2: relay_from: values of a list have a comma "
						   "between them: found \"=\"; allowed: , or }\n"},
	{HOST "relay_from = { 10.0.0.0/8 \"::1\" }",
	 "t:2: relay_from: values of a list have a comma between them: found \"\"::1\"\"; allowed: "
	 ", or }\n"},
	{HOST "relay_from = {,}",
	 "t:2: relay_from: no value of the list: found \",\"; allowed: a value or }\n"},
	{HOST "relay_from = { 10.0.0.0/8,, ::1 }",
	 "t:2: relay_from: no value of the list: found \",\"; allowed: a value or }\n"},
	{HOST "relay_from = { 10.0.0.0/8, { ::1 } }",
	 "t:2: relay_from: no value of the list: found \"{\"; allowed: a value or }\n"},
	{HOST "relay_from = { = }",
	 "t:2: relay_from: no value of the list: found \"=\"; allowed: a value or }\n"},
	{HOST "relay_from = { { ::1 } }",
	 "t:2: relay_from: no value of the list: found \"{\"; allowed: a value or }\n"},
	{HOST "relay_from = [10.0.0.0/8, ::1]",
	 "t:2: relay_from: several values without braces: found \",\"; allowed: { VALUE, ... }\n"},
	{HOST "relay_from = 10.0.0.0/8, ::1",
	 "t:2: relay_from: several values without braces: found \",\"; allowed: { VALUE, ... }\n"},
	{HOST "relay_from = { ::1 }, 10.0.0.0/8",
	 "t:2: relay_from: several values without braces: found \",\"; allowed: { VALUE, ... }\n"},
	{HOST "relay_from = { ::1 } 10.0.0.0/8",
	 "t:2: 10.0.0.0/8: unknown setting; allowed: see stagepost.conf(5)\n"},
	{HOST "relay_from = { ::1 } }", "t:2: a closing brace, and none is open: found \"}\"\n"},
	{HOST "relay_from = { ::1 } { }", "t:2: neither a setting nor a section begins so: found "
					  "\"{\"; allowed: NAME = VALUE or NAME { ... }\n"},
	{HOST "relay_from = , ::1",
	 "t:2: relay_from: no value: found \",\"; allowed: a value or { VALUE, ... }\n"},
	{HOST "relay_from = }",
	 "t:2: relay_from: no value: found \"}\"; allowed: a value or { VALUE, ... }\n"},
	{HOST "relay_from += = ::1",
	 "t:2: relay_from: no value: found \"=\"; allowed: a value or { VALUE, ... }\n"},
	{HOST "relay_from { ::1 }",
	 "t:2: relay_from: a setting, not a section: an '=' is missing\n"},
	{HOST "relay_from = { ::1,",
	 "t:2: relay_from: the list that begins here has no end; allowed: }\n"},
	{HOST "relay_from = {",
	 "t:2: relay_from: the list that begins here has no end; allowed: }\n"},
	{HOST "listen smtp { address = { 1.2.3.4:25 5.6.7.8:25 } }",
	 "t:2: listen smtp.address: values of a list have a comma between them: found "
	 "\"5.6.7.8:25\"; allowed: , or }\n"},
};

static const struct refusal names_cases[] = {
	{HOST "maxsiz = 5", "t:2: maxsiz: unknown setting: did you mean \"maxsize\"?\n"},
	{HOST "sizemax = 5", "t:2: sizemax: unknown setting; allowed: see stagepost.conf(5)\n"},
	{HOST "drawer { backend = sqlite }",
	 "t:2: drawer: unknown section; allowed: see stagepost.conf(5)\n"},
	{HOST "Hostname = x", "t:2: Hostname: unknown setting: did you mean \"hostname\"?\n"},
	{HOST "path = /x", "t:2: path: belongs into a section \"service\"\n"},
	{HOST "listen smtp { address = 1.2.3.4:25 greeting = x }",
	 "t:2: listen smtp.greeting: unknown setting; allowed: address, clients, stage, proxy, "
	 "bare_newline, "
	 "tls, tls_min_version, tls_ciphers, client_certificates, client_authority, "
	 "client_names, client_fingerprints, auth, "
	 "auth_without_tls, auth_binding, sender_login, received_user, received_client, "
	 "submission, repair\n"},
	{HOST "listen smtp { adress = 1.2.3.4:25 }",
	 "t:2: listen smtp.adress: unknown setting: did you mean \"address\"?\n"
	 "t:2: listen smtp.address: must be set; allowed: IPV4:PORT, [IPV6]:PORT with a port from "
	 "1 to 65535, unix:/PATH\n"},
	{HOST "listen smtp { maxsize = 5 address = 1.2.3.4:25 }",
	 "t:2: listen smtp.maxsize: belongs outside of every section\n"},
	{HOST "listen = 5", "t:2: listen: a section, not a setting: listen NAME { ... }\n"},
	{HOST "queue { }", "t:2: queue: a setting, not a section: an '=' is missing\n"},
	{HOST "listen { }", "t:2: listen: a section without its name; allowed: smtp, submission, "
			    "lmtp, qmtp or qmqp\n"},
	{HOST "listen smtp { address = 1.2.3.4:25 service a { } }",
	 "t:2: listen smtp.service: a section inside of another\n"},
	{HOST "gadget \"*\" { queue = 5 }",
	 "t:2: gadget: unknown section; allowed: see stagepost.conf(5)\n"},
	{HOST "servic a { }", "t:2: servic: unknown section: did you mean \"service\"?\n"},
	{HOST "a = 1 a = 2", "t:2: a: unknown setting; allowed: see stagepost.conf(5)\n"
			     "t:2: a: unknown setting; allowed: see stagepost.conf(5)\n"},
	{HOST "listen smtp { listen = 1 address = 1.2.3.4:25 }",
	 "t:2: listen smtp.listen: a section, not a setting: listen NAME { ... }; allowed: "
	 "address, clients, stage, proxy, bare_newline, "
	 "tls, tls_min_version, tls_ciphers, client_certificates, client_authority, "
	 "client_names, client_fingerprints, auth, "
	 "auth_without_tls, auth_binding, sender_login, received_user, received_client, "
	 "submission, repair\n"},
};

static void broken_syntax_is_reported(void **state)
{
	(void)state;
	check_refusals(syntax_cases, COUNT_OF(syntax_cases));
}

static void malformed_lists_are_reported(void **state)
{
	(void)state;
	check_refusals(list_cases, COUNT_OF(list_cases));
}

static void unknown_names_are_reported(void **state)
{
	(void)state;
	check_refusals(names_cases, COUNT_OF(names_cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_syntax_is_reported),
		cmocka_unit_test(malformed_lists_are_reported),
		cmocka_unit_test(unknown_names_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
