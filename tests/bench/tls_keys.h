// SPDX-License-Identifier: ISC
/* tests/bench/tls_keys.h - a real process "keys" for measurements, with one certificate. */
#ifndef TESTS_BENCH_TLS_KEYS_H
#define TESTS_BENCH_TLS_KEYS_H

#include "keys/client.h"
#include "os/loop.h"
#include "tls/signer.h"

struct tls_keys;

/* Begins a process that serves PEM, a certificate with its private key, and connects to it; returns
 * when it has told the certificate. */
struct tls_keys *tls_keys_new(struct str pem);
/* Ends the process. */
void tls_keys_free(struct tls_keys *keys);

struct os_loop *tls_keys_loop(struct tls_keys *keys);
const struct tls_signer *tls_keys_signer(const struct tls_keys *keys);
/* Of the certificate, as the process tells it. */
struct str tls_keys_chain(const struct tls_keys *keys);
/* The processor's time that the process has used. */
double tls_keys_seconds(const struct tls_keys *keys);

/* Has REQUEST signed for SECONDS of the process's time, with as many requests under way as a busy
 * smtpd has; returns the number of signatures. */
unsigned tls_keys_sign(struct tls_keys *keys, const struct tls_signing_request *request,
		       double seconds);

#endif
