; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.nemesis
  "Faults as nemesis packages, `{:nemesis :generator :final-generator :perf}`, one for each fault of scenarios.edn. They
  all run commands of jepsen/bin, and heal before the final reads.

  A fault's operations are `:start-FAULT` and `:heal-FAULT`, with a step as value: the role or node that it is on, and,
  once they are known, its `:node` and `:program`, and `:may-break`, which connections it excuses. A heal names the step
  that it undoes by `:step`; a step that was not started needs no heal.

  Jepsen's `nemesis-package` is not used: it always includes the nemesis of clocks, which compiles a program on each
  node and sets the machine's clock."
  (:require [clojure.string :as str]
            [clojure.tools.logging :refer [info warn]]
            [fairlead.jepsen [cluster :as cluster]
                             [scenario :as scenario]]
            [jepsen [generator :as gen]
                    [nemesis :as nemesis]
                    [random :as rand]]
            [jepsen.nemesis.combined :as combined]))

(def role-seconds
  "How many seconds a step waits for a node with its role, since an election takes time."
  10)

(def colours
  ["#E9A4A0" "#A0B1E9" "#E9DCA0" "#A0E9DB" "#D1E8A0" "#C7A0E9" "#E9C3A0" "#A0CDE9" "#E9A0CF" "#B5B5B5" "#8FBF9F" "#BF8F8F" "#8F8FBF"])

(defn- f
  "`:start-kill`"
  [phase fault]
  (keyword (str (name phase) "-" (name fault))))

(defn- resolve-step!
  "A step with its node; asks again while no node has the role."
  [test draw step]
  (loop [left role-seconds]
    (let [resolved (scenario/resolve-step (:scenarios test) (:nodes (cluster/state test)) draw step)]
      (if (and (:error resolved) (pos? left))
        (do (Thread/sleep 1000) (recur (dec left)))
        resolved))))

(defn- run-phase!
  [{:keys [scenarios] :as test} phase step]
  (doseq [command (scenario/commands scenarios phase step)]
    (cluster/run! test command)))

(defn- start!
  "Starts a step. One that needs no heal runs beside the steps that follow, as long as it takes; its heal waits
  for it."
  [{:keys [scenarios] :as test} {:keys [fault] :as step}]
  (if (seq (get-in scenarios [:faults fault :heal]))
    (run-phase! test :start step)
    (future (run-phase! test :start step))))

(defrecord Fault [fault standing]
  nemesis/Reflection
  (fs [_] #{(f :start fault) (f :heal fault)})

  nemesis/Nemesis
  (setup! [this _] this)

  (invoke! [_ test {:keys [value] :as op}]
    (let [{:keys [step draw]} value]
      (if (= (f :start fault) (:f op))
        (let [resolved (resolve-step! test draw (assoc (dissoc value :draw) :fault fault))
              excuses  (scenario/may-break (:scenarios test) resolved)]
          (if (:error resolved)
            (assoc op :value resolved, :error (:error resolved))
            (do (swap! standing assoc step {:resolved resolved})
                (swap! standing assoc-in [step :running] (start! test resolved))
                (assoc op :value (assoc resolved :may-break excuses)))))
        (if-let [{:keys [resolved running]} (get @standing step)]
          (do (when (future? running)
                (deref running))
              (run-phase! test :heal resolved)
              (swap! standing dissoc step)
              (assoc op :value (select-keys resolved [:step :fault :on :node :program])))
          (assoc op :value (assoc value :fault fault), :error "was not started")))))

  (teardown! [_ _]))

(defn- perf
  [n fault]
  #{{:name  (name fault)
     :start #{(f :start fault)}
     :stop  #{(f :heal fault)}
     :color (nth colours (mod n (count colours)))}})

(defn- start-op
  [fault step]
  {:type :info, :f (f :start fault), :value (assoc step :fault fault)})

(defn- heal-op
  [fault step]
  {:type :info, :f (f :heal fault), :value {:fault fault, :step step}})

