// SPDX-License-Identifier: ISC
/* The settings outside all sections: how mail is received. */
#include "config/schema/row.h"

static const struct config_word nul_words[] = {
	{"reject", CONFIG_NUL_REJECT}, {"remove", CONFIG_NUL_REMOVE}, {NULL, 0}};

const struct config_setting config_schema_receive[] = {
	SETTING(ROOT, "relay_from", networks, LIST(config, relay_from, relay_from_count),
		INITIAL(""),
		MEANING("The clients that may send to any address. An address alone is a network "
			"of one. They may write the names of users without a domain (root), in "
			"MAIL and RCPT, too: these are in default_domain.")),
	SETTING(ROOT, "own_addresses", networks, LIST(config, own_addresses, own_address_count),
		INITIAL(""),
		MEANING("Addresses of this host besides those at which clients connect, such as "
			"the public one of a NAT router: user@[ADDRESS] is then user at "
			"default_domain, and a domain's MX host with such an address is this "
			"host, to which no mail is sent.")),
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
			"without angle brackets, with a name before them or a dot after them, dots "
			"in a row or at an end of a local part, local parts of more than 64 bytes, "
			"tabs and spaces around the colon, or none, and any name in HELO and EHLO, "
			"which is "
			"logged and shown with a question mark "
			"for each odd character.")),
	SETTING(ROOT, "maxrecipients", number, AT(config, maxrecipients), INITIAL("1000"),
		RANGE(1, 100000),
		MEANING("The most recipients of one SMTP transaction. It is announced to clients "
			"(LIMITS, RFC 9422), which may split their mail accordingly.")),
	SETTING(ROOT, "maxhops", number, AT(config, maxhops), INITIAL("100"), RANGE(1, 10000),
		MEANING("The most Received lines of a message; more of them mean a loop.")),
	SETTING(ROOT, "site_key", key, AT(config, site_key), INITIAL(""),
		MEANING("The key of the marks by which mail that comes back is recognised at once: "
			"whatever is delivered, and whatever the directory leads on to another "
			"host, gets a field X-Stagepost-Loop. All nodes that have mail for the "
			"same addresses should have the same key, such as the output of openssl "
			"rand -hex 16. Who knows it can make mail look as if it looped, and no "
			"more. It is never shown. Empty: made from this machine's identifier "
			"(machine-id(5)); if it has none, a new one at each start.")),
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
			"QMTP and QMQP (process qmtpd) are counted separately, with the same "
			"maximum. If it is reached, the session that has done nothing useful for "
			"longest is ended for a new one.")),
	SETTING(ROOT, "maxsessions_client", number, AT(config, maxsessions_client), INITIAL("50"),
		RANGE(0, 1000000),
		MEANING("The maximum number of concurrent SMTP sessions of one IPv4 address or "
			"IPv6 network of 64 bits, with all processes together, by QMTP and QMQP, "
			"too; one more is answered with 421. Clients in relay_from have no such "
			"limit, nor have proxies in "
			"xclient_from: the clients that they name have it. 0: no limit.")),
	SETTING(ROOT, "maxunfinished_client", number, AT(config, maxunfinished_client),
		INITIAL("10"), RANGE(0, 100),
		MEANING("How much of the free space on the queue's disk the unfinished messages of "
			"one client may take together, in percent of what would be free without "
			"them: all its sessions, as maxsessions_client counts them. A message that "
			"would take more is answered with 452 4.3.1 at its end, and its space is "
			"free at once. One message at a time may always come, and messages of up "
			"to 64 KiB, which are in memory until they are complete. 0: no limit but "
			"queue_reserve.")),
	SETTING(ROOT, "load_refuse", number, AT(config, load_refuse), INITIAL("0"),
		RANGE(0, 100000),
		MEANING("The load average (of the last minute, getloadavg(3)) from which on "
			"clients are refused with 421; by QMTP and QMQP they are disconnected. "
			"UNIX sockets are not affected. 0: no limit.")),
	SETTING(ROOT, "load_queue", number, AT(config, load_queue), INITIAL("0"), RANGE(0, 100000),
		MEANING("The load average from which on mail for other hosts is only queued; it is "
			"delivered when the load is lower. 0: no limit.")),
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
		INITIAL("127.0.0.0/8, ::1"),
		MEANING("Trusted proxies: at listeners with proxy = yes, the client in their "
			"PROXY header counts as the client. Connections from other addresses are "
			"closed there.")),
	SETTING(ROOT, "xforward_to", texts, LIST(config, xforward_to, xforward_to_count),
		INITIAL(""),
		MEANING("Next hops to which the client of a message is reported by XFORWARD, if "
			"they offer that: content filters, which judge by it. A host name, or an "
			"address in brackets, as in smtproutes. The client's name, address, port, "
			"greeting and protocol are sent, and the queue identifier. See also "
			"setting xforward of a service.")),
	SETTING(ROOT, "xclient_from", networks, LIST(config, xclient_from, xclient_from_count),
		INITIAL(""),
		MEANING("Trusted proxies that speak SMTP themselves: from them, the command "
			"XCLIENT makes the session that of the client it names, with this client's "
			"rights, name and address, and of the user who has authenticated there "
			"(LOGIN). A client whose address the proxy does not know has no rights by "
			"an address. Whoever can connect from such an address can pass for any "
			"client and any user.")),
	SETTING(ROOT, "xforward_from", networks, LIST(config, xforward_from, xforward_from_count),
		INITIAL(""),
		MEANING("Trusted mail servers, such as those before and after a content filter: "
			"what they report of a message's client by the command XFORWARD is logged "
			"with the message. It changes nothing else.")),
	SETTING(ROOT, "etrn_from", networks, LIST(config, etrn_from, etrn_from_count), INITIAL(""),
		MEANING("Clients that may request the mail of a domain (ETRN, RFC 1985), as hosts "
			"do that are not always connected. Mail that waits because a host of the "
			"domain, or a relay for it, could not be reached is tried at once, with "
			"all other mail that waits for that host. Mail that waits for another "
			"reason is not.")),
	SETTING(ROOT, "proxy_timeout", seconds, AT(config, proxy_timeout), INITIAL("5s"),
		RANGE(1, 3600), MEANING("How long to wait for a PROXY header.")),
};

const size_t config_schema_receive_count = COUNT_OF(config_schema_receive);
