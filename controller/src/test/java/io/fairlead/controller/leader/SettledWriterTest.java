// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Settled;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Version;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What muxes are told is settled: written once, fenced, and never lower than before. */
class SettledWriterTest {
  private static final Optional<Map<Integer, Long>> LATEST = Optional.of(Map.of(1, 9L, 2, 3L));

  private Optional<Settled> node = Optional.empty();
  private int writes;
  private int failures;
  private boolean isLost;
  private Epoch leading = new Epoch(1, Version.after(1));
  private SettledWriter writer = newLeader();

  private SettledWriter newLeader() {
    return new SettledWriter(
        new SettledWriter.Store() {
          @Override
          public Optional<Settled> readSettled() {
            return node;
          }

          @Override
          public void write(Epoch epoch, Settled settled) throws StoreException {
            if (!epoch.equals(leading)) {
              throw new StoreException("epoch %d is over".formatted(epoch.number()));
            }
            if (failures > 0) {
              failures--;
              node = isLost ? Optional.of(settled) : node;
              throw new StoreException("no answer");
            }
            node = Optional.of(settled);
            writes++;
          }
        },
        leading);
  }

  private static Optional<Settled> of(Map<Integer, Long> services) {
    return Optional.of(Settled.of(new TreeMap<>(services)));
  }

  private void step() {
    writer.step(LATEST);
  }

  @Test
  void whatIsWantedIsWrittenOnce() {
    step();
    assertThat(writes).as("nothing is wanted").isZero();
    assertThat(writer.tell(1, 5)).isZero();
    assertThat(writer.tell(1, 7)).isZero();
    assertThat(writer.tell(2, 3)).isZero();
    assertThat(node).as("another thread writes").isEmpty();
    step();
    assertThat(node).isEqualTo(of(Map.of(1, 7L, 2, 3L)));
    assertThat(writer.tell(1, 7)).isEqualTo(7);
    assertThat(writer.tell(1, 6)).isEqualTo(7);
    step();
    assertThat(writes).isEqualTo(1);
  }

  @Test
  void aNewLeaderGoesOnFromWhatThereIs() {
    node = of(Map.of(1, 7L, 2, 3L));
    assertThat(writer.tell(1, 6)).as("it has not read yet").isZero();
    step();
    assertThat(writes).isZero();
    assertThat(node).as("a leader that lags lowers nothing").isEqualTo(of(Map.of(1, 7L, 2, 3L)));
    assertThat(writer.tell(1, 6)).isEqualTo(7);
    node = of(Map.of(1, 9L, 2, 3L)); // by another leader
    leading = new Epoch(3, Version.after(3));
    writer = newLeader();
    assertThat(writer.tell(1, 8)).isZero();
    step();
    assertThat(writer.tell(1, 8)).isEqualTo(9);
  }

  @Test
  void whoLeadsNoMoreWritesNothing() {
    step();
    writer.tell(1, 5);
    leading = new Epoch(2, Version.after(2));
    step();
    assertThat(node).isEmpty();
    assertThat(writer.tell(1, 5)).isZero();
  }

  @Test
  void aWriteOfUnknownOutcomeIsReadAgain() {
    for (boolean lost : new boolean[] {false, true}) {
      node = Optional.empty();
      isLost = lost;
      failures = 1;
      writer = newLeader();
      writer.tell(1, 5);
      step();
      assertThat(writer.tell(1, 5)).isZero();
      step();
      assertThat(node).isEqualTo(of(Map.of(1, 5L)));
      assertThat(writer.tell(1, 5)).isEqualTo(5);
    }
  }

  @Test
  void whatIsNotCommittedIsTakenBack() {
    node = of(Map.of(1, 10L, 2, 3L)); // by a stranger, before this controller led
    step();
    assertThat(node).isEqualTo(of(Map.of(2, 3L)));
    assertThat(writer.tell(1, 9)).isZero();
    step();
    assertThat(node).isEqualTo(of(Map.of(1, 9L, 2, 3L)));

    failures = 1;
    isLost = true; // but written: newer than what step() is given
    writer.tell(1, 11);
    step();
    step();
    assertThat(writer.tell(1, 11)).isEqualTo(11);
    assertThat(node).isEqualTo(of(Map.of(1, 11L, 2, 3L)));
  }

  @Test
  void deletedServicesAreForgotten() {
    writer.tell(1, 5);
    writer.tell(9, 5);
    step();
    assertThat(node).isEqualTo(of(Map.of(1, 5L)));
    writer.step(Optional.of(Map.of(2, 3L)));
    assertThat(node).isEqualTo(of(Map.of()));
  }

  @Test
  void nothingIsForgottenWhileAServiceIsDamaged() {
    node = of(Map.of(1, 7L, 9, 4L));
    writer.tell(1, 8);
    writer.step(Optional.empty());
    assertThat(node).isEqualTo(of(Map.of(1, 8L, 9, 4L)));
  }

  @Test
  void aNodeThatIsDamagedWhileALeaderKnowsItIsWrittenAgain() {
    node = of(Map.of(1, 7L, 2, 3L));
    step();
    failures = 1;
    writer.tell(1, 8);
    step();
    node = Optional.empty(); // malformed
    step();
    assertThat(node).isEqualTo(of(Map.of(1, 8L, 2, 3L)));
    assertThat(writer.tell(2, 3)).isEqualTo(3);
  }
}
