// SPDX-License-Identifier: ISC
/*
 * tests/transcript/script.h - a dialogue file. Each line is a mark, a colon and
 * a space, and a text that stands for a line with CRLF; with '|' in place of the
 * colon it stands for its bytes alone. MARK*COUNT repeats it.
 *
 *   C, S,            the text as a netstring
 *   C,, S,,          its words, each as a netstring, together as one more
 *   C{ C}            what the client sends between them is one netstring
 *   set NAME VALUE   a limit, a rule, "protocol", or "peer", before the dialogue
 *   C: S:            what the client sends, what the server says
 *   S.               the server closes at the end
 *   A: TYPE OUTCOME STATUS TEXT   the answer to a question: recipient, senders, open, client,
 *                    release or commit;
 *                    ok, or wait or fail with their status. What is not given is ok.
 *   A: auth challenge TEXT; auth accept USER TEXT; auth failed, temporary, malformed,
 *                    unknown, insecure or weak; TEXT is what the mechanism says
 *   A: TYPE shutdown the daemon stops while the next such question is pending
 *   T: timeout, shutdown or early  (early: instead of the banner)
 *   T: no file       the driver has abandoned the message by now
 *   T: tls           the handshake is done: TLSv1.3; T: implicit tls: before the banner
 *   F: STATUS TEXT   the data file cannot be written
 *   M: H: E:         the messages committed, their trace headers, their envelopes;
 *                    H and E are compared only when there are any
 *   Q:               the messages of AUTH as the driver got them: "PLAIN TEXT", "> TEXT"; and
 *                    senders that it was asked about: "lisa as: ADDRESS ADDRESS"
 *   #                a remark
 *
 * \r \n \0 \\ and \xHH stand for bytes.
 */
#ifndef TESTS_TRANSCRIPT_SCRIPT_H
#define TESTS_TRANSCRIPT_SCRIPT_H

#include "session.h"

enum script_event_type {
	EVENT_CLIENT,
	EVENT_TIMEOUT,
	EVENT_SHUTDOWN,
	EVENT_EARLY,
	EVENT_FAULT,
	EVENT_NO_FILE,
	EVENT_TLS,
	EVENT_IMPLICIT_TLS,
};

struct script_event {
	enum script_event_type type;
	struct buffer bytes;         /* CLIENT */
	size_t output_length;        /* bytes of output expected before this event */
	struct mail_verdict verdict; /* FAULT */
};

enum { SCRIPT_EVENTS_MAX = 200, SCRIPT_ANSWERS_MAX = 50 };

struct script {
	struct session settings; /* not started */
	struct script_event events[SCRIPT_EVENTS_MAX];
	size_t event_count;
	struct session_answer answers[SCRIPT_ANSWERS_MAX];
	size_t answer_count;
	struct buffer output, messages, traces, envelopes, exchanges; /* expected */
	struct arena *arena;                                          /* texts of the answers */
	bool is_closed;
	struct script_event *netstring; /* C{: it is gathered there; NULL: none is */
};

/* Panics with the line's number when TEXT is no script. */
void script_parse(struct script *script, struct str text);
void script_clear(struct script *script);

#endif
