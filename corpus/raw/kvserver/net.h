/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines over TCP on the loopback address: a server for one client at a time, and a client. */
#ifndef KVSERVER_NET_H
#define KVSERVER_NET_H

#define NET_LINE 128 /* bytes in a request or a reply, its end included */

enum net_verdict { NET_GO_ON, NET_CLOSE, NET_STOP };

/* Answers one request. Neither line includes the line end. */
typedef enum net_verdict (*net_handler)(void *state, const char *request, char reply[NET_LINE]);

/* Both return an exit status. */
int net_serve(const char *port, net_handler handler, void *state);
int net_client(const char *port, const char *ops);

#endif
