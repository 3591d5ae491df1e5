// SPDX-License-Identifier: ISC
/*
 * mailbox/maildir.h - durable delivery into Maildirs, many at once.
 *
 * A delivery is written to tmp/, synced and renamed to new/, and new/ is synced: only then is it
 * reported as stored, and before the rename no reader of new/ sees it. At worst a crash leaves
 * a file in tmp/, or a message in new/ that will be delivered a second time.
 *
 * The file holds "Return-Path: <SENDER>", "Delivered-To: RECIPIENT", marks (header/loop.h) and the
 * message. Its lines end in LF, converted from CRLF: this is what
 * Maildir readers expect (Dovecot accepts both, mutt and grep do not), and
 * IMAP and POP3 servers send CRLF to clients.
 *
 * Its name is TIME.MMICROSECONDSPPIDQCOUNTIINODE.HOST,S=SIZE,W=VIRTUAL: the
 * sizes, with LF and with CRLF, as Dovecot and Courier read them. The inode
 * number makes it unique among all processes, machines and containers that
 * share the directory, so the rename cannot hit another message. A delivery with a
 * mark has ",I=MARK" after that, in tmp/ too: readers keep it when they move and flag the file.
 *
 * A delivery with flags goes to cur/ instead of new/, as a message that was seen before.
 */
#ifndef MAILBOX_MAILDIR_H
#define MAILBOX_MAILDIR_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "ipc/content.h"
#include "mail/mailbox/quota.h"
#include "mail/verdict.h"
#include <stdint.h>

enum maildir_sync {
	MAILDIR_SYNC_AUTO,       /* ORDERED if it is guaranteed; FILESYSTEM if the mail is not
				  * on the root file system; else FILES */
	MAILDIR_SYNC_FILES,      /* each file and each directory */
	MAILDIR_SYNC_FILESYSTEM, /* groups of MAILDIR_FILESYSTEM_FROM: syncfs */
	MAILDIR_SYNC_ORDERED,    /* write out, rename, sync one directory: os_file_order_watch() */
};

enum {
	MAILDIR_FILESYSTEM_FROM = 8, /* deliveries on one filesystem */
	MAILDIR_NAME_SIZE = 256,     /* of a file's name: NAME_MAX and a NUL */
	MAILDIR_FOLDER_MAX = 255,    /* bytes of a folder's directory name */
};

struct maildir_delivery {
	struct str path;                /* of the Maildir, by maildir_path_expand() */
	struct str sender;              /* "" : the null sender */
	struct str recipient;           /* LOCAL@DOMAIN */
	struct str via;                 /* as in mailbox/copy.h */
	struct hash_key site_key;       /* likewise */
	struct ipc_content content;     /* the message, CRLF lines */
	bool is_binary;                 /* or not in lines (BINARYMIME): it is encoded */
	const struct mail_quota *quota; /* NULL: none */
	bool refuses_over_quota;        /* over quota it fails, instead of being deferred */
	bool is_bare;                   /* without Return-Path, Delivered-To and mark */
	bool is_filed;                  /* once, as a record says: mailbox_copy_begin_filed() */
	const char *folder; /* of Maildir++, a directory's name (".Lists.dev"); NULL: the Maildir
			     * itself */
	const char *flags;  /* letters in alphabetical order, as ":2,FS" has them; NULL: none */
	const char *mark;   /* letters and digits; NULL: none */
	char *name_out;     /* out, if stored: its name without flags, MAILDIR_NAME_SIZE bytes;
			     * NULL: not wanted */
	struct mail_verdict verdict; /* out */
	bool may_remain; /* out, if not stored: it could not be removed for certain, so it may be
			  * there, or appear after a crash */
	bool is_refused; /* out, if not stored: FOLDER cannot be, as what has its name is no
			  * Maildir, may not be written, or cannot be made; the Maildir is there */
	uint64_t device; /* out: the file system where it was stored; 0: not stored */
	/* mailbox/mbox.h only, out: */
	bool is_locked;   /* not stored, as another program has a lock of the mailbox */
	const char *flaw; /* not stored, as the file is not one to write to: what is wrong with
			   * it, a static text; NULL: nothing */
	uint64_t removed; /* bytes of an incomplete message that were removed from the file */
};

/* Asked once for a group, when all of it is written to tmp/, and before any of it can be seen: 0,
 * or nothing of the group is stored (WAIT 4.3.0). */
struct maildir_gate {
	int (*pass)(void *context);
	void *context;
};

struct maildir;

/* HOST becomes part of file names. One maildir_deliver_group() at a time. The process's umask must
 * be 077, so that files are private to its user. */
struct maildir *maildir_new(const char *host, enum maildir_sync sync);
void maildir_free(struct maildir *maildir);

/* Creates the directory BASE and those above it, durably, if they are missing. */
MUST_CHECK int maildir_make_base(struct str base);

/* Attempts all deliveries, and sets their verdicts: OK 2.0.0; FAIL 5.4.6 if a mark in the header
 * shows that the recipient had it before (a loop), 5.6.3 if it is binary and cannot be
 * encoded, 5.1.3 if the path is too long, 5.2.3 if the message is larger than the quota; WAIT 4.2.2
 * (over quota; or FAIL 5.2.2), 4.3.1 (disk full) or 4.3.0 (other errors, with the system's text).
 * Creates missing Maildirs, and what is missing of one, durably. GATE: NULL: none. Blocks for the
 * disk: use a thread. */
void maildir_deliver_group(struct maildir *maildir, struct maildir_delivery *deliveries,
			   size_t count, const struct maildir_gate *gate);

/* Appends TEMPLATE with %d as the domain, %u as the user (without +tag), both in lower case, and %%
 * as '%'. Each must be safe as a component of a path, see mail_name_is_path_safe(). Otherwise
 * -EINVAL, with OUT unchanged (then bounce with FAIL 5.1.3). */
MUST_CHECK int maildir_path_expand(const char *template, struct str address, struct buffer *out);

#endif
