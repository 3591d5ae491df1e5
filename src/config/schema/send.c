// SPDX-License-Identifier: ISC
/* The settings outside all sections: how mail is sent. */
#include "config/schema/row.h"

static const struct config_word login_words[] = {
	{"LOGIN", CONFIG_LOGIN_LOGIN},
	{"PLAIN", CONFIG_LOGIN_PLAIN},
	{"SCRAM-SHA-1", CONFIG_LOGIN_SCRAM_SHA_1},
	{"SCRAM-SHA-256", CONFIG_LOGIN_SCRAM_SHA_256},
	{"SCRAM-SHA-1-PLUS", CONFIG_LOGIN_SCRAM_SHA_1_PLUS},
	{"SCRAM-SHA-256-PLUS", CONFIG_LOGIN_SCRAM_SHA_256_PLUS},
	{NULL, 0}};
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

const struct config_setting config_schema_send[] = {
	SETTING(ROOT, "smtproutes", routes, LIST(config, smtproutes, smtproute_count), INITIAL(""),
		MEANING("Where mail for a domain goes instead of to its MX hosts. The domain may "
			"be a name, \".NAME\" for its subdomains, empty for all other mail, or "
			"\"!\" or \"!@\" for mail with the empty sender. A \":\" before the port "
			"is "
			"understood, too, as netqmail writes it. An empty relay means the "
			"MX hosts nevertheless; for the empty sender, the routes by domain. An "
			"exact name takes precedence, then the longest suffix. Names may be in "
			"UTF-8 or as A-labels (xn--), which is the same. With |USER or "
			"|USER|PASSWORD after the relay, mail is sent only after a login as this "
			"user (AUTH), by the strongest of SCRAM-SHA-256, SCRAM-SHA-1, PLAIN and "
			"LOGIN that the relay offers; if it offers none, mail waits. Without a "
			"PASSWORD, it is taken from the file relay_passwords, which is better: "
			"whoever can read the configuration can read the passwords in it.")),
	SETTING(ROOT, "senderroutes", senderroutes, LIST(config, senderroutes, senderroute_count),
		INITIAL(""),
		MEANING("Where mail of a sender goes: USER@DOMAIN:RELAY, DOMAIN:RELAY, or "
			".DOMAIN:RELAY for senders in its subdomains, with ports and logins as in "
			"smtproutes. The address takes precedence, then its domain, then the "
			"longest suffix; case does not matter. Routes of smtproutes and qmtproutes "
			"for the recipient's domain, by name or suffix, come before these, and "
			"their routes for all other mail after. With an empty relay the sender has "
			"no route of its own. Mail with the empty sender has no route here: see "
			"\"!\" in smtproutes.")),
	SETTING(ROOT, "relay_passwords", optional_path, AT(config, relay_passwords), INITIAL(""),
		RANGE(0, 4000),
		MEANING("The file of the passwords of users in smtproutes, senderroutes and "
			"fallback_relays: lines RELAY|USER|PASSWORD or RELAY;PORT|USER|PASSWORD, "
			"with relay and port as there; a password ends with its line. Empty lines "
			"and lines that begin with \"#\" are ignored. The process keys reads the "
			"file at each login. If others than its owner and group can read or change "
			"it, it is not used, and mail waits.")),
	SETTING(ROOT, "login_without_tls", boolean, AT(config, login_without_tls), INITIAL("no"),
		MEANING("Whether logins to relays are allowed in plain text. no: such mail is sent "
			"by TLS only, even where remote_tls is may or none. Any certificate is "
			"accepted unless a section tls for the relay demands more: one with level "
			"verify is recommended.")),
	SETTING(ROOT, "login_binding", boolean, AT(config, login_binding), INITIAL("yes"),
		MEANING("Whether logins to relays by SCRAM are bound to the TLS connection "
			"(SCRAM-SHA-256-PLUS, SCRAM-SHA-1-PLUS) where the relay offers that: by "
			"tls-exporter (RFC 9266) with TLS 1.3, else by tls-server-end-point (RFC "
			"5929). A man in the middle can then neither take over the login nor hide "
			"that the relay offers it. no: for a relay that offers it with neither of "
			"these bindings, or only with other mechanisms, like SCRAM-SHA-512-PLUS.")),
	SETTING(ROOT, "login_weakest", word, AT(config, login_weakest), INITIAL("LOGIN"),
		WORDS(login_words),
		MEANING("The weakest mechanism that is used for logins to relays; the values begin "
			"with the weakest. Where a relay offers only weaker ones, mail for it "
			"waits. By LOGIN and PLAIN the relay, or whoever takes its place with a "
			"certificate that is accepted here, learns the password; by SCRAM it does "
			"not. With -PLUS the login is also bound to the TLS connection "
			"(login_binding), which excludes a man in the middle.")),
	SETTING(ROOT, "bdat", boolean, AT(config, bdat), INITIAL("yes"),
		MEANING("Whether messages of up to 64 KiB are sent by BDAT to servers that offer "
			"CHUNKING (RFC 3030), SMTP and LMTP. All others are sent by DATA.")),
	SETTING(ROOT, "qmtproutes", qmtproutes, LIST(config, qmtproutes, qmtproute_count),
		INITIAL(""),
		MEANING("The same for mail that is sent by QMTP; the port is 209 unless another "
			"one is given. A more specific route of either setting takes precedence; "
			"where both have one for the same domain, this one does. The connection "
			"is plain text, and TLS from its beginning (QMTPS) where remote_tls or a "
			"section tls demands encryption for the relay: any level above may. QMTP "
			"carries addresses and text, and nothing else. Mail is returned whose "
			"sender demands what it cannot say: TLS on the whole way (REQUIRETLS), "
			"delivery in time or return (BY with R), bytes as they are (BINARYMIME). "
			"Who asked for reports is told that the mail was relayed; a priority, a "
			"time to notify at (BY with N) and the original recipient go no further.")),
	SETTING(ROOT, "fallback_relays", relays,
		LIST(config, fallback_relays, fallback_relay_count), INITIAL(""),
		MEANING("Relays for mail whose domain's MX hosts are all unreachable, or have all "
			"refused the connection temporarily (4yz): these relays are tried in the "
			"same attempt, in this order, with ports and logins as in smtproutes. They "
			"are not used for mail that smtproutes, qmtproutes or senderroutes send to "
			"a relay. Connections to them are protected as remote_tls or the relay's "
			"section tls says. Mail for a domain that demands more than may (by its "
			"section tls, remote_tls, dane or mta_sts), or with REQUIRETLS, never goes "
			"to them: such a policy says which servers may see the mail, and these are "
			"others. So that mail cannot loop, addresses of this machine are skipped, "
			"and mail for domains of which it is a backup MX host waits for the better "
			"ones.")),
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
			"in senderroutes. Mail with the empty sender has no source here.")),
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
			"validated here, from dns_trust_anchor, so the name servers must return "
			"signatures: if they do not, no answer is valid, and all mail waits. A "
			"bogus answer counts as a temporary failure.")),
	SETTING(ROOT, "dns_trust_anchor", path, AT(config, dns_trust_anchor),
		INITIAL("/usr/share/dns/root.key"), RANGE(1, 4000),
		MEANING("The file of the root's public keys, from which DNS answers are "
			"validated for dane, as DNSKEY or DS records; Debian's package "
			"dns-root-data has it, and keeps it up to date. If it cannot be read, "
			"mail that dane applies to waits.")),
	SETTING(ROOT, "dns_unsigned", domains, LIST(config, dns_unsigned, dns_unsigned_count),
		INITIAL(""),
		MEANING("Domains for which, with all names below them, DNS answers are not "
			"validated: private ones such as \"lan\", which your own name servers know "
			"and the root does not.")),
	SETTING(ROOT, "mta_sts", boolean, AT(config, mta_sts), INITIAL("no"),
		MEANING("Whether policies that domains publish by HTTPS are followed (RFC 8461), "
			"where there are no TLSA records, no section tls and no relay. The process "
			"policy fetches and keeps them; mail to a domain whose policy it does not "
			"have yet waits for that, usually for seconds, and for 90 at most. In mode "
			"enforce mail goes only to hosts that the policy names, by TLS, with a "
			"certificate that an authority of tls_authorities has signed, else it "
			"waits; in mode testing the log says what would have waited.")),
	SETTING(ROOT, "tls_reports", boolean, AT(config, tls_reports), INITIAL("no"),
		MEANING("Whether domains that ask for it are sent a daily report about TLS "
			"(TLSRPT, RFC 8460): how many connections succeeded, how many failed and "
			"why, and this node's address. Reports go by HTTPS or by mail. Mail has no "
			"DKIM signature, without which the RFC lets receivers ignore it, unless a "
			"relay signs it.")),
	SETTING(ROOT, "tls_report_from", address, AT(config, tls_report_from), INITIAL(""),
		MEANING("The sender and contact of these reports; empty: postmaster at "
			"hostname.")),
	SETTING(ROOT, "https_private", boolean, AT(config, https_private), INITIAL("no"),
		MEANING("Whether requests by HTTPS, for mta_sts and tls_reports, also go to "
			"addresses of this machine, of private networks and of links. The DNS of "
			"other domains says where they go, and could name servers that should be "
			"reached from inside only.")),
	SETTING(ROOT, "rate_keys", number, AT(config, rate_keys), INITIAL("100000"),
		RANGE(1000, 2000000),
		MEANING("How many addresses, users and domains sections rate can count at a time, "
			"each kind separately. 100,000 need 13 MiB for each smtpd and qmtpd that "
			"has seen some thousands. When it is raised, counting begins anew.")),
	SETTING(ROOT, "policy_path", path, AT(config, policy_path),
		INITIAL("/var/lib/stagepost/policy"), RANGE(1, 4000),
		MEANING("The directory in which policies of mta_sts and results for tls_reports "
			"are kept. The user of the process policy must be able to write there, "
			"else they are only in memory, and a restart loses them.")),
	SETTING(ROOT, "tls_authorities", path, AT(config, tls_authorities),
		INITIAL("/etc/ssl/certs/ca-certificates.crt"), RANGE(1, 4000),
		MEANING("The file, in PEM form, of the authorities by which servers' certificates "
			"are verified.")),
	SETTING(ROOT, "tls_min_version", word, AT(config, strength.min_version), INITIAL("1.2"),
		WORDS(config_tls_version_words),
		MEANING("The oldest version of TLS that is accepted, from clients and from "
			"servers. "
			"Mail that would go in plain text otherwise, to servers with level may, "
			"goes by 1.2 in any case; older ones are not safe (RFC 8996).")),
	SETTING(ROOT, "tls_ciphers", ciphers, LIST(config, strength.ciphers, strength.cipher_count),
		INITIAL(""),
		MEANING("The ciphers of TLS 1.2 that are accepted, from clients and from servers, "
			"the best first. Empty: those with forward secrecy and authenticated "
			"encryption (AES-GCM, ChaCha20); at listen smtp, where a client that has "
			"none of them would send in plain text, also AES-CBC; with servers all "
			"that "
			"are better than plain text. Servers with level may are offered all of "
			"these whatever is set here. TLS 1.3 has its own.")),
	SETTING(ROOT, "tls_timeout", seconds, AT(config, tls_timeout), INITIAL("30s"),
		RANGE(1, 600),
		MEANING("How long a handshake of TLS may take, with clients and with servers.")),
	SETTING(ROOT, "convert_8bit", boolean, AT(config, convert_8bit), INITIAL("yes"),
		MEANING("Whether messages with 8-bit data are converted to quoted-printable or "
			"base64 for servers, LMTP servers too, that do not offer 8BITMIME. A "
			"signed or encrypted message is not converted but bounces; a DKIM "
			"signature does not survive it. With no, such servers are sent 8-bit "
			"data. Also whether a header in UTF-8 is encoded (RFC 2047, RFC 2231) for "
			"servers that do not offer SMTPUTF8; with no, or if an address in it needs "
			"UTF-8, such a message bounces. Lines over 998 bytes are broken for SMTP "
			"servers in either case (RFC 5321).")),
	SETTING(ROOT, "stop_timeout", seconds, AT(config, stop_timeout), INITIAL("11m"),
		RANGE(1, 86400),
		MEANING("How long a stop waits for deliveries that cannot be repeated without the "
			"risk of a duplicate: for a server that has received a whole message but "
			"has not replied, and for a running program. RFC 5321 allows such a "
			"server ten minutes. All other deliveries are aborted at once, and tried "
			"again after the next start. The service manager must wait longer.")),
	SETTING(ROOT, "upgrade_timeout", seconds, AT(config, upgrade_timeout), INITIAL("2m"),
		RANGE(1, 86400),
		MEANING("How long an upgrade (stagepost upgrade) waits until the new version is "
			"ready; then the old one goes on. A queue of millions of messages takes "
			"longer to be looked through.")),
};

const size_t config_schema_send_count = COUNT_OF(config_schema_send);
