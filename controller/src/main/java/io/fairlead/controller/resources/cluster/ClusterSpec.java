// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.cluster;

import java.util.List;
import java.util.Optional;

/** What a request says of the cluster; an absent list is empty. */
public record ClusterSpec(Optional<List<String>> vipRanges, Optional<List<String>> neverVips) {}
