// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "genetlink.h"

enum {
	MESSAGE_MAX = 65536, /* unless more is reserved */
};

/* Who gets the messages of an answer. */
struct taker {
	struct genetlink *link;
	mnl_cb_t take;
	void *state;
};

int genetlink_fail(struct genetlink *link, int err, const char *what)
{
	snprintf(link->error, sizeof(link->error), "%s: %s", what, strerror(-err));
	return err;
}

static int reject(struct genetlink *link, int err)
{
	genetlink_fail(link, err, "the kernel rejects the command");
	errno = -err;
	return MNL_CB_ERROR;
}

static int take_error_text(const struct nlattr *attribute, void *state)
{
	struct genetlink *link = state;

	if (mnl_attr_get_type(attribute) == NLMSGERR_ATTR_MSG)
		snprintf(link->error, sizeof(link->error), "%.*s", (int)mnl_attr_get_payload_len(attribute),
			 mnl_attr_get_str(attribute));
	return MNL_CB_OK;
}

/* An ACK, or an error with the kernel's sentence. */
static int take_error(const struct nlmsghdr *message, void *state)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);
	struct taker *taker = state;
	size_t len = sizeof(*error);
	int result;

	if (!error->error)
		return MNL_CB_STOP;
	result = reject(taker->link, error->error);
	if (!(message->nlmsg_flags & NLM_F_CAPPED))
		len += error->msg.nlmsg_len - sizeof(struct nlmsghdr);
	if (message->nlmsg_flags & NLM_F_ACK_TLVS)
		mnl_attr_parse(message, (unsigned int)len, take_error_text, taker->link);
	errno = -error->error;
	return result;
}

static int take_done(const struct nlmsghdr *message, void *state)
{
	const int *result = mnl_nlmsg_get_payload(message);
	struct taker *taker = state;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*result) || *result >= 0)
		return MNL_CB_STOP;
	return reject(taker->link, *result);
}

static int take_message(const struct nlmsghdr *message, void *state)
{
	struct taker *taker = state;

	return taker->take ? taker->take(message, taker->state) : MNL_CB_OK;
}

int genetlink_open(struct genetlink *link, const char *family)
{
	static const struct genetlink_field fields[] = {GENETLINK_FIELD(CTRL_ATTR_FAMILY_ID, struct genetlink, family),
							GENETLINK_FIELD(CTRL_ATTR_VERSION, struct genetlink, version),
							{0}};
	int one = 1, err;

	*link = (struct genetlink){.version = 1, .buffer = malloc(MESSAGE_MAX)};
	link->socket = link->buffer ? mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC) : NULL;
	if (!link->socket || mnl_socket_bind(link->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return genetlink_fail(link, -errno, "netlink");
	mnl_socket_setsockopt(link->socket, NETLINK_EXT_ACK, &one, sizeof(one));
	mnl_socket_setsockopt(link->socket, NETLINK_CAP_ACK, &one, sizeof(one)); /* without what was sent */
	link->family = GENL_ID_CTRL;
	mnl_attr_put_strz(genetlink_begin(link, CTRL_CMD_GETFAMILY, 0), CTRL_ATTR_FAMILY_NAME, family);
	err = genetlink_get(link, fields, link);
	if (err)
		link->family = 0;
	return err;
}

void genetlink_close(struct genetlink *link)
{
	if (link->socket)
		mnl_socket_close(link->socket);
	link->socket = NULL;
	free(link->buffer);
	link->buffer = NULL;
}

/* Messages beyond the socket's buffer need more. */
int genetlink_reserve(struct genetlink *link, size_t size)
{
	int twice = (int)size * 2;
	char *grown;

	if (size <= MESSAGE_MAX)
		return 0;
	grown = realloc(link->buffer, size);
	if (!grown)
		return genetlink_fail(link, -ENOMEM, "netlink");
	link->buffer = grown;
	if (setsockopt(mnl_socket_get_fd(link->socket), SOL_SOCKET, SO_SNDBUFFORCE, &twice, sizeof(twice)))
		return genetlink_fail(link, -errno, "the socket's buffer");
	return 0;
}

struct nlmsghdr *genetlink_begin(struct genetlink *link, fl_u8 command, fl_u16 flags)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(link->buffer);
	struct genlmsghdr *generic;

	header->nlmsg_type = link->family;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	header->nlmsg_seq = ++link->sequence;
	generic = mnl_nlmsg_put_extra_header(header, sizeof(*generic));
	generic->cmd = command;
	generic->version = (fl_u8)link->version;
	return header;
}

int genetlink_ask(struct genetlink *link, mnl_cb_t take, void *state)
{
	mnl_cb_t control[] = {[NLMSG_ERROR] = take_error, [NLMSG_DONE] = take_done};
	const struct nlmsghdr *header = (const struct nlmsghdr *)link->buffer;
	struct taker taker = {link, take, state};
	fl_u32 port = mnl_socket_get_portid(link->socket);
	int result = MNL_CB_OK, err;

	link->error[0] = '\0';
	if (mnl_socket_sendto(link->socket, header, header->nlmsg_len) < 0)
		return genetlink_fail(link, -errno, "netlink");
	while (result > MNL_CB_STOP) {
		ssize_t len = mnl_socket_recvfrom(link->socket, link->buffer, MESSAGE_MAX);

		result = len < 0 ? MNL_CB_ERROR
				 : mnl_cb_run2(link->buffer, (size_t)len, link->sequence, port, take_message, &taker,
					       control, sizeof(control) / sizeof(control[0]));
	}
	err = result < 0 ? -errno : 0;
	return err && !link->error[0] ? genetlink_fail(link, err, "netlink") : err;
}

static void read_attribute(const struct nlattr *attribute, const struct genetlink_field *fields, void *out)
{
	size_t len = mnl_attr_get_payload_len(attribute);

	for (; fields->size; fields++)
		if (fields->type == mnl_attr_get_type(attribute))
			memcpy((char *)out + fields->at, mnl_attr_get_payload(attribute),
			       len < fields->size ? len : fields->size);
}

void genetlink_read(const struct nlmsghdr *message, const struct genetlink_field *fields, void *out)
{
	const struct nlattr *attribute;

	mnl_attr_for_each(attribute, message, sizeof(struct genlmsghdr)) read_attribute(attribute, fields, out);
}

void genetlink_read_nested(const struct nlattr *nest, const struct genetlink_field *fields, void *out)
{
	const struct nlattr *attribute;

	mnl_attr_for_each_nested(attribute, nest) read_attribute(attribute, fields, out);
}

struct getter {
	const struct genetlink_field *fields;
	void *out;
};

static int take_fields(const struct nlmsghdr *message, void *state)
{
	const struct getter *getter = state;

	genetlink_read(message, getter->fields, getter->out);
	return MNL_CB_OK;
}

int genetlink_get(struct genetlink *link, const struct genetlink_field *fields, void *out)
{
	struct getter getter = {fields, out};

	return genetlink_ask(link, take_fields, &getter);
}
