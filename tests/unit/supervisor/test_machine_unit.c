// SPDX-License-Identifier: ISC
/* What the unit of the service lets its processes do with files, by what systemctl shows of it. */
#include "supervisor/machine_check/unit.h"
#include "test.h"
#include <errno.h>
#include <linux/capability.h>

#define CONF   "/etc/stagepost/stagepost.conf"
#define LOADED "LoadState=loaded\n"
#define START \
	"ExecStart={ path=/usr/local/bin/stagepost ; argv[]=/usr/local/bin/stagepost serve ; }\n"
#define START_OTHER                                                                               \
	"ExecStart={ path=/usr/bin/stagepost ; argv[]=/usr/bin/stagepost serve -c /srv/a.conf ; " \
	"}\n"
#define STRICT                                                                                 \
	"ProtectSystem=strict\nReadWritePaths=/var/spool/stagepost /run/stagepost -/var/mail " \
	"+/srv/a/\n"

static bool takes(const char *text, const char *file)
{
	struct machine_unit unit = {{0}};
	int error = machine_unit_take(str_from(text), file, CONF, &unit);

	machine_unit_clear(&unit);
	assert_true(error == 0 || error == -ENOENT);
	return error == 0;
}

static void test_whose_unit_it_is(void **state)
{
	(void)state;
	assert_true(takes(LOADED START, CONF));
	assert_false(takes(LOADED START, "/srv/a.conf"));
	assert_true(takes(LOADED START_OTHER, "/srv/a.conf"));
	assert_false(takes(LOADED START_OTHER, CONF));
	assert_false(takes("LoadState=not-found\n" START, CONF));
	assert_false(takes("", CONF));
}

static void test_as_whom_it_starts(void **state)
{
	struct machine_unit unit = {{0}};

	(void)state;
	assert_int_equal(machine_unit_take(STR(LOADED "User=one\nGroup=two\nAmbientCapabilities="
						      "cap_kill cap_dac_read_search\n"),
					   CONF, CONF, &unit),
			 0);
	assert_true(str_equal(machine_unit_user(&unit), STR("one")));
	assert_true(str_equal(machine_unit_group(&unit), STR("two")));
	assert_int_equal(machine_unit_capabilities(&unit), UINT64_C(1) << CAP_DAC_READ_SEARCH);
	machine_unit_clear(&unit);
	assert_int_equal(machine_unit_take(STR(LOADED "UserName=one\n"), CONF, CONF, &unit), 0);
	assert_int_equal(machine_unit_user(&unit).length, 0);
	machine_unit_clear(&unit);
}

static const struct row {
	const char *properties;
	const char *path;
	const char *reads;  /* what is against it; "": nothing */
	const char *writes; /* likewise */
} rows[] = {
	{"", "/srv/mail", "", ""},
	{STRICT, "/var/spool/stagepost/todo", "", ""},
	{STRICT, "/var/spool/stagepost2", "", "with ProtectSystem, ReadWritePaths must name it"},
	{STRICT, "/var/spool", "", "with ProtectSystem, ReadWritePaths must name it"},
	{STRICT, "/var/mail/a.example", "", ""},
	{STRICT, "/srv/a", "", ""},
	{STRICT, "/dev/shm", "", ""},
	{"ProtectSystem=full\n", "/etc/stagepost", "",
	 "with ProtectSystem, ReadWritePaths must name it"},
	{"ProtectSystem=yes\n", "/etc/stagepost", "", ""},
	{"ProtectSystem=yes\n", "/usr/lib", "", "with ProtectSystem, ReadWritePaths must name it"},
	{"ProtectSystem=no\nProtectHome=no\n", "/home/ann/mail", "", ""},
	{"ProtectHome=yes\nReadWritePaths=/home\n", "/home/ann/mail", "ProtectHome hides it",
	 "ProtectHome hides it"},
	{"ProtectHome=tmpfs\n", "/root", "ProtectHome hides it", "ProtectHome hides it"},
	{"ProtectHome=yes\n", "/homes/ann", "", ""},
	{"ProtectHome=read-only\n", "/home/ann", "",
	 "with ProtectHome, ReadWritePaths must name it"},
	{"ProtectHome=read-only\nReadWritePaths=/home/ann\n", "/home/ann/mail", "", ""},
	{"PrivateTmp=yes\n", "/var/tmp/x", "PrivateTmp gives it another one",
	 "PrivateTmp gives it another one"},
	{"PrivateTmp=no\n", "/tmp/x", "", ""},
	{"InaccessiblePaths=-/srv/mail\n", "/srv/mail/a", "InaccessiblePaths hides it",
	 "InaccessiblePaths hides it"},
	{"ReadOnlyPaths=/srv\n", "/srv/mail", "", "ReadOnlyPaths names it"},
	{"ReadOnlyPaths=/srv\nReadWritePaths=/srv/mail\n", "/srv/mail/a", "", ""},
	{"ReadOnlyPaths=/srv/mail\nReadWritePaths=/srv\n", "/srv/mail/a", "",
	 "ReadOnlyPaths names it"},
	{"ProtectSystem=strict\nReadWritePaths=/\n", "/srv", "", ""},
};

static void check_allowed(const struct machine_unit *unit, const char *path, bool writes,
			  const char *against)
{
	struct buffer why CLEANUP(buffer_clear) = {0};

	assert_int_equal(machine_unit_allows(unit, str_from(path), writes, &why), *against == '\0');
	buffer_append_byte(&why, '\0');
	assert_string_equal(buffer_data(&why), against);
}

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct machine_unit unit = {{0}};
		struct buffer text CLEANUP(buffer_clear) = {0};

		buffer_append_format(&text, LOADED "%s", rows[i].properties);
		print_message("%s: %s\n", rows[i].properties, rows[i].path);
		assert_int_equal(machine_unit_take(buffer_view(&text), CONF, CONF, &unit), 0);
		check_allowed(&unit, rows[i].path, false, rows[i].reads);
		check_allowed(&unit, rows[i].path, true, rows[i].writes);
		machine_unit_clear(&unit);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose_unit_it_is),
		cmocka_unit_test(test_as_whom_it_starts),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
