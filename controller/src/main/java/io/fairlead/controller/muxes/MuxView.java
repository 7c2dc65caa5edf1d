// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.muxes;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * {@code kind} is "c" or "p4"; {@code address} is its outer IPv4 source, {@code address6} its IPv6
 * one. {@code serves} is absent if it does not restrict what it serves.
 */
public record MuxView(
    String id,
    String kind,
    String version,
    Optional<String> address,
    Optional<String> address6,
    List<String> ports,
    Optional<MuxServes> serves,
    Map<String, MuxService> services) {}
