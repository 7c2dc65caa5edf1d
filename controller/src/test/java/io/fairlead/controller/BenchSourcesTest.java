// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Benchmarks use the controller's classes, and are compiled only when they run. */
final class BenchSourcesTest {
  private static final Path BENCH = Path.of("../bench");

  @TempDir Path classes;

  static Stream<Path> folders() throws IOException {
    try (Stream<Path> files = Files.walk(BENCH)) {
      List<Path> folders =
          files.filter(BenchSourcesTest::isJava).map(Path::getParent).distinct().sorted().toList();
      assertTrue(folders.size() >= 4, () -> "folders with Java in bench: " + folders);
      return folders.stream();
    }
  }

  @ParameterizedTest
  @MethodSource("folders")
  void compiles(Path folder) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter errors = new StringWriter();
    List<String> options =
        List.of(
            "-proc:none", "-d", classes.toString(), "-cp", System.getProperty("java.class.path"));
    try (Stream<Path> files = Files.list(folder);
        var manager = compiler.getStandardFileManager(null, null, null)) {
      List<Path> sources = files.filter(BenchSourcesTest::isJava).toList();
      var task =
          compiler.getTask(
              errors, manager, null, options, null, manager.getJavaFileObjectsFromPaths(sources));
      assertTrue(task.call(), errors::toString);
    }
  }

  private static boolean isJava(Path file) {
    return file.toString().endsWith(".java");
  }
}
