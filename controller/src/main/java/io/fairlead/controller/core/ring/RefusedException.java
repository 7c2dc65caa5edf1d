// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.ring;

import java.util.Locale;

/** Why bytes of a generation are refused; the reasons have the names of the protocol (§5, §12). */
public final class RefusedException extends Exception {
  public enum Reason {
    TRUNCATED,
    MAGIC,
    SERVICE,
    GENERATION,
    BUCKETS,
    LENGTH,
    COMPRESSION,
    CHECKSUM,
    BACKEND,
    RUN,
    BASE,
    SEED,
    SIZE,
    WORD,
    PADDING;

    /** As in vectors and metrics. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Reason reason;

  public RefusedException(Reason reason, String detail) {
    super(reason + ": " + detail);
    this.reason = reason;
  }

  public Reason reason() {
    return reason;
  }
}
