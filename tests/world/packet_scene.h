// SPDX-License-Identifier: ISC
/* packet_scene.h - what a manager and its helpers say to each other, before the eyes of the judges.
 */
#ifndef TESTS_WORLD_PACKET_SCENE_H
#define TESTS_WORLD_PACKET_SCENE_H

#include "base/buffer.h"
#include <stdint.h>

/* Ends of connections. */
enum { PACKETS_MANAGER = 1, PACKETS_HELPER = 2, PACKETS_RESOLVER = 3, PACKETS_LOCAL = 4 };

/* The log says that EVENT came for message NUMBER, with REST. */
void packets_log(unsigned number, const char *event, const char *rest);
/* NAME, a program, sends BODY. */
void packets_say(const char *name, uint64_t from, uint64_t to, uint16_t type, uint32_t tag,
		 const struct buffer *body);
/* HELPER is one of SERVICE. */
void packets_hello(uint64_t helper, const char *service, const char *program);
/* "resolve" is asked where message NUMBER goes. */
void packets_ask(unsigned number);
/* Message NUMBER goes to ADDRESS; or its recipient has STATUS. */
void packets_resolve(unsigned number, const char *address, const char *status);
void packets_resolve_to_service(unsigned number, const char *service);
/* HELPER gets delivery 1 of message NUMBER for DESTINATION. */
void packets_begin_at(uint64_t helper, unsigned number, const char *destination);
void packets_begin(unsigned number, const char *destination);
/* The helper has done the last job: delivery 1 has STATUS, and waits for TRIGGER. */
void packets_finish_until(const char *status, const char *trigger);
void packets_finish(const char *status);
/* There is no room for the last job for so long. */
void packets_be_busy(uint32_t milliseconds);

#endif
