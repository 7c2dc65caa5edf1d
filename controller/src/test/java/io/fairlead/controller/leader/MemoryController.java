// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.fairlead.controller.FreePorts;
import io.fairlead.controller.Resources;
import io.fairlead.controller.core.image.ClusterSettings;
import io.fairlead.controller.http.ApiServer;
import io.fairlead.controller.http.Endpoint;
import io.fairlead.controller.http.Resource;
import io.fairlead.controller.http.Security;
import io.fairlead.controller.resources.backends.Change;
import io.fairlead.controller.resources.inspect.MuxAccess;
import io.fairlead.controller.resources.muxes.MuxView;
import io.fairlead.controller.resources.plane.WriteOptions;
import io.fairlead.controller.store.Election;
import io.fairlead.controller.store.Epoch;
import io.fairlead.controller.store.Operation;
import io.fairlead.controller.store.Roots;
import io.fairlead.controller.store.ServiceStore;
import io.fairlead.controller.store.Tree;
import io.fairlead.controller.store.Version;
import io.fairlead.controller.store.memory.MemoryStore;
import io.fairlead.controller.store.memory.MemoryTree;
import io.fairlead.controller.store.repository.StoredService;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The real controller, leading, on a store in memory that can be cut off; every VIP is allowed. */
public final class MemoryController implements AutoCloseable {
  private static final Tree TREE = new Tree("/fairlead");
  private static final Duration DEADLINE = Duration.ofSeconds(30);
  public static final ClusterSettings ANY_VIP =
      ClusterSettings.of(List.of("0.0.0.0/0", "::/0"), List.of());
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .defaultPropertyInclusion(
              JsonInclude.Value.empty().withValueInclusion(JsonInclude.Include.NON_ABSENT))
          .build();

  private final MemoryTree tree = new MemoryTree(InstantSource.system());
  private final MemoryStore store = tree.client();
  private final MemoryStore muxes = tree.client();
  private final FairleadController controller =
      new FairleadController(options("c1/10.1.0.5:8080"), store);
  private final HookedPlane plane = new HookedPlane(controller.plane());
  private final List<AutoCloseable> opened = new ArrayList<>(List.of(controller, muxes));

  public MemoryController() {
    this(ANY_VIP);
  }

  public MemoryController(ClusterSettings settings) {
    try {
      muxes.start();
      Roots.create(muxes, TREE);
      new ServiceStore(muxes, TREE, DEADLINE)
          .changeSettings(new Epoch(0, Version.CREATED), settings);
      controller.start(Optional.empty());
      assertThat(controller.awaitLeader(DEADLINE)).isTrue();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static ControllerOptions options(String id) {
    return ControllerOptions.of(
        "127.0.0.1:1", FreePorts.nextAddress(), TREE.root(), id, InstantSource.system());
  }

  public FairleadController get() {
    return controller;
  }

  public HookedPlane plane() {
    return plane;
  }

  /** Its API on a port of its own. */
  public ApiServer serve(Security security) throws IOException {
    return serve(security, List.of(), controller.metrics());
  }

  /**
   * @param first resources that answer in place of the usual ones
   */
  public ApiServer serve(Security security, List<Resource> first, PrometheusMeterRegistry metrics)
      throws IOException {
    List<Resource> resources = new ArrayList<>(first);
    resources.addAll(Resources.of(controller, plane, MuxAccess.NONE));
    return ApiServer.open(new Endpoint("127.0.0.1", 0), security, plane, resources, metrics);
  }

  /** The version of each service, which every write changes. */
  public Map<String, String> state() {
    return controller.plane().services().stream()
        .collect(
            Collectors.toUnmodifiableMap(
                stored -> stored.image().config().name(), StoredService::version));
  }

  public void change(String service, List<Change> changes) {
    try {
      controller
          .backends()
          .change(service, changes, WriteOptions.COMMIT)
          .toCompletableFuture()
          .get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  public void mux(MuxView mux) {
    muxes(List.of(mux));
  }

  /** They are added, write their nodes, and are known to the controller. */
  public void muxes(List<MuxView> views) {
    List<Operation> entries = new ArrayList<>();
    List<Operation> nodes = new ArrayList<>();
    try {
      for (MuxView mux : views) {
        String entry = TREE.mux(mux.id());
        String live = Tree.live(entry);
        ObjectNode node = MAPPER.valueToTree(mux);
        byte[] data = MAPPER.writeValueAsBytes(node.put("format", 1));
        if (muxes.stat(entry).isEmpty()) {
          entries.add(
              Operation.create(entry, "{\"format\":1}".getBytes(StandardCharsets.US_ASCII)));
        }
        nodes.add(
            muxes.stat(live).isPresent()
                ? Operation.set(live, data)
                : Operation.create(live, data, Operation.Kind.EPHEMERAL));
      }
      muxes.write(entries);
      muxes.write(nodes);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    await()
        .atMost(DEADLINE)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> Set.copyOf(controller.muxes().get()).containsAll(views));
  }

  /** From now on there are logins. */
  public void protect(String readersLogin) {
    store.protect(readersLogin);
  }

  /** ZooKeeper cannot be reached from now on. */
  public void disconnect() {
    store.disconnect();
    await()
        .until(() -> !plane.health().leader() && !plane.health().zookeeper().equals("connected"));
  }

  public void reconnect() {
    store.connect();
    await().until(() -> plane.health().leader());
  }

  /** Another controller leads from now on. */
  public void follow(URI leader) {
    FairleadController other = new FairleadController(options("c2/10.1.0.6:8080"), tree.client());
    opened.add(other);
    try {
      other.start(Optional.of(leader));
      await().until(() -> Election.candidates(muxes, TREE).size() == 2);
      store.expire();
      store.connect();
      assertThat(other.awaitLeader(DEADLINE)).isTrue();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    await()
        .until(
            () ->
                plane.health().leaderUrl().equals(Optional.of(leader))
                    && plane.health().zookeeper().equals("connected"));
  }

  @Override
  public void close() {
    try {
      for (AutoCloseable each : opened) {
        each.close();
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
