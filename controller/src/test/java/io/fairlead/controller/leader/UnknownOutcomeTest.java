// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static io.fairlead.controller.Requests.add;
import static io.fairlead.controller.Requests.done;
import static io.fairlead.controller.Requests.refusal;
import static io.fairlead.controller.Requests.spec;
import static io.fairlead.controller.Requests.weight;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Proxied;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.resources.plane.Refusal;
import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.NodeException;
import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Store;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A commit whose answer is lost, of a leader that goes on leading. It takes place late, if at all:
 * when the store is asked next for all that was committed before.
 */
class UnknownOutcomeTest {
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final String CONFIG = "/fairlead/services/%s/config";

  private interface Late {
    void run() throws NodeException, InterruptedException;
  }

  private final MemoryTree tree = new MemoryTree(InstantSource.system());
  private final MemoryStore other = tree.client();
  private final FairleadController leader =
      new FairleadController(
          ControllerOptions.of(
                  "memory", FreePorts.nextAddress(), "/fairlead", "leader", InstantSource.system())
              .with(this::losing),
          tree.client());

  /** The answer to the next write of a node of this name is lost. */
  private volatile String lost = "none";

  private volatile boolean takesPlace = true;
  private volatile Late late = () -> {};

  /** Happens as the write takes place. */
  private volatile Late beside = () -> {};

  @BeforeEach
  void open() throws Exception {
    other.start();
    leader.start(Optional.empty());
    assertThat(leader.awaitLeader(SOON)).isTrue();
    create("web", "10.99.0.1");
    done(leader.backends().change("web", List.of(add(1), add(2)), WriteOptions.COMMIT));
  }

  @AfterEach
  void close() {
    leader.close();
    other.close();
  }

  private Store losing(Store real) {
    return Proxied.by(
        Store.class,
        (self, method, arguments) -> {
          if (method.getName().equals("sync")) {
            Late now = late;
            late = () -> {};
            now.run();
          }
          if (method.getName().equals("write") && names(arguments[0])) {
            lost = "none";
            late =
                () -> {
                  if (takesPlace) {
                    real.write(operations(arguments[0]));
                    beside.run();
                  }
                };
            throw new IllegalStateException("the answer is lost");
          }
          return Proxied.call(real, method, arguments);
        });
  }

  @SuppressWarnings("unchecked")
  private static List<Operation> operations(Object argument) {
    return (List<Operation>) argument;
  }

  private boolean names(Object argument) {
    return operations(argument).stream().anyMatch(each -> each.path().endsWith("/" + lost));
  }

  private void create(String name, String vip) throws Exception {
    done(leader.services().createService(spec(name, vip), WriteOptions.COMMIT));
  }

  /** Its outcome is not known. */
  private void unknown(String node, CompletionStage<Result> write) throws Exception {
    assertThat(refusal(write).kind()).isEqualTo(Refusal.Kind.UNAVAILABLE);
    assertThat(lost).as("%s was to be written", node).isEqualTo("none");
  }

  private boolean confirms() {
    try {
      leader.plane().confirm();
      return true;
    } catch (Refusal e) {
      return false;
    }
  }

  private void awaitConfirmed() {
    await().atMost(SOON).until(this::confirms);
    assertThat(leader.plane().health().epoch()).as("it went on leading").isEqualTo(1);
  }

  private List<String> names() {
    return Shown.services(leader).stream().map(view -> view.config().name()).toList();
  }

  private boolean isInStore(String name) throws Exception {
    return other.stat(CONFIG.formatted(name)).isPresent();
  }

  @Test
  void aCreationThatTookPlaceIsShown() throws Exception {
    lost = "config";
    unknown(
        "config", leader.services().createService(spec("mail", "10.99.0.2"), WriteOptions.COMMIT));
    awaitConfirmed();
    assertThat(isInStore("mail")).isTrue();
    assertThat(names()).containsExactly("mail", "web");
    assertThat(
            refusal(leader.services().createService(spec("mail", "10.99.0.3"), WriteOptions.COMMIT))
                .kind())
        .isEqualTo(Refusal.Kind.CONFLICT);
    assertThat(
            refusal(leader.services().createService(spec("post", "10.99.0.2"), WriteOptions.COMMIT))
                .kind())
        .as("its VIP and port")
        .isEqualTo(Refusal.Kind.CONFLICT);
    done(leader.backends().change("mail", List.of(add(1)), WriteOptions.COMMIT));
  }

