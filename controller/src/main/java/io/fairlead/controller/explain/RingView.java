// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.explain;

import java.util.List;
import java.util.Map;

/**
 * {@code runs}: backend id to {start, count} pairs by ascending start. Id 0 holds unassigned
 * buckets.
 */
public record RingView(
    String service, long generation, int buckets, Map<Integer, List<int[]>> runs) {}
