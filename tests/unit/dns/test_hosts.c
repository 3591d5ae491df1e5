// SPDX-License-Identifier: ISC
#include "base/buffer.h"
#include "chance.h"
#include "dns/hosts.h"
#include "os/socket/socket.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char text[] = "# a comment\n"
			   "127.0.0.1\tlocalhost loopback # the machine\r\n"
			   "::1 localhost ip6-localhost\n"
			   "192.0.2.1 Relay.Example.ORG relay\n"
			   "192.0.2.2   relay.example.org.\n"
			   "2001:db8::5 six.example.org\n"
			   "fe80::1%lo zone.example.org\n"
			   "300.1.1.1 wrong.example.org\n"
			   "192.0.2.9\n"
			   "  192.0.2.3 last.example.org";

/* "192.0.2.1 192.0.2.2", "none of this kind", "not there" */
static const char *answer_of(const struct dns_hosts *hosts, const char *name, enum dns_type type)
{
	static char said[2048];
	struct dns_hosts_answer found;
	size_t length = 0;

	if (!dns_hosts_find(hosts, name, type, &found))
		return "not there";
	if (found.answer.status == DNS_NO_DATA)
		return "none of this kind";
	assert_int_equal(found.answer.status, DNS_FOUND);
	assert_false(found.answer.is_secure);
	for (size_t i = 0; i < found.answer.count; i++) {
		char address[INET6_ADDRSTRLEN];

		assert_non_null(inet_ntop(found.answer.lengths[i] == 4 ? AF_INET : AF_INET6,
					  found.answer.data[i], address, sizeof address));
		length += (size_t)snprintf(said + length, sizeof said - length, "%s%s",
					   i > 0 ? " " : "", address);
	}
	return said;
}

static void names_have_their_addresses(void **state)
{
	static const struct {
		const char *name;
		enum dns_type type;
		const char *answer;
	} cases[] = {
		{"localhost", DNS_TYPE_A, "127.0.0.1"},
		{"localhost", DNS_TYPE_AAAA, "::1"},
		{"loopback", DNS_TYPE_AAAA, "none of this kind"},
		{"relay.example.org", DNS_TYPE_A, "192.0.2.1 192.0.2.2"},
		{"RELAY.EXAMPLE.org", DNS_TYPE_A, "192.0.2.1 192.0.2.2"},
		{"relay", DNS_TYPE_A, "192.0.2.1"},
		{"rela", DNS_TYPE_A, "not there"},
		{"relays", DNS_TYPE_A, "not there"},
		{"six.example.org", DNS_TYPE_AAAA, "2001:db8::5"},
		{"six.example.org", DNS_TYPE_A, "none of this kind"},
		{"last.example.org", DNS_TYPE_A, "192.0.2.3"},
		{"zone.example.org", DNS_TYPE_AAAA, "not there"},
		{"wrong.example.org", DNS_TYPE_A, "not there"},
		{"# a", DNS_TYPE_A, "not there"},
		{"", DNS_TYPE_A, "not there"},
		/* what else there is of a name is for the DNS to say */
		{"relay.example.org", DNS_TYPE_MX, "not there"},
		{"relay.example.org", DNS_TYPE_TLSA, "not there"},
		{"relay.example.org", DNS_TYPE_CNAME, "not there"},
		{"relay.example.org", DNS_TYPE_TXT, "not there"},
	};
	struct dns_hosts *hosts = dns_hosts_parse(STR(text));

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(answer_of(hosts, cases[i].name, cases[i].type),
				    cases[i].answer);
	dns_hosts_free(hosts);
}

static void much_is_bounded(void **state)
{
	struct buffer many = {0};
	struct dns_hosts_answer found;
	struct dns_hosts *hosts;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		buffer_append_format(&many, "10.0.%u.%u many.test n%u.test\n", i / 250, i % 250, i);
	hosts = dns_hosts_parse(buffer_view(&many));
	assert_true(dns_hosts_find(hosts, "many.test", DNS_TYPE_A, &found));
	assert_int_equal(found.answer.count, DNS_HOSTS_ADDRESSES_MAX);
	assert_string_equal(answer_of(hosts, "n999.test", DNS_TYPE_A), "10.0.3.249");
	dns_hosts_free(hosts);
	hosts = dns_hosts_parse(STR(""));
	assert_string_equal(answer_of(hosts, "n999.test", DNS_TYPE_A), "not there");
	dns_hosts_free(hosts);
	dns_hosts_free(NULL);
	buffer_clear(&many);
}

static int hosts_file; /* what is read as /etc/hosts */

int __wrap_os_file_open(int directory, const char *path, unsigned flags);

