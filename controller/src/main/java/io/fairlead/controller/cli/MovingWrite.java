// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.util.List;
import picocli.CommandLine.ArgGroup;

/** A write that may move many buckets at once, and with them break connections. */
public abstract class MovingWrite extends Write {
  @ArgGroup private OnLoss onLoss = new OnLoss();

  @Override
  protected List<String> parameters() {
    return onLoss.parameters();
  }
}
