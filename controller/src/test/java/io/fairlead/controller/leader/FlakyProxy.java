// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.leader;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A proxy between a client and its server. It swallows answers: requests still arrive and take
 * effect, but the client gets no answer, and then its connection breaks. Or it cuts the client off.
 */
final class FlakyProxy implements AutoCloseable {
  private final ServerSocket listener;
  private final int target;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private final AtomicInteger swallowed = new AtomicInteger();
  private volatile boolean isSwallowing;
  private volatile boolean isCut;

  FlakyProxy(int target) throws IOException {
    this.target = target;
    listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    daemon(this::accept);
  }

  String address() {
    return "127.0.0.1:" + listener.getLocalPort();
  }

  /** The next answer is swallowed and its connection broken. */
  void swallow() {
    isSwallowing = true;
  }

  /** How many answers were swallowed. */
  int swallowed() {
    return swallowed.get();
  }

  /** Breaks all connections, and accepts no other before {@link #heal}. */
  void cut() throws IOException {
    isCut = true;
    closeAll();
  }

  void heal() {
    isCut = false;
  }

  private void closeAll() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  private void accept() {
    try {
      while (!listener.isClosed()) {
        Socket client = listener.accept();
        Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
        sockets.add(client);
        sockets.add(server);
        if (isCut) {
          client.close();
          server.close();
          continue;
        }
        daemon(() -> pump(client, server, false));
        daemon(() -> pump(server, client, true));
      }
    } catch (IOException e) {
      close();
    }
  }

  private void pump(Socket from, Socket to, boolean isAnswer) {
    byte[] buffer = new byte[64 * 1024];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        if (isAnswer && isSwallowing) {
          isSwallowing = false;
          swallowed.incrementAndGet();
          return;
        }
        out.write(buffer, 0, n);
      }
    } catch (IOException e) {
      // The other direction closed both ends, which is what a broken connection looks like.
      sockets.remove(from);
    }
  }

  private static void daemon(Runnable task) {
    Thread thread = new Thread(task, "proxy");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    try {
      listener.close();
      closeAll();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
