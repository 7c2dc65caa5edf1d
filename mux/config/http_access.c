/* SPDX-License-Identifier: Apache-2.0 */
#include "config/http_access.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"

static const char unix_prefix[] = "unix:";

int host_port_split(const char *text, size_t len, char *host, size_t size, uint16_t *port)
{
	const char *colon = memrchr(text, ':', len);
	char digits[6] = "", *end;
	size_t host_len, digits_len;
	unsigned long number;

	if (!colon)
		return -EINVAL;
	host_len = (size_t)(colon - text);
	digits_len = len - host_len - 1;
	if (!digits_len || digits_len >= sizeof(digits) || !isdigit((unsigned char)colon[1]))
		return -EINVAL;
	memcpy(digits, colon + 1, digits_len);
	number = strtoul(digits, &end, 10);
	if (*end || number < 1 || number > 65535)
		return -EINVAL;
	if (host_len >= 2 && text[0] == '[' && text[host_len - 1] == ']') {
		text++;
		host_len -= 2;
	} else if (memchr(text, ':', host_len)) {
		return -EINVAL;
	}
	if (!host_len || host_len >= size)
		return -EINVAL;
	memcpy(host, text, host_len);
	host[host_len] = 0;
	*port = (uint16_t)number;
	return 0;
}

static int set_socket(struct http_access *access, const char *name, const char *value, struct reason *why)
{
	const char *path = value + strlen(unix_prefix);

	if (path[0] != '/' || !path[1] || strlen(path) > HTTP_SOCKET_MAX)
		return reason_set(why, -EINVAL,
				  "%s: '%.120s' is not allowed; allowed: unix: and an absolute path of at most %d "
				  "characters",
				  name, value, HTTP_SOCKET_MAX);
	strcpy(access->socket, path);
	access->host[0] = 0;
	access->port = 0;
	return 0;
}

static int set_address(struct http_access *access, const char *name, const char *value, struct reason *why)
{
	if (!strncmp(value, unix_prefix, strlen(unix_prefix)))
		return set_socket(access, name, value, why);
	if (host_port_split(value, strlen(value), access->host, sizeof(access->host), &access->port))
		return reason_refuse(why, name, value, "HOST:PORT, PORT 1..65535, IPv6 in brackets, or unix:PATH");
	access->socket[0] = 0;
	return 0;
}

static int set_file(char out[HTTP_TEXT_MAX + 1], const char *name, const char *value, struct reason *why)
{
	if (!*value || strlen(value) > HTTP_TEXT_MAX)
		return reason_set(why, -EINVAL, "%s: '%.120s' is not allowed; allowed: a file, 1..%d characters", name,
				  value, HTTP_TEXT_MAX);
	strcpy(out, value);
	return 0;
}

int http_access_set(struct http_access *access, const char *flag, const char *name, const char *value,
		    struct reason *why)
{
	if (!strcmp(flag, "http"))
		return set_address(access, name, value, why);
	if (!strcmp(flag, "http-cert"))
		return set_file(access->certificate, name, value, why);
	if (!strcmp(flag, "http-key"))
		return set_file(access->key, name, value, why);
	if (!strcmp(flag, "http-tokens"))
		return set_file(access->tokens, name, value, why);
	if (strcmp(value, "on") && strcmp(value, "off"))
		return reason_refuse(why, name, value, "on, off");
	access->open = !strcmp(value, "on");
	return 0;
}

int http_access_check(const struct http_access *access, struct reason *why)
{
	if (!*access->certificate != !*access->key)
		return reason_set(why, -EINVAL, "%s is given without %s; allowed: both, or neither",
				  *access->certificate ? "--http-cert" : "--http-key",
				  *access->key ? "--http-cert" : "--http-key");
	if (*access->certificate && *access->socket)
		return reason_set(why, -EINVAL,
				  "--http-cert: '%.120s' is not allowed with --http unix:PATH; allowed: HOST:PORT",
				  access->certificate);
	return 0;
}

bool http_address_is_loopback(const struct sockaddr_storage *address)
{
	const struct fl_address of = address_of_socket((const struct sockaddr *)address);

	return address_is_loopback(&of);
}

static bool is_any(const struct sockaddr_storage *address)
{
	const struct fl_address of = address_of_socket((const struct sockaddr *)address);

	return fl_address_is_unspecified(&of);
}

void http_access_metrics(const struct http_access *access, const char *own, char url[HTTP_URL_MAX])
{
	struct sockaddr_storage address;
	struct reason ignored;
	const char *host = access->host;
	socklen_t len;

	url[0] = 0;
	if (*access->socket || http_access_resolve(access, &address, &len, &ignored) ||
	    http_address_is_loopback(&address))
		return;
	if (is_any(&address))
		host = own;
	snprintf(url, HTTP_URL_MAX, strchr(host, ':') ? "%s://[%s]:%u/metrics" : "%s://%s:%u/metrics",
		 *access->certificate ? "https" : "http", host, access->port);
}

int http_access_resolve(const struct http_access *access, struct sockaddr_storage *out, socklen_t *len,
			struct reason *why)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char port[8];
	int error;

	snprintf(port, sizeof(port), "%u", access->port);
	error = getaddrinfo(access->host, port, &hints, &found);
	if (error)
		return reason_set(why, -EINVAL,
				  "--http: '%.120s:%u' can't be listened on: %s; allowed: an address of this host",
				  access->host, access->port, gai_strerror(error));
	memcpy(out, found->ai_addr, found->ai_addrlen);
	*len = found->ai_addrlen;
	freeaddrinfo(found);
	if (http_address_is_loopback(out) || access->open || (*access->certificate && *access->tokens))
		return 0;
	return reason_set(why, -EACCES,
			  "--http: '%.60s:%u' is not a loopback address, and %s; allowed: with --http-cert, --http-key "
			  "and --http-tokens, or with --http-open on, which lets everyone read; a loopback address; "
			  "unix:PATH",
			  access->host, access->port,
			  *access->certificate ? "no token is asked for"
			  : *access->tokens    ? "tokens would travel without TLS"
					       : "neither TLS nor tokens protect it");
}
