// SPDX-License-Identifier: GPL-2.0-only
#include "netlink.h"
#include "instance.h"

#include <linux/module.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include <fairlead/module.h>

static struct genl_family family;

/* Whether it is none, or can be the server's of that family: packets to `::` or 0.0.0.0 would be all of the host's. */
static bool is_self(const struct fl_address *address, enum fl_outer_family family)
{
	return fl_address_is_none(address) ||
	       (!fl_address_is_unspecified(address) && fl_outer_family(address) == family);
}

/* Why the configuration is refused; NULL if it is not. */
static const char *config_check(const struct fl_server_config *config, bool has_keys)
{
	bool has_ipv4 = !fl_address_is_none(&config->self), has_ipv6 = !fl_address_is_none(&config->self6);

	if (config->layout != FL_SERVER_LAYOUT)
		return "the configuration must have this module's layout";
	if (!is_self(&config->self, FL_OUTER_IPV4) || !is_self(&config->self6, FL_OUTER_IPV6) ||
	    !(has_ipv4 || has_ipv6))
		return "addresses must be one of IPv4, of IPv6, or both";
	if (!config->port)
		return "port must be 1..65535";
	if (config->chaining > 1 || config->mangle > 1)
		return "chaining and mangle must be 0 or 1";
	if (config->tagged != has_keys)
		return "keys must be there if packets are tagged, and only then";
	if (config->ipip_service && (has_keys || !has_ipv4))
		return "IPIP needs an IPv4 address and has no room for a tag";
	if (config->quiet > FL_SERVER_QUIET_MAX || config->flood_rate > FL_SERVER_FLOOD_RATE_MAX)
		return "quiet must be 0..3610, the rate of floods 0..1000000000";
	return NULL;
}

/*
 * The request's keys of services, in an array of setup's own; they may be more than one attribute has room for. -EINVAL
 * unless their services rise.
 */
static int read_service_keys(struct genl_info *info, struct fl_setup *setup)
{
	const struct nlattr *attribute;
	unsigned int count = 0, i;
	int rest;

	nlmsg_for_each_attr(attribute, info->nlhdr, GENL_HDRLEN, rest)
	{
		if (nla_type(attribute) != FAIRLEAD_A_SERVICE_KEYS)
			continue;
		if (nla_len(attribute) % sizeof(*setup->service_keys))
			goto err_attribute;
		count += nla_len(attribute) / sizeof(*setup->service_keys);
	}
	attribute = info->attrs[FAIRLEAD_A_SERVICE_KEYS];
	if (!count)
		return 0;
	if (count > FL_SERVER_SERVICES || !info->attrs[FAIRLEAD_A_NOTICE_KEYS])
		goto err_attribute;
	setup->service_keys = kvmalloc_array(count, sizeof(*setup->service_keys), GFP_KERNEL_ACCOUNT);
	if (!setup->service_keys)
		return -ENOMEM;
	nlmsg_for_each_attr(attribute, info->nlhdr, GENL_HDRLEN, rest)
	{
		if (nla_type(attribute) != FAIRLEAD_A_SERVICE_KEYS)
			continue;
		memcpy(&setup->service_keys[setup->service_count], nla_data(attribute), nla_len(attribute));
		setup->service_count += nla_len(attribute) / sizeof(*setup->service_keys);
	}
	attribute = info->attrs[FAIRLEAD_A_SERVICE_KEYS];
	for (i = 0; i < count; i++)
		if (setup->service_keys[i].service >= FL_SERVER_SERVICES ||
		    (i && setup->service_keys[i].service <= setup->service_keys[i - 1].service))
			goto err_attribute;
	return 0;

err_attribute:
	NL_SET_ERR_MSG_ATTR(info->extack, attribute,
			    "keys must be of services 0..65535, in their order, one of each, with those of notices");
	return -EINVAL;
}

static struct fl_setup *read_peers(struct genl_info *info)
{
	const struct nlattr *list = info->attrs[FAIRLEAD_A_PEERS];
	const struct fl_peer *peers = nla_data(list);
	unsigned int count = nla_len(list) / sizeof(*peers), i;
	struct fl_setup *setup;

	if (!count || nla_len(list) % sizeof(*peers)) {
		NL_SET_ERR_MSG_ATTR(info->extack, list, "peers must be 1..1024 whole prefixes");
		return ERR_PTR(-EINVAL);
	}
	for (i = 0; i < count; i++) {
		if (fl_setup_peer_is_valid(&peers[i]))
			continue;
		NL_SET_ERR_MSG_ATTR(info->extack, list,
				    "a peer has no role, or a prefix of over 128 bits or with host bits");
		return ERR_PTR(-EINVAL);
	}
	setup = fl_setup_create(peers, count);
	return setup ? setup : ERR_PTR(-ENOMEM);
}

