// SPDX-License-Identifier: ISC
/*
 * auth/protocol.h - the protocol between the process "auth" and those that speak to clients, in
 * messages of ipc/channel.h. An exchange has the tag that its client chose, one that no other open
 * exchange of the connection has.
 */
#ifndef AUTH_PROTOCOL_H
#define AUTH_PROTOCOL_H

enum auth_message {
	/* From "auth", at first and after each change: u32 count, and for each mechanism, best
	 * first: str name, u32 flags (enum auth_need). */
	AUTH_OFFER = 1,
	/* To "auth": str address (16 bytes, IPv4 mapped), u32 is secured, str exporter, str end
	 * point, str certificate, str name in the certificate, str protocol, u32 port, str session,
	 * str mechanism, u32 has an initial response, str initial response. */
	AUTH_BEGIN,
	AUTH_RESPOND, /* to "auth": str response */
	/* To "auth": nothing. No answer is wanted any more; one may be on its way. If the client
	 * has learnt something about a user, it has failed. */
	AUTH_CANCEL,
	/* From "auth", one for each AUTH_BEGIN and AUTH_RESPOND: u32 outcome (enum auth_outcome),
	 * u32 refusal (enum auth_refusal), str message, str user, and if it is ACCEPTED and can
	 * end again str stamp, else an empty one. */
	AUTH_ANSWER,
	/* To "auth": nothing. The client has cancelled the exchange; AUTH_CANCEL follows, or
	 * AUTH_FORGIVE if it is no failure, as the session has succeeded after all. */
	AUTH_LEAVE,
	AUTH_FORGIVE, /* to "auth": nothing */
	/* To "auth": str user, str stamp. Whether this login is still valid, now and from now on.
	 * It is sent again when that is in doubt and must be known. */
	AUTH_FOLLOW,
	AUTH_UNFOLLOW, /* to "auth": nothing; it need not be said any more */
	/* From "auth", with the tag of an AUTH_FOLLOW: u32 state (enum auth_login_state); one for
	 * each of them, and whenever the login has ended. */
	AUTH_LOGIN,
	/* From "auth", with the tag 0: nothing. Of all logins it is not known now whether they are
	 * valid, whatever was said before. */
	AUTH_DOUBT,
};

/* What a mechanism needs of a client's connection. */
enum auth_need {
	AUTH_NEEDS_SECURED = 1,
	AUTH_NEEDS_BINDING = 2,
	AUTH_NEEDS_CERTIFICATE = 4,
};

enum {
	AUTH_MECHANISMS_MAX = 16,
	AUTH_MECHANISM_SIZE = 32, /* bytes of a name, with its NUL: RFC 4422 section 3.1 has 20 */
	AUTH_ADDRESS_SIZE = 16,
	AUTH_LOGINS_MAX = 1000000, /* that one connection follows */
	AUTH_OPEN_MAX = 4096,      /* open exchanges of one connection; further ones get a temporary
				    * refusal at once */
};

#endif
