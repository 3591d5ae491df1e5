// SPDX-License-Identifier: ISC
/* A package from its first byte to its answers. */
#include "base/panic.h"
#include "qmtp/internal.h"
#include "smtp/server/trace.h"

enum { TRACE_SIZE = 512 };

/* Those whose lines are wrong are often programs of our own users. */
static struct smtp_text_rules text_rules_of_package(const struct qmtp_server *s)
{
	enum smtp_bare_newline rule = s->service->rules.bare_newline;
	bool is_normalized = rule == SMTP_BARE_NEWLINE_AUTO ? s->peer.is_ours
							    : rule == SMTP_BARE_NEWLINE_NORMALIZE;

	return (struct smtp_text_rules){
		.size = s->service->limits.message_size,
		.hops = s->service->limits.hops,
		.is_normalized = is_normalized,
		.removes_nul = s->service->rules.removes_nul,
	};
}

void qmtp_package_begin(struct qmtp_server *s)
{
	unsigned slot = (s->first + s->count) % QMTP_SERVER_SLOTS;
	struct qmtp_package *p = memory_alloc_zero(1, sizeof *p);

	if (s->count == QMTP_SERVER_SLOTS)
		panic("the QMTP server has no slot for one more package");
	s->packages[slot] = p;
	p->phase = QMTP_PHASE_RECEIVING;
	p->envelope = mail_envelope_new();
	p->envelope->stage = s->service->stage;
	p->text = (struct smtp_text){
		.rules = text_rules_of_package(s), .arena = p->envelope->arena, .body = &p->body};
	s->count++;
}

void qmtp_package_open(struct qmtp_server *s, struct mail_id id)
{
	static const char *const with[][2] = {{"QMTP", "QMTPS"}, {"QMQP", "QMQPS"}};
	static const struct header_edit_settings only_return_path = {0};
	struct qmtp_package *p = qmtp_package_current(s);
	struct smtp_trace trace = {
		.peer = &s->peer,
		.tls = &s->tls,
		.hostname = s->service->hostname,
		.with = with[qmtp_is_qmqp(s)][s->tls.version != NULL],
		.protocol = qmtp_is_qmqp(s) ? "qmqp" : "qmtp",
	};

	uint64_t expected = s->left < SMTP_SERVER_BODY_MAX ? s->left : SMTP_SERVER_BODY_MAX;

	(void)buffer_reserve(&p->body, TRACE_SIZE + (size_t)expected);
	p->envelope->id = id;
	p->envelope->received = smtp_trace_origin(&trace, p->envelope->arena);
	smtp_trace_append(&p->body, &trace, p->envelope);
	p->trace_size = p->body.length;
	p->text.edit = header_edit_new(&only_return_path, p->envelope->arena);
	p->text.is_kept = true;
	p->is_open = true;
}

void qmtp_package_text(struct qmtp_package *p, const char *data, size_t length)
{
	smtp_text_take_all(&p->text, data, length);
	if (p->is_open && !p->text.is_kept)
		qmtp_package_discard(p);
}

void qmtp_package_text_end(struct qmtp_package *p)
{
	const struct mail_verdict *refusal;

	smtp_text_end(&p->text);
	refusal = smtp_text_refusal(&p->text);
	if (refusal != NULL)
		qmtp_package_refuse(p, refusal);
}

void qmtp_package_end(struct qmtp_server *s)
{
	static const struct mail_verdict nobody = {MAIL_FAIL, "5.5.4", "No recipients"};
	struct qmtp_package *p = qmtp_package_current(s);

	const struct smtp_watch *watch = &s->service->watch;

	if (smtp_watch_is_on(watch))
		smtp_watch_tell_message(watch, s->peer.context, p->text.size);
	if (p->recipient_count == 0)
		qmtp_package_refuse(p, &nobody);
	else if (qmtp_is_qmqp(s) &&
		 smtp_text_loops_everywhere(&p->text, s->service->site_key, p->envelope))
		qmtp_package_refuse(p, &smtp_text_loop);
	p->envelope->size = p->trace_size + p->text.kept;
	p->weight = p->body.length + p->answers.length + p->envelope_size;
	s->flight_bytes += p->weight;
	if (p->has_refusal || p->accepted_count == 0) {
		qmtp_package_decide(s, p, p->has_refusal ? &p->refusal : &nobody);
		return;
	}
	p->phase = QMTP_PHASE_COMPLETE;
	s->complete_count++;
}

