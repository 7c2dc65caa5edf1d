// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

/**
 * TCP ports that name a backend: {@code first} plus its id, for further subflows of MPTCP
 * connections (Beamer, NSDI '18, §4.4). In a change 0 and 0 stand for none.
 */
public record MptcpPorts(int first, int last) {}
