// SPDX-License-Identifier: ISC
/* The settings outside all sections. */
#include "config/schema_row.h"

static const struct config_word sync_words[] = {
	{"auto", CONFIG_SYNC_AUTO},
	{"files", CONFIG_SYNC_FILES},
	{"filesystem", CONFIG_SYNC_FILESYSTEM},
	{"ordered", CONFIG_SYNC_ORDERED},
	{NULL, 0},
};
static const struct config_word bounce_words[] = {
	{"report", CONFIG_BOUNCE_REPORT}, {"qsbmf", CONFIG_BOUNCE_QSBMF}, {NULL, 0}};
static const struct config_word format_words[] = {
	{"logfmt", CONFIG_LOG_LOGFMT}, {"json", CONFIG_LOG_JSON}, {NULL, 0}};
static const struct config_word target_words[] = {
	{"stderr", CONFIG_LOG_STDERR}, {"syslog", CONFIG_LOG_SYSLOG}, {NULL, 0}};
static const struct config_word login_words[] = {
	{"LOGIN", CONFIG_LOGIN_LOGIN},
	{"PLAIN", CONFIG_LOGIN_PLAIN},
	{"SCRAM-SHA-1", CONFIG_LOGIN_SCRAM_SHA_1},
	{"SCRAM-SHA-256", CONFIG_LOGIN_SCRAM_SHA_256},
	{"SCRAM-SHA-1-PLUS", CONFIG_LOGIN_SCRAM_SHA_1_PLUS},
	{"SCRAM-SHA-256-PLUS", CONFIG_LOGIN_SCRAM_SHA_256_PLUS},
	{NULL, 0}};
static const struct config_word nul_words[] = {
	{"reject", CONFIG_NUL_REJECT}, {"remove", CONFIG_NUL_REMOVE}, {NULL, 0}};
static const struct config_word remote_tls_words[] = {{"none", CONFIG_TLS_NONE},
						      {"may", CONFIG_TLS_MAY},
						      {"encrypt", CONFIG_TLS_ENCRYPT},
						      {"verify", CONFIG_TLS_VERIFY},
						      {NULL, 0}};

static const struct config_word remote_ip_words[] = {
	{"ipv6-first", CONFIG_IPV6_FIRST},
	{"ipv4-first", CONFIG_IPV4_FIRST},
	{"ipv4", CONFIG_IPV4},
	{"ipv6", CONFIG_IPV6},
	{NULL, 0},
};

