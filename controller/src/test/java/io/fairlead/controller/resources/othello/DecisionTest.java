// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.othello;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.resources.othello.Decision.Situation;
import io.fairlead.controller.resources.othello.Decision.Step;
import java.util.List;
import org.junit.jupiter.api.Test;

class DecisionTest {
  private static final List<Integer> NONE = List.of();
  private static final List<Integer> SEVEN = List.of(7);
  private static final List<String> ALL = List.of();
  private static final List<String> MUX = List.of("mux1");

  private record Row(
      String what,
      boolean hasArrays,
      boolean isSettled,
      int fixable,
      long spacing,
      List<Integer> incomplete,
      List<Integer> late,
      List<String> muxes,
      Decision wanted) {
    Situation situation() {
      return new Situation(
          false, false, hasArrays, isSettled, fixable, false, spacing, incomplete, late, muxes, 0);
    }
  }

  private static Decision step(Step step) {
    return new Decision(step, NONE, ALL, 0);
  }

  private static Decision wait(List<Integer> agents, List<String> muxes, long spacing) {
    return new Decision(Step.WAIT, agents, muxes, spacing);
  }

  private static final List<Row> ROWS =
      List.of(
          new Row("none are needed", false, true, 0, 0, SEVEN, SEVEN, MUX, step(Step.NOTHING)),
          new Row("the first", false, true, 3, 60, NONE, NONE, MUX, step(Step.BUILD)),
          new Row("first, sets miss", false, true, 3, 0, SEVEN, SEVEN, ALL, wait(SEVEN, ALL, 0)),
          new Row("settled, all fit", true, true, 0, 0, SEVEN, SEVEN, MUX, step(Step.NOTHING)),
          new Row("settled, needed", true, true, 1, 0, NONE, SEVEN, MUX, step(Step.BUILD)),
          new Row("settled, too early", true, true, 1, 9, NONE, NONE, ALL, wait(NONE, ALL, 9)),
          new Row("settled, sets miss", true, true, 1, 0, SEVEN, SEVEN, ALL, wait(SEVEN, ALL, 0)),
          new Row("news, all reported", true, false, 0, 99, NONE, NONE, ALL, step(Step.SETTLE)),
          new Row("news, needed", true, false, 5, 0, NONE, NONE, ALL, step(Step.BUILD)),
          new Row("news, too early", true, false, 5, 1, NONE, NONE, ALL, wait(NONE, ALL, 1)),
          new Row("news, agent late", true, false, 5, -9, NONE, SEVEN, ALL, wait(SEVEN, ALL, 0)),
          new Row("news, mux late", true, false, 0, 0, NONE, NONE, MUX, wait(NONE, MUX, 0)),
          new Row("news, all late", true, false, 5, 7, NONE, SEVEN, MUX, wait(SEVEN, MUX, 7)));

  @Test
  void arraysAreCommittedOnlyWhenNeededAndAllowed() {
    for (Row row : ROWS) {
      assertThat(Decision.of(row.situation())).as(row.what()).isEqualTo(row.wanted());
    }
  }

  @Test
  void aMuxThatMayBeAbsentDelaysTheNextArraysAndDroppingThoseBefore() {
    for (int fixable = 0; fixable < 2; fixable++) {
      Situation now =
          new Situation(
              false, false, true, false, fixable, false, fixable * 4, NONE, NONE, ALL, 30);
      assertThat(Decision.of(now)).isEqualTo(wait(NONE, ALL, 30));
    }
    Situation settled = new Situation(false, false, true, true, 1, false, 0, NONE, NONE, ALL, 30);
    assertThat(Decision.of(settled)).as("none before").isEqualTo(step(Step.BUILD));
  }

  @Test
  void damagedArraysAreRepairedAtOnce() {
    Situation now = new Situation(true, false, true, false, 5, false, 7, SEVEN, SEVEN, MUX, 9);
    assertThat(Decision.of(now)).isEqualTo(step(Step.REPAIR));
  }

  @Test
  void arraysBeforeStayWhileAConnectionNeedsThem() {
    Situation news = new Situation(false, false, true, false, 0, true, 0, NONE, NONE, ALL, 0);
    assertThat(Decision.of(news)).isEqualTo(step(Step.NOTHING));
    Situation needed = new Situation(false, false, true, false, 1, true, 0, NONE, NONE, ALL, 0);
    assertThat(Decision.of(needed)).isEqualTo(step(Step.BUILD));
  }

  @Test
  void lostArraysAreFollowedByOthersAsUsual() {
    Situation settled = new Situation(false, true, true, true, 0, false, 0, NONE, SEVEN, MUX, 0);
    assertThat(Decision.of(settled)).isEqualTo(step(Step.BUILD));
    Situation news = new Situation(false, true, true, false, 0, false, 0, NONE, SEVEN, MUX, 0);
    assertThat(Decision.of(news)).isEqualTo(wait(SEVEN, MUX, 0));
  }
}
