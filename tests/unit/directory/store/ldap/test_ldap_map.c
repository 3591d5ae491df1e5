// SPDX-License-Identifier: ISC
/* What entries of LDAP say about mail, as a table of cases. */
#include "directory/store/ldap/dn.h"
#include "directory/store/ldap/map/claim.h"
#include "ldif.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mapped {
	struct buffer text; /* a line a claim, then a line a complaint */
	struct buffer bad;
};

static void on_bad(void *context, struct str dn, const char *reason)
{
	struct mapped *mapped = context;

	buffer_append_format(&mapped->bad, "! " STR_FORMAT ": %s\n", STR_ARGUMENTS(dn), reason);
}

static void print_claim(const struct claim *claim, struct arena *arena, struct buffer *out)
{
	const struct directory_field *fields = NULL;
	size_t count = 0;

	if (claim->table >= DIRECTORY_TABLES) {
		buffer_append_format(out, "%s " STR_FORMAT " of " STR_FORMAT "\n",
				     claim->table == CLAIM_MEMBER_NAME ? "named" : "owned",
				     STR_ARGUMENTS(claim->key), STR_ARGUMENTS(claim->fields));
		return;
	}
	buffer_append_format(out, "%s " STR_FORMAT,
			     directory_table_name((enum directory_table)claim->table),
			     STR_ARGUMENTS(claim->key));
	claim_fields(claim->fields, arena, &fields, &count);
	for (size_t i = 0; i < count; i++)
		buffer_append_format(out, " " STR_FORMAT "=" STR_FORMAT,
				     STR_ARGUMENTS(fields[i].name), STR_ARGUMENTS(fields[i].value));
	buffer_append_byte(out, '\n');
}

static void assert_text(struct buffer *found, const char *expected, const char *input)
{
	if (!str_equal(buffer_view(found), str_from(expected)))
		fail_msg("%s\n--- became\n" STR_FORMAT "--- instead of\n%s", input,
			 STR_ARGUMENTS(buffer_view(found)), expected);
	buffer_clear(found);
}

#define NODES "user.name=|node.key=cn|node.address=labeledURI|node.group=ou"

