/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The module's control interface: generic netlink, family "fairlead", version 3. Every command applies to the network
 * namespace of the socket that sends it, which has at most one server.
 *
 *	SET           CONFIG and PEERS; with NOTICE_KEYS and any number of SERVICE_KEYS if CONFIG says that packets are
 *	              tagged. Starts the server, or changes it in one step: generations and counters stay. Answered by the
 *	              ACK only.
 *	GET           answers with CONFIG, PEERS, COUNTERS, FLOWS and QUIET_LEFT
 *	DETACH        stops the server and forgets everything
 *	GET_SERVICES  dump, a message per service: SERVICE, GENERATION
 *	RESTORE       a message of the dump. Restores it, so that another module can be loaded without losing what was
 *	              learned. A higher generation stays.
 *	FORGET        SERVICE: its generation
 *	SET_LOAD      SERVICE, LOAD_SETTING: how busy the server is
 *	GET_LOAD      SERVICE: answers with LOAD_SETTING and LOAD_STATE, all zero before the service's first setting
 *
 * Errors: ENOENT, no server in this namespace. EADDRNOTAVAIL, an address is not this host's. EADDRINUSE, the port is in
 * use. EINVAL, an attribute is missing or not allowed; the extended ACK names it. EPERM, no CAP_NET_ADMIN in the
 * first user namespace: who may create namespaces gets no kernel memory by that.
 */
#ifndef FAIRLEAD_MODULE_H
#define FAIRLEAD_MODULE_H

#define FAIRLEAD_GENL_NAME    "fairlead"
#define FAIRLEAD_GENL_VERSION 3

enum fairlead_command {
	FAIRLEAD_CMD_UNSPEC,
	FAIRLEAD_CMD_SET,
	FAIRLEAD_CMD_GET,
	FAIRLEAD_CMD_DETACH,
	FAIRLEAD_CMD_GET_SERVICES,
	FAIRLEAD_CMD_RESTORE,
	FAIRLEAD_CMD_FORGET,
	FAIRLEAD_CMD_SET_LOAD,
	FAIRLEAD_CMD_GET_LOAD,
};

/* Numbers are in host order. */
enum fairlead_attribute {
	FAIRLEAD_A_UNSPEC,
	FAIRLEAD_A_CONFIG,       /* struct fl_server_config */
	FAIRLEAD_A_NOTICE_KEYS,  /* two struct fl_key_pair: of notices to its IPv4, and to its IPv6 address */
	FAIRLEAD_A_SERVICE_KEYS, /* array of struct fl_service_keys, in the order of services, one of each */
	FAIRLEAD_A_PEERS,        /* array of 1..1024 struct fl_peer; GET omits those that change nothing */
	FAIRLEAD_A_COUNTERS,     /* array of u64, by enum fl_counter */
	FAIRLEAD_A_SERVICE,      /* u16 */
	FAIRLEAD_A_GENERATION,   /* u32, from 1 */
	FAIRLEAD_A_FLOWS,        /* u32: connections noted as come by a VIP, if it mangles */
	FAIRLEAD_A_LOAD_SETTING, /* struct fl_load_setting */
	FAIRLEAD_A_LOAD_STATE,   /* struct fl_load_state */
	FAIRLEAD_A_QUIET_LEFT,   /* u32: the seconds in which still nothing is reset */
	FAIRLEAD_A_LAST = FAIRLEAD_A_QUIET_LEFT,
};

#endif
