// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/ldap/played_ldap_internal.h - shared by the parts of played LDAP
 * servers: sockets and time (played_ldap.c), answers (played_ldap_answer.c), and messages of the
 * search that does not end (played_ldap_sync.c). */
#ifndef TESTS_UNIT_PLAYED_LDAP_INTERNAL_H
#define TESTS_UNIT_PLAYED_LDAP_INTERNAL_H

#include "played_ldap.h"

struct played_ldap_session {
	int socket; /* -1: none */
	struct played_ldap_server *server;
	struct buffer in, out;
	bool is_closing;
};

extern struct played_ldap_session played_ldap_sessions[PLAYED_LDAP_SESSIONS];

/* Where the lengths of an answer are. */
struct played_ldap_message {
	size_t whole, body;
};

/* BER: an element's content is between its begin and its end, whose AT is what the begin
 * returned. */
size_t played_ldap_begin_element(struct buffer *out, unsigned char tag);
void played_ldap_end_element(struct buffer *out, size_t at);
void played_ldap_put_bytes(struct buffer *out, unsigned char tag, const void *data, size_t length);
void played_ldap_put_text(struct buffer *out, unsigned char tag, const char *text);
void played_ldap_put_number(struct buffer *out, unsigned char tag, int number);
/* False: it is not whole. */
bool played_ldap_take_element(struct str *rest, unsigned char *tag_out, struct str *content_out);
struct played_ldap_message played_ldap_begin_answer(struct buffer *out, int number,
						    unsigned char tag);
void played_ldap_end_answer(struct buffer *out, struct played_ldap_message message);
void played_ldap_send_result(struct buffer *out, int number, unsigned char tag, int code,
			     const char *text);
/* NAME NULL: an entry without attributes. */
void played_ldap_put_entry_body(struct buffer *out, const char *dn, const char *name,
				const char *const *values);
void played_ldap_send_entry(struct buffer *out, int number, const char *dn, const char *name,
			    const char *const *values);
void played_ldap_send_reference(struct buffer *out, int number);
void played_ldap_send_intermediate(struct buffer *out, int number, const char *kind,
				   struct str data);
void played_ldap_answer_request(struct played_ldap_session *session, struct str message);

#endif
