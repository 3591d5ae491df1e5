// SPDX-License-Identifier: ISC
/* Wrong values and sections: every problem, exactly. */
#include "config_outcome.h"

#define CERTIFICATE "certificate main { chain = /x }\n"
#define FINGERPRINT "0123456789abcdef0123456789abcdef0123456789ABCDEF0123456789ABCDEF"
#define REACHES                                                                                  \
	"NETWORK:PORT or NAME:PORT; a network as 10.0.0.0/8 or [2001:db8::/32] or one address, " \
	"a name as lmtp.example.org or *.example.org for all below"

#define CIPHERS                                                                                   \
	"ECDHE-KEY-AES256-GCM-SHA384, ECDHE-KEY-AES128-GCM-SHA256, ECDHE-KEY-CHACHA20-POLY1305, " \
	"ECDHE-KEY-AES256-SHA384, ECDHE-KEY-AES128-SHA256, ECDHE-KEY-AES256-SHA, "                \
	"ECDHE-KEY-AES128-SHA with KEY = ECDSA, RSA"

#define NODE "node { certificate = /c key = /k authority = /a }\n"

static const struct refusal values_cases[] = {
	{HOST "hostname = other.example.org", "t:2: hostname: given twice: first in line 1\n"},
	{"hostname = \"not a name\"",
	 "t:1: hostname: not a host name: found \"not a name\"; allowed: a host name of letters, "
	 "digits, hyphens and dots\n"},
	{"hostname = -x.org", "t:1: hostname: not a host name: found \"-x.org\"; allowed: a host "
			      "name of letters, digits, hyphens and dots\n"},
	{"hostname = 192.0.2.1", "t:1: hostname: not a host name: found \"192.0.2.1\"; allowed: a "
				 "host name of letters, digits, hyphens and dots\n"},
	{HOST "split = 0",
	 "t:2: split: too small: found \"0\"; allowed: a number from 1 to 10000\n"},
	{HOST "split = 10001",
	 "t:2: split: too large: found \"10001\"; allowed: a number from 1 to 10000\n"},
	{HOST "split = 5x",
	 "t:2: split: not a number: found \"5x\"; allowed: a number from 1 to 10000\n"},
	{HOST "split = -5",
	 "t:2: split: not a number: found \"-5\"; allowed: a number from 1 to 10000\n"},
	{HOST "split = \"\"", "t:2: split: not a number; allowed: a number from 1 to 10000\n"},
	{HOST "split = { 5, 6 }",
	 "t:2: split: takes one value, not a list; allowed: a number from 1 to 10000\n"},
	{HOST "split = { }", "t:2: split: an empty list: leave the setting out\n"},
	{HOST "spares = 18446744073709551616",
	 "t:2: spares: too large: found \"18446744073709551616\"; allowed: a number from 0 to "
	 "1000000\n"},
	{HOST "maxsize = 1023", "t:2: maxsize: too small: found \"1023\"; allowed: a number of "
				"bytes, or of K, M, G or T, from 1K to 64G\n"},
	{HOST "maxsize = 99999999T", "t:2: maxsize: too large: found \"99999999T\"; allowed: a "
				     "number of bytes, or of K, M, G or T, from 1K to 64G\n"},
	{HOST "maxsize = 65G", "t:2: maxsize: too large: found \"65G\"; allowed: a number of "
			       "bytes, or of K, M, G or T, from 1K to 64G\n"},
	{HOST "maxsize = 5MB", "t:2: maxsize: not a number: found \"5MB\"; allowed: a number of "
			       "bytes, or of K, M, G or T, from 1K to 64G\n"},
	{HOST "rescan = 0", "t:2: rescan: too small: found \"0\"; allowed: a number of seconds, or "
			    "of m, h, d or w, from 1s to 1d\n"},
	{HOST "rescan = 2d", "t:2: rescan: too large: found \"2d\"; allowed: a number of seconds, "
			     "or of m, h, d or w, from 1s to 1d\n"},
	{HOST "rescan = 5x", "t:2: rescan: not a number: found \"5x\"; allowed: a number of "
			     "seconds, or of m, h, d or w, from 1s to 1d\n"},
	{HOST "smtp_timeout = 1w", "t:2: smtp_timeout: too large: found \"1w\"; allowed: a number "
				   "of seconds, or of m, h, d or w, from 1s to 1d\n"},
	{HOST "queuelifetime = 53w", "t:2: queuelifetime: too large: found \"53w\"; allowed: a "
				     "number of seconds, or of m, h, d or w, from 0 to 365d\n"},
	{HOST "queue = relative", "t:2: queue: not an absolute path: found \"relative\"; allowed: "
				  "an absolute path of at most 4000 bytes\n"},
	{HOST "run = "
	      "/rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
	      "rrrrrrr",
	 "t:2: run: too long: found "
	 "\"/"
	 "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"
	 "r\"; allowed: an absolute path of at most 90 bytes\n"},
	{HOST "user = \"no body\"",
	 "t:2: user: not a user name: found \"no body\"; allowed: the name of a user, or empty\n"},
	{HOST "queue_unsafe = maybe", "t:2: queue_unsafe: neither yes nor no: found \"maybe\"; "
				      "allowed: yes, no, on, off, true, false\n"},
	{HOST "queue_sync = fsync", "t:2: queue_sync: unknown word: found \"fsync\"; allowed: "
				    "auto, files, filesystem, ordered\n"},
	{HOST "log_level = loud",
	 "t:2: log_level: unknown word: found \"loud\"; allowed: debug, info, warning, error\n"},
	{HOST "recipient_delimiter = \".\"",
	 "t:2: recipient_delimiter: not a delimiter: found \".\"; allowed: any of + - = _ # /, or "
	 "empty\n"},
	{HOST "recipient_delimiter = \"+-=_#/+\"",
	 "t:2: recipient_delimiter: too long: found \"+-=_#/+\"; allowed: any of + - = _ # /, or "
	 "empty\n"},
	{HOST "bouncefrom = \"a b\"", "t:2: bouncefrom: not a local part: found \"a b\"; allowed: "
				      "the part of a mail address before its @\n"},
	{HOST "bouncefrom = a@b", "t:2: bouncefrom: not a local part: found \"a@b\"; allowed: the "
				  "part of a mail address before its @\n"},
	{HOST "doublebounceto = @b", "t:2: doublebounceto: not a mail address: found \"@b\"; "
				     "allowed: LOCAL@DOMAIN, LOCAL, or empty\n"},
	{HOST "doublebounceto = a@", "t:2: doublebounceto: not a mail address: found \"a@\"; "
				     "allowed: LOCAL@DOMAIN, LOCAL, or empty\n"},
	{HOST "dns_server = ns.example.org",
	 "t:2: dns_server: not an IP address: found \"ns.example.org\"; allowed: ADDRESS, "
	 "ADDRESS@PORT with a port from 1 to 65535, or empty\n"},
	{HOST "dns_unsigned = { lan, .corp }",
	 "t:2: dns_unsigned: not a host name: found \".corp\"; allowed: a domain\n"},
	{HOST "dns_server = 127.0.0.1@0",
	 "t:2: dns_server: not a port: found \"127.0.0.1@0\"; allowed: ADDRESS, ADDRESS@PORT with "
	 "a port from 1 to 65535, or empty\n"},
	{HOST "dns_server = \"127.0.0.1:53\"",
	 "t:2: dns_server: not an IP address: found \"127.0.0.1:53\"; allowed: ADDRESS, "
	 "ADDRESS@PORT with a port from 1 to 65535, or empty\n"},
	{HOST "relay_from = { 10.0.0.1/8, 10.0.0.0/33, 10.0.0.0/, 10.0.0, ::1/64, "
	      "\"2001:db8::/129\", \"a\" }",
	 "t:2: relay_from: bits are set after the prefix: found \"10.0.0.1/8\"; allowed: "
	 "10.0.0.0/8\n"
	 "t:2: relay_from: wrong prefix length: found \"10.0.0.0/33\"; allowed: 0 to 32\n"
	 "t:2: relay_from: wrong prefix length: found \"10.0.0.0/\"; allowed: 0 to 32\n"
	 "t:2: relay_from: not an IP network: found \"10.0.0\"; allowed: ADDRESS/PREFIX or "
	 "ADDRESS, IPv4 or IPv6\n"
	 "t:2: relay_from: bits are set after the prefix: found \"::1/64\"; allowed: ::/64\n"
	 "t:2: relay_from: wrong prefix length: found \"2001:db8::/129\"; allowed: 0 to 128\n"
	 "t:2: relay_from: not an IP network: found \"a\"; allowed: ADDRESS/PREFIX or ADDRESS, "
	 "IPv4 or IPv6\n"},
	{HOST "smtproutes = { example.net, \"a b:c\", \"x:y z\", \"x.org:r;\", \"x.org:r;65536\", "
	      "\"y.org:[300.1.1.1]\", \"..x:r\" }",
	 "t:2: smtproutes: no ':' after the domain: found \"example.net\"; allowed: DOMAIN:RELAY "
	 "or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"
	 "t:2: smtproutes: not a domain before the ':': found \"a b:c\"; allowed: DOMAIN:RELAY or "
	 "DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"
	 "t:2: smtproutes: not a host name or address after the ':': found \"x:y z\"; allowed: "
	 "DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"
	 "t:2: smtproutes: not a port after the ';': found \"x.org:r;\"; allowed: 1 to 65535\n"
	 "t:2: smtproutes: not a port after the ';': found \"x.org:r;65536\"; allowed: 1 to "
	 "65535\n"
	 "t:2: smtproutes: not a host name or address after the ':': found \"y.org:[300.1.1.1]\"; "
	 "allowed: DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"
	 "t:2: smtproutes: not a domain before the ':': found \"..x:r\"; allowed: DOMAIN:RELAY or "
	 "DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"
	 "t:2: smtproutes: given twice: first in line 2: found \"x.org\"\n"},
	{HOST "relay_from = { 10.128.0.0/8, 10.0.0.0/0008, \"2001:db8:8000::/32\" }",
	 "t:2: relay_from: bits are set after the prefix: found \"10.128.0.0/8\"; allowed: "
	 "10.0.0.0/8\n"
	 "t:2: relay_from: wrong prefix length: found \"10.0.0.0/0008\"; allowed: 0 to 32\n"
	 "t:2: relay_from: bits are set after the prefix: found \"2001:db8:8000::/32\"; allowed: "
	 "2001:db8::/32\n"},
	{HOST "smtproutes = { \"x.org:2001:db8::1\", \"y.org:IPv6:192.0.2.1\" }",
	 "t:2: smtproutes: not a host name or address after the ':': found \"x.org:2001:db8::1\"; "
	 "allowed: DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"
	 "t:2: smtproutes: not a host name or address after the ':': found "
	 "\"y.org:IPv6:192.0.2.1\"; allowed: DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a "
	 "host, [ADDRESS] or empty\n"},
	{HOST "smtproutes = { \"a.org:r1\", \"A.org:r2\", \":r1\", \":r2\", \"!:r1\", \"!@:\" }",
	 "t:2: smtproutes: given twice: first in line 2\n"
	 "t:2: smtproutes: given twice: first in line 2: found \"!\"\n"
	 "t:2: smtproutes: given twice: first in line 2: found \"a.org\"\n"},
	{HOST "smtproutes = { \"relay.org|ann|sesame\", \"relay.org|ann|ses:ame\" }\n",
	 "t:2: smtproutes: no ':' after the domain: found \"relay.org|ann|hidden\"; allowed: "
	 "DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"
	 "t:2: smtproutes: no ':' after the domain: found \"relay.org|ann|hidden\"; allowed: "
	 "DOMAIN:RELAY or DOMAIN:RELAY;PORT, where RELAY is a host, [ADDRESS] or empty\n"},
	{HOST "smtproutes = { \"a.org:|u\", \"b.org:r|\", \"c.org:r||pw\", \"d.org:r;x|u|pw|\" }\n",
	 "t:2: smtproutes: a user without a relay: found \"a.org:|u\"; allowed: RELAY|USER or "
	 "RELAY|USER|PASSWORD\n"
	 "t:2: smtproutes: no user after the '|': found \"b.org:r|\"; allowed: RELAY|USER or "
	 "RELAY|USER|PASSWORD\n"
	 "t:2: smtproutes: no user after the '|': found \"c.org:r||hidden\"; allowed: RELAY|USER "
	 "or "
	 "RELAY|USER|PASSWORD\n"
	 "t:2: smtproutes: not a port after the ';': found \"d.org:r;x|u|hidden\"; allowed: 1 to "
	 "65535\n"},
	{HOST "senderroutes = { a.org:r1, \"A.org:r2\", \"x@A.org:r|u|p\", \"X@a.org:\" }\n",
	 "t:2: senderroutes: given twice: first in line 2: found \"a.org\"\n"
	 "t:2: senderroutes: given twice: first in line 2: found \"x@a.org\"\n"},
	{HOST "senderroutes = { \"a.org\", \":r\", \"!:r\", \"a b@c.org:r\", \"@c.org:r\", "
	      "\"a.org:r;x|u|pw\" }\n",
	 "t:2: senderroutes: no ':' after the sender: found \"a.org\"; allowed: SENDER:RELAY or "
	 "SENDER:RELAY;PORT, where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN, and RELAY a host, "
	 "[ADDRESS] or empty\n"
	 "t:2: senderroutes: not a sender before the ':': found \":r\"; allowed: SENDER:RELAY or "
	 "SENDER:RELAY;PORT, where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN, and RELAY a host, "
	 "[ADDRESS] or empty\n"
	 "t:2: senderroutes: not a sender before the ':': found \"!:r\"; allowed: SENDER:RELAY or "
	 "SENDER:RELAY;PORT, where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN, and RELAY a host, "
	 "[ADDRESS] or empty\n"
	 "t:2: senderroutes: not a sender before the ':': found \"a b@c.org:r\"; allowed: "
	 "SENDER:RELAY or SENDER:RELAY;PORT, where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN, and "
	 "RELAY a host, [ADDRESS] or empty\n"
	 "t:2: senderroutes: not a sender before the ':': found \"@c.org:r\"; allowed: "
	 "SENDER:RELAY or SENDER:RELAY;PORT, where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN, and "
	 "RELAY a host, [ADDRESS] or empty\n"
	 "t:2: senderroutes: not a port after the ';': found \"a.org:r;x|u|hidden\"; allowed: 1 to "
	 "65535\n"},
	{HOST "fallback_relays = { \"\", \"a b\", \"r;0\", \"|u\" }\n",
	 "t:2: fallback_relays: no relay; allowed: RELAY or RELAY;PORT, where RELAY is "
	 "a "
	 "host or [ADDRESS]\n"
	 "t:2: fallback_relays: not a host name or address as the relay: found \"a b\"; allowed: "
	 "RELAY "
	 "or RELAY;PORT, where RELAY is a host or [ADDRESS]\n"
	 "t:2: fallback_relays: not a port after the ';': found \"r;0\"; allowed: 1 to 65535\n"
	 "t:2: fallback_relays: a user without a relay: found \"|u\"; allowed: RELAY|USER or "
	 "RELAY|USER|PASSWORD\n"},
	{HOST "source = a\n"
	      "sender_sources = { \"x@a.org:b\", \"X@A.org:c\", \"a.org\", \"!:c\" }\n"
	      "domain_sources = { a.org:b, \"A.org:c\" }\n"
	      "class \"*\" { queue = 1 refuse = 1 source = d }\n"
	      "source c { addresses = 192.0.2.1 }\n",
	 "t:2: source: there is no section source of this name: found \"a\"; allowed: the NAME of "
	 "a section source\n"
	 "t:3: sender_sources: no ':' before a source: found \"a.org\"; allowed: SENDER:SOURCE, "
	 "where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN\n"
	 "t:3: sender_sources: not valid before the ':': found \"!:c\"; allowed: SENDER:SOURCE, "
	 "where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN\n"
	 "t:4: domain_sources: there is no section source of this name: found \"b\"; allowed: the "
	 "NAME of a section source\n"
	 "t:4: domain_sources: given twice: first in line 4: found \"a.org\"\n"
	 "t:5: class *.source: there is no section source of this name: found \"d\"; allowed: the "
	 "NAME of a section source\n"},
	{HOST "source A { addresses = { 192.0.2.1, \"192.0.2.1\", 0.0.0.1, \"ff02::1\", "
	      "\"::ffff:1.2.3.4\", "
	      "host } }\nsource b { }\nsource b { addresses = \"::1\" }\n",
	 "t:2: source A: a source cannot be called this; allowed: 1 to 32 of a-z, 0-9, '-', '_'\n"
	 "t:2: source A.addresses: no address that a machine can send from: found \"0.0.0.1\"; "
	 "allowed: IPv4 or IPv6 addresses\n"
	 "t:2: source A.addresses: no address that a machine can send from: found \"ff02::1\"; "
	 "allowed: IPv4 or IPv6 addresses\n"
	 "t:2: source A.addresses: an IPv4 address in IPv6 form: found \"::ffff:1.2.3.4\"; "
	 "allowed: IPv4 or IPv6 addresses\n"
	 "t:2: source A.addresses: not an IP address: found \"host\"; allowed: IPv4 or IPv6 "
	 "addresses\n"
	 "t:2: source A.addresses: given twice: first in line 2: found \"192.0.2.1\"\n"
	 "t:3: source b.addresses: must be set; allowed: IPv4 or IPv6 addresses\n"
	 "t:4: source b: given twice: first in line 3\n"},
	{HOST "smtproutes \"a.org:r|u|sesame\"\n",
	 "t:2: smtproutes: an '=' is missing; allowed: = VALUE\n"},
	{HOST "maxhops = x\n"
	      "maxerrors = x maxsessions = 0\n"
	      "split = y",
	 "t:2: maxhops: not a number: found \"x\"; allowed: a number from 1 to 10000\n"
	 "t:3: maxerrors: not a number: found \"x\"; allowed: a number from 1 to 10000\n"
	 "t:3: maxsessions: too small: found \"0\"; allowed: a number from 1 to 1000000\n"
	 "t:4: split: not a number: found \"y\"; allowed: a number from 1 to 10000\n"},
};

