// SPDX-License-Identifier: ISC
/*
 * mail/template.h - settings of services with %-sequences, filled in for one recipient. The
 * values come from anybody: what may stand for what is decided here, both for RCPT, where an
 * address that no service can use is refused, and for the delivery.
 */
#ifndef MAIL_TEMPLATE_H
#define MAIL_TEMPLATE_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "mail/localpart.h"
#include "mail/unicode.h"

enum mail_template_kind {
	MAIL_TEMPLATE_PATH, /* %d %u: each within a name of a path, which has at most 255 bytes */
	MAIL_TEMPLATE_ARGUMENT, /* %a %d %s %u %x: of a program. What the template does not make an
				 * option does not become one */
	MAIL_TEMPLATE_LOGIN,    /* %a %d %u: of a user. No value has an @ in its local part, or the
				 * byte that stands beside it in the template: "%u*master" must not
				 * become the login of another user, or by another master */
};

struct mail_template_values {
	struct str address;   /* %a */
	struct str sender;    /* %s */
	struct str user;      /* %u: the local part, unquoted, without extension */
	struct str extension; /* %x */
	struct str domain;    /* %d */
};

/* What the values of a recipient point into, besides its address. */
struct mail_template_recipient {
	struct mail_localpart local;
	struct mail_domain domain;
	char tag[MAIL_DOMAIN_MAX + 1];
};

/* The values for RECIPIENT, LOCAL@DOMAIN or LOCAL+EXTENSION@DOMAIN, without a sender; they are
 * valid as long as RECIPIENT and *STORAGE. -EINVAL: its local part cannot be read. */
MUST_CHECK int mail_template_values(struct str recipient, struct mail_template_recipient *storage,
				    struct mail_template_values *out);

/* Appends TEMPLATE, filled in, to OUT. -EINVAL, with OUT unchanged: a value may not stand there, or
 * it is no template of this kind. */
MUST_CHECK int mail_template_fill(enum mail_template_kind kind, const char *template,
				  const struct mail_template_values *values, struct buffer *out);

#endif
