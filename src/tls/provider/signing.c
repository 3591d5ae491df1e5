// SPDX-License-Identifier: ISC
/*
 * Handshakes that are paused while a signer works.
 *
 * A handshake with a remote key runs in a job of OpenSSL (ASYNC_start_job(3)), which has a stack of
 * its own from a pool. It gives that back whenever it returns to wait for the peer, and keeps it
 * only while it waits for a signature: a handshake goes on only while fewer than TLS_SIGNINGS_MAX
 * others do, else it waits in a queue. So the pool stays small, whatever many clients do at once:
 * 32 KiB each (tests/unit/tls/test_tls_stack.c). Those in the queue are woken by answers, and by
 * the signer when one that waits for an answer is given up; if a signer gives none, their owners
 * lose patience with them as with those that have asked. Pool, running job and queue are the
 * thread's.
 */
#include "base/panic.h"
#include "tls/provider/internal.h"
#include <openssl/async.h>
#include <stdlib.h>
#include <utlist.h>

struct tls_signing {
	enum { SIGNING_WANTED, SIGNING_ASKED, SIGNING_ANSWERED } progress;
	struct tls_job *job;
	const struct tls_signer *signer;
	struct tls_signing_request request; /* its data are alive as long as the job is paused */
	void *state;
	size_t length; /* of the answer */
	unsigned char signature[TLS_SIGNATURE_MAX];
};

static _Thread_local struct {
	struct tls_job *running;
	struct tls_job *queue;
	size_t queue_length;
	size_t paused;
} jobs;

/* As wait(), below, but not in the frame that is paused. */
static void begin_wait(const struct tls_signer *signer, const struct tls_signing_request *request)
{
	struct tls_signing *signing = memory_alloc_zero(1, sizeof *signing);

	signing->job = jobs.running;
	signing->signer = signer;
	signing->request = *request;
	jobs.running->signing = signing;
	jobs.paused++;
}

static size_t end_wait_for_signature(struct tls_job *job, unsigned char *signature, size_t size)
{
	struct tls_signing *signing = job->signing;
	size_t length = job->is_over || signing->length > size ? 0 : signing->length;

	if (length > 0)
		memcpy(signature, signing->signature, length);
	job->signing = NULL;
	jobs.paused--;
	free(signing);
	return length;
}

size_t tls_signing_wait(const struct tls_signer *signer, const struct tls_signing_request *request,
			unsigned char *signature, size_t size)
{
	size_t length = 0;

	if (jobs.running == NULL || ASYNC_get_current_job() == NULL)
		panic("a signature outside of a handshake");
	if (!jobs.running->is_over) {
		begin_wait(signer, request);
		if (ASYNC_pause_job() != 1)
			panic("a job of OpenSSL cannot be paused");
		length = end_wait_for_signature(jobs.running, signature, size);
	}
	if (length == 0)
		jobs.running->has_failed = true;
	return length;
}

static int run_handshake(struct tls_job *job, SSL *openssl)
{
	int count;

	if (jobs.running != NULL)
		panic("a handshake within another");
	jobs.running = job;
	count = SSL_do_handshake(openssl);
	jobs.running = NULL;
	if (count <= 0 && SSL_want_async_job(openssl))
		panic("no memory for TLS");
	return count;
}

bool tls_job_is_waiting(const struct tls_job *job)
{
	return job->is_queued ||
	       (job->signing != NULL && job->signing->progress != SIGNING_ANSWERED);
}

int tls_job_handshake(struct tls_job *job, SSL *openssl)
{
	struct tls_signing *signing;
	int count;

	if (job->signing == NULL && jobs.paused >= TLS_SIGNINGS_MAX) {
		DL_APPEND(jobs.queue, job);
		jobs.queue_length++;
		job->is_queued = true;
		return -1;
	}
	count = run_handshake(job, openssl);
	signing = job->signing;
	if (signing != NULL) {
		/* not in the job, whose stack is small */
		signing->signer->sign(signing->signer->context, signing, &signing->request);
		signing->progress = SIGNING_ASKED;
	}
	return count;
}

static void leave_signing_queue(struct tls_job *job)
{
	DL_DELETE(jobs.queue, job);
	jobs.queue_length--;
	job->is_queued = false;
}

void tls_job_end(struct tls_job *job, SSL *openssl)
{
	struct tls_signing *signing = job->signing;
	const struct tls_signer *signer;

	if (job->is_queued)
		leave_signing_queue(job);
	if (signing == NULL)
		return;
	signer = signing->signer;
	if (signing->progress == SIGNING_ASKED)
		signer->cancel(signer->context, signing);
	job->is_over = true;
	/* SSL_free() would leave it paused for ever */
	(void)run_handshake(job, openssl);
	if (job->signing != NULL)
		panic("a job of OpenSSL does not end");
	if (jobs.queue != NULL)
		signer->wake(signer->context);
	tls_errors_clear();
}

static void resume_waiting_job(const struct tls_job *job)
{
	if (job->resume != NULL)
		job->resume(job->context);
}

/* Resuming one may free others, also in the queue. */
void tls_signing_go_on(void)
{
	for (size_t left = jobs.queue_length; left > 0; left--) {
		struct tls_job *job = jobs.queue;

		if (job == NULL || jobs.paused >= TLS_SIGNINGS_MAX)
			return;
		leave_signing_queue(job);
		resume_waiting_job(job);
	}
}

void tls_signing_done(struct tls_signing *signing, struct str signature)
{
	if (signing->progress != SIGNING_ASKED)
		panic("a signature that nobody has asked for");
	if (signature.length > 0 && signature.length <= TLS_SIGNATURE_MAX) {
		memcpy(signing->signature, signature.data, signature.length);
		signing->length = signature.length;
	}
	signing->progress = SIGNING_ANSWERED;
	resume_waiting_job(signing->job);
	tls_signing_go_on();
}

void tls_signing_set_state(struct tls_signing *signing, void *state)
{
	signing->state = state;
}

void *tls_signing_state(const struct tls_signing *signing)
{
	return signing->state;
}
