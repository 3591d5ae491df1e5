// SPDX-License-Identifier: ISC
/* tests/unit/config/config_examples.h - for each kind of section the configurations in which its
 * settings can be given. */
#ifndef TESTS_UNIT_CONFIG_EXAMPLES_H
#define TESTS_UNIT_CONFIG_EXAMPLES_H

#include "config/schema/schema.h"
#include "config_outcome.h"

/* A configuration that has a section with nothing but what must be set; what is tested comes at the
 * end of the section, or where it would be. */
struct example {
	enum config_section section;
	const char *before;
	const char *after;
	const char *without; /* sections that are there by default are left out; NULL: never */
};

#define SQL         "directory { path = /d }\n"
#define MAILBOX     "service m { kind = mailbox path = /m/%d/%u }\n"
#define IN(text)    "listen submission { address = unix:/s auth_without_tls = yes " text
#define SOURCE      "source s { addresses = 127.0.0.1 }\n"
#define FINGERPRINT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CERTIFICATE "certificate s { chain = /c }\n"
#define NODE        "node { certificate = /c key = /k authority = /a }\n"
#define USERS       SQL IN("}\n")

static const struct example examples[] = {
	{CONFIG_SECTION_ROOT, HOST, "", NULL},
	{CONFIG_SECTION_ROOT, HOST SQL MAILBOX, "", NULL},
	{CONFIG_SECTION_ROOT, HOST SOURCE, "", NULL},
	{CONFIG_SECTION_LISTEN, HOST "listen smtp { address = unix:/s ", "}", NULL},
	{CONFIG_SECTION_LISTEN, HOST SQL IN(""), "}", NULL},
	{CONFIG_SECTION_LISTEN, HOST SQL CERTIFICATE "listen submission { address = unix:/s ", "}",
	 NULL},
	{CONFIG_SECTION_LISTEN,
	 HOST CERTIFICATE
	 "listen smtp { address = unix:/s client_certificates = yes client_authority = /a ",
	 "}", NULL},
	{CONFIG_SECTION_LISTEN,
	 HOST CERTIFICATE "listen smtp { address = unix:/s client_certificates = yes ", "}", NULL},
	{CONFIG_SECTION_LISTEN, HOST "listen lmtp { address = unix:/s ", "}", NULL},
	{CONFIG_SECTION_LISTEN, HOST "listen qmtp { address = unix:/s ", "}", NULL},
	{CONFIG_SECTION_LISTEN, HOST "listen qmqp { address = unix:/s clients = 127.0.0.1 ", "}",
	 NULL},
	{CONFIG_SECTION_SERVICE, HOST "service s { kind = maildir path = /m/%d/%u ", "}", NULL},
	{CONFIG_SECTION_SERVICE, HOST "service s { kind = mbox path = /m/%u user = %u ", "}", NULL},
	{CONFIG_SECTION_SERVICE, HOST "service s { kind = mailbox path = /m/%d/%u ", "}", NULL},
	{CONFIG_SECTION_SERVICE, HOST CERTIFICATE "service s { kind = lmtp address = unix:/l ", "}",
	 NULL},
	{CONFIG_SECTION_SERVICE, HOST "service s { kind = lmtp address = unix:/l ", "}", NULL},
	{CONFIG_SECTION_SERVICE, HOST "service s { kind = pipe command = /bin/true user = nobody ",
	 "}", NULL},
	{CONFIG_SECTION_SERVICE,
	 HOST "service s { kind = imap address = 127.0.0.1:143 login = \"%a\" "
	      "password_file = /p ",
	 "}", NULL},
	{CONFIG_SECTION_DOMAIN, HOST BOX "domain a.test { service = box ", "}", NULL},
	{CONFIG_SECTION_SERVICE, HOST NODE "service s { kind = maildir path = /m/%d/%u ", "}",
	 NULL},
	{CONFIG_SECTION_SERVICE, HOST NODE "service s { kind = mbox path = /m/%u ", "}", NULL},
	{CONFIG_SECTION_TRANSPORT, HOST "transport remote { ", "}", HOST},
	{CONFIG_SECTION_TRANSPORT, HOST NODE "transport remote { ", "}", HOST NODE},
	{CONFIG_SECTION_TRANSPORT, HOST NODE BOX "transport remote { ", "}", HOST NODE BOX},
	{CONFIG_SECTION_TRANSPORT, HOST BOX "transport box { ", "}", HOST BOX},
	{CONFIG_SECTION_PROCESS, HOST "process smtpd { ", "}", HOST},
	{CONFIG_SECTION_CERTIFICATE, HOST "certificate c { chain = /c ", "}", NULL},
	{CONFIG_SECTION_TLS, HOST "tls a.test { level = verify ", "}", NULL},
	{CONFIG_SECTION_TLS, HOST CERTIFICATE "tls a.test { level = may ", "}", NULL},
	{CONFIG_SECTION_TLS,
	 HOST "tls a.test { level = fingerprint fingerprints = \"" FINGERPRINT "\" ", "}", NULL},
	{CONFIG_SECTION_CLASS, HOST SOURCE "class \"*\" { queue = 1 refuse = 2 ", "}", NULL},
	{CONFIG_SECTION_CLASS, HOST "class \"*\" { queue = 1 refuse = 2 ", "}", NULL},
	{CONFIG_SECTION_RATE, HOST "rate r { count = messages limit = 1 interval = 1 ", "}", NULL},
	{CONFIG_SECTION_RATE,
	 HOST "class \"*\" { queue = 1 refuse = 2 }\n"
	      "rate r { count = messages limit = 1 interval = 1 ",
	 "}", NULL},
	{CONFIG_SECTION_SOURCE, HOST "source s { addresses = 127.0.0.1 ", "}", NULL},
	{CONFIG_SECTION_DESTINATION, HOST "destination a.test { concurrency = 1 ", "}", NULL},
	{CONFIG_SECTION_DESTINATION, HOST "destination a.test { messages = 1 ", "}", NULL},
	{CONFIG_SECTION_DIRECTORY, HOST "directory { ", "}", NULL},
	{CONFIG_SECTION_DIRECTORY,
	 HOST "directory { certificate = /c key = /k authority = /a readers = x "
	      "listen = 127.0.0.1:7071 ",
	 "}", NULL},
	{CONFIG_SECTION_DIRECTORY, HOST "directory { backend = postgresql database = d ", "}",
	 NULL},
	{CONFIG_SECTION_DIRECTORY,
	 HOST "directory { backend = ldap base = \"o=x\" url = \"ldapi:///\" ", "}", NULL},
	{CONFIG_SECTION_DIRECTORY,
	 HOST "directory { backend = servers servers = unix:/d certificate = /c key = /k "
	      "authority = /a ",
	 "}", NULL},
	{CONFIG_SECTION_AUTH, HOST USERS "auth { ", "}", HOST USERS},
	{CONFIG_SECTION_AUTH,
	 HOST USERS "auth { token_issuer = x token_audience = x introspection_url = https://x/y "
		    "introspection_secret_file = /s ",
	 "}", NULL},
	{CONFIG_SECTION_AUTH, HOST USERS "auth { users = dovecot ", "}", NULL},
	{CONFIG_SECTION_RECORD, HOST MAILBOX "record { ", "}", HOST MAILBOX},
	{CONFIG_SECTION_RECORD, HOST MAILBOX "record { backend = postgresql database = d ", "}",
	 NULL},
	{CONFIG_SECTION_RECORD, HOST MAILBOX "record { backend = mariadb database = d ", "}", NULL},
	{CONFIG_SECTION_RECORD,
	 HOST MAILBOX "record { backend = mariadb database = d authority = /a "
		      "client_certificate = /c client_key = /k ",
	 "}", NULL},
	{CONFIG_SECTION_NODE, HOST "node { ", "}", NULL},
	{CONFIG_SECTION_NODE,
	 HOST "transport remote { nodes = out }\nnode { certificate = /c key = /k "
	      "authority = /a ",
	 "}", NULL},
	{CONFIG_SECTION_NODE,
	 HOST SQL "stage arrive { nodes = core }\n"
		  "node { certificate = /c key = /k authority = /a listen = 127.0.0.1:7072 ",
	 "}", NULL},
	{CONFIG_SECTION_STAGE, HOST NODE "stage arrive { ", "}", NULL},
	{CONFIG_SECTION_STAGE, HOST NODE "stage submit { ", "}", NULL},
	{CONFIG_SECTION_RULE, HOST MAILBOX "rule r { sender = \"<>\" folder = x ", "}", NULL},
	{CONFIG_SECTION_RULE, HOST MAILBOX "rule r { detail = x flags = seen ", "}", NULL},
};

/* EXAMPLE with "NAME = VALUE"; NAME may be NULL. */
static inline struct str text_of(const struct example *example, const char *name, struct str value,
				 struct buffer *text)
{
	buffer_reset(text);
	buffer_append_string(text, example->before);
	if (name != NULL) {
		buffer_append_format(text, "\n%s = ", name);
		buffer_append_str(text, value);
		buffer_append_byte(text, '\n');
	}
	buffer_append_string(text, example->after);
	return buffer_view(text);
}

#endif
