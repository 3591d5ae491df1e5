// SPDX-License-Identifier: ISC
/*
 * What each process may do by the configuration: its calls, and its paths with what is done there.
 * What the kernel makes of that is tried in tests/sandbox and by test_rights.py.
 */
#include "sandbox_scene.h"
#include "test.h"

static const struct wanted {
	const char *program;
	const char *config;
	const char *lines;
} all_wanted[] = {
	{"smtpd", "", "may accept space\n"},
	{"qmtpd", "", "may accept space\n"},
	{"queue", "",
	 "may open change accept\n"
	 "/q/pid read list write make remove\n"
	 "/q/mess read list write remove\n"
	 "/q/todo read list write make remove\n"
	 "/q/info list\n"
	 "/q/local list folders\n"
	 "/q/handed read list write make remove folders\n"},
	{"send", "",
	 "may open change accept answer\n"
	 "/q/intd read list write make remove\n"
	 "/q/info read list write make remove\n"
	 "/q/local read list write make remove folders\n"
	 "/q/remote read list write make remove\n"
	 "/q/bounce read list write make remove\n"
	 "/q/trigger read list write make remove\n"
	 "/q/peers read list write make remove\n"
	 "/q/todo read list link\n"
	 "/q/mess read list make remove\n"
	 "/q/damaged read list make remove\n"
	 "/q/litter read list make remove\n"
	 "/q/lock/trigger read\n"},
	{"resolve", "", "may\n"},
	{"list", "", "may\n"},
	{"names", "", "may accept connect dns\n"},
	{"keys", "", "may open accept secrets\n"},
	{"keys",
	 "relay_passwords = /relay/passwords\n"
	 "certificate a { chain = /etc/cert.pem key = /etc/keys/a.pem }\n"
	 "certificate b { chain = /b.pem }\n",
	 "may open accept secrets\n"
	 "/etc read\n"
	 "/real read\n"
	 "/etc/keys read\n"
	 "/ read\n"
	 "/relay read\n"},
	{"auth", "", "may accept hidden\n"},
	{"auth",
	 "directory { }\n"
	 "auth { token_keys = { /tokens/a.pem, /other/b.pem } token_issuer = i token_audience = a "
	 "}\n",
	 "may open accept secrets hidden\n"
	 "/tokens read\n"
	 "/other read\n"},
	{"auth",
	 "directory { }\n"
	 "auth { introspection_url = \"https://i.test/\" introspection_user = u "
	 "introspection_secret_file = /intro/secret }\n",
	 "may open accept connect dns secrets hidden\n"
	 "/intro read\n"
	 "/ca read\n"},
	{"auth-ldap",
	 "directory { backend = ldap base = \"o=x\" url = \"ldap://h.test\" certificate = /ldap/c "
	 "key = /ldap/k authority = /ldap/ca.pem }\n",
	 "may open accept connect dns hidden\n"
	 "/ldap/ca.pem read\n"
	 "/etc/hosts read\n"
	 "/etc/resolv.conf read\n"
	 "/etc/nsswitch.conf read\n"
	 "/etc/host.conf read\n"
	 "/etc/gai.conf read\n"},
	{"auth-ldap",
	 "directory { backend = ldap base = \"o=x\" url = { \"ldap://h.test\", "
	 "\"ldapi:///run/ldapi\" } }\n"
	 "auth { token_keys = /tokens/a.pem token_issuer = i token_audience = a }\n",
	 "may open accept connect dns local secrets hidden\n"
	 "/tokens read\n"
	 "/etc/hosts read\n"
	 "/etc/resolv.conf read\n"
	 "/etc/nsswitch.conf read\n"
	 "/etc/host.conf read\n"
	 "/etc/gai.conf read\n"},
	{"policy", "",
	 "may open change accept connect dns\n"
	 "/policies read list write make remove folders\n"
	 "/ca read\n"},
	{"decode", "", "may accept\n"},
	{"handover", "", "may connect dns keep_alive\n"},
	{"noded", "", "may accept keep_alive space\n"},
	{"remote", "", "may connect dns\n"},
	{"remote", "source a { addresses = 192.0.2.1 hostname = a.test }\n",
	 "may connect dns source\n"},
	{"lmtp", "service l { kind = lmtp address = unix:/run/lmtp }\n", "may connect\n"},
	{"lmtp", "service l { kind = lmtp address = unix:/run/lmtp servers = { \"s.test:24\" } }\n",
	 "may connect dns\n"},
	{"local", "service d { kind = maildir path = \"/mail/%d/%u\" }\n",
	 "may open change\n"
	 "/mail read list write make remove folders\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"},
	{"local",
	 "service f { kind = mbox path = \"/boxes/%u\" }\n"
	 "service l { kind = lmtp address = unix:/run/lmtp }\n"
	 "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	 "record { }\n",
	 "may open change locks\n"
	 "/boxes read list write make remove folders\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"},
	{"local", "service o { kind = maildir path = \"/home/%u/Maildir\" user = %u }\n",
	 "may open change\n"
	 "/home read list write make remove folders\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"},
	{"mailbox",
	 "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	 "record { path = /rec/record.db }\n"
	 "service d { kind = maildir path = \"/mail/%d/%u\" }\n",
	 "may open change database\n"
	 "/m read list write make remove folders\n"
	 "/rec read list write make remove\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox",
	 "service i { kind = imap address = \"127.0.0.1:143\" login = \"%a\" password_file = "
	 "/imap/pass security = starttls }\n"
	 "service j { kind = imap address = \"127.0.0.1:143\" login = \"%a\" password_file = "
	 "/imap/pass security = implicit authority = /imap/ca.pem }\n"
	 "record { path = /rec/record.db }\n",
	 "may open change connect database flags\n"
	 "/rec read list write make remove\n"
	 "/imap/pass read\n"
	 "/ca/all.pem read\n"
	 "/imap/pass read\n"
	 "/imap/ca.pem read\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox",
	 "service i { kind = imap address = \"127.0.0.1:143\" login = \"%a\" password_file = "
	 "/imap/pass security = plain }\n"
	 "record { path = /rec/record.db }\n",
	 "may open change connect database flags\n"
	 "/rec read list write make remove\n"
	 "/imap/pass read\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox-postgresql",
	 "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	 "record { backend = postgresql database = \"host=/run/pg sslcert=/pg/cert\" }\n",
	 "may open change local flags\n"
	 "/m read list write make remove folders\n"
	 "/pg/cert read\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox-postgresql",
	 "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	 "record { backend = postgresql database = \"host=192.0.2.1 sslrootcert=/pg/ca\" }\n",
	 "may open change connect flags\n"
	 "/m read list write make remove folders\n"
	 "/pg/ca read\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox-postgresql",
	 "service i { kind = imap address = \"127.0.0.1:143\" login = \"%a\" password_file = "
	 "/imap/pass security = implicit }\n"
	 "record { backend = postgresql database = \"host=pg.test\" }\n",
	 "may open connect dns flags\n"
	 "/etc/hosts read\n"
	 "/etc/resolv.conf read\n"
	 "/etc/nsswitch.conf read\n"
	 "/etc/host.conf read\n"
	 "/etc/gai.conf read\n"
	 "/imap/pass read\n"
	 "/ca/all.pem read\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox-mariadb",
	 "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	 "record { backend = mariadb database = d password_file = /my/pass authority = /my/ca "
	 "client_certificate = /my/cert client_key = /my/key servers = \"192.0.2.1, "
	 "[2001:db8::1]:3307\" }\n",
	 "may open change connect flags\n"
	 "/m read list write make remove folders\n"
	 "/my/pass read\n"
	 "/my/ca read\n"
	 "/my/cert read\n"
	 "/my/key read\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox-mariadb",
	 "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	 "record { backend = mariadb database = d servers = \"192.0.2.1, my.test:3307\" }\n",
	 "may open change connect dns flags\n"
	 "/m read list write make remove folders\n"
	 "/etc/hosts read\n"
	 "/etc/resolv.conf read\n"
	 "/etc/nsswitch.conf read\n"
	 "/etc/host.conf read\n"
	 "/etc/gai.conf read\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"mailbox-mariadb",
	 "service box { kind = mailbox path = \"/m/%d/%u\" }\n"
	 "record { backend = mariadb database = d }\n",
	 "may open change local flags\n"
	 "/m read list write make remove folders\n"
	 "/proc/fs/ext4 read\n"
	 "/sys/devices read\n"
	 "/dev/urandom read\n"},
	{"pipe", "", "may\n"},
	{"launch", "", "may accept programs\n"},
	{"directory", "directory { path = /dir/data.db }\n",
	 "may open change accept database keep_alive\n"
	 "/dir read list write make remove\n"
	 "/dev/urandom read\n"},
	{"directory",
	 "directory { backend = servers servers = unix:/d certificate = /c key = /k authority = "
	 "/dir/ca }\n",
	 "may open change accept connect dns database keep_alive\n"
	 "/dev/urandom read\n"},
	{"directory-ldap",
	 "directory { backend = ldap base = \"o=x\" url = \"ldaps://h.test\" certificate = /ldap/c "
	 "key = /ldap/k authority = /ldap/ca.pem path = /copy/data.db }\n",
	 "may open change accept connect dns database\n"
	 "/copy read list write make remove\n"
	 "/ldap/ca.pem read\n"
	 "/dev/urandom read\n"
	 "/etc/hosts read\n"
	 "/etc/resolv.conf read\n"
	 "/etc/nsswitch.conf read\n"
	 "/etc/host.conf read\n"
	 "/etc/gai.conf read\n"},
	{"directory-ldap",
	 "directory { backend = ldap base = \"o=x\" url = \"ldapi:///run/ldapi\" path = "
	 "/copy/data.db }\n",
	 "may open change accept connect dns database local\n"
	 "/copy read list write make remove\n"
	 "/dev/urandom read\n"
	 "/etc/hosts read\n"
	 "/etc/resolv.conf read\n"
	 "/etc/nsswitch.conf read\n"
	 "/etc/host.conf read\n"
	 "/etc/gai.conf read\n"},
	{"directory-postgresql",
	 "directory { backend = postgresql database = { \"host=pg.test sslkey=/pg/key "
	 "sslcert=/pg/cert\", \"host=/run/pg passfile=/pg/pass\" } }\n",
	 "may open accept connect dns local sync\n"
	 "/pg/key read\n"
	 "/pg/cert read\n"
	 "/pg/pass read\n"},
	{"directory-postgresql", "directory { backend = postgresql database = \"host=pg.test\" }\n",
	 "may open accept connect dns sync\n"},
};

static void each_process_gets_what_it_needs(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(all_wanted); i++) {
		const struct wanted *wanted = &all_wanted[i];
		struct config *config = sandbox_scene_config(wanted->config);

		kernel.link = "/etc/cert.pem";
		sandbox_scene_leave(sandbox_scene_enter(wanted->program, config));
		if (!str_equal(buffer_view(&kernel.lines), str_from(wanted->lines)))
			fail_msg("%s with\n%s--- wanted\n%s--- asked for\n" STR_FORMAT,
				 wanted->program, wanted->config, wanted->lines,
				 STR_ARGUMENTS(buffer_view(&kernel.lines)));
		config_free(config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_gets_what_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, sandbox_scene_forget);
}
