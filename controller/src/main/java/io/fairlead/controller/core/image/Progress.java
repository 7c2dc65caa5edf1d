// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import java.util.Optional;

/** What a service works on besides its ring: upkeep, if there ever was one, and transitions. */
public record Progress(Optional<UpkeepState> upkeep, Transitions transitions) {
  public static final Progress NONE = new Progress(Optional.empty(), Transitions.NONE);
}