static void report_package_refusal(const struct qmtp_server *s, const struct qmtp_package *p)
{
	const struct smtp_refusal refusal = {
		.code = smtp_verdict_code(&p->verdict),
		.status = p->verdict.status,
		.text = p->verdict.text,
		.is_message = p->envelope->recipient_count > 0,
		.envelope = p->envelope,
		.message_id = smtp_text_message_id(&p->text),
	};

	if (s->service->on_refusal != NULL)
		s->service->on_refusal(s->peer.context, &refusal);
}

/* Refused recipients were reported one by one. A package of QMTP to nobody has no answer. */
static bool is_unreported(const struct qmtp_server *s, const struct qmtp_package *p)
{
	return p->envelope->recipient_count > 0 || (qmtp_is_qmqp(s) && p->recipient_count == 0);
}

/* A message that was accepted, or one more error; and one more package in any case. */
static void count_errors(struct qmtp_server *s, const struct qmtp_package *p)
{
	const struct smtp_server_limits *limits = &s->service->limits;

	s->in_vain++;
	if (p->verdict.class == MAIL_OK)
		s->errors = s->in_vain = 0;
	else if (p->verdict.class == MAIL_FAIL && p->accepted_count > 0)
		s->errors++;
	if (s->errors > limits->errors || (limits->commands > 0 && s->in_vain > limits->commands))
		qmtp_server_end(s);
}

void qmtp_package_decide(struct qmtp_server *s, struct qmtp_package *p,
			 const struct mail_verdict *verdict)
{
	p->verdict = *verdict;
	if (verdict->class != MAIL_OK && is_unreported(s, p))
		report_package_refusal(s, p);
	p->phase = QMTP_PHASE_DECIDED;
	qmtp_package_discard(p);
	header_edit_free(p->text.edit);
	p->text.edit = NULL;
	mail_envelope_free(p->envelope);
	p->envelope = NULL;
	count_errors(s, p);
	while (s->count > 0 && qmtp_package_at(s, 0)->phase == QMTP_PHASE_DECIDED) {
		qmtp_answer_package(s, qmtp_package_at(s, 0));
		qmtp_package_leave(s, s->first);
		s->first = (s->first + 1) % QMTP_SERVER_SLOTS;
	}
}

/* --- commits --- */

static struct qmtp_package *package_in(const struct qmtp_server *s, unsigned slot,
				       enum qmtp_phase phase)
{
	if (slot >= QMTP_SERVER_SLOTS || s->packages[slot] == NULL ||
	    s->packages[slot]->phase != phase)
		panic("slot %u of the QMTP server is not being committed", slot);
	return s->packages[slot];
}

struct qmtp_commit qmtp_server_commit(const struct qmtp_server *s, unsigned slot)
{
	const struct qmtp_package *p = package_in(s, slot, QMTP_PHASE_COMMITTING);

	return (struct qmtp_commit){slot, p->envelope, buffer_view(&p->body),
				    smtp_text_message_id(&p->text)};
}

bool qmtp_server_take_commit(struct qmtp_server *s, struct qmtp_commit *commit_out)
{
	unsigned place = 0;

	if (s->complete_count == 0)
		return false;
	while (qmtp_package_at(s, place)->phase != QMTP_PHASE_COMPLETE)
		place++;
	qmtp_package_at(s, place)->phase = QMTP_PHASE_COMMITTING;
	s->complete_count--;
	s->commit_count++;
	*commit_out = qmtp_server_commit(s, (s->first + place) % QMTP_SERVER_SLOTS);
	return true;
}

unsigned qmtp_server_commit_count(const struct qmtp_server *s)
{
	return s->commit_count;
}

void qmtp_server_answer_commit(struct qmtp_server *s, unsigned slot,
			       const struct mail_verdict *verdict)
{
	struct qmtp_package *p = package_in(s, slot, QMTP_PHASE_COMMITTING);

	s->commit_count--;
	qmtp_package_decide(s, p, verdict);
}

struct buffer *qmtp_server_body(struct qmtp_server *s, unsigned *slot_out)
{
	struct qmtp_package *p;

	if (!qmtp_server_is_receiving(s))
		return NULL;
	p = qmtp_package_current(s);
	*slot_out = qmtp_package_slot(s);
	return p->is_open ? &p->body : NULL;
}

bool qmtp_server_is_open(const struct qmtp_server *s, unsigned slot)
{
	return s->packages[slot] != NULL && s->packages[slot]->is_open;
}

void qmtp_server_data_failed(struct qmtp_server *s, const struct mail_verdict *verdict)
{
	if (!qmtp_server_is_receiving(s) || !qmtp_package_current(s)->is_open)
		panic("no message of the QMTP server to give up");
	qmtp_package_refuse(qmtp_package_current(s), verdict);
}
