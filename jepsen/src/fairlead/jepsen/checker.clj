; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker
  "Verdicts: what they look like, which workload has which, and how Jepsen asks
  for them. The rules themselves are pure functions of operations and settings,
  in `checker.config`, `checker.generations`, `checker.connections` and
  `checker.balance`; jepsen/harness has the same rules in Go under the same
  names, and jepsen/histories are judged alike by both.

  Operations are maps in the order of the history: Jepsen's own, or those of a
  file. A verdict is `{:valid? true|false|:unknown, :why \"…\", :examples […]}`.
  What a history cannot show is unknown, and no run is green with that.

  What can mislead: an `:observe` of this suite holds many commits and applied
  generations, which `flat` takes apart; they then count as seen when it ended."
  (:require [clojure.string :as str]
            [fairlead.jepsen.checker [balance :as balance]
                                     [config :as config]
                                     [connections :as connections]
                                     [generations :as generations]]
            [fairlead.jepsen.verdict :refer [judged unknown]]
            [jepsen.checker :as checker]))

(def verdicts
  "By workload of a history, its verdicts and the rule of each."
  {:config      {:linearizable config/linearizable
                 :durable      config/durable}
   :generations {:prefix    generations/prefix
                 :image     generations/image
                 :converged generations/converged
                 :fenced    generations/fenced}
   :connections {:unbroken connections/unbroken
                 :sticky   connections/sticky}
   :balance     {:balanced balance/balanced}})

(def fs
  "By workload, the operations that its rules look at."
  {:config      #{:add :weight :remove :apply :conditional :read}
   :generations #{:commit :applied :gap}
   :connections #{:connection}
   :balance     #{:shares}})

(defn- observed
  "One `:observe` as the operations that a history of generations has."
  [{:keys [value final] :as op}]
  (let [each (fn [type f value final]
               (cond-> {:index (:index op), :time (:time op), :process (:process op), :type type, :f f, :value value}
                 final (assoc :final true)))]
    (concat (map #(each :ok :commit % nil) (:commits value))
            (map #(each :ok :applied % nil) (:applied value))
            (map #(each :ok :gap {:mux %} nil) (:gaps value))
            (map #(each :ok :applied % true) (:rings value))
            (when final (map #(each :info :applied {:mux %} true) (:silent value))))))

(defn flat
  "The operations of a history that the rules of `workload` look at, those of
  the nemesis among them."
  [workload ops]
  (let [ours (fs workload)]
    (sequence (comp (mapcat #(if (= :observe (:f %))
                               (when (= :ok (:type %)) (observed %))
                               [%]))
                    (filter #(or (= :nemesis (:process %)) (ours (:f %)))))
              ops)))

(defn judge
  "All verdicts about a history of one workload: a map by name. Refuses, with
  the operation, a history that holds what no workload knows."
  [workload ops settings]
  (let [known (into #{:observe :weigh} cat (vals fs))]
    (doseq [op ops]
      (when-not (or (= :nemesis (:process op)) (known (:f op)))
        (throw (ex-info (str "operation " (:index op) ": :f " (:f op) "; allowed: " (sort known)) {:op op})))))
  (let [ops (flat workload ops)]
    (update-vals (verdicts workload) (fn [rule] (rule ops settings)))))

(defn checker
  "Jepsen's checker for the verdict `name` of `workload`."
  [workload name settings]
  (let [rule (get-in verdicts [workload name])]
    (reify checker/Checker
      (check [_ _ history _]
        (rule (flat workload history) settings)))))

(defn checkers
  "By name, Jepsen's checkers for all verdicts of `workload`."
  [workload settings]
  (into {} (for [name (keys (verdicts workload))]
             [name (checker workload name settings)])))

(defn nemesis
  "Jepsen's checker of the run itself: whether all faults were made and healed. Unknown unless each of so many `steps`
  began; one that found nobody of its role has begun, and none is asked for where faults are drawn one by one (0). Unknown
  also where all found nobody: then nothing was hurt."
  [steps]
  (reify checker/Checker
    (check [_ _ history _]
      (let [ops     (filter #(= :nemesis (:process %)) history)
            failed  (filter :exception ops)
            begun   (into #{} (keep #(when (and (str/starts-with? (name (:f %)) "start-") (contains? % :value)) (:step (:value %)))) ops)
            nobody  (filter #(and (:error %) (str/starts-with? (name (:f %)) "start-")) ops)]
        (cond
          (seq failed)          (judged (for [{:keys [f error value]} failed] (str (name f) " " (pr-str value) ": " error)) nil)
          (< (count begun) steps) (unknown (count begun) " of " steps " steps began")
          (and (seq nobody) (= (count nobody) (count begun)))
          (unknown "none of " (count begun) " steps found a node of its role")
          :else                 (judged [] (str (count begun) " faults were made and healed, but for " (count nobody)
                                                " that found nobody of their role")))))))

(defn mptcp
  "Jepsen's checker of the run itself: of connections that asked for MPTCP, if a `share` does, some had a second subflow."
  [share]
  (reify checker/Checker
    (check [_ _ history _]
      (let [answered (filter #(and (= :mptcp (:kind %)) (pos? (:requests % 0)))
                             (map :value (filter #(and (= :connection (:f %)) (= :ok (:type %))) history)))
            joined   (filter #(pos? (:subflows % 0)) answered)
            sentence (str (count joined) " of " (count answered) " connections by MPTCP had a second subflow")]
        (judged (when (and (pos? share) (empty? joined))
                  [(str sentence "; clients need a second address, or :mptcp 0")])
                sentence)))))

(defn broken-on-purpose
  "Jepsen's checker of a run with a switch: valid if of all results of `checker` exactly those of `:red` are false, and
  maybe those of `:entailed`. What is unknown is not valid here either."
  [checker {:keys [red entailed]}]
  (reify checker/Checker
    (check [_ test history opts]
      (let [results (checker/check checker test history opts)
            named   (fn [valid?] (into (sorted-set) (keep (fn [[k v]] (when (and (map? v) (= valid? (:valid? v))) k))) results))
            wrong   (named false)
            right?  (and (empty? (remove wrong red)) (empty? (remove (into red entailed) wrong)))]
        (assoc results
               :valid? (if (and right? (seq (named :unknown))) :unknown right?)
               :switch {:must-be-false red, :may-be-false (or entailed #{}), :false wrong})))))