int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	(void)directory, (void)flags;
	assert_string_equal(path, "/etc/hosts");
	return dup(hosts_file);
}

/* What follows counts for nothing, also of a line that began before. */
static void so_much_of_the_file_is_read(void **state)
{
	static const char end[] = "192.0.2.7 at.the.end\n";
	static const struct {
		size_t before; /* bytes */
		const char *answer;
	} cases[] = {
		{DNS_HOSTS_FILE_MAX - sizeof end + 1, "192.0.2.7"},
		{DNS_HOSTS_FILE_MAX - sizeof end + 2, "not there"},
		{DNS_HOSTS_FILE_MAX - sizeof end + 3, "not there"},
		{DNS_HOSTS_FILE_MAX, "not there"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct dns_hosts *hosts;

		hosts_file = memfd_create("hosts", MFD_CLOEXEC);
		assert_int_equal(pwrite(hosts_file, "#\n192.0.2.1 first\n#", 19, 0), 19);
		assert_int_equal(pwrite(hosts_file, "\n", 1, (off_t)cases[i].before - 1), 1);
		assert_int_equal(pwrite(hosts_file, end, sizeof end - 1, (off_t)cases[i].before),
				 sizeof end - 1);
		hosts = dns_hosts_read();
		assert_string_equal(answer_of(hosts, "first", DNS_TYPE_A), "192.0.2.1");
		assert_string_equal(answer_of(hosts, "at.the.end", DNS_TYPE_A), cases[i].answer);
		assert_string_equal(answer_of(hosts, "at.the.en", DNS_TYPE_A), "not there");
		dns_hosts_free(hosts);
		close(hosts_file);
	}
}

/* --- any file, against one search after the other --- */

enum { LINES = 12, NAMES_A_LINE = 3, TURNS = 3000 };

/* Names that begin like each other, and like what comes after them in a line. */
static const char *make_host_name(void)
{
	static const char bytes[] = "ab-.";
	static char name[8];
	size_t length = 1 + chance(3);

	for (size_t i = 0; i < length; i++)
		name[i] = bytes[chance(i == 0 || i + 1 == length ? 2 : 4)];
	name[length] = '\0';
	return name;
}

static void any_file(void **state)
{
	struct line {
		unsigned address; /* the last byte */
		bool is_v4;
		char names[NAMES_A_LINE][8];
	} lines[LINES];

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		struct buffer file = {0};
		struct dns_hosts *hosts;
		size_t count = chance(LINES);

		for (size_t i = 0; i < count; i++) {
			static const char *const ends[] = {"\n", "\r\n", "#a b\n", " # c\n",
							   " \t\n"};

			lines[i] = (struct line){.address = 1 + (unsigned)chance(200),
						 .is_v4 = chance(2) == 0};
			buffer_append_format(&file, lines[i].is_v4 ? "192.0.2.%u" : "2001:db8::%x",
					     lines[i].address);
			for (size_t n = 0; n < NAMES_A_LINE; n++) {
				snprintf(lines[i].names[n], sizeof lines[i].names[n], "%s",
					 make_host_name());
				buffer_append_format(&file, "%c%s%s", chance(2) == 0 ? ' ' : '\t',
						     lines[i].names[n], chance(4) == 0 ? "." : "");
			}
			buffer_append_string(&file, ends[chance(COUNT_OF(ends))]);
		}
		hosts = dns_hosts_parse(buffer_view(&file));
		for (unsigned question = 0; question < 10; question++) {
			char said[600] = "", name[8];
			bool is_v4 = question % 2 == 0, is_there = false;
			size_t used = 0;

			snprintf(name, sizeof name, "%s", make_host_name());
			for (size_t i = 0; i < count; i++)
				for (size_t n = 0; n < NAMES_A_LINE; n++) {
					if (strcmp(lines[i].names[n], name) != 0)
						continue;
					is_there = true;
					if (lines[i].is_v4 != is_v4)
						continue;
					used += (size_t)snprintf(
						said + used, sizeof said - used,
						is_v4 ? "%s192.0.2.%u" : "%s2001:db8::%x",
						used > 0 ? " " : "", lines[i].address);
				}
			if (used == 0)
				snprintf(said, sizeof said, "%s",
					 is_there ? "none of this kind" : "not there");
			assert_string_equal(
				answer_of(hosts, name, is_v4 ? DNS_TYPE_A : DNS_TYPE_AAAA), said);
		}
		dns_hosts_free(hosts);
		buffer_clear(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_their_addresses),
		cmocka_unit_test(much_is_bounded),
		cmocka_unit_test(so_much_of_the_file_is_read),
		cmocka_unit_test(any_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
