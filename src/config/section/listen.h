// SPDX-License-Identifier: ISC
/*
 * config/section/listen.h - section listen: an address, who may use it, and how.
 */
#ifndef CONFIG_SECTION_LISTEN_H
#define CONFIG_SECTION_LISTEN_H

#include "config/section/address.h"
#include "config/section/tls.h"
#include "mail/envelope.h"
#include <stdbool.h>
#include <stddef.h>

enum config_protocol {
	CONFIG_SMTP,
	CONFIG_SUBMISSION,
	CONFIG_LMTP,
	CONFIG_QMTP,
	CONFIG_QMQP,
	CONFIG_PROTOCOLS,
};

enum config_bare_newline { /* how messages with a bare CR or LF are treated */
			   CONFIG_BARE_NEWLINE_AUTO, /* corrected from users' programs, else
						      * rejected */
			   CONFIG_BARE_NEWLINE_REJECT,
			   CONFIG_BARE_NEWLINE_NORMALIZE,
};

enum config_listen_auth {
	CONFIG_LISTEN_AUTH_NO,
	CONFIG_LISTEN_AUTH_OFFERED,
	CONFIG_LISTEN_AUTH_REQUIRED, /* of clients that are not trusted */
};

enum config_clear_auth { /* AUTH without TLS */
			 CONFIG_CLEAR_AUTH_NO,
			 CONFIG_CLEAR_AUTH_LOCAL, /* by loopback or a UNIX socket */
			 CONFIG_CLEAR_AUTH_YES,
};

enum config_sender_login { /* what a user may name as the sender */
			   CONFIG_SENDER_LOGIN_OFF,
			   CONFIG_SENDER_LOGIN_ENVELOPE,
			   CONFIG_SENDER_LOGIN_STRICT, /* also From and Sender */
};

enum config_listen_tls {
	CONFIG_LISTEN_TLS_NONE,
	CONFIG_LISTEN_TLS_STARTTLS, /* offered */
	CONFIG_LISTEN_TLS_REQUIRED, /* offered; no mail without it */
	CONFIG_LISTEN_TLS_IMPLICIT, /* before the greeting (RFC 8314) */
};

struct config_listen {
	enum config_protocol protocol;
	struct config_endpoint *addresses;
	size_t address_count;
	enum mail_stage stage;
	bool proxy;                     /* connections begin with a PROXY header */
	struct config_network *clients; /* qmqp: who may connect */
	size_t client_count;
	enum config_bare_newline bare_newline;
	enum config_listen_tls tls;
	struct config_tls_strength strength;
	bool client_certificates;     /* ask for them */
	const char *client_authority; /* PEM file; "": none */
	const char **client_names;    /* of certificates whose owners may relay */
	size_t client_name_count;
	const char **client_fingerprints; /* likewise, SHA-256 of certificate or public key */
	size_t client_fingerprint_count;
	enum config_listen_auth auth;
	enum config_clear_auth auth_without_tls;
	bool auth_binding; /* offer mechanisms with -PLUS */
	enum config_sender_login sender_login;
	bool received_user;   /* show who has authenticated in Received */
	bool received_client; /* and from where */
	bool submission;      /* complete the header fields of users' programs */
	bool repair;          /* of their messages what other servers refuse */
};

#endif
