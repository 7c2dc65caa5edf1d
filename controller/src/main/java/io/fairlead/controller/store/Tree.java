// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/** The paths in ZooKeeper (protocol/README.md §4). */
public record Tree(String root) {
  public static final String FORMAT = "3";

  private static final String LIVE = "/live";

  public String format() {
    return root + "/format";
  }

  public String election() {
    return root + "/election";
  }

  public String epoch() {
    return root + "/epoch";
  }

  public String leader() {
    return root + "/leader";
  }

  /** Which cluster this is: 32 hex digits, drawn once. */
  public String cluster() {
    return root + "/cluster";
  }

  /** By which muxes without a cluster key deal out fragments: 32 hex digits, drawn once. */
  public String fragmentSeed() {
    return root + "/fragment_seed";
  }

  /** Exists while a restore is under way or was interrupted. */
  public String restoring() {
    return root + "/restoring";
  }

  /** Settings of the whole cluster; absent before the first. */
  public String settings() {
    return root + "/settings";
  }

  /** Written by controllers for the time that ZooKeeper gives it. */
  public String clock() {
    return root + "/clock";
  }

  /** Which ids of services are free. */
  public String serviceIds() {
    return root + "/service_ids";
  }

  /** Of services, the generations by which muxes open connections at the least. */
  public String settled() {
    return root + "/settled";
  }

  public String audit() {
    return root + "/audit";
  }

  /** Without its number, which ZooKeeper appends. */
  public String auditEntry() {
    return auditEntry("write-");
  }

  public String auditEntry(String name) {
    return audit() + "/" + name;
  }

  public String answers() {
    return root + "/answers";
  }

  public String answer(String key) {
    return answers() + "/" + key;
  }

  public String muxes() {
    return root + "/muxes";
  }

  /** The entry of a mux that is added. */
  public String mux(String id) {
    return muxes() + "/" + id;
  }

  /** What probes find of backends. */
  public String health() {
    return root + "/health";
  }

  /** The entry of the probe of a mux that is added. */
  public String probe(String id) {
    return health() + "/" + id;
  }

  /** The node that the owner of an entry keeps while it is alive. */
  public static String live(String entry) {
    return entry + LIVE;
  }

  /** Whether it is the entry of a mux or of a probe. */
  public boolean isEntry(String path) {
    String parent = path.substring(0, path.lastIndexOf('/'));
    return parent.equals(muxes()) || parent.equals(health());
  }

  public String services() {
    return root + "/services";
  }

  public String service(String name) {
    return services() + "/" + name;
  }

  public String config(String name) {
    return service(name) + "/config";
  }

  public String upkeep(String name) {
    return service(name) + "/upkeep";
  }

  /**
   * The configuration of a deleted service, which {@link #config} had; its ring stays beside it.
   */
  public String deleted(String name) {
    return service(name) + "/deleted";
  }

  /** What backends are on their way to. */
  public String transitions(String name) {
    return service(name) + "/transitions";
  }

  /** How busy backends are, of services whose muxes want to know. */
  public String loads(String name) {
    return service(name) + "/loads";
  }

  public String ring(String name) {
    return service(name) + "/ring";
  }

  public String latestGeneration(String name) {
    return ring(name) + "/latest_gen";
  }

  public String latestSnapshot(String name) {
    return ring(name) + "/latest_snapshot";
  }

  /** Which generations hold the newest Othello arrays. */
  public String latestArrays(String name) {
    return ring(name) + "/latest_arrays";
  }

  public String generations(String name) {
    return ring(name) + "/gen";
  }

  public String generation(String name, long generation) {
    return "%s/%010d".formatted(generations(name), generation);
  }

  /** The bytes of a generation under one of {@link Generation}'s names. */
  public String blob(String name, long generation, String blob) {
    return generation(name, generation) + "/" + blob;
  }

  public String delta(String name, long generation) {
    return blob(name, generation, Generation.DELTA);
  }

  public String snapshot(String name, long generation) {
    return blob(name, generation, Generation.SNAPSHOT);
  }

  public static String chunk(String parent, int number) {
    return "%s/%04d".formatted(parent, number);
  }
}
