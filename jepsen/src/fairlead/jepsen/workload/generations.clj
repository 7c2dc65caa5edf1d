; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.workload.generations
  "Does every mux serve what was committed? The config workload writes; one process more observes ZooKeeper
  and the muxes, and says in each `:observe` what is new: commits with the sums of rings that it computed
  itself, and what each mux says that it has applied. The last ones wait until all muxes serve the last
  commits, or `:converge-seconds` have passed."
  (:require [clojure.data.json :as json]
            [fairlead.jepsen [checker :as checker]
                             [client :as client]
                             [cluster :as cluster]
                             [zookeeper :as zookeeper]]
            [fairlead.jepsen.workload.config :as config]
            [jepsen [client :as jepsen.client]
                    [generator :as gen]])
  (:import (java.io IOException)
           (org.apache.zookeeper KeeperException ZooKeeper)))

(def mux-seconds
  "How long a mux may take to answer before the observer continues without it."
  1)

(defn- rings
  "The mux's answer from a number on, or nil."
  [http mux since]
  (try
    (let [{:keys [status body]} (client/request! http mux-seconds :get (str (:http mux) "/rings?since=" since) {})]
      (when (= 200 status) body))
    (catch IOException _ nil)))

(defn- ask
  "One mux: `[known' {:applied :gap :rings :silent}]`. Another process of it has another `boot`, and begins its
  numbers again."
  [http known {:keys [node] :as mux}]
  (let [{:keys [boot next]} (get-in known [:muxes node] {:next 0})
        answer              (rings http mux next)
        answer              (if (and answer boot (not= boot (:boot answer)))
                              (rings http mux 0)
                              answer)
        since               (if (= boot (:boot answer)) next 0)]
    (if (nil? answer)
      [known {:silent node}]
      [(assoc-in known [:muxes node] (select-keys answer [:boot :next]))
       {:silent  (when (empty? (:rings answer)) node) ; a mux that serves nothing need not answer in the end
        :rings   (map #(assoc % :mux node) (:rings answer))
        :gap     (when (< (max 1 since) (:first answer)) node)
        :applied (for [each (:applied answer)]
                   (-> (select-keys each [:service :generation :sum :how])
                       (assoc :mux node :boot (:boot answer))))}])))

(defn- ask-all
  [http known muxes]
  (reduce (fn [[known told] mux]
            (let [[known' answer] (ask http known mux)]
              [known' (conj told answer)]))
          [known []] muxes))

(defn- converged?
  "Whether all muxes serve the last generation of each service."
  [known told]
  (let [wanted (set (for [[service ring] (:rings known)] [service (:generation ring)]))]
    (every? (fn [{:keys [rings]}]
              (= wanted (set (map (juxt :service :generation) rings))))
            told)))

(defn- observe!
  "What is new, and in the end what all muxes serve; the state is what is known by then."
  [{:keys [http ^ZooKeeper zk state]} test final?]
  (let [muxes    (cluster/with-role (:state test) :mux)
        until    (+ (System/nanoTime) (* 1000000000 (get-in test [:scenarios :workloads :generations :converge-seconds] 60)))
        ; What ZooKeeper holds is read last, so that nothing is seen applied before its commit.
        look     (fn [known]
                   (let [[known told]    (ask-all http known muxes)
                         [known commits] (zookeeper/commits zk known final?)]
                     [known told commits]))]
    (loop [[known told commits] (look @state), all {:commits [] :applied [] :gaps []}]
      (reset! state known)
      (let [all (-> all
                    (update :commits into commits)
                    (update :applied into (mapcat :applied told))
                    (update :gaps into (keep :gap told)))]
        (cond
          (not final?)
          all

          (or (converged? known told) (< until (System/nanoTime)))
          (assoc all :rings (vec (mapcat :rings told)) :silent (vec (keep :silent told)))

          :else
          (do (Thread/sleep 200)
              (recur (look known) all)))))))

(defn- session!
  "The observer's session with ZooKeeper; another one if that has expired."
  ^ZooKeeper [cell test]
  (let [^ZooKeeper zk @cell]
    (if (and zk (.isAlive (.getState zk)))
      zk
      (reset! cell (zookeeper/connect (:zookeeper (:state test)))))))

; All processes share one observer, which does one observation at a time.
(defrecord Observer [http session state]
  jepsen.client/Client
  (open! [this _ _] this)

  (setup! [_ _])

  (invoke! [_ test op]
    (locking state
      (try
        (assoc op :type :ok :value (observe! {:http http, :zk (session! session test), :state state} test (:final op)))
        (catch KeeperException e
          (assoc op :type :fail :error (.getMessage e))))))

  (teardown! [_ _]
    (some-> ^ZooKeeper @session .close))

  (close! [_ _])

  jepsen.client/Reusable
  (reusable? [_ _] true))

(defn- begin!
  "Reads what is committed before the first write, so that no generation is deleted unseen. The first `:observe` has it."
  [session state test]
  (let [[known commits] (zookeeper/commits (session! session test) zookeeper/nothing false)]
    (reset! state (update known :pending into commits))))

(defn observer
  "A workload that only observes: its process, its client, its generators."
  [{:keys [scenarios] :as opts}]
  (let [session (atom nil), state (atom zookeeper/nothing)]
    {:threads         1
     :prepare!        (partial begin! session state)
     :client          (Observer. (client/http) session state)
     :generator       (gen/delay (/ (get-in scenarios [:workloads :generations :poll-milliseconds]) 1000)
                                 (gen/repeat {:f :observe}))
     :final-generator (gen/until-ok (gen/delay 1 (gen/repeat {:f :observe, :final true})))
     :checker         (checker/checkers :generations opts)}))
