; SPDX-License-Identifier: Apache-2.0
(defproject fairlead.jepsen "0.1.0-SNAPSHOT"
  :description "Jepsen tests of Fairlead, a datacenter layer-4 load balancer"
  :license {:name "Apache-2.0" :url "https://www.apache.org/licenses/LICENSE-2.0"}
  :dependencies [[org.clojure/clojure "1.12.4"]
                 [org.clojure/data.json "2.5.1"]
                 [jepsen "0.3.11"]
                 [com.github.luben/zstd-jni "1.5.7-3"]
                 [org.apache.zookeeper/zookeeper "3.9.5" :exclusions [ch.qos.logback/logback-core
                                                                      ch.qos.logback/logback-classic]]]
  :main fairlead.jepsen.cli
  :test-paths ["test"]
  :resource-paths ["resources"]
  :jvm-opts ["-Xmx2g" "-Djava.awt.headless=true"])