static const struct {
	const char *map; /* or NULL */
	const char *entry;
	const char *expected;
} cases[] = {
	{NULL,
	 "uid=ann,ou=people,dc=example,dc=org\nobjectClass: inetOrgPerson\nuid: ann\ncn: Ann B\n"
	 "mail: Ann@Example.org\nmailAlternateAddress: a.b@example.org\n"
	 "mailLocalAddress: ann@example.org\nmailHost: mx1.example.org\n"
	 "userPassword: {CRYPT}$6$salt$hash\nuserPassword: {SSHA}abcd\n",
	 "address a.b@example.org kind=alias target=ann@example.org\n"
	 "address ann@example.org kind=mailbox user=ann\n"
	 "user ann password=$6$salt$hash server=mx1.example.org name=Ann B\n"},
	{NULL, "uid=b,dc=x\nuid: b\nmail: b@x.org\nmail: c@x.org\nmail: B@x.org\n",
	 "address b@x.org kind=mailbox user=b\naddress c@x.org kind=alias target=b@x.org\nuser "
	 "b\n"},
	{NULL, "cn=c,dc=x\nMAIL;x-old: c@x.org\nmailQuota: 1024m\n",
	 "address c@x.org kind=mailbox quota=1G\n"},
	{NULL, "cn=container,dc=x\nobjectClass: organizationalUnit\ncn: container\n", ""},
	/* forwards */
	{NULL,
	 "cn=d,dc=x\nmail: d@x.org\nmailForwardingAddress: e@y.org\n"
	 "mailForwardingAddress: D@x.org\nmailRoutingAddress: f@y.org\n",
	 "address d@x.org kind=forward target=e@y.org target=d@x.org target=f@y.org\n"},
	{NULL, "cn=d,dc=x\nmail: d@x.org\nmailRoutingAddress: d@X.ORG\n",
	 "address d@x.org kind=mailbox\n"},
	{NULL, "cn=d,dc=x\nmail: d@x.org\nmailForwardingAddress: \\ann\n",
	 "address d@x.org kind=refused text=Its forwarding address is not valid status=4.3.5\n"
	 "! cn=d,dc=x: target \"\\ann\": is not an address, LOCAL@DOMAIN\n"},
	/* what cannot be used */
	{NULL, "cn=e,dc=x\nmail: no address\n",
	 "! cn=e,dc=x: address \"no address\": is not an address, LOCAL@DOMAIN\n"},
	{NULL, "cn=e,dc=x\nmail: e@x.org\nmailAlternateAddress: @x.org\nmailAlternateAddress: f\n",
	 "address e@x.org kind=mailbox\n"
	 "! cn=e,dc=x: address \"@x.org\": is not an address, LOCAL@DOMAIN\n"
	 "! cn=e,dc=x: address \"f\": is not an address, LOCAL@DOMAIN\n"},
	/* lists */
	{NULL,
	 "cn=staff,dc=x\nobjectClass: top\nobjectClass: GROUPOFNAMES\nmail: staff@x.org\n"
	 "member: uid=Ann, ou=People,dc=x\nmember: uid=bob,ou=people,dc=x\nmember: nobody\n"
	 "owner: uid=ann,ou=people,dc=x\n",
	 "address staff@x.org kind=list owner=postmaster@x.org\n"
	 "named dc=x,ou=people,uid=ann of staff@x.org\n"
	 "named dc=x,ou=people,uid=bob of staff@x.org\n"
	 "owned dc=x,ou=people,uid=ann of staff@x.org\n"
	 "! cn=staff,dc=x: member \"nobody\": is not the name of an entry\n"},
	{NULL,
	 "cn=l,dc=x\nobjectClass: rfc822MailGroup\nmail: l@x.org\nmail: m@x.org\n"
	 "rfc822MailMember: a@y.org\nrfc822MailMember: A@y.org\nrfc822MailMember: b\n"
	 "owner: boss@x.org\n",
	 "address l@x.org kind=list owner=boss@x.org\naddress m@x.org kind=alias target=l@x.org\n"
	 "member l@x.org a@y.org\n"
	 "! cn=l,dc=x: member \"b\": is not an address, LOCAL@DOMAIN\n"},
	{NULL, "cn=l,dc=x\nobjectClass: groupOfNames\nmember: uid=ann,dc=x\n", ""},
	{NULL,
	 "cn=u,dc=x\nobjectClass: groupOfUniqueNames\nmail: u@x.org\n"
	 "uniqueMember: uid=ann,dc=x#'0101'B\n",
	 "address u@x.org kind=list owner=postmaster@x.org\nnamed dc=x,uid=ann of u@x.org\n"},
	/* domains */
	{NULL,
	 "dc=example,dc=org\nobjectClass: domainRelatedObject\nassociatedDomain: Example.org\n"
	 "associatedDomain: b\xc3\xbc"
	 "cher.example\n",
	 "domain example.org kind=local\ndomain xn--bcher-kva.example kind=local\n"},
	{"domain.class=dcObject|domain.key=dc|domain.service='maildir'",
	 "dc=example,dc=org\nobjectClass: dcObject\ndc: example\n",
	 "domain example.org kind=local service=maildir\n"},
	{NULL, "dc=x\nobjectClass: domain\nassociatedDomain: x.org\n", ""},
	/* other maps */
	{"address.key=mailPrimaryAddress|address.mailbox=mailDrop|address.service='lmtp'|user.key='"
	 "'",
	 "uid=g,dc=x\nuid: g\nmailPrimaryAddress: g@x.org\nmailDrop: store-g@x.org\n",
	 "address g@x.org kind=mailbox service=lmtp mailbox=store-g@x.org\n"},
	{"server.key=cn|server.service=description",
	 "cn=imap1,dc=x\ncn: imap1\ndescription: lmtp-1\n", "server imap1 service=lmtp-1\n"},
	{"server.key=cn|server.service='box'|server.address=description",
	 "cn=imap1,dc=x\ncn: imap1\ndescription: IMAP1.x.org:24\n",
	 "server imap1 service=box address=imap1.x.org:24\n"},
	{"list.class=maillist|list.verp='yes'|list.owner=",
	 "cn=v,dc=x\nobjectClass: mailList\nmail: v@x.org\nowner: dc=x\n",
	 "address v@x.org kind=list owner=postmaster@x.org verp=yes\n"},
	{"list.post=mailAllowed",
	 "cn=p,dc=x\nobjectClass: mailGroup\nmail: p@x.org\nmailAllowed: Members\n",
	 "address p@x.org kind=list owner=postmaster@x.org post=members\n"},
	{"list.post=mailAllowed|list.verp='yes'",
	 "cn=p,dc=x\nobjectClass: mailGroup\nmail: p@x.org\nmailAllowed: staff\n",
	 "address p@x.org kind=list owner=postmaster@x.org verp=yes post=owners\n"
	 "! cn=p,dc=x: post \"staff\": is not anyone, members or owners, and is taken for "
	 "owners\n"},
	/* states */
	{"address.state=accountStatus|user.state=accountStatus",
	 "uid=g,dc=x\nuid: g\nmail: g@x.org\naccountStatus: Disabled\n",
	 "address g@x.org kind=mailbox user=g state=disabled\nuser g state=disabled\n"},
	{"address.state=accountStatus",
	 "uid=g,dc=x\nuid: g\nmail: g@x.org\nmailForwardingAddress: h@x.org\n"
	 "accountStatus: active\n",
	 "address g@x.org kind=forward target=h@x.org state=active\nuser g\n"},
	{"user.state=accountStatus", "uid=g,dc=x\nuid: g\nmail: g@x.org\naccountStatus: nopop\n",
	 "address g@x.org kind=mailbox user=g\nuser g state=deferred\n"
	 "! uid=g,dc=x: state \"nopop\": is not active, deferred or disabled, and is taken for "
	 "deferred\n"},
	{"address.service='maildir'|user.state=accountStatus",
	 "uid=g,dc=x\nuid: g\nmail: g@x.org\naccountStatus: disabled\n",
	 "address g@x.org kind=mailbox service=maildir state=disabled\nuser g state=disabled\n"},
	{"address.service='maildir'|address.state=mailStatus|user.state=accountStatus",
	 "uid=g,dc=x\nuid: g\nmail: g@x.org\nmailStatus: deferred\naccountStatus: disabled\n",
	 "address g@x.org kind=mailbox service=maildir state=deferred\nuser g state=disabled\n"},
	{"address.service='maildir'|address.user=manager|user.state=accountStatus",
	 "uid=g,dc=x\nuid: g\nmail: g@x.org\nmanager: h\naccountStatus: disabled\n",
	 "address g@x.org kind=mailbox service=maildir\nuser g state=disabled\n"},
	{NODES "|node.weight=nodeWeight|node.state=nodeState",
	 "cn=a1,dc=x\nobjectClass: ipHost\ncn: A1\nlabeledURI: A.Example:627\nou: core\nou: "
	 "out\nnodeWeight: 2\n"
	 "nodeState: Away\n",
	 "node a1 address=a.example:627 group=core group=out weight=2 state=away\n"},
	{NODES "|node.group='core'|node.state=nodeState",
	 "cn=a1,dc=x\nobjectClass: device\ncn: a1\nlabeledURI: 192.0.2.1:627\nnodeState: gone\n",
	 "node a1 address=192.0.2.1:627 group=core state=draining\n"
	 "! cn=a1,dc=x: state \"gone\": is not active, draining or away, and is taken for "
	 "draining\n"},
	{NODES, "cn=a1,dc=x\nobjectClass: person\ncn: a1\nlabeledURI: a.example:627\n", ""},
	{NODES, "cn=a1,dc=x\nobjectClass: device\ncn: a1\nou: core\n",
	 "! cn=a1,dc=x: node \"a1\": field address is missing; allowed: HOST:PORT, with a name or "
	 "an IPv4 address, or [IPV6]:PORT\n"},
};

