// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

/** A protocol and port that a service listens on; protocol is "tcp" or "udp". */
public record Port(String protocol, int port) {}