const struct config_setting config_schema_root[] = {
	/* this machine */
	SETTING(ROOT, "hostname", host, AT(config, hostname),
		COMPUTED("the machine's host name, if it has a domain; otherwise it must be set"),
		MEANING("The name by which this machine is known in mail: in its greeting, in "
			"Received lines, and as the sender of its reports.")),
	SETTING(ROOT, "default_domain", host, AT(config, default_domain), INITIAL(""),
		MEANING("The domain of addresses without one: of aliases, and of postmaster and "
			"user@[ADDRESS] of this host; if it is set, also of addresses that local "
			"users enter, which otherwise get hostname. Set it if all domains are in "
			"the directory. Empty: hostname, if a section domain names it or there is "
			"no such section; otherwise the first of them.")),
	SETTING(ROOT, "recipient_delimiter", delimiter, AT(config, recipient_delimiter),
		INITIAL("+"),
		MEANING("Each of these characters begins the extension of a local part: where "
			"user+extension has no record of its own, it is mail for user, and before "
			"the catch-all. The first one in an address counts, except at its "
			"beginning. Services always get the extension after a +, whatever the "
			"delimiter was, and split nothing off where there is none: ann+x is the "
			"mailbox ann+x unless + is a delimiter. Senders of lists with verp have a "
			"+, too. Empty: "
			"addresses have no extensions. With several nodes, the setting of the "
			"node that has the data counts.")),
	SETTING(ROOT, "queue", path, AT(config, queue), INITIAL("/var/spool/stagepost"),
		RANGE(1, 4000),
		MEANING("The directory of the queue. It must be on a local filesystem that keeps "
			"inode numbers and honours fsync(2).")),
	SETTING(ROOT, "run", path, AT(config, run), INITIAL("/run/stagepost"), RANGE(1, 90),
		MEANING("The directory of the sockets by which the processes talk to each "
			"other.")),
	SETTING(ROOT, "user", user, AT(config, user), INITIAL("stagepost"),
		MEANING("The user that the processes run as when they are started by root, and "
			"who owns the queue; empty: the user is not changed. Has no effect "
			"otherwise. See also section process.")),
	SETTING(ROOT, "submit_group", group, AT(config, submit_group), INITIAL(""),
		MEANING("A group whose processes may queue mail by the socket submit in run, which "
			"then others may search. A program sendmail that is set-group-ID to it can "
			"queue mail of every user of this machine, while a node runs. A message "
			"that comes in this way says in Received and in the log which user it is "
			"from. Nobody should be a member. Empty: only who owns the queue can "
			"queue mail by commands.")),
	SETTING(ROOT, "dns_server", server, AT(config, dns_server), INITIAL(""),
		MEANING("The name server for all queries; empty: the system's.")),
	SETTING(ROOT, "client_names", boolean, AT(config, client_names), INITIAL("yes"),
		MEANING("Whether clients' names are looked up in the DNS: the name of a client's "
			"address, if that name resolves back to the address. It appears in "
			"Received and in the log. Clients on this machine are not looked up. A "
			"message waits for a name two seconds at most, and not at all while the "
			"name servers are slow.")),
	SETTING(ROOT, "log_level", log_level, AT(config, log_level), INITIAL("info"),
		MEANING("The least important events that are logged.")),
	SETTING(ROOT, "log_format", word, AT(config, log_format), INITIAL("logfmt"),
		WORDS(format_words),
		MEANING("How an event is written: \"logfmt\", a line of key=value, or \"json\", "
			"a line with one object of the same keys.")),
	SETTING(ROOT, "log_target", word, AT(config, log_target), INITIAL("stderr"),
		WORDS(target_words),
		MEANING("Where events go: standard error (under systemd the journal, with "
			"priorities), or syslog(3) with facility mail.")),

	/* the queue */
	SETTING(ROOT, "split", number, AT(config, split), INITIAL("97"), RANGE(1, 10000),
		MEANING("The number of subdirectories of each queue directory, for a new queue; "
			"an existing queue keeps its number. A prime is best.")),
	SETTING(ROOT, "queue_sync", word, AT(config, queue_sync), INITIAL("auto"),
		WORDS(sync_words),
		MEANING("How a group of messages is made durable: by syncing its files; or the "
			"whole filesystem at once, which is faster where the queue has a "
			"filesystem to itself; or ordered, with half the commits, only for "
			"filesystems that make changes durable in their order: ext4 with an "
			"internal journal, data=ordered and barriers, nothing else. auto "
			"chooses by the filesystem, and again when that is mounted with "
			"other options.")),
	SETTING(ROOT, "queue_unsafe", boolean, AT(config, queue_unsafe), INITIAL("no"),
		MEANING("Whether to run, with a warning, on a filesystem that may lose mail.")),
	SETTING(ROOT, "spares", number, AT(config, spares), INITIAL("1000"), RANGE(0, 1000000),
		MEANING("How many files of finished messages are kept for new ones.")),
	SETTING(ROOT, "queuelifetime", duration, AT(config, queuelifetime_us), INITIAL("7d"),
		RANGE(0, 365 * 86400),
		MEANING("How long delivery is tried before a message is returned; 0: once.")),
	SETTING(ROOT, "future_release_max", duration, AT(config, future_release_max_us),
		INITIAL("30d"), RANGE(0, 365 * 86400),
		MEANING("How far in the future a user's program may have its message released "
			"(FUTURERELEASE, RFC 4865); offered by listen submission only. Until then "
			"the message waits in the queue, and queuelifetime counts from then. 0: "
			"not offered.")),
	SETTING(ROOT, "binarymime", boolean, AT(config, binarymime), INITIAL("no"),
		MEANING("Whether clients may send binary messages (BINARYMIME, RFC 3030). Their "
			"bytes stay as they are on the way to hosts and LMTP servers that offer "
			"this; for others, for mailboxes (kind = maildir) and programs their parts "
			"are encoded, unless they are signed or encrypted: then they are returned "
			"(5.6.3), and so are those for QMTP, and for servers if convert_8bit is "
			"no. So it is for nodes that hand on all that they accept. Without it "
			"clients encode their messages.")),
	SETTING(ROOT, "deliver_by_min", duration, AT(config, deliver_by_min_us), INITIAL("1s"),
		RANGE(0, 365 * 86400),
		MEANING("The shortest time within which a sender may want its message delivered or "
			"returned (DELIVERBY, RFC 2852); clients are told, and a shorter one is "
			"refused. A message that is late is returned, or its sender is told, as it "
			"has asked; one that is to be returned goes to no host that does not offer "
			"this, too. Mail to a list is returned to the list's owner. Offered to "
			"clients that may relay, and by LMTP: others could have mail returned to "
			"whom they name as the sender. 0: not offered.")),
	SETTING(ROOT, "rescan", duration, AT(config, rescan_us), INITIAL("25m"), RANGE(1, 86400),
		MEANING("How often the queue directories are read for mail that was "
			"not announced.")),

	/* receiving mail */
	SETTING(ROOT, "relay_from", networks, LIST(config, relay_from, relay_from_count),
		INITIAL(""),
		MEANING("The clients that may send to any address. An address alone is a network "
			"of one.")),
	SETTING(ROOT, "own_addresses", networks, LIST(config, own_addresses, own_address_count),
		INITIAL(""),
		MEANING("Addresses of this host besides those at which clients connect, such as "
			"the public one of a NAT router: mail for user@[ADDRESS] is local, that "
			"of default_domain.")),
	SETTING(ROOT, "maxsize", size, AT(config, maxsize), INITIAL("50M"),
		RANGE(1024, UINT64_C(1) << 36), MEANING("The largest message that is accepted.")),
	SETTING(ROOT, "nul", word, AT(config, nul), INITIAL("reject"), WORDS(nul_words),
		MEANING("What happens to a message with a NUL, which RFC 5322 forbids and at which "
			"other programs cut messages off: it is refused, or the NULs are removed. "
			"It is never sent on with them.")),
	SETTING(ROOT, "allow_early_commands", boolean, AT(config, allow_early_commands),
		INITIAL("no"),
		MEANING("Whether a client may send commands too early (RFC 2920): several at once "
			"before it has received the reply to EHLO, or data before the reply 354. "
			"Otherwise its session is ended. Mail servers never do that; bulk mailers "
			"and attack tools do, and some scripts: clients in relay_from are "
			"tolerated. A client that speaks HTTP is disconnected in either case "
			"unless this is yes.")),
	SETTING(ROOT, "strict_addresses", boolean, AT(config, strict_addresses), INITIAL("no"),
		MEANING("Whether clients are held to the letter of RFC 5321 in MAIL, RCPT and "
			"their greeting. Otherwise what real clients send passes, too: addresses "
			"without angle brackets, dots in a row or at an end of a local part, and "
			"any name in HELO and EHLO, which is logged and shown with a question mark "
			"for each odd character.")),
	SETTING(ROOT, "maxrecipients", number, AT(config, maxrecipients), INITIAL("1000"),
		RANGE(1, 100000),
		MEANING("The most recipients of one SMTP transaction. Clients are told (LIMITS, "
			"RFC "
			"9422), and may divide their mail by it.")),
	SETTING(ROOT, "maxhops", number, AT(config, maxhops), INITIAL("100"), RANGE(1, 10000),
		MEANING("The most Received lines of a message; more of them mean a loop.")),
	SETTING(ROOT, "maxerrors", number, AT(config, maxerrors), INITIAL("20"), RANGE(1, 10000),
		MEANING("After how many refused commands a session is ended.")),
	SETTING(ROOT, "maxcommands", number, AT(config, maxcommands), INITIAL("100"),
		RANGE(1, 1000000),
		MEANING("After how many commands that do not advance a transaction (such as NOOP "
			"and RSET) a session is ended; by QMTP, packages without an accepted "
			"message. Each message resets the count.")),
	SETTING(ROOT, "maxsessions", number, AT(config, maxsessions), INITIAL("10000"),
		RANGE(1, 1000000),
		MEANING("The maximum number of concurrent SMTP sessions of all workers; those of "
			"QMTP and QMQP, which are another process's (qmtpd), may be as many "
			"besides. "
			"If it is reached, the session that has done nothing useful for longest is "
			"ended "
			"for a new one.")),
	SETTING(ROOT, "maxsessions_client", number, AT(config, maxsessions_client), INITIAL("50"),
		RANGE(0, 1000000),
		MEANING("The maximum number of concurrent SMTP sessions of one IPv4 address or "
			"IPv6 network of 64 bits, in each worker; one more is answered with 421. "
			"Clients in relay_from have no such limit. 0: no limit.")),
	SETTING(ROOT, "load_refuse", number, AT(config, load_refuse), INITIAL("0"),
		RANGE(0, 100000),
		MEANING("From which load average on (of the last minute, getloadavg(3)) clients "
			"are told 421 and to try again later; by QMTP and QMQP they are "
			"disconnected. UNIX sockets are not affected. 0: none.")),
	SETTING(ROOT, "load_queue", number, AT(config, load_queue), INITIAL("0"), RANGE(0, 100000),
		MEANING("From which load average on mail for other hosts is only queued, and "
			"delivered when the load is lower. 0: none.")),
	SETTING(ROOT, "smtpd_workers", number, AT(config, smtpd_workers), INITIAL("2"),
		RANGE(1, 256), MEANING("The number of SMTP server processes.")),
	SETTING(ROOT, "smtp_timeout", seconds, AT(config, smtp_timeout), INITIAL("5m"),
		RANGE(1, 86400), MEANING("How long the server waits for a command.")),
	SETTING(ROOT, "smtp_data_timeout", seconds, AT(config, smtp_data_timeout), INITIAL("3m"),
		RANGE(1, 86400),
		MEANING("How long the server waits for the next part of a message.")),
	SETTING(ROOT, "smtp_min_rate", number, AT(config, smtp_min_rate), INITIAL("500"),
		RANGE(0, 1000000),
		MEANING("The bytes per second that a client must send in the long run: for a whole "
			"command or message it has the timeout and what it takes at this rate. 0: "
			"any byte is enough.")),

	SETTING(ROOT, "proxy_from", networks, LIST(config, proxy_from, proxy_from_count),
		COMPUTED("127.0.0.0/8 and ::1/128"),
		MEANING("Trusted proxies: at listeners with proxy = yes, the client in their "
			"PROXY header counts as the client. Connections from other addresses are "
			"closed there.")),
	SETTING(ROOT, "xforward_to", texts, LIST(config, xforward_to, xforward_to_count),
		INITIAL(""),
		MEANING("Next hops that are told by XFORWARD which client a message came from, if "
			"they offer that: content filters, which judge by it. A host name, or an "
			"address in brackets, as in smtproutes. Its name, address, port, greeting "
			"and protocol are told, and the queue identifier. See setting xforward of "
			"a service, too.")),
	SETTING(ROOT, "xclient_from", networks, LIST(config, xclient_from, xclient_from_count),
		INITIAL(""),
		MEANING("Trusted proxies that speak SMTP themselves: from them, the command "
			"XCLIENT "
			"makes the session that of the client it names, with this client's "
			"rights, name and address, and of the user who has authenticated there "
			"(LOGIN). A client whose address the proxy does not know has no rights by "
			"an address. Who can connect from such an address can be any client and "
			"any "
			"user.")),
	SETTING(ROOT, "xforward_from", networks, LIST(config, xforward_from, xforward_from_count),
		INITIAL(""),
		MEANING("Trusted mail servers, as content filters have them before and after "
			"them: what they say of a message's client by the command XFORWARD is "
			"in the log with the message. It changes nothing else.")),
	SETTING(ROOT, "etrn_from", networks, LIST(config, etrn_from, etrn_from_count), INITIAL(""),
		MEANING("Clients that may ask for the mail of a domain (ETRN, RFC 1985), as hosts "
			"do that are not always connected: mail that waits because a host in the "
			"domain, or the relay of its route, or without a route that of a sender, "
			"could not be reached is tried at once. "
			"Mail that waits for its next attempt for another reason is not.")),
	SETTING(ROOT, "proxy_timeout", seconds, AT(config, proxy_timeout), INITIAL("5s"),
		RANGE(1, 3600), MEANING("How long to wait for a PROXY header.")),

	/* sending mail */
	SETTING(ROOT, "smtproutes", routes, LIST(config, smtproutes, smtproute_count), INITIAL(""),
		MEANING("Where mail for a domain goes instead of to its MX hosts. The domain may "
			"be a name, \".NAME\" for its subdomains, empty for all other mail, or "
			"\"!\" or \"!@\" for mail with the empty sender. An empty relay means the "
			"MX hosts nevertheless; for the empty sender, the routes by domain. An "
			"exact name takes precedence, then the longest "
			"suffix. Names may be in UTF-8 or as A-labels (xn--), which is the same. "
			"With |USER or |USER|PASSWORD after the relay, mail is sent only after a "
			"login as this user (AUTH), by the "
			"strongest of SCRAM-SHA-256, SCRAM-SHA-1, PLAIN and LOGIN that the relay "
			"offers, and else waits. Without a PASSWORD, the file of relay_passwords "
			"has it, which is better: who can read the configuration can read what is "
			"in it.")),
	SETTING(ROOT, "senderroutes", senderroutes, LIST(config, senderroutes, senderroute_count),
		INITIAL(""),
		MEANING("Where mail of a sender goes: USER@DOMAIN:RELAY, DOMAIN:RELAY, or "
			".DOMAIN:RELAY for senders in its subdomains, with ports and logins as in "
			"smtproutes. The address takes precedence, then its domain, then the "
			"longest "
			"suffix; case does not matter. Routes of smtproutes and qmtproutes for the "
			"recipient's domain, by name or suffix, come before these, and their "
			"routes "
			"for all other mail after. An empty relay means that the sender is as any "
			"other. Mail with the empty sender has no route here: see \"!\" in "
			"smtproutes.")),
	SETTING(ROOT, "relay_passwords", optional_path, AT(config, relay_passwords), INITIAL(""),
		RANGE(0, 4000),
		MEANING("The file of the passwords of users in smtproutes, senderroutes and "
			"fallback_relays: lines "
			"RELAY|USER|PASSWORD "
			"or RELAY;PORT|USER|PASSWORD, with relay and port as there; a password "
			"ends with its line. Lines that are empty or begin with \"#\" say nothing. "
			"It is read at each login, by the process keys. Nobody but its owner and "
			"group may be able to read or change it, else it is not used, and mail "
			"waits.")),
	SETTING(ROOT, "login_without_tls", boolean, AT(config, login_without_tls), INITIAL("no"),
		MEANING("Whether logins to relays are allowed in plain text. no: such mail is sent "
			"by TLS only, also where remote_tls is may or none; which certificates "
			"are valid is what a section tls of the relay says, and else any, so a "
			"section with level verify is better.")),
	SETTING(ROOT, "login_binding", boolean, AT(config, login_binding), INITIAL("yes"),
		MEANING("Whether logins to relays by SCRAM are bound to the TLS connection "
			"(SCRAM-SHA-256-PLUS, SCRAM-SHA-1-PLUS) where the relay offers that: by "
			"tls-exporter (RFC 9266) with TLS 1.3, else by tls-server-end-point (RFC "
			"5929). Who sits in between cannot take the login over, nor hide that the "
			"relay offers it. no: for a relay that offers it and knows neither, or "
			"that "
			"offers it only with other mechanisms, like SCRAM-SHA-512-PLUS.")),
	SETTING(ROOT, "login_weakest", word, AT(config, login_weakest), INITIAL("LOGIN"),
		WORDS(login_words),
		MEANING("The weakest mechanism by which there are logins to relays; they are "
			"listed from the weakest on. Where a relay offers only weaker ones, mail "
			"for it waits. By LOGIN and PLAIN the relay, or who has a certificate in "
			"its place that is valid here, learns the password; by SCRAM it does not. "
			"With -PLUS the login is also bound to the TLS connection "
			"(login_binding), so that nobody can sit in between.")),
	SETTING(ROOT, "bdat", boolean, AT(config, bdat), INITIAL("yes"),
		MEANING("Whether messages of up to 64 KiB are sent by BDAT to servers that offer "
			"CHUNKING (RFC 3030), SMTP and LMTP. All others are sent by DATA.")),
	SETTING(ROOT, "qmtproutes", qmtproutes, LIST(config, qmtproutes, qmtproute_count),
		INITIAL(""),
		MEANING("The same for mail that is sent by QMTP; the port is 209 unless another "
			"one is given. A more specific route of either setting takes precedence; "
			"where both have one for the same domain, this one does. The connection "
			"is plain text, and TLS from its beginning (QMTPS) where remote_tls or a "
			"section tls demands encryption for the relay: any level above may.")),
	SETTING(ROOT, "fallback_relays", relays,
		LIST(config, fallback_relays, fallback_relay_count), INITIAL(""),
		MEANING("Relays for mail whose domain's MX hosts are all out of reach, or have all "
			"refused the connection for now (4yz): in the same attempt each of these "
			"is tried, in this order, with ports and logins as in smtproutes. Mail "
			"that "
			"smtproutes, qmtproutes or senderroutes send to a relay has none of them. "
			"How connections to them are protected is what remote_tls or the relay's "
			"section tls says. Mail for a domain that demands more than may (by its "
			"section tls, remote_tls, dane or mta_sts), or with REQUIRETLS, never goes "
			"to them: such a policy says which servers may see the mail, and these are "
			"others. So that mail cannot come back, addresses of this machine are "
			"passed over, and mail for domains of which it is a backup MX host waits "
			"for the better ones.")),
	SETTING(ROOT, "remote_ip", word, AT(config, remote_ip), INITIAL("ipv6-first"),
		WORDS(remote_ip_words),
		MEANING("To which addresses of other mail servers mail is sent. ipv6-first: of "
			"each "
			"server an IPv6 address, then one of IPv4, and so on in turn, all in the "
			"same attempt. ipv4-first: the other way round. ipv4 and ipv6: only those; "
			"mail for servers that have none waits. An address in a route or in an "
			"address literal is used as it is.")),
	SETTING(ROOT, "source", text, AT(config, source), INITIAL(""),
		MEANING("The section source whose addresses are used for connections to other mail "
			"servers, unless sender_sources, domain_sources or the server's section "
			"class name another one, in this order. Empty: the address that the system "
			"chooses.")),
	SETTING(ROOT, "sender_sources", sender_sources,
		LIST(config, sender_sources, sender_source_count), INITIAL(""),
		MEANING("The section source for mail of a sender: SENDER:SOURCE, with senders as "
			"in "
			"senderroutes. Mail with the empty sender has none here.")),
	SETTING(ROOT, "domain_sources", domain_sources,
		LIST(config, domain_sources, domain_source_count), INITIAL(""),
		MEANING("The section source for mail to a domain: DOMAIN:SOURCE, or .DOMAIN:SOURCE "
			"for its subdomains. An exact name takes precedence, then the longest "
			"suffix.")),
	SETTING(ROOT, "remote_connect_timeout", seconds, AT(config, remote_connect_timeout),
		INITIAL("1m"), RANGE(1, 3600),
		MEANING("How long to wait for a connection to another mail server.")),
	SETTING(ROOT, "probe_delay", duration, AT(config, probe_delay_us), INITIAL("1m"),
		RANGE(1, 86400),
		MEANING("How long after a failed connection a host is probed, with one of the "
			"messages that wait for it. The delay doubles with each failed attempt, "
			"up to thirty times this value. Mail waits no longer than that once the "
			"host is back.")),
	SETTING(ROOT, "remote_timeout", seconds, AT(config, remote_timeout), INITIAL("10m"),
		RANGE(1, 86400), MEANING("How long to wait for another mail server's reply.")),
	SETTING(ROOT, "remote_tls", word, AT(config, remote_tls), INITIAL("may"),
		WORDS(remote_tls_words),
		MEANING("How connections to destinations without a section tls of their own are "
			"protected, if neither dane nor mta_sts says more. none: plain text, and "
			"dane and mta_sts do not apply. may: "
			"TLS where the server offers it, with any certificate; plain text if the "
			"handshake fails or stalls, in the same attempt. encrypt: TLS with any "
			"certificate, else mail waits. verify: TLS with a certificate that an "
			"authority of tls_authorities has signed for the MX host's name, which "
			"must be in its subjectAltName.")),
	SETTING(ROOT, "dane", boolean, AT(config, dane), INITIAL("no"),
		MEANING("Whether TLSA records that DNSSEC protects decide which certificates are "
			"valid (RFC 7672), before mta_sts and remote_tls. The DNS answers are "
			"validated here, from dns_trust_anchor, so the name servers must pass on "
			"signatures: with some that do not, no answer is valid, and all mail "
			"waits. "
			"An answer that is bogus counts as a failure.")),
	SETTING(ROOT, "dns_trust_anchor", path, AT(config, dns_trust_anchor),
		INITIAL("/usr/share/dns/root.key"), RANGE(1, 4000),
		MEANING("The file of the root's public keys, from which DNS answers are "
			"validated for dane, as DNSKEY or DS records; Debian's package "
			"dns-root-data has it, and keeps it up to date. If it cannot be read, "
			"mail that dane applies to waits.")),
	SETTING(ROOT, "dns_unsigned", domains, LIST(config, dns_unsigned, dns_unsigned_count),
		INITIAL(""),
		MEANING("Domains for which DNS answers are not validated, and neither for all "
			"names below them: private names, as \"lan\", that only your own name "
			"servers know, and the root does not.")),
	SETTING(ROOT, "mta_sts", boolean, AT(config, mta_sts), INITIAL("no"),
		MEANING("Whether policies that domains publish by HTTPS are followed (RFC 8461), "
			"where there are no TLSA records, no section tls and no relay. The process "
			"policy fetches and keeps them; mail to a domain that is new to it waits "
			"for that, usually for seconds, and for 90 at most. In mode enforce mail "
			"goes only to hosts that the policy names, by TLS, with a certificate that "
			"an authority of tls_authorities has signed, else it waits; in mode "
			"testing the log says what would have waited.")),
	SETTING(ROOT, "tls_reports", boolean, AT(config, tls_reports), INITIAL("no"),
		MEANING("Whether domains that ask for it are sent a daily report of how TLS went "
			"(RFC 8460): the number of connections, and of those in which it failed, "
			"why, and this node's address. Reports go by HTTPS or by mail. Mail has no "
			"DKIM signature, without which the RFC lets receivers ignore it, unless a "
			"relay signs it.")),
	SETTING(ROOT, "tls_report_from", address, AT(config, tls_report_from), INITIAL(""),
		MEANING("The sender and contact of these reports; empty: postmaster at "
			"hostname.")),
	SETTING(ROOT, "https_private", boolean, AT(config, https_private), INITIAL("no"),
		MEANING("Whether requests by HTTPS, for mta_sts and tls_reports, also go to "
			"addresses of this machine, of private networks and of links. The DNS of "
			"other domains says where they go, and could name servers that only you "
			"are to reach.")),
	SETTING(ROOT, "rate_keys", number, AT(config, rate_keys), INITIAL("100000"),
		RANGE(1000, 2000000),
		MEANING("How many addresses, users or domains sections rate can tell apart at a "
			"time, each kind by itself. 100,000 need 13 MiB for each smtpd and qmtpd "
			"that has seen some thousands. When it is raised, counting begins anew.")),
	SETTING(ROOT, "policy_path", path, AT(config, policy_path),
		INITIAL("/var/lib/stagepost/policy"), RANGE(1, 4000),
		MEANING("The directory in which policies of mta_sts and results for tls_reports "
			"are kept. The user of the process policy must be able to write there, "
			"else they are only in memory, and a restart loses them.")),
	SETTING(ROOT, "tls_authorities", path, AT(config, tls_authorities),
		INITIAL("/etc/ssl/certs/ca-certificates.crt"), RANGE(1, 4000),
		MEANING("The file, in PEM form, of the authorities by which servers' certificates "
			"are verified.")),
	SETTING(ROOT, "tls_timeout", seconds, AT(config, tls_timeout), INITIAL("30s"),
		RANGE(1, 600),
		MEANING("How long a handshake of TLS may take, with clients and with servers.")),
	SETTING(ROOT, "convert_8bit", boolean, AT(config, convert_8bit), INITIAL("yes"),
		MEANING("Whether messages with 8-bit data are converted to quoted-printable or "
			"base64 for servers, LMTP servers too, that do not offer 8BITMIME. A "
			"signed or encrypted message is not converted but bounces; a DKIM "
			"signature does not survive it. With no, such servers are sent 8-bit "
			"data. Lines over 998 bytes are broken for SMTP servers in either case "
			"(RFC 5321).")),
	SETTING(ROOT, "stop_timeout", seconds, AT(config, stop_timeout), INITIAL("11m"),
		RANGE(1, 86400),
		MEANING("How long a stop waits for deliveries that cannot be repeated without the "
			"risk of a duplicate: for a server that has received a whole message but "
			"has not replied, and for a running program. RFC 5321 allows such a "
			"server ten minutes. All other deliveries are aborted at once, and tried "
			"again after the next start. The service manager must wait longer.")),

	/* bounces */
	SETTING(ROOT, "bouncefrom", local_part, AT(config, bouncefrom), INITIAL("MAILER-DAEMON"),
		MEANING("The local part of the address in a bounce's From line.")),
	SETTING(ROOT, "bouncemaxbytes", size, AT(config, bouncemaxbytes), INITIAL("50K"),
		RANGE(0, UINT64_C(1) << 36),
		MEANING("The maximum size of a bounce: as much of the message is returned as "
			"fits, and if that is not enough, long reasons are cut. Each recipient is "
			"named, even if that alone exceeds it. 0: no limit.")),
	SETTING(ROOT, "bounceformat", word, AT(config, bounceformat), INITIAL("report"),
		WORDS(bounce_words),
		MEANING("How a failure is reported. report: RFC 3464, with a text part for people "
			"in the form of QSBMF. qsbmf: QSBMF and nothing else, as qmail writes it: "
			"the text is the body, and the message, after its Return-Path, is the end "
			"of it. Delays and successes alone are always reported by RFC 3464.")),
	SETTING(ROOT, "delaynotice", duration, AT(config, delaynotice_us), INITIAL("0"),
		RANGE(0, 365 * 86400),
		MEANING("When the sender of a message that is still waiting is notified, once. 0: "
			"only senders who asked for it are notified (NOTIFY=DELAY, RFC "
			"3461), after four hours. Senders who declined it are not notified, nor is "
			"anybody when queuelifetime is over first.")),
	SETTING(ROOT, "doublebounceto", address, AT(config, doublebounceto), INITIAL("postmaster"),
		MEANING("Who receives the bounces of bounces. A local part alone is at hostname; "
			"empty: they are dropped.")),
};

const size_t config_schema_root_count = COUNT_OF(config_schema_root);
