; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.zookeeper
  "What ZooKeeper holds of services: a reader of protocol/README.md §4, one generation after the
  other, which keeps each service's ring to compute the next one from."
  (:require [clojure.data.json :as json]
            [clojure.string :as str]
            [fairlead.jepsen.image :as image])
  (:import (java.io ByteArrayOutputStream)
           (org.apache.zookeeper KeeperException$NoNodeException Watcher ZooKeeper)
           (org.apache.zookeeper.data Stat)))

(def session-milliseconds 20000)

(defn connect
  "A session with the login that `nodes list` names: the first line of the file, a user that may read everything."
  ^ZooKeeper [{:keys [connect scheme login]}]
  (let [zk (ZooKeeper. connect (int session-milliseconds) (reify Watcher (process [_ _])))]
    (when login
      (.addAuthInfo zk (or scheme "digest") (.getBytes ^String (first (str/split-lines (slurp login))))))
    zk))

(defn- children [^ZooKeeper zk path]
  (sort (.getChildren zk ^String path false)))

(defn- text [^ZooKeeper zk path]
  (String. (.getData zk ^String path false nil) "UTF-8"))

(defn- chunks
  "The chunks below a node, joined."
  [^ZooKeeper zk path]
  (let [out (ByteArrayOutputStream.)]
    (doseq [chunk (children zk path)]
      (.writeBytes out (.getData zk (str path "/" chunk) false nil)))
    (.toByteArray out)))

(defn- generation-path [service generation]
  (format "/fairlead/services/%s/ring/gen/%010d" service generation))

(defn- first-snapshot
  "The oldest remaining snapshot of a service, as a ring."
  [^ZooKeeper zk service latest]
  (let [gens (map parse-long (children zk (str "/fairlead/services/" service "/ring/gen")))]
    (some (fn [generation]
            (let [path (generation-path service generation)]
              (when (some #{"snapshot"} (children zk path))
                (image/snapshot (chunks zk (str path "/snapshot"))))))
          (filter #(<= % latest) (sort gens)))))

(defn- follow
  "The rings of a service after `ring` (nil: from its oldest snapshot on), up to what is committed
  now. If a generation has been deleted meanwhile, it starts again at the oldest snapshot."
  [^ZooKeeper zk service ring]
  (let [latest (parse-long (text zk (str "/fairlead/services/" service "/ring/latest_gen")))
        begin  #(some-> (first-snapshot zk service latest) vector)]
    (loop [rings (if ring [] (or (begin) [])), at (or ring (peek rings))]
      (if (or (nil? at) (<= latest (:generation at)))
        rings
        (let [path  (str (generation-path service (inc (:generation at))) "/delta")
              next  (try (image/delta at (chunks zk path))
                         (catch KeeperException$NoNodeException _ nil))]
          (if next
            (recur (conj rings next) next)
            (let [[again] (begin)]
              (when (or (nil? again) (<= (:generation again) (:generation at)))
                (throw (ex-info (str service ": generation " (inc (:generation at)) " is missing, and there is no later snapshot")
                                {:service service})))
              (recur (conj rings again) again))))))))

(defn- records
  "The audit records after the number `after`: `[number record zxid]`, in ZooKeeper's order."
  [^ZooKeeper zk after]
  (for [child  (children zk "/fairlead/audit")
        :let   [number (parse-long (subs child (count "write-")))]
        :when  (< after number)]
    (let [stat (Stat.)
          data (.getData zk (str "/fairlead/audit/" child) false stat)]
      [number (json/read-str (String. data "UTF-8") :key-fn keyword) (.getCzxid stat)])))

(def nothing
  "The initial state of a reader: rings by service, the latest audit record, epochs by
  `[service generation]`, and commits whose record has not been seen yet."
  {:rings {}, :audit -1, :epochs {}, :pending []})

(defn commits
  "What was committed since `known`: `[known' commits]`, each `{:service :generation :sum :epoch :zxid}`. A
  commit without a record is kept back until `all?`, and then has no epoch."
  [^ZooKeeper zk known all?]
  (let [services (children zk "/fairlead/services")
        followed (into {} (for [service services]
                            [service (try (follow zk service (get-in known [:rings service]))
                                          (catch KeeperException$NoNodeException _ []))]))
        read     (vec (records zk (:audit known)))
        epochs   (into (:epochs known)
                       (for [[_ record zxid] read :when (= "committed" (:outcome record))]
                         [[(:service record) (:generation record)] {:epoch (:epoch record), :zxid zxid}]))
        found    (concat (:pending known)
                         (for [[service rings] followed, ring rings]
                           {:service service, :generation (:generation ring), :sum (image/sum ring)}))
        whole    (map #(merge % (epochs [(:service %) (:generation %)])) found)
        ready?   #(or all? (:epoch %))]
    [(assoc known
            :rings   (into (:rings known) (for [[service rings] followed :when (seq rings)] [service (peek rings)]))
            :audit   (reduce max (:audit known) (map first read))
            :epochs  epochs
            :pending (vec (remove ready? whole)))
     (vec (filter ready? whole))]))
