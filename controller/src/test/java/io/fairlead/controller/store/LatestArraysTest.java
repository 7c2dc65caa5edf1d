// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.fairlead.controller.store.LatestArrays.Source;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LatestArraysTest {
  private static final LatestArrays FIRST = LatestArrays.first(30);

  private record Row(
      String what,
      LatestArrays latest,
      String json,
      Source newest,
      Optional<Source> before,
      List<Long> named) {}

  private static final List<Row> ROWS =
      List.of(
          new Row(
              "first arrays follow the low bits of the hash",
              FIRST,
              "{'format':1,'generation':30,'previous':0,'whole':30,'patches':[]}",
              new Source(30, List.of()),
              Optional.empty(),
              List.of(30L)),
          new Row(
              "settled arrays are alone",
              FIRST.settled(),
              "{'format':1,'generation':30,'whole':30,'patches':[]}",
              new Source(30, List.of()),
              Optional.empty(),
              List.of(30L)),
          new Row(
              "a patch follows the whole that it changes",
              FIRST.patched(33),
              "{'format':1,'generation':33,'previous':30,'whole':30,'patches':[33]}",
              new Source(30, List.of(33L)),
              Optional.of(new Source(30, List.of())),
              List.of(30L, 33L)),
          new Row(
              "a patch follows settled patches",
              FIRST.patched(33).settled().patched(37).settled().patched(40),
              "{'format':1,'generation':40,'previous':37,'whole':30,'patches':[33,37,40]}",
              new Source(30, List.of(33L, 37L, 40L)),
              Optional.of(new Source(30, List.of(33L, 37L))),
              List.of(30L, 33L, 37L, 40L)),
          new Row(
              "a whole follows patches that are not on its way",
              FIRST.patched(33).replaced(50),
              "{'format':1,'generation':50,'previous':33,'whole':50,'patches':[],"
                  + "'previousWhole':30,'previousPatches':[33]}",
              new Source(50, List.of()),
              Optional.of(new Source(30, List.of(33L))),
              List.of(30L, 33L, 50L)),
          new Row(
              "a whole is written ahead",
              FIRST.patched(33).with(new Source(40, List.of())),
              "{'format':1,'generation':33,'previous':30,'whole':30,'patches':[33],"
                  + "'aheadWhole':40,'aheadPatches':[]}",
              new Source(30, List.of(33L)),
              Optional.of(new Source(30, List.of())),
              List.of(30L, 33L, 40L)),
          new Row(
              "the first are written ahead",
              LatestArrays.coming(new Source(20, List.of())),
              "{'format':1,'generation':0,'whole':0,'patches':[],'aheadWhole':20,'aheadPatches':[]}",
              new Source(0, List.of()),
              Optional.empty(),
              List.of(0L, 20L)),
          new Row(
              "what was written ahead is named",
              FIRST.patched(33).with(new Source(30, List.of(33L, 40L))).patched(40).carried(42),
              "{'format':1,'generation':42,'previous':33,'whole':30,'patches':[33,40,42]}",
              new Source(30, List.of(33L, 40L, 42L)),
              Optional.of(new Source(30, List.of(33L))),
              List.of(30L, 33L, 40L, 42L)),
          new Row(
              "a patch of a whole forgets what was before it",
              FIRST.patched(33).replaced(50).patched(51),
              "{'format':1,'generation':51,'previous':50,'whole':50,'patches':[51]}",
              new Source(50, List.of(51L)),
              Optional.of(new Source(50, List.of())),
              List.of(50L, 51L)));

  @Test
  void eachStepNamesWhatReadersNeed() throws Exception {
    for (Row row : ROWS) {
      byte[] json = NodeJson.write(row.latest());
      assertThat(new String(json, StandardCharsets.UTF_8))
          .as(row.what())
          .isEqualTo(row.json().replace('\'', '"'));
      assertThat(NodeJson.readLatestArrays(json)).as(row.what()).isEqualTo(row.latest());
      assertThat(row.latest().newest()).as(row.what()).isEqualTo(row.newest());
      assertThat(row.latest().before()).as(row.what()).isEqualTo(row.before());
      assertThat(row.latest().named()).as(row.what()).containsExactlyElementsOf(row.named());
    }
  }

  @Test
  void anotherNumberIsAsIfTheyHadBeenMadeForIt() {
    LatestArrays patched = FIRST.patched(33).settled();
    assertThat(FIRST.renumbered(31)).isEqualTo(LatestArrays.first(31));
    assertThat(patched.patched(40).renumbered(45)).isEqualTo(patched.patched(45));
    assertThat(patched.replaced(40).renumbered(45)).isEqualTo(patched.replaced(45));
  }
}