static struct entry_map *map_of(const char *text, struct arena *arena)
{
	const char *texts[CONFIG_MAP_FIELDS];
	struct str rest = str_from(text == NULL ? "" : text);
	struct buffer why = {0};
	struct entry_map *map;
	size_t count = 0;
	struct str piece;

	while (rest.length > 0) {
		(void)str_split(&rest, '|', &piece);
		texts[count++] = arena_copy(arena, piece);
	}
	assert_int_equal(entry_map_new(texts, count, &map, &why), 0);
	return map;
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		struct entry_map *map = map_of(cases[i].map, arena);
		struct entry entry = ldif_parse(arena, cases[i].entry);
		struct mapped mapped = {0};
		struct mapping mapping;

		entry_map_apply(map, &entry, arena, on_bad, &mapped, &mapping);
		for (size_t k = 0; k < mapping.claim_count; k++)
			print_claim(&mapping.claims[k], arena, &mapped.text);
		buffer_append_str(&mapped.text, buffer_view(&mapped.bad));
		assert_text(&mapped.text, cases[i].expected, cases[i].entry);
		buffer_clear(&mapped.bad);
		entry_map_free(map);
		arena_free(arena);
	}
}

static void test_unusable_passwords(void **state)
{
	struct arena *arena = arena_new();
	struct entry_map *map = map_of(NULL, arena);
	struct entry entry =
		ldif_parse(arena, "uid=a\nuid: a\nuserPassword: {SSHA}abcd\n"
				  "userPassword: secret\nuserPassword: {crypt}$y$j$h\n");
	struct mapped mapped = {0};
	struct mapping mapping;

	(void)state;
	entry_map_apply(map, &entry, arena, on_bad, &mapped, &mapping);
	assert_int_equal(mapping.passwords_unusable, 2);
	assert_int_equal(mapping.claim_count, 1);
	assert_int_equal(mapped.bad.length, 0);
	entry_map_free(map);
	arena_free(arena);
}