static int set_doit(struct sk_buff *request, struct genl_info *info)
{
	struct nlattr **attributes = info->attrs;
	const struct fl_server_config *config;
	struct fl_setup *setup;
	const char *refused;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, FAIRLEAD_A_CONFIG) || GENL_REQ_ATTR_CHECK(info, FAIRLEAD_A_PEERS))
		return -EINVAL;
	config = nla_data(attributes[FAIRLEAD_A_CONFIG]);
	refused = config_check(config, attributes[FAIRLEAD_A_NOTICE_KEYS]);
	if (refused) {
		NL_SET_BAD_ATTR(info->extack, attributes[FAIRLEAD_A_CONFIG]);
		info->extack->_msg = refused;
		return -EINVAL;
	}
	setup = read_peers(info);
	if (IS_ERR(setup))
		return PTR_ERR(setup);
	err = read_service_keys(info, setup);
	if (err) {
		fl_setup_free(setup);
		return err;
	}
	setup->config = *config;
	setup->self[FL_OUTER_IPV4] = config->self;
	setup->self[FL_OUTER_IPV6] = config->self6;
	if (config->tagged)
		memcpy(setup->notice_keys, nla_data(attributes[FAIRLEAD_A_NOTICE_KEYS]), sizeof(setup->notice_keys));
	return fl_instance_set(genl_info_net(info), setup);
}

static int detach_doit(struct sk_buff *request, struct genl_info *info)
{
	return fl_instance_detach(genl_info_net(info));
}

static bool put_peers(struct sk_buff *answer, const struct fl_setup *setup)
{
	struct nlattr *list = nla_reserve(answer, FAIRLEAD_A_PEERS, (int)(setup->peer_count * sizeof(struct fl_peer)));
	struct fl_peer *peers = list ? nla_data(list) : NULL;
	unsigned int i;

	for (i = 0; peers && i < setup->peer_count; i++)
		peers[i] = setup->peers[i].peer;
	return peers;
}

static bool put_state(struct sk_buff *answer, struct fl_instance *instance)
{
	u64 sums[FL_COUNTERS];
	const struct fl_setup *setup;
	bool put = false;

	rcu_read_lock();
	setup = rcu_dereference(instance->setup);
	if (setup)
		put = !nla_put(answer, FAIRLEAD_A_CONFIG, sizeof(setup->config), &setup->config) &&
		      put_peers(answer, setup);
	rcu_read_unlock();
	fl_instance_counters_sum(instance, sums);
	return put && !nla_put(answer, FAIRLEAD_A_COUNTERS, sizeof(sums), sums) &&
	       !nla_put_u32(answer, FAIRLEAD_A_FLOWS, fl_flows_count(&instance->flows)) &&
	       !nla_put_u32(answer, FAIRLEAD_A_QUIET_LEFT, fl_instance_quiet_left(instance));
}

/* An answer with room for so many bytes of attributes; *head is to be ended. NULL: no memory. */
static struct sk_buff *answer_begin(struct genl_info *info, size_t room, void **head)
{
	struct sk_buff *answer = genlmsg_new(room, GFP_KERNEL);

	*head = answer ? genlmsg_put_reply(answer, info, &family, 0, info->genlhdr->cmd) : NULL;
	if (answer && *head)
		return answer;
	nlmsg_free(answer);
	return NULL;
}

/* Sends it if all was put into it. */
static int answer_end(struct sk_buff *answer, struct genl_info *info, void *head, bool put)
{
	if (!put) {
		nlmsg_free(answer);
		return -EMSGSIZE;
	}
	genlmsg_end(answer, head);
	return genlmsg_reply(answer, info);
}

static int get_doit(struct sk_buff *request, struct genl_info *info)
{
	struct fl_instance *instance = fl_instance_get(genl_info_net(info));
	struct sk_buff *answer;
	void *head;
	bool put;

	if (!instance)
		return -ENOENT;
	answer =
	    answer_begin(info, nla_total_size(FL_SERVER_PEERS_MAX * sizeof(struct fl_peer)) + NLMSG_GOODSIZE, &head);
	put = answer && put_state(answer, instance);
	fl_instance_put(instance);
	return answer ? answer_end(answer, info, head, put) : -ENOMEM;
}

