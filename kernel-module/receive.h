/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FAIRLEAD_RECEIVE_H
#define FAIRLEAD_RECEIVE_H

struct sk_buff;
struct sock;

/* What the UDP socket calls for each packet, in softirq under rcu_read_lock(). Takes every packet: returns 0. */
int fl_receive(struct sock *sk, struct sk_buff *skb);

/* From then on packets of the paper's format come in, to servers that are set up for it. */
int fl_receive_register(void);
void fl_receive_unregister(void);

#endif
