// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.upkeep;

import java.util.Map;
import java.util.Optional;

/**
 * How even and how whole a ring is, and what is done about it. {@code imbalance}: the highest load
 * over the average; {@code rules}: runs of buckets with one owner, {@code fragmentation} of them
 * per owner; {@code costs}: what a bucket of a backend costs, the average being 1, where it was
 * measured.
 */
public record UpkeepView(
    String service,
    long generation,
    double imbalance,
    int rules,
    double fragmentation,
    Map<Integer, Double> costs,
    Optional<UpkeepJob> job) {}
