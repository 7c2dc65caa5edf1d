; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.cli
  "Runs the suite: `lein run test --workload config --nemesis kill,pause`, `lein run serve` shows results."
  (:gen-class)
  (:require [clojure.string :as str]
            [fairlead.jepsen [checker :as fairlead]
                             [cluster :as cluster]
                             [db :as db]
                             [nemesis :as nemesis]
                             [remote :as remote]
                             [scenario :as scenario]]
            [fairlead.jepsen.workload [config :as config]
                                      [connections :as connections]
                                      [generations :as generations]]
            [jepsen [checker :as checker]
                    [cli :as cli]
                    [client :as client]
                    [control :as control]
                    [generator :as gen]
                    [random :as rand]
                    [tests :as tests]]
            [jepsen.checker.timeline :as timeline]))

(def workloads
  "By name, the parts of a workload. Each part has its own processes."
  {:config      [config/workload]
   :generations [config/workload generations/observer]
   :connections [connections/workload]
   :all         [config/workload generations/observer connections/workload]})

(def special-nemeses
  {:none #{}})

(defn parse-nemesis
  "Faults, a schedule, or the steps of a switch, by name."
  [word]
  (let [names (scenario/parse-faults word)]
    (reduce into #{} (map #(get special-nemeses % #{%}) names))))

(defn- problem
  "The sentence about an option that the scenarios cannot satisfy."
  [{:keys [scenarios nemesis switch minutes faults moves]}]
  (let [drawn     (into #{} (for [[schedule {:keys [every]}] (:schedules scenarios) :when every] schedule))
        schedules (set (keys (:schedules scenarios)))
        known     (into schedules (keys (:faults scenarios)))
        other     (remove known nemesis)]
    (cond
      (seq other)
      (str "--nemesis " (name (first other)) "; allowed: none, " (str/join ", " (map name (sort known))))

      (and (some schedules nemesis) (next nemesis))
      (str "--nemesis names a schedule and faults beside it; allowed: one schedule, or faults")

      (and (next nemesis) (some #(get-in scenarios [:faults % :alone]) nemesis))
      (str "--nemesis names faults beside " (name (first (filter #(get-in scenarios [:faults % :alone]) nemesis)))
           "; allowed: that one alone")

      (and (or minutes faults) (not (some drawn nemesis)))
      (str "--minutes or --faults; allowed: with a schedule that is drawn: " (str/join ", " (map name (sort drawn))))

      (and moves (not (some schedules nemesis)))
      (str "--moves; allowed: with a schedule: " (str/join ", " (map name (sort schedules))))

      (and switch (seq nemesis))
      (str "--switch " (name switch) " with --nemesis; allowed: one of them, a switch has steps of its own")

      (and switch (nil? (get-in scenarios [:switches switch])))
      (str "--switch " (name switch) "; allowed: " (str/join ", " (map name (sort (keys (:switches scenarios)))))))))

(defrecord Routed [clients by-f]
  client/Client
  (open! [this test node]
    (assoc this :clients (mapv #(client/open! % test node) clients)))
  (setup! [_ test]
    (run! #(client/setup! % test) clients))
  (invoke! [_ test op]
    (client/invoke! (nth clients (by-f (:f op))) test op))
  (teardown! [_ test]
    (run! #(client/teardown! % test) clients))
  (close! [_ test]
    (run! #(client/close! % test) clients))
  client/Reusable
  (reusable? [_ _] true))

(def fs
  "Which part's client does an operation."
  {config/workload      [:add :weight :remove :apply :conditional :read]
   generations/observer [:observe]
   connections/workload [:connection :weigh :shares]})

(defn combined
  "Several parts as one workload: processes reserved for each, final generators one after the other."
  [parts opts]
  (let [made (mapv #(% opts) parts)]
    {:threads         (reduce + (map :threads made))
     :client          (Routed. (mapv :client made)
                               (into {} (for [[n part] (map-indexed vector parts), f (fs part)] [f n])))
     :prepare!        (fn [test] (run! #(% test) (keep :prepare! made)))
     :generator       (apply gen/reserve (concat (mapcat (juxt :threads :generator) (butlast made))
                                                 [(:generator (last made))]))
     :final-generator (apply gen/phases (map :final-generator made))
     :checker         (apply merge (map :checker made))}))

(def final-seconds
  "How long final reads may take: they wait for all muxes, and for a leader."
  180)

(defn- planned
  "Options with `:scenarios`, and what they come to: `:steps`, nil where faults are drawn one by one, `:moves`, nil where
  weights change from time to time, `:lives` of connections, in windows, and `:time-limit`, which is that of the schedule
  or the switch if it has one. Refuses what cannot be."
  [{:keys [seed nemesis switch time-limit minutes] :as opts}]
  (let [scenarios (scenario/read-file (:scenarios-file opts))
        opts      (assoc opts :scenarios scenarios)]
    (when-let [sentence (problem opts)]
      (throw (ex-info sentence {:type ::options})))
    (let [limit     (if minutes (* 60 minutes) time-limit)
          described (or (get-in scenarios [:switches switch])
                        (get-in scenarios [:schedules (first nemesis)]))
          {:keys [steps moves seconds]}
          (cond
            switch described
            (get-in scenarios [:schedules (first nemesis)])
            (scenario/schedule scenarios (first nemesis) limit seed (select-keys opts [:faults :moves])))]
      (assoc opts :scenarios (scenario/needed scenarios described), :lives (:lives described (:lives (:usual scenarios)))
             :steps steps, :moves moves, :time-limit (or seconds limit)))))

(defn- checkers
  "Jepsen's plots, and all verdicts; for a cluster that is broken on purpose, whether the right ones are false."
  [{:keys [scenarios switch steps]} checkers]
  (cond-> (checker/compose (merge {:perf       (checker/perf)
                                   :timeline   (timeline/html)
                                   :exceptions (checker/unhandled-exceptions)
                                   :nemesis    (fairlead/nemesis (count steps))}
                                  checkers))
    switch (fairlead/broken-on-purpose (get-in scenarios [:switches switch]))))

(defn fairlead-test
  "The test map for the options of the command line."
  [opts]
  (let [{:keys [seed workload nemesis switch steps time-limit] :as opts} (planned opts)]
    ; Jepsen draws from this one source, in the thread that generates operations.
    (alter-var-root #'rand/rng (constantly (rand/thread-local-random seed)))
    (let [state    (cluster/state opts)
          ssh?     (= "ssh" (:over state))
          faults   (nemesis/package-of (assoc opts :faults nemesis))
          {:keys [threads client prepare! generator final-generator checker]} (combined (workloads workload) opts)]
      (merge tests/noop-test
             opts
             {:name        (str/join "-" (concat ["fairlead" (name workload)]
                                                 (or (seq (map name (sort nemesis))) [(if switch (name switch) "none")])))
              :state       state
              :nodes       (vec (for [{:keys [node address]} (:nodes state) :when (not= "runner" node)]
                                  (if ssh? address node)))
              :concurrency threads
              :remote      (if ssh?
                             control/ssh
                             (remote/namespaces (select-keys opts [:bin :scenarios-file :instance])))
              :db          (db/->Cluster prepare!)
              :client      client
              :nemesis     (:nemesis faults)
              :plot        {:nemeses (:perf faults)}
              :checker     (checkers opts checker)
              :generator   (gen/phases
                             (->> generator
                                  (gen/time-limit time-limit)
                                  (gen/nemesis (gen/phases
                                                 (cond->> (:generator faults)
                                                   (nil? steps) (gen/time-limit time-limit))
                                                 (:final-generator faults))))
                             (gen/log "Everything is healed; final reads")
                             (->> final-generator
                                  (gen/concurrency-limit 1)
                                  (gen/time-limit final-seconds)
                                  gen/clients))}))))

(def options
  [["-w" "--workload NAME" "What clients do"
    :default  :all
    :parse-fn keyword
    :validate [workloads (cli/one-of workloads)]]
   [nil "--nemesis FAULTS" "Faults of scenarios.edn, comma-separated, or one of its schedules (short, long), or none"
    :default  #{}
    :parse-fn parse-nemesis]
   [nil "--minutes NUMBER" "For so long a schedule is drawn, instead of --time-limit"
    :parse-fn parse-long
    :validate [#(and % (pos? %)) "must be a positive number"]]
   [nil "--faults NUMBER" "So many faults are drawn, instead of one each :every seconds of the schedule"
    :parse-fn parse-long
    :validate [#(and % (pos? %)) "must be a positive number"]]
   [nil "--moves NUMBER" "So often weights change, evenly, even if a bucket's list is full"
    :parse-fn parse-long
    :validate [#(and % (pos? %)) "must be a positive number"]]
   [nil "--switch NAME" "The cluster was brought up with this switch: do its steps instead"
    :parse-fn keyword]
   [nil "--seed NUMBER" "What is drawn: the same seed asks for the same operations and faults"
    :default-fn (fn [_] (abs (.nextLong (java.util.Random.))))
    :parse-fn parse-long
    :validate [some? "must be a number"]]
   [nil "--interval SECONDS" "About so long between two faults of a kind"
    :default  15
    :parse-fn parse-long
    :validate [#(and % (pos? %)) "must be a positive number"]]
   [nil "--connections NUMBER" "Long connections at a time, instead of the scenario's"
    :parse-fn parse-long
    :validate [#(and % (pos? %)) "must be a positive number"]]
   [nil "--scenarios-file FILE" "Cluster, workloads, faults"
    :default "scenarios.edn"]
   [nil "--bin DIRECTORY" "Where nodes, node-ctl and fault-ctl are"
    :default "bin"]
   [nil "--instance NAME" "Which cluster, if several are up"]])

(defn -main
  [& args]
  (cli/run! (merge (cli/single-test-cmd {:test-fn fairlead-test, :opt-spec options})
                   (cli/serve-cmd))
            args))