#define X20  "xxxxxxxxxxxxxxxxxxxx"
#define IMAP "service i { kind = imap address = 1.2.3.4:143 login = a password_file = /p "

static const struct refusal sections_cases[] = {
	{HOST IMAP "prefix = " X20 X20 X20 X20 X20 "x }",
	 "t:2: service i.prefix: too long: found \"" X20 X20 X20 X20 X20
	 "x\"; allowed: a text of at most 100 bytes\n"},
	{HOST IMAP "authority = x }",
	 "t:2: service i.authority: not an absolute path: found \"x\"; "
	 "allowed: empty, or an absolute path of at most 4000 bytes\n"},
	{HOST "listen smtp { }", "t:2: listen smtp.address: must be set; allowed: IPV4:PORT, "
				 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"},
	{HOST "listen qmtps { address = 1.2.3.4:24 }",
	 "t:2: listen qmtps: unknown protocol; allowed: smtp, submission, lmtp, qmtp, qmqp\n"},
	{HOST "listen smtp { address = { 1.2.3.4, \"1.2.3.4:0\", \"1.2.3.4:65536\", \"::1:25\", "
	      "\"[1.2.3.4]:25\", \"[::ffff:1.2.3.4]:25\", \"host:25\", \"unix:x\", \"[::1]\" } }",
	 "t:2: listen smtp.address: no port: found \"1.2.3.4\"; allowed: IPV4:PORT, [IPV6]:PORT "
	 "with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: not a port: found \"1.2.3.4:0\"; allowed: IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: not a port: found \"1.2.3.4:65536\"; allowed: IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: not an IP address: found \"::1:25\"; allowed: IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: not an IP address: found \"[1.2.3.4]:25\"; allowed: IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: an IPv4 address in IPv6 form: found \"[::ffff:1.2.3.4]:25\"; "
	 "allowed: IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: not an IP address: found \"host:25\"; allowed: IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: not an absolute path: found \"unix:x\"; allowed: IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: listen smtp.address: no port: found \"[::1]\"; allowed: IPV4:PORT, [IPV6]:PORT with "
	 "a port from 1 to 65535, unix:/PATH\n"},
	{HOST "listen smtp { address = { 0.0.0.0:25 } }\n"
	      "listen submission { address = { \"127.0.0.1:25\", \"[::]:25\" } }\n"
	      "listen smtp { address = \"[::1]:25\" }",
	 "t:3: listen submission.address: already taken by 0.0.0.0:25 in line 2: found "
	 "\"127.0.0.1:25\"\n"
	 "t:4: listen smtp.address: already taken by [::]:25 in line 3: found \"[::1]:25\"\n"},
	{HOST "listen smtp { address = { 1.2.3.4:25, 1.2.3.4:25, unix:/a, unix:/a } }",
	 "t:2: listen smtp.address: already taken by 1.2.3.4:25 in line 2: found \"1.2.3.4:25\"\n"
	 "t:2: listen smtp.address: already taken by unix:/a in line 2: found \"unix:/a\"\n"},
	{HOST "listen smtp { address = 1.2.3.4:25 stage = remote }",
	 "t:2: listen smtp.stage: unknown word: found \"remote\"; allowed: submit, arrive\n"},
	{HOST "service Box { kind = maildir path = /m }",
	 "t:2: service Box: a service cannot be called this; allowed: 1 to 32 of a-z, 0-9, '-', "
	 "'_'; not \"remote\", \"list\", \"resolve\", \"handover\", \"submit\" or \"arrive\"\n"},
	{HOST "service remote { kind = maildir path = /m }",
	 "t:2: service remote: a service cannot be called this; allowed: 1 to 32 of a-z, 0-9, '-', "
	 "'_'; not \"remote\", \"list\", \"resolve\", \"handover\", \"submit\" or \"arrive\"\n"},
	{HOST "service resolve { kind = maildir path = /m }",
	 "t:2: service resolve: a service cannot be called this; allowed: 1 to 32 of a-z, 0-9, '-', "
	 "'_'; not \"remote\", \"list\", \"resolve\", \"handover\", \"submit\" or \"arrive\"\n"},
	{HOST "service handover { kind = maildir path = /m }",
	 "t:2: service handover: a service cannot be called this; allowed: 1 to 32 of a-z, 0-9, '-', "
	 "'_'; not \"remote\", \"list\", \"resolve\", \"handover\", \"submit\" or \"arrive\"\n"},
	{HOST "service list { kind = maildir path = /m }",
	 "t:2: service list: a service cannot be called this; allowed: 1 to 32 of a-z, 0-9, '-', "
	 "'_'; not \"remote\", \"list\", \"resolve\", \"handover\", \"submit\" or \"arrive\"\n"},
	{HOST "service a { }",
	 "t:2: service a.kind: must be set; allowed: maildir, mbox, lmtp, pipe, mailbox, imap\n"},
	{HOST "service a { kind = maildir }",
	 "t:2: service a.path: must be set; allowed: an absolute path with %d (domain), %u (local "
	 "part), %%\n"},
	{HOST "service a { kind = lmtp path = /m command = /bin/true user = a output_max = 1 }",
	 "t:2: service a.path: means nothing for this kind of service; allowed: with kind = "
	 "maildir, mbox, mailbox\n"
	 "t:2: service a.address: must be set; allowed: IPV4:PORT, [IPV6]:PORT with a port from 1 "
	 "to 65535, unix:/PATH\n"
	 "t:2: service a.command: means nothing for this kind of service; allowed: with kind = "
	 "pipe\n"
	 "t:2: service a.user: means nothing for this kind of service; allowed: with kind = "
	 "maildir, mbox, pipe\n"
	 "t:2: service a.output_max: means nothing for this kind of service; allowed: with kind = "
	 "pipe\n"},
	{HOST "service a { kind = lmtp address = unix:/l servers = { 10.0.0.7 } }",
	 "t:2: service a.servers: no port: found \"10.0.0.7\"; allowed: " REACHES "\n"},
	{HOST "service a { kind = lmtp address = unix:/l servers = { unix:/run/l } }",
	 "t:2: service a.servers: not a port: found \"unix:/run/l\"; allowed: " REACHES "\n"},
	{HOST "service a { kind = lmtp address = unix:/l servers = { \"10.0.0.7/8:24\" } }",
	 "t:2: service a.servers: bits are set after the prefix: found \"10.0.0.7/8:24\"; "
	 "allowed: "
	 "10.0.0.0/8\n"},
	{HOST "service a { kind = lmtp address = unix:/l servers = { \"2001:db8::1:24\" } }",
	 "t:2: service a.servers: brackets are for IPv6, and IPv6 needs them: found "
	 "\"2001:db8::1:24\"; "
	 "allowed: " REACHES "\n"},
	{HOST "service a { kind = lmtp address = unix:/l servers = { \"s.*.example:24\" } }",
	 "t:2: service a.servers: not a network or host name: found \"s.*.example:24\"; "
	 "allowed: " REACHES "\n"},
	{HOST "service a { kind = maildir path = /m/%u servers = { \"10.0.0.0/8:24\" } }",
	 "t:2: service a.servers: means nothing for this kind of service; allowed: with kind = "
	 "lmtp\n"},
	{HOST "service a { kind = lmtp address = mx.example.org:24 }",
	 "t:2: service a.address: not an IP address: found \"mx.example.org:24\"; allowed: "
	 "IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"},
	{HOST "service a { kind = lmtp address = { 127.0.0.1:24, unix:/l } }",
	 "t:2: service a.address: takes one value, not a list; allowed: IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"},
	{HOST "service a { kind = lmtp address = unix:/l timeout = 0 }",
	 "t:2: service a.timeout: too small: found \"0\"; allowed: a number of seconds, or of m, "
	 "h, d or w, from 1s to 1d\n"},
	{HOST "service a { kind = pipe user = u }",
	 "t:2: service a.command: must be set; allowed: an absolute path first, then texts with "
	 "%a, %d, %s, %u, %x, %%\n"},
	{HOST "service a { kind = pipe command = { procmail, -d } user = u }\n"
	      "service b { kind = pipe command = /bin/%u user = u }\n"
	      "service c { kind = pipe command = { /bin/x, %z, %, \"%%\", \"%u@%d\" } user = u }",
	 "t:2: service a.command: not the path of a program: found \"procmail\"; allowed: an "
	 "absolute path without % as the first\n"
	 "t:3: service b.command: not the path of a program: found \"/bin/%u\"; allowed: an "
	 "absolute path without % as the first\n"
	 "t:4: service c.command: a % that means nothing: found \"%z\"; allowed: an absolute path "
	 "first, then texts with %a, %d, %s, %u, %x, %%\n"
	 "t:4: service c.command: a % that means nothing: found \"%\"; allowed: an absolute path "
	 "first, then texts with %a, %d, %s, %u, %x, %%\n"},
	{HOST "service a { kind = pipe command = /bin/x }\n"
	      "service b { kind = pipe command = /bin/x user = stagepost }\n"
	      "service c { kind = pipe command = /bin/x user = mailer }\n"
	      "process remote { user = mailer }",
	 "t:2: service a.user: must be set: the program would have the rights of the queue's "
	 "processes; allowed: a user that no process of Stagepost runs as, or %u\n"
	 "t:3: service b.user: the program would have the rights of the queue's processes: found "
	 "\"stagepost\"; allowed: a user that no process of Stagepost runs as, or %u\n"
	 "t:4: service c.user: the program would have the rights of remote: found \"mailer\"; "
	 "allowed: a user that no process of Stagepost runs as, or %u\n"},
	{HOST "user = \"\" process pipe { user = piper }\n"
	      "service a { kind = pipe command = /bin/x }\n",
	 "t:3: service a.user: must be set: the program would have the rights of pipe; allowed: a "
	 "user that no process of Stagepost runs as, or %u\n"},
	{HOST "service a { kind = pipe command = /bin/x user = %d output_max = 1M }",
	 "t:2: service a.user: not a user name: found \"%d\"; allowed: the name of a user, %u "
	 "(the recipient's), or empty\n"
	 "t:2: service a.output_max: too large: found \"1M\"; allowed: a number of bytes, or of "
	 "K, M, G or T, from 0 to 64K\n"},
	{HOST "service a { kind = nntp path = m }",
	 "t:2: service a.kind: unknown word: found \"nntp\"; allowed: maildir, mbox, lmtp, pipe, "
	 "mailbox, imap\n"
	 "t:2: service a.path: not an absolute path: found \"m\"; allowed: an absolute path with "
	 "%d (domain), %u (local part), %%\n"},
	{HOST "service a { kind = maildir path = /m/%x }",
	 "t:2: service a.path: a % that means nothing: found \"/m/%x\"; allowed: an absolute path "
	 "with %d (domain), %u (local part), %%\n"},
	{HOST "service a { kind = maildir path = /m/% }",
	 "t:2: service a.path: a % that means nothing: found \"/m/%\"; allowed: an absolute path "
	 "with %d (domain), %u (local part), %%\n"},
	{HOST BOX BOX, "t:3: service box: given twice: first in line 2\n"},
	{HOST "service abcdefghijklmnopqrstuvwxyz0123456 { kind = maildir path = /m }",
	 "t:2: service abcdefghijklmnopqrstuvwxyz0123456: a service cannot be called this; "
	 "allowed: 1 to 32 of a-z, 0-9, '-', '_'; not \"remote\", \"list\", \"resolve\", \"handover\", \"submit\" or "
	 "\"arrive\"\n"},
	{HOST "domain x.org { service = box }",
	 "t:2: domain x.org.service: no such service: none is defined: found \"box\"\n"},
	{HOST BOX "domain x.org { service = bx }",
	 "t:3: domain x.org.service: no such service: found \"bx\"; allowed: box\n"},
	{HOST BOX "domain x.org { }",
	 "t:3: domain x.org.service: must be set; allowed: the name of a service section\n"},
	{HOST BOX "domain \"x org\" { service = box }",
	 "t:3: domain x org: not a domain name; allowed: letters, digits, hyphens and dots\n"},
	{HOST BOX "domain X.org { service = box }\n"
		  "domain x.ORG { service = box }",
	 "t:4: domain: given twice: first in line 3: found \"x.org\"\n"},
	{HOST BOX "domain x.org { service = box addresses = { } }",
	 "t:3: domain x.org.addresses: an empty list: leave the setting out\n"},
	{HOST BOX "domain x.org { service = box addresses = { a, \"b c\", B, A, a@x.org } }",
	 "t:3: domain x.org.addresses: not a local part: found \"b c\"; allowed: the parts of mail "
	 "addresses before their @\n"
	 "t:3: domain x.org.addresses: not a local part: found \"a@x.org\"; allowed: the parts of "
	 "mail addresses before their @\n"
	 "t:3: domain x.org.addresses: given twice: first in line 3: found \"a\"\n"},
	{HOST "listen smpt { address = 127.0.0.1:25 }",
	 "t:2: listen smpt: unknown protocol; allowed: smtp, submission, lmtp, qmtp, qmqp\n"},
	{HOST "listen qmqp { address = 127.0.0.1:628 }",
	 "t:2: listen qmqp.clients: must be set; allowed: the networks whose clients may "
	 "connect\n"},
	{HOST "listen qmtp { address = 127.0.0.1:209 clients = 10.0.0.0/8 }",
	 "t:2: listen qmtp.clients: means nothing here; allowed: with qmqp\n"},
	{HOST
	 "certificate x { chain = /x }\nlisten qmtp { address = 127.0.0.1:209 tls = starttls }",
	 "t:3: listen qmtp.tls: QMTP and QMQP cannot begin TLS amid a connection; allowed: none, "
	 "implicit\n"},
	{HOST "qmtproutes = { a.org:r1, \"A.org:r2\", \"!:r1\", \"!@:\", \"b.org:r;0\" }",
	 "t:2: qmtproutes: not a port after the ';': found \"b.org:r;0\"; allowed: 1 to 65535\n"
	 "t:2: qmtproutes: given twice: first in line 2: found \"!\"\n"
	 "t:2: qmtproutes: given twice: first in line 2: found \"a.org\"\n"},
	{HOST "process queue { user = 5 }\nprocess pipe {}\nprocess pipe {}",
	 "t:2: process queue: no such process; allowed: smtpd, qmtpd, names, keys, policy, auth, "
	 "resolve, remote, lmtp, local, mailbox, decode, pipe, list, directory, handover, noded\n"
	 "t:2: process queue.user: not a user name: found \"5\"; allowed: the name of a user, or "
	 "empty\n"
	 "t:4: process pipe: given twice: first in line 3\n"},
	{HOST "listen smtp { address = 1.2.3.4:25 tls = starttls }",
	 "t:2: listen smtp.tls: there is no section certificate; allowed: none, or with a section "
	 "certificate\n"},
	{HOST CERTIFICATE
	 "listen smtp { address = 1.2.3.4:25 client_names = a.b }\n"
	 "listen submission { address = 1.2.3.4:26 client_certificates = yes "
	 "client_names = { a.b, \"*\" } }\n"
	 "listen smtp { address = 1.2.3.4:27 tls = none client_certificates = yes }",
	 "t:3: listen smtp.client_names: means nothing here; allowed: with client_certificates = "
	 "yes\n"
	 "t:4: listen submission.client_names: means nothing here; allowed: with "
	 "client_authority\n"
	 "t:5: listen smtp.client_certificates: means nothing here; allowed: with tls\n"},
	{HOST
	 "listen submission { address = 1.2.3.4:26 auth = required auth_without_tls = local }\n"
	 "listen smtp { address = 1.2.3.4:27 sender_login = off received_user = yes "
	 "auth_without_tls = yes }\n"
	 "listen smtp { address = 1.2.3.4:28 auth = maybe }",
	 "t:2: listen submission.auth: nobody knows the users; allowed: no, or with a section "
	 "auth\n"
	 "t:3: listen smtp.auth_without_tls: means nothing here; allowed: with auth\n"
	 "t:3: listen smtp.sender_login: means nothing here; allowed: with auth\n"
	 "t:3: listen smtp.received_user: means nothing here; allowed: with auth\n"
	 "t:4: listen smtp.auth: unknown word: found \"maybe\"; allowed: no, offered, "
	 "required\n"},
	{HOST "directory { backend = sqlite }\n"
	      "listen submission { address = 1.2.3.4:26 auth = required }",
	 "t:3: listen submission.auth: can never be offered; allowed: no, or with tls or "
	 "auth_without_tls\n"},
	{HOST CERTIFICATE "certificate main { chain = /y }\ncertificate A { chain = z }",
	 "t:3: certificate main: given twice: first in line 2\n"
	 "t:4: certificate A: a certificate cannot be called this; allowed: 1 to 32 of a-z, 0-9, "
	 "'-', '_'\n"
	 "t:4: certificate A.chain: not an absolute path: found \"z\"; allowed: an absolute path "
	 "of at most 4000 bytes\n"},
	{HOST "tls a.b { level = may match = hostname authority = /x }\n"
	      "tls \".A.b\" { level = fingerprint }\n"
	      "tls \"A.b\" { level = none certificate = x }\n"
	      "tls \"[1.2.3]\" { level = mai }",
	 "t:2: tls a.b.match: means nothing here; allowed: with level = verify, secure\n"
	 "t:2: tls a.b.authority: means nothing here; allowed: with level = verify, secure\n"
	 "t:3: tls .A.b.fingerprints: must be set; allowed: SHA-256 fingerprints\n"
	 "t:4: tls A.b.certificate: means nothing here; allowed: with a level other than none\n"
	 "t:4: tls A.b.certificate: there is no such section certificate; allowed: the name of a "
	 "section certificate\n"
	 "t:4: tls: given twice: first in line 2: found \"a.b\"\n"
	 "t:5: tls [1.2.3]: not a destination; allowed: a domain, .DOMAIN, or [ADDRESS]\n"
	 "t:5: tls [1.2.3].level: unknown word: found \"mai\"; allowed: none, may, encrypt, dane, "
	 "dane-only, verify, secure, fingerprint\n"},
	{HOST "tls_ciphers = { ECDHE-RSA-AES256-SHA384, TLS_AES_128_GCM_SHA256, RC4-SHA }\n"
	      "tls_min_version = 1.1",
	 "t:2: tls_ciphers: the ciphers of TLS 1.3 cannot be chosen: found "
	 "\"TLS_AES_128_GCM_SHA256\"; allowed: " CIPHERS "\n"
	 "t:2: tls_ciphers: not a cipher of TLS 1.2 that can be used: found \"RC4-SHA\"; "
	 "allowed: " CIPHERS "\n"
	 "t:3: tls_min_version: unknown word: found \"1.1\"; allowed: 1.2, 1.3\n"},
	{HOST "tls_min_version = 1.3\n"
	      "tls a.b { level = encrypt ciphers = ECDHE-RSA-AES256-SHA }\n"
	      "tls b.c { level = may ciphers = ECDHE-RSA-AES256-SHA }\n"
	      "listen smtp { address = 1.2.3.4:1 tls_ciphers = ECDHE-RSA-AES256-SHA }",
	 "t:3: tls a.b.ciphers: means nothing here; allowed: with TLS 1.2 as the oldest version\n"
	 "t:4: tls b.c.ciphers: means nothing here; allowed: with a level other than none, may\n"
	 "t:4: tls b.c.ciphers: means nothing here; allowed: with TLS 1.2 as the oldest version\n"
	 "t:5: listen smtp.tls_ciphers: means nothing here; allowed: with TLS 1.2 as the oldest "
	 "version\n"
	 "t:5: listen smtp.tls_ciphers: means nothing here; allowed: with tls\n"},
	{HOST "dane = no\n"
	      "tls a.b { level = dane }\n"
	      "tls b.c { level = dane-only }",
	 "t:3: tls a.b.level: means nothing here; allowed: dane and dane-only with setting dane = "
	 "yes\n"
	 "t:4: tls b.c.level: means nothing here; allowed: dane and dane-only with setting dane = "
	 "yes\n"},
	{HOST "tls a.b { level = fingerprint fingerprints = { 00:11, \"" FINGERPRINT "\", zz } }",
	 "t:2: tls a.b.fingerprints: not a SHA-256 fingerprint: found \"00:11\"; allowed: 64 "
	 "hexadecimal digits, with or without a colon after each two\n"
	 "t:2: tls a.b.fingerprints: not a SHA-256 fingerprint: found \"zz\"; allowed: 64 "
	 "hexadecimal digits, with or without a colon after each two\n"},
	{HOST NODE "stage late { nodes = core }\n"
		   "stage submit { nodes = Core }\n"
		   "stage arrive { }\nstage arrive { nodes = \"\" }",
	 "t:3: stage late: no such stage; allowed: submit, arrive\n"
	 "t:4: stage submit.nodes: not the name of a group: found \"Core\"; allowed: 1 to 32 of "
	 "a-z, "
	 "0-9, '-', '_', or empty\n"
	 "t:6: stage arrive: given twice: first in line 5\n"},
	{HOST NODE "service a { kind = maildir path = /m nodes = \"b x\" }\n"
		   "transport a { nodes = box }\n"
		   "transport remote { nodes = out_box! }",
	 "t:3: service a.nodes: not the name of a group: found \"b x\"; allowed: 1 to 32 of a-z, "
	 "0-9, '-', '_', or empty\n"
	 "t:4: transport a.nodes: only remote has nodes here; allowed: for a service, nodes in its "
	 "own "
	 "section\n"
	 "t:5: transport remote.nodes: not the name of a group: found \"out_box!\"; allowed: 1 to "
	 "32 of "
	 "a-z, 0-9, '-', '_', or empty\n"},
	{HOST "stage arrive { nodes = core }",
	 "t: node: must be given: nodes show each other who they are; allowed: a section node with "
	 "certificate, key and authority\n"},
	{HOST "transport remote { nodes = out }\nnode { name = \"A 1\" listen = unix:/n key = /k }",
	 "t:3: node.name: not the name of a node: found \"A 1\"; allowed: 1 to 64 of a-z, 0-9, "
	 "'-', "
	 "'.', not \".\" or \"..\", or empty\n"
	 "t:3: node.listen: a UNIX socket, at which no other machine is; allowed: IPV4:PORT, "
	 "[IPV6]:PORT\n"
	 "t:3: node.certificate: must be set: nodes show each other who they are; allowed: an "
	 "absolute "
	 "path\n"
	 "t:3: node.authority: must be set: nodes show each other who they are; allowed: an "
	 "absolute "
	 "path\n"},
	{HOST "node { listen = 127.0.0.1:627 }\n",
	 "t:2: node.certificate: must be set: nodes show each other who they are; allowed: an "
	 "absolute path\n"
	 "t:2: node.key: must be set: nodes show each other who they are; allowed: an absolute "
	 "path\n"
	 "t:2: node.authority: must be set: nodes show each other who they are; allowed: an "
	 "absolute path\n"},
	{HOST "node { }\nnode { }", "t:3: node: given twice: first in line 2\n"},
	{HOST "transport nope { paused = 5 }",
	 "t:2: transport nope: no such transport; allowed: remote, list, a stage that has nodes, "
	 "or the name of a service\n"
	 "t:2: transport nope.paused: neither yes nor no: found \"5\"; allowed: yes, no, on, off, "
	 "true, false\n"},
	{HOST "transport remote { concurrency = 0 }\n"
	      "transport remote { paused = yes }",
	 "t:2: transport remote.concurrency: too small: found \"0\"; allowed: a number from 1 to "
	 "65000\n"
	 "t:3: transport remote: given twice: first in line 2\n"},
	{HOST "service x { kind = maildir path = /x kind = maildir }\n"
	      "spares = -1\n"
	      "domain d { service = y }\n"
	      "listen qmtps { address = x }",
	 "t:2: service x.kind: given twice: first in line 2\n"
	 "t:3: spares: not a number: found \"-1\"; allowed: a number from 0 to 1000000\n"
	 "t:4: domain d.service: no such service: found \"y\"; allowed: x\n"
	 "t:5: listen qmtps: unknown protocol; allowed: smtp, submission, lmtp, qmtp, qmqp\n"
	 "t:5: listen qmtps.address: no port: found \"x\"; allowed: IPV4:PORT, [IPV6]:PORT with a "
	 "port from 1 to 65535, unix:/PATH\n"},
};

static void wrong_values_are_reported(void **state)
{
	(void)state;
	check_refusals(values_cases, COUNT_OF(values_cases));
}

static void wrong_sections_are_reported(void **state)
{
	(void)state;
	check_refusals(sections_cases, COUNT_OF(sections_cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_values_are_reported),
		cmocka_unit_test(wrong_sections_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
