/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/heard.h - what is logged, for tests that check each line: in the place of log_write()
 * and log_write_rated(), by --wrap (heard_arguments in meson.build).
 */
#ifndef TESTS_UNIT_HEARD_H
#define TESTS_UNIT_HEARD_H

/* A line for each event since the last call, as "tls_plain host=mx.example text=no TLS"; valid
 * until the next event. Whoever writes more than 64 KiB fails. */
const char *heard_take(void);

#endif
