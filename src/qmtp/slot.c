// SPDX-License-Identifier: ISC
/* The slots of the packages in flight, and how a package leaves its own. */
#include "qmtp/internal.h"
#include <stdlib.h>

struct qmtp_package *qmtp_package_at(const struct qmtp_server *s, unsigned place)
{
	return s->packages[(s->first + place) % QMTP_SERVER_SLOTS];
}

struct qmtp_package *qmtp_package_current(const struct qmtp_server *s)
{
	return qmtp_package_at(s, s->count - 1);
}

unsigned qmtp_package_slot(const struct qmtp_server *s)
{
	return (s->first + s->count - 1) % QMTP_SERVER_SLOTS;
}

void qmtp_package_free(struct qmtp_package *p)
{
	if (p == NULL)
		return;
	header_edit_free(p->text.edit);
	mail_envelope_free(p->envelope);
	buffer_clear(&p->body);
	buffer_clear(&p->lengths);
	buffer_clear(&p->answers);
	free(p);
}

void qmtp_package_leave(struct qmtp_server *s, unsigned slot)
{
	s->flight_bytes -= s->packages[slot]->weight;
	qmtp_package_free(s->packages[slot]);
	s->packages[slot] = NULL;
	s->count--;
}

void qmtp_package_drop(struct qmtp_server *s)
{
	qmtp_package_leave(s, qmtp_package_slot(s));
	s->length = (struct qmtp_length){0};
}

void qmtp_package_discard(struct qmtp_package *p)
{
	p->text.is_kept = false;
	p->is_open = false;
	buffer_clear(&p->body);
}

void qmtp_package_refuse(struct qmtp_package *p, const struct mail_verdict *verdict)
{
	if (!p->has_refusal)
		p->refusal = *verdict;
	p->has_refusal = true;
	qmtp_package_discard(p);
}

bool qmtp_server_is_receiving(const struct qmtp_server *s)
{
	return s->count > 0 && qmtp_package_current(s)->phase == QMTP_PHASE_RECEIVING;
}

/* --- the end --- */

void qmtp_server_end(struct qmtp_server *s)
{
	s->is_stopping = true;
	if (s->is_asking)
		return; /* until it is answered */
	if (qmtp_server_is_receiving(s))
		qmtp_package_drop(s);
	s->state = QMTP_STATE_CLOSED;
}
