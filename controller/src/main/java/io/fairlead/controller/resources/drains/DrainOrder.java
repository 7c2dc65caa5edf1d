// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.drains;

import io.fairlead.controller.core.image.Drain.Then;
import java.util.List;
import java.util.Optional;

/**
 * Backends to drain.
 *
 * @param deadlineSeconds from now on, after which the drain ends whatever is left
 */
public record DrainOrder(List<Integer> ids, Optional<Integer> deadlineSeconds, Then then) {
  public static final int DEADLINE_MAX = 30 * 86_400;

  public DrainOrder {
    ids = List.copyOf(ids);
  }
}
