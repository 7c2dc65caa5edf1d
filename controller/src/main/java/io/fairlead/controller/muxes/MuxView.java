// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.muxes;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * {@code kind} is "c" or "p4"; {@code address} is its outer IPv4 source, {@code address6} its IPv6
 * one.
 */
public record MuxView(
    String id,
    String kind,
    String version,
    Optional<String> address,
    Optional<String> address6,
    List<String> ports,
    Map<String, MuxService> services) {}