static void test_wrong_maps(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} wrong[] = {
		{"mail", "\"mail\" is not FIELD=ATTRIBUTE"},
		{"address.mail=mail",
		 "there is no field \"address.mail\"; there are address.key, address.alias, "
		 "address.target, address.user, address.mailbox, address.service, address.quota, "
		 "address.state, "
		 "user.key, "
		 "user.server, user.name, user.password, user.send_as, user.state, list.class, "
		 "list.key, "
		 "list.alias, "
		 "list.member, list.text, list.owner, list.verp, list.post, domain.class, "
		 "domain.key, "
		 "domain.service, server.key, server.service, server.address, "
		 "node.class, node.key, node.address, node.group, node.weight, node.state"},
		{"address.key=mail,uid",
		 "\"address.key=mail,uid\": names of attributes consist of a-z, A-Z, 0-9, - and ."},
		{"list.class='x'", "\"list.class='x'\": object classes are written without quotes"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct entry_map *map = NULL;
		struct buffer why = {0};

		assert_int_equal(entry_map_new(&wrong[i].text, 1, &map, &why), -EINVAL);
		assert_text(&why, wrong[i].why, wrong[i].text);
		assert_null(map);
	}
}

static void test_attributes(void **state)
{
	struct arena *arena = arena_new();
	struct entry_map *map = map_of("list.class=x|address.service='y'|user.key=UID", arena);
	struct buffer found = {0};
	struct buffer text = {0};

	(void)state;
	for (char *const *name = entry_map_attributes(map); *name != NULL; name++)
		buffer_append_format(&found, "%s\n", *name);
	assert_text(&found,
		    "objectClass\nmail\nmailAlternateAddress\nmailLocalAddress\n"
		    "mailForwardingAddress\nmailRoutingAddress\nuid\nmailQuota\nmailHost\ndisplayNa"
		    "me\ncn\n"
		    "userPassword\nmember\nuniqueMember\nrfc822MailMember\nmgrpRFC822MailMember\n"
		    "owner\nassociatedDomain\n",
		    "attributes");
	entry_map_print(map, &text);
	assert_true(str_starts_with(buffer_view(&text), STR("address.key=mail\n")));
	buffer_clear(&text);
	entry_map_free(map);
	arena_free(arena);
}

