// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.store.Tree;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Collection;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.RetryNTimes;
import org.apache.curator.utils.DebugUtils;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ConnectStringParser;
import org.apache.zookeeper.client.HostProvider;
import org.apache.zookeeper.client.StaticHostProvider;
import org.apache.zookeeper.client.ZKClientConfig;

/**
 * The ZooKeeper client, tuned to reconnect soon after an outage.
 *
 * <p>Three properties of ZooKeeper's own client made writes wait for up to 8 s on a loaded machine
 * after a single server had returned. It pauses 1 s after each round of the servers. Before each
 * attempt it waits at random for up to 1 s, once a server has accepted one, and a server that is
 * just starting, or whose ensemble elects, refuses several. And an attempt that such a server
 * accepts and never answers costs (session timeout / servers), 6 s. See {@link PromptHosts}.
 */
public final class ZooKeeperClient {
  private static final int SESSION_MILLIS = 6000;
  private static final int CONNECTION_MILLIS = 3000;
  private static final int RETRIES = 2;
  private static final int RETRY_MILLIS = 100;

  private ZooKeeperClient() {}

  /** A client without a login, not yet started. */
  public static CuratorFramework create(String connectString) {
    return create(connectString, new Tree("/"), Optional.empty(), Optional.empty());
  }

  /**
   * A client, not yet started.
   *
   * @param access its login, and the permissions of the nodes of {@code tree} that it creates
   * @param tls empty: without TLS
   */
  public static CuratorFramework create(
      String connectString,
      Tree tree,
      Optional<ZooKeeperAccess> access,
      Optional<ZooKeeperTls> tls) {
    // The caller gets the exception; the listener logs a change of the connection once.
    System.setProperty(DebugUtils.PROPERTY_DONT_LOG_CONNECTION_ISSUES, "true");
    CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder();
    access.ifPresent(
        who -> builder.authorization(who.identities()).aclProvider(who.provider(tree)));
    CuratorFramework client =
        builder
            .connectString(connectString)
            .sessionTimeoutMs(SESSION_MILLIS)
            .connectionTimeoutMs(CONNECTION_MILLIS)
            .retryPolicy(new RetryNTimes(RETRIES, RETRY_MILLIS))
            .ensembleTracker(false)
            .zookeeperFactory(
                (servers, sessionMillis, watcher, canBeReadOnly) ->
                    new ZooKeeper(
                        servers,
                        sessionMillis,
                        watcher,
                        canBeReadOnly,
                        new PromptHosts(servers),
                        config(tls)))
            .build();
    tls.ifPresent(each -> new ZooKeeperTlsFaults(connectString, each).watch(client));
    return client;
  }

  private static ZKClientConfig config(Optional<ZooKeeperTls> tls) {
    ZKClientConfig config = new PromptConfig();
    tls.ifPresent(each -> each.configure(config));
    return config;
  }

  /**
   * Without SASL, which is not used here: it asks DNS for a server's name before each attempt. The
   * client asks for this between its wait and the attempt, so here the interrupt of {@link
   * PromptHosts#next} ends, whether or not the client has waited.
   */
  private static final class PromptConfig extends ZKClientConfig {
    @Override
    public boolean isSaslClientEnabled() {
      Thread.interrupted();
      return false;
    }
  }

  /** ZooKeeper's own choice among the servers, with shorter timeouts. */
  private static final class PromptHosts implements HostProvider {
    private static final long PAUSE_MILLIS = 100;

    /** The client waits (session timeout / size) for the answer to an attempt: 2 s. */
    private static final int SIZE_MIN = 3;

    private final StaticHostProvider hosts;

    PromptHosts(String connectString) {
      hosts = new StaticHostProvider(new ConnectStringParser(connectString).getServerAddresses());
    }

    @Override
    public int size() {
      return Math.max(SIZE_MIN, hosts.size());
    }

    /**
     * On the client's own thread, which may wait next: an interrupt ends that at once. The random
     * wait spreads thousands of clients; controllers are a few.
     */
    @Override
    public InetSocketAddress next(long pauseMillis) {
      InetSocketAddress next = hosts.next(Math.min(pauseMillis, PAUSE_MILLIS));
      Thread.currentThread().interrupt();
      return next.isUnresolved() ? next : named(next);
    }

    /**
     * One that was given as a number is named by it: the client would else ask the resolver for a
     * name, and with TLS want the certificate to have that.
     */
    private static InetSocketAddress named(InetSocketAddress server) {
      try {
        return new InetSocketAddress(
            InetAddress.getByAddress(server.getHostString(), server.getAddress().getAddress()),
            server.getPort());
      } catch (UnknownHostException e) {
        throw new IllegalStateException("an address of no length: " + server, e);
      }
    }

    @Override
    public void onConnected() {
      hosts.onConnected();
    }

    @Override
    public boolean updateServerList(
        Collection<InetSocketAddress> servers, InetSocketAddress current) {
      return hosts.updateServerList(servers, current);
    }
  }
}
