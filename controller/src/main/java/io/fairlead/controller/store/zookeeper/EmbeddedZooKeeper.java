// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.secret.FileFault;
import io.fairlead.controller.store.StoreException;
import io.fairlead.controller.store.Tree;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Properties;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.server.embedded.ExitHandler;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;

/**
 * A ZooKeeper server inside this process, for trying Fairlead out and for small sites: one node
 * with its data on disk, every write synced as on any other node. It has neither an admin server
 * nor four-letter words.
 */
public final class EmbeddedZooKeeper implements AutoCloseable {
  private static final int TICK_MILLIS = 1000;

  /** A slow machine takes minutes; whoever gives up begins again with nothing done. */
  private static final int START_MILLIS = 300_000;

  private final ZooKeeperServerEmbedded server;
  private final String connectString;
  private final FileChannel lock;

  private EmbeddedZooKeeper(
      ZooKeeperServerEmbedded server, String connectString, FileChannel lock) {
    this.server = server;
    this.connectString = connectString;
    this.lock = lock;
  }

  /**
   * Starts the server and waits until it serves.
   *
   * @param listen of the client port; port 0 picks a free one
   * @throws IOException if the directory cannot be written or the port is taken
   */
  public static EmbeddedZooKeeper start(Path directory, InetSocketAddress listen)
      throws IOException {
    InetAddress host = listen.getAddress();
    if (host == null) {
      throw new IOException("the host '%s' is unknown".formatted(listen.getHostString()));
    }
    FileChannel lock;
    try {
      Files.createDirectories(directory);
      lock = lock(directory);
    } catch (FileSystemException e) {
      throw new IOException(
          "the embedded ZooKeeper cannot keep its data in %s: %s; allowed: a folder that this user can create and write"
              .formatted(directory, FileFault.of(e)),
          e);
    }
    try {
      return start(directory, host, checkPort(listen), lock);
    } catch (IOException e) {
      lock.close();
      throw e;
    }
  }

  private static EmbeddedZooKeeper start(
      Path directory, InetAddress host, int port, FileChannel lock) throws IOException {
    removeOldConfigurations(directory);
    // ZooKeeper reads these from system properties only. By default log files grow in steps of
    // 64 MB.
    System.setProperty("zookeeper.preAllocSize", "4096");
    System.setProperty("zookeeper.admin.enableServer", "false");
    Properties properties = new Properties();
    properties.put("tickTime", Integer.toString(TICK_MILLIS));
    properties.put("clientPortAddress", host.getHostAddress());
    properties.put("clientPort", Integer.toString(port));
    properties.put("maxClientCnxns", "0");
    properties.put("admin.enableServer", "false");
    properties.put("4lw.commands.whitelist", "");
    properties.put("autopurge.snapRetainCount", "3");
    properties.put("autopurge.purgeInterval", "1");
    try {
      ZooKeeperServerEmbedded server =
          ZooKeeperServerEmbedded.builder()
              .baseDir(directory)
              .configuration(properties)
              .exitHandler(ExitHandler.LOG_ONLY)
              .build();
      server.start(START_MILLIS);
      InetAddress reachable = host.isAnyLocalAddress() ? NetUtil.LOCALHOST4 : host;
      return new EmbeddedZooKeeper(
          server, NetUtil.toSocketAddressString(new InetSocketAddress(reachable, port)), lock);
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(
          "the embedded ZooKeeper in %s on port %d cannot start: %s".formatted(directory, port, e),
          e);
    }
  }

  /** Leaves nothing beside the tree to clients without a login either. */
  public static void protect(CuratorFramework client, Tree tree, ZooKeeperAccess access)
      throws StoreException {
    List<ACL> wanted = access.provider(tree).getDefaultAcl();
    for (String path : List.of("/", "/zookeeper", "/zookeeper/quota")) {
      try {
        client.setACL().withACL(wanted).forPath(path);
      } catch (Exception e) {
        throw new StoreException("%s of ZooKeeper cannot be protected: %s".formatted(path, e), e);
      }
    }
  }

  /** Where clients on this machine reach it. */
  public String connectString() {
    return connectString;
  }

  @Override
  public void close() {
    server.close();
    try {
      lock.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Two servers on the same data would destroy them, and ZooKeeper itself does not check. The
   * kernel releases the lock when the process ends.
   */
  private static FileChannel lock(Path directory) throws IOException {
    Path file = directory.resolve("lock");
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    boolean isOurs = false;
    try {
      isOurs = channel.tryLock() != null;
    } catch (OverlappingFileLockException e) {
      throw inUse(directory, e);
    } finally {
      if (!isOurs) {
        channel.close();
      }
    }
    if (!isOurs) {
      throw inUse(directory, null);
    }
    return channel;
  }

  private static IOException inUse(Path directory, Exception cause) {
    return new IOException(
        "%s is in use by another embedded ZooKeeper".formatted(directory), cause);
  }

  /** ZooKeeper would only log that a port is taken. */
  private static int checkPort(InetSocketAddress listen) throws IOException {
    try (ServerSocket socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(listen);
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new IOException(
          "the embedded ZooKeeper cannot listen on %s: %s"
              .formatted(NetUtil.toSocketAddressString(listen), e.getMessage()),
          e);
    }
  }

  /** ZooKeeper writes a configuration file at each start and leaves it behind when killed. */
  private static void removeOldConfigurations(Path directory) throws IOException {
    try (DirectoryStream<Path> old =
        Files.newDirectoryStream(directory, "zookeeper.configuration*.properties")) {
      for (Path file : old) {
        Files.delete(file);
      }
    }
  }
}
