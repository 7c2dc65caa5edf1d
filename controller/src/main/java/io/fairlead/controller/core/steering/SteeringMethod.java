// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.steering;

import io.fairlead.controller.core.words.Word;

/** All steering methods. */
public enum SteeringMethod implements Word {
  RING(new RingSteering()),
  OTHELLO(new OthelloSteering()),
  HUNT(new TwoBuckets("hunt")),
  MAAT(new TwoBuckets("maat"));

  /** Of services whose specification names none. */
  public static final SteeringMethod DEFAULT = RING;

  private final Steering steering;

  SteeringMethod(Steering steering) {
    this.steering = steering;
  }

  public Steering steering() {
    return steering;
  }

  @Override
  public String word() {
    return steering.word();
  }

  @Override
  public String toString() {
    return word();
  }
}