(defn- at-random
  "A fault repeatedly: on one of its roles for some seconds, then none for some seconds."
  [fault {:keys [on]} [least most] interval]
  (let [roles   (sort (disj on :none))
        counter (atom 0)]
    (fn []
      (let [step  (str (name fault) "-" (swap! counter inc))
            start (cond-> {:step step, :on :none, :draw (rand/long)}
                    (seq roles) (assoc :on (rand/nth roles)))]
        [(gen/sleep (* interval (+ 1/2 (rand/double))))
         (start-op fault start)
         (gen/sleep (+ least (rand/double (- most least))))
         (heal-op fault step)]))))

(defn package
  "The package of one fault."
  [{:keys [scenarios faults interval]} n fault]
  {:nemesis         (Fault. fault (atom {}))
   :generator       (when (contains? faults fault)
                      (at-random fault (get-in scenarios [:faults fault])
                                 (get-in scenarios [:schedules :long :for]) interval))
   :perf            (perf n fault)})

(defn- nanos
  [seconds]
  (long (* 1e9 seconds)))

; `starts` are `{:at :op :for :alone}`, the next first; `heals` are the same for active faults, a sorted map by `[at step]`.
(defrecord Schedule [starts heals]
  gen/Generator
  (op [this _ {:keys [time] :as ctx}]
    (let [[start & later]        starts
          [[[heal-at] heal] :as standing] (seq heals)
          waits?                 (and standing (or (:alone start) (some :alone (vals heals))))
          start?                 (and start (not waits?) (or (nil? heal-at) (< (:at start) heal-at)))
          {:keys [op at]}        (if start? start heal)]
      (when op
        (let [op (gen/fill-in-op (assoc op :time (max time at)) ctx)]
          (cond
            (= :pending op) [op this]
            start?          (let [{:keys [fault step]} (:value op)
                                  heal-at              (+ (:time op) (:for start))]
                              [op (Schedule. later (assoc heals [heal-at step] {:op    (heal-op fault step)
                                                                                :at    heal-at
                                                                                :alone (:alone start)}))])
            :else           [op (Schedule. starts (dissoc heals (key (first standing))))])))))

  (update [this _ _ _] this))

(def unhealed-seconds
  "After so many seconds the schedule waits for a step that needs no heal, an upgrade."
  30)

(defn schedule
  "A generator of a list of steps: each start at its time, and its heal so much later. Overlapping steps are the
  combined faults. Jepsen's nemesis does one thing at a time: a command that takes long delays those after it, but
  shortens no fault, and a fault that is `:alone` waits until all others have healed."
  [faults steps seed]
  (Schedule. (sort-by :at
                      (for [[n draw {:keys [at fault] :as step}] (map vector (range) (scenario/draws seed) steps)]
                        {:op    (start-op fault (assoc (dissoc step :at :for) :step n, :draw draw))
                         :at    (nanos at)
                         :for   (nanos (:for step (if (= [] (get-in faults [fault :heal])) unhealed-seconds 0)))
                         :alone (get-in faults [fault :alone])}))
             (sorted-map)))

(defrecord HealAll []
  nemesis/Reflection
  (fs [_] #{:heal})

  nemesis/Nemesis
  (setup! [this _] this)

  (invoke! [_ test op]
    (assoc op :value (str/split-lines (cluster/run! test ["fault-ctl" "heal"]))))

  (teardown! [_ test]
    (cluster/run test ["fault-ctl" "heal"])))

(def heal-all
  "Undoes all faults, and starts dead programs, before the final reads."
  {:nemesis         (HealAll.)
   :generator       nil
   :final-generator {:type :info, :f :heal, :value nil}
   :perf            #{}})

(defn package-of
  "All packages as one. `:faults` are what to draw from; `:steps`, a schedule's, are done instead if there are
  any."
  [{:keys [scenarios steps seed] :as opts}]
  (let [packages (conj (vec (map-indexed (partial package opts) (sort (keys (:faults scenarios))))) heal-all)
        all      (combined/compose-packages packages)]
    (cond-> all
      steps (assoc :generator (schedule (:faults scenarios) steps seed)))))