  @Test
  void aCreationThatDidNotTakePlaceLeavesItsNameAndAddresses() throws Exception {
    lost = "config";
    takesPlace = false;
    unknown(
        "config", leader.services().createService(spec("mail", "10.99.0.2"), WriteOptions.COMMIT));
    awaitConfirmed();
    assertThat(names()).containsExactly("web");
    create("post", "10.99.0.2");
    create("mail", "10.99.0.3");
    assertThat(names()).containsExactly("mail", "post", "web");
  }

  /** Also before anything was read again by itself. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatComesNextFindsOutFirst(boolean tookPlace) throws Exception {
    takesPlace = tookPlace;
    lost = "config";
    CompletionStage<Result> creation =
        leader.services().createService(spec("mail", "10.99.0.2"), WriteOptions.COMMIT);
    CompletionStage<Result> next =
        leader.services().createService(spec("post", "10.99.0.2"), WriteOptions.COMMIT);
    unknown("config", creation);
    if (tookPlace) {
      assertThat(refusal(next).kind()).isEqualTo(Refusal.Kind.CONFLICT);
    } else {
      done(next);
    }
  }

  @Test
  void aServiceThatWasBroughtBackIsShown() throws Exception {
    done(leader.services().deleteService("web", WriteOptions.COMMIT));
    lost = "config";
    unknown("config", leader.services().undeleteService("web", WriteOptions.COMMIT));
    awaitConfirmed();
    assertThat(names()).containsExactly("web");
    assertThat(Shown.backends(leader, "web")).hasSize(2);
  }

  @Test
  void aServiceThatWasDeletedLeavesItsName() throws Exception {
    lost = "config";
    unknown("config", leader.services().deleteService("web", WriteOptions.COMMIT));
    awaitConfirmed();
    assertThat(names()).isEmpty();
    await()
        .atMost(SOON)
        .untilAsserted(() -> done(leader.services().undeleteService("web", WriteOptions.COMMIT)));
    assertThat(Shown.backends(leader, "web")).hasSize(2);
  }

  @Test
  void settingsThatWereChangedAreShown() throws Exception {
    ClusterSettings settings = ClusterSettings.of(List.of("10.99.0.0/16"), List.of());
    lost = "settings";
    unknown("settings", leader.cluster().changeCluster(settings, WriteOptions.COMMIT));
    awaitConfirmed();
    assertThat(leader.cluster().settings()).isEqualTo(settings);
  }

  @Test
  void aChangeThatTakesPlaceLateIsShown() throws Exception {
    lost = "latest_gen";
    unknown(
        "latest_gen", leader.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT));
    awaitConfirmed();
    assertThat(Shown.backends(leader, "web").get(0).weight()).isEqualTo(7);
  }

  /** Other services are not affected. */
  @Test
  void aServiceThatIsDamagedMeanwhileIsNotShown() throws Exception {
    create("mail", "10.99.0.2");
    byte[] config = other.read(CONFIG.formatted("web")).data();
    lost = "latest_gen";
    beside = () -> write(CONFIG.formatted("web"), "{".getBytes(StandardCharsets.US_ASCII));
    unknown(
        "latest_gen", leader.backends().change("web", List.of(weight(1, 7)), WriteOptions.COMMIT));
    awaitConfirmed();
    assertThat(names()).containsExactly("mail");
    assertThat(refusal(leader.backends().change("web", List.of(weight(1, 8)), WriteOptions.COMMIT)))
        .hasMessageContaining("damaged");
    done(leader.backends().change("mail", List.of(add(1)), WriteOptions.COMMIT));
    assertThat(
            refusal(leader.services().createService(spec("web", "10.99.0.3"), WriteOptions.COMMIT))
                .kind())
        .as("its name stays taken")
        .isEqualTo(Refusal.Kind.CONFLICT);

    write(CONFIG.formatted("web"), config);
    done(leader.backends().change("web", List.of(weight(2, 9)), WriteOptions.COMMIT));
    assertThat(names()).containsExactly("mail", "web");
    assertThat(Shown.backends(leader, "web").get(0).weight()).isEqualTo(7);
  }

  private void write(String path, byte[] data) throws NodeException {
    other.write(List.of(Operation.set(path, data)));
  }
}
