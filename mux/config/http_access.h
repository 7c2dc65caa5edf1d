/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a program answers HTTP and to whom: --http, --http-cert, --http-key, --http-tokens, --http-open, the same of
 * the mux and the probe.
 *
 * A loopback address or a Unix socket needs nothing else. Any other address needs TLS and tokens, unless --http-open is
 * on: what is served names clients, servers and services.
 */
#ifndef FAIRLEAD_MUX_HTTP_ACCESS_H
#define FAIRLEAD_MUX_HTTP_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "config/reason.h"

enum http_access_limits {
	HTTP_TEXT_MAX = 255,
	HTTP_SOCKET_MAX = 100, /* of struct sockaddr_un's 107, with room for a temporary name */
};

struct http_access {
	char host[HTTP_TEXT_MAX + 1]; /* without an IPv6 host's brackets; empty with a socket */
	uint16_t port;
	char socket[HTTP_SOCKET_MAX + 1];    /* unix:PATH; empty: host and port */
	char certificate[HTTP_TEXT_MAX + 1]; /* PEM, the server's first; empty: no TLS */
	char key[HTTP_TEXT_MAX + 1];         /* PEM */
	char tokens[HTTP_TEXT_MAX + 1];      /* empty: none is asked for */
	bool open;
};

/* Sets the option `flag`, "http", "http-cert" and so on; name: as it was given. -EINVAL and why on failure. */
int http_access_set(struct http_access *access, const char *flag, const char *name, const char *value,
		    struct reason *why);

/* Whether the options fit each other, to be called once all are set. */
int http_access_check(const struct http_access *access, struct reason *why);

/* The first address of host and port, and whether it may be listened on with these options. Not with a socket. */
int http_access_resolve(const struct http_access *access, struct sockaddr_storage *out, socklen_t *len,
			struct reason *why);

enum { HTTP_URL_MAX = HTTP_TEXT_MAX + 32 };

/*
 * Where others read /metrics, as a URL: at host, or at `own`, an outer address as text, if every address is listened on.
 * Empty: nowhere, since it is a socket, a loopback address, or a name without an address.
 */
void http_access_metrics(const struct http_access *access, const char *own, char url[HTTP_URL_MAX]);

bool http_address_is_loopback(const struct sockaddr_storage *address);

/* Splits HOST:PORT or [IPV6]:PORT of len bytes; the brackets are left out of host. -EINVAL if it is neither. */
int host_port_split(const char *text, size_t len, char *host, size_t size, uint16_t *port);

#endif