/* A dump's position in callback->args, from its first message to its last. */
enum cursor {
	CURSOR_INSTANCE, /* the server */
	CURSOR_SERVICE,  /* the next */
};

static int dump_start(struct netlink_callback *callback)
{
	struct fl_instance *instance = fl_instance_get(sock_net(callback->skb->sk));

	callback->args[CURSOR_INSTANCE] = (long)instance;
	return instance ? 0 : -ENOENT;
}

static int dump_done(struct netlink_callback *callback)
{
	fl_instance_put((struct fl_instance *)callback->args[CURSOR_INSTANCE]);
	return 0;
}

static bool put_service(struct sk_buff *answer, struct netlink_callback *callback, u32 service, u32 generation)
{
	void *head = genlmsg_put(answer, NETLINK_CB(callback->skb).portid, callback->nlh->nlmsg_seq, &family,
				 NLM_F_MULTI, FAIRLEAD_CMD_GET_SERVICES);

	if (!head)
		return false;
	if (nla_put_u16(answer, FAIRLEAD_A_SERVICE, (u16)service) ||
	    nla_put_u32(answer, FAIRLEAD_A_GENERATION, generation)) {
		genlmsg_cancel(answer, head);
		return false;
	}
	genlmsg_end(answer, head);
	return true;
}

static int services_dumpit(struct sk_buff *answer, struct netlink_callback *callback)
{
	const struct fl_instance *instance = (const struct fl_instance *)callback->args[CURSOR_INSTANCE];
	long service;

	for (service = callback->args[CURSOR_SERVICE]; service < FL_SERVER_SERVICES; service++) {
		u32 generation = fl_learn_seen(&instance->generations[service]);

		if (generation && !put_service(answer, callback, (u32)service, generation))
			break;
	}
	callback->args[CURSOR_SERVICE] = service;
	return (int)answer->len;
}

/* Refuses the request's setting because of one of its fields. The message names the value where the kernel can. */
#ifdef NL_SET_ERR_MSG_ATTR_FMT
#define refuse_load(info, field, value, allowed)                                                                       \
	NL_SET_ERR_MSG_ATTR_FMT((info)->extack, (info)->attrs[FAIRLEAD_A_LOAD_SETTING],                                \
				field " %u is not allowed; allowed: " allowed, value)
#else
#define refuse_load(info, field, value, allowed)                                                                       \
	NL_SET_ERR_MSG_ATTR((info)->extack, (info)->attrs[FAIRLEAD_A_LOAD_SETTING], field " must be " allowed)
#endif

static bool load_is_within(u32 value, u32 min, u32 max)
{
	return value >= min && value <= max;
}

static int load_check(const struct fl_load_setting *setting, struct genl_info *info)
{
	if (setting->policy >= FL_LOAD_POLICIES)
		refuse_load(info, "policy", setting->policy, "0 always, 1 static, 2 dynamic");
	else if (setting->epsilon >= FL_LOAD_HALF)
		refuse_load(info, "epsilon", setting->epsilon, "0..499");
	else if (setting->policy != FL_LOAD_ALWAYS && !load_is_within(setting->threshold, 1, FL_LOAD_THRESHOLD_MAX))
		refuse_load(info, "threshold", setting->threshold, "1..65535");
	else if (setting->policy != FL_LOAD_ALWAYS &&
		 !load_is_within(setting->window, FL_LOAD_WINDOW_MIN, FL_LOAD_WINDOW_MAX))
		refuse_load(info, "window", setting->window, "10..1000");
	else
		return 0;
	return -EINVAL;
}

static int restore(struct fl_instance *instance, u16 service, struct genl_info *info)
{
	if (GENL_REQ_ATTR_CHECK(info, FAIRLEAD_A_GENERATION))
		return -EINVAL;
	fl_learn_raise(&instance->generations[service], nla_get_u32(info->attrs[FAIRLEAD_A_GENERATION]));
	return 0;
}

static int set_load(struct fl_instance *instance, u16 service, struct genl_info *info)
{
	struct fl_load_setting setting;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, FAIRLEAD_A_LOAD_SETTING))
		return -EINVAL;
	memcpy(&setting, nla_data(info->attrs[FAIRLEAD_A_LOAD_SETTING]), sizeof(setting));
	err = load_check(&setting, info);
	return err ? err : fl_loads_set(&instance->loads, service, &setting);
}

