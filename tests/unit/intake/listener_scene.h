// SPDX-License-Identifier: ISC
/*
 * tests/unit/intake/listener_scene.h - around a process that takes mail in
 * (program/kind/mail_server.h): its listening sockets, "192.0.2.1:25" and so on, its supervisor,
 * and connections to those that answer for it, which succeed when a test wants it.
 */
#ifndef TESTS_UNIT_LISTENER_SCENE_H
#define TESTS_UNIT_LISTENER_SCENE_H

#include "os/socket/listener.h"

enum { LISTENER_SCENE_ENDPOINTS = 3, LISTENER_SCENE_CONNECTING_MAX = 8 };

/* A listening socket of the fake kernel; its number is that of the endpoint. */
struct os_listener {
	int socket;
	const struct os_listener_handler *handler;
	void *context;
	struct os_listener *next;
};

extern struct listener_scene {
	struct os_listener *listeners;
	struct {
		void (*call)(void *context);
		void *context;
	} connecting[LISTENER_SCENE_CONNECTING_MAX]; /* who waits for a first connection */
	size_t connecting_count;
	bool is_stopped;
} listener_scene;

/* CONFIGURED: which of the endpoints are, now and later. */
void listener_scene_begin(const bool *configured);
/* The last of those that wait has its connection. */
void listener_scene_connect_one(void);

#endif