static void test_names(void **state)
{
	static const struct {
		const char *text;
		const char *form; /* or NULL: none */
	} names[] = {
		{"dc=Example,DC=org", "dc=org,dc=example"},
		{"UID=ann ,  OU=The   People,dc=x", "dc=x,ou=the people,uid=ann"},
		{"cn=b+sn=a,dc=x", "dc=x,cn=b+sn=a"},
		{"sn=A+cn=B,dc=x", "dc=x,cn=b+sn=a"},
		{"cn=Doe\\, Jane,dc=x", "dc=x,cn=doe\\2c jane"},
		{"cn=Doe\\2C Jane,dc=x", "dc=x,cn=doe\\2c jane"},
		{"cn=\xc3\x89va,dc=x", "dc=x,cn=\xc3\xa9va"},
		{"cn=E\xcc\x81va,dc=x", "dc=x,cn=\xc3\xa9va"},
		{"cn=a,dc=x#'01'B", "dc=x,cn=a"},
		{"", NULL},
		{"ann", NULL},
		{"ann@x.org", NULL},
		{"cn=a,,dc=x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct buffer form = {0};
		int error = dn_normalize(str_from(names[i].text), &form);

		assert_int_equal(error, names[i].form == NULL ? -EINVAL : 0);
		assert_text(&form, names[i].form == NULL ? "" : names[i].form, names[i].text);
	}
}

static void test_names_have_a_longest(void **state)
{
	static char name[DN_MAX + 10];

	(void)state;
	for (size_t length = DN_MAX - 1; length <= DN_MAX + 1; length++) {
		struct buffer form = {0};

		memset(name, 'x', length);
		memcpy(name, "cn=", 3);
		assert_int_equal(dn_normalize(str_slice(name, length), &form),
				 length <= DN_MAX ? 0 : -EINVAL);
		assert_int_equal(form.length, length <= DN_MAX ? length : 0);
		buffer_clear(&form);
	}
}

static void test_name_parts(void **state)
{
	struct buffer out = {0};

	(void)state;
	dn_display(STR("dc=x,ou=p,uid=a"), &out);
	assert_text(&out, "uid=a,ou=p,dc=x", "display");
	dn_domain(STR("dc=org,dc=example,ou=people,dc=mail"), &out);
	assert_text(&out, "mail.example.org", "domain");
	dn_domain(STR("o=example"), &out);
	assert_text(&out, "", "no domain");
}

/* TEXT without line ends and requests of the manual, and single spaces. */
static void read_manual(struct buffer *out)
{
	FILE *file = fopen(getenv("LDAP_MANUAL"), "r");
	char line[400];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		struct str text = str_trim(str_slice(line, strcspn(line, "\n")));

		if (str_starts_with(text, STR(".It Li ")))
			text = str_skip(text, 7);
		if (str_equal(text, STR(".br")))
			continue;
		buffer_append_str(out, text);
		buffer_append_byte(out, ' ');
	}
	fclose(file);
	buffer_append_byte(out, '\0');
}

/* The table in the manual is the one that is used. */
static void test_manual(void **state)
{
	struct buffer page = {0};
	struct buffer table = {0};
	struct buffer row = {0};
	struct str line;

	(void)state;
	read_manual(&page);
	entry_map_describe(&table);
	for (struct str rest = buffer_view(&table); str_split(&rest, '\n', &line);) {
		struct str field;
		struct str attributes;

		if (line.length == 0)
			continue;
		(void)str_split(&line, '=', &field);
		(void)str_split(&line, '\t', &attributes);
		buffer_reset(&row);
		buffer_append_format(&row, " " STR_FORMAT "%s" STR_FORMAT " " STR_FORMAT " ",
				     STR_ARGUMENTS(field), attributes.length > 0 ? " " : "",
				     STR_ARGUMENTS(attributes), STR_ARGUMENTS(line));
		buffer_append_byte(&row, '\0');
		if (strstr(buffer_data(&page), buffer_data(&row)) == NULL)
			fail_msg("the manual has not: %s", buffer_data(&row));
	}
	buffer_clear(&page);
	buffer_clear(&table);
	buffer_clear(&row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_unusable_passwords),
		cmocka_unit_test(test_wrong_maps),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_names_have_a_longest),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_name_parts),
		cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