static int get_load(struct fl_instance *instance, u16 service, struct genl_info *info)
{
	struct fl_load load = fl_loads_read(&instance->loads, service);
	struct sk_buff *answer;
	void *head;

	answer = answer_begin(info, nla_total_size(sizeof(load.setting)) + nla_total_size(sizeof(load.state)), &head);
	if (!answer)
		return -ENOMEM;
	return answer_end(answer, info, head,
			  !nla_put(answer, FAIRLEAD_A_LOAD_SETTING, sizeof(load.setting), &load.setting) &&
			      !nla_put(answer, FAIRLEAD_A_LOAD_STATE, sizeof(load.state), &load.state));
}

static int service_doit(struct sk_buff *request, struct genl_info *info)
{
	struct fl_instance *instance;
	int err = 0;
	u16 service;

	if (GENL_REQ_ATTR_CHECK(info, FAIRLEAD_A_SERVICE))
		return -EINVAL;
	service = nla_get_u16(info->attrs[FAIRLEAD_A_SERVICE]);
	instance = fl_instance_get(genl_info_net(info));
	if (!instance)
		return -ENOENT;
	switch (info->genlhdr->cmd) {
	case FAIRLEAD_CMD_RESTORE:
		err = restore(instance, service, info);
		break;
	case FAIRLEAD_CMD_SET_LOAD:
		err = set_load(instance, service, info);
		break;
	case FAIRLEAD_CMD_GET_LOAD:
		err = get_load(instance, service, info);
		break;
	default:
		fl_instance_forget(instance, service);
	}
	fl_instance_put(instance);
	return err;
}

static const struct nla_policy policy[FAIRLEAD_A_LAST + 1] = {
    [FAIRLEAD_A_CONFIG] = NLA_POLICY_EXACT_LEN(sizeof(struct fl_server_config)),
    [FAIRLEAD_A_NOTICE_KEYS] = NLA_POLICY_EXACT_LEN(FL_OUTER_FAMILIES * sizeof(struct fl_key_pair)),
    [FAIRLEAD_A_SERVICE_KEYS] = {.type = NLA_BINARY},
    [FAIRLEAD_A_PEERS] = {.type = NLA_BINARY, .len = FL_SERVER_PEERS_MAX * sizeof(struct fl_peer)},
    [FAIRLEAD_A_COUNTERS] = {.type = NLA_REJECT},
    [FAIRLEAD_A_SERVICE] = {.type = NLA_U16},
    [FAIRLEAD_A_GENERATION] = {.type = NLA_U32},
    [FAIRLEAD_A_FLOWS] = {.type = NLA_REJECT},
    [FAIRLEAD_A_LOAD_SETTING] = NLA_POLICY_EXACT_LEN(sizeof(struct fl_load_setting)),
    [FAIRLEAD_A_LOAD_STATE] = {.type = NLA_REJECT},
    [FAIRLEAD_A_QUIET_LEFT] = {.type = NLA_REJECT},
};

static const struct genl_ops operations[] = {
    {.cmd = FAIRLEAD_CMD_SET, .flags = GENL_ADMIN_PERM, .doit = set_doit},
    {.cmd = FAIRLEAD_CMD_GET, .flags = GENL_ADMIN_PERM, .doit = get_doit},
    {.cmd = FAIRLEAD_CMD_DETACH, .flags = GENL_ADMIN_PERM, .doit = detach_doit},
    {.cmd = FAIRLEAD_CMD_GET_SERVICES,
     .flags = GENL_ADMIN_PERM,
     .start = dump_start,
     .dumpit = services_dumpit,
     .done = dump_done},
    {.cmd = FAIRLEAD_CMD_RESTORE, .flags = GENL_ADMIN_PERM, .doit = service_doit},
    {.cmd = FAIRLEAD_CMD_FORGET, .flags = GENL_ADMIN_PERM, .doit = service_doit},
    {.cmd = FAIRLEAD_CMD_SET_LOAD, .flags = GENL_ADMIN_PERM, .doit = service_doit},
    {.cmd = FAIRLEAD_CMD_GET_LOAD, .flags = GENL_ADMIN_PERM, .doit = service_doit},
};

static struct genl_family family __ro_after_init = {
    .name = FAIRLEAD_GENL_NAME,
    .version = FAIRLEAD_GENL_VERSION,
    .module = THIS_MODULE,
    .netnsok = true,
    .maxattr = FAIRLEAD_A_LAST,
    .policy = policy,
    .ops = operations,
    .n_ops = ARRAY_SIZE(operations),
};

int fl_netlink_register(void)
{
	return genl_register_family(&family);
}

void fl_netlink_unregister(void)
{
	genl_unregister_family(&family);
}
