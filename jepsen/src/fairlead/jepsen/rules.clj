; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.rules
  "Which workload has which verdicts; they report the rules of jepsen/rules.edn. The
  rules are pure functions of operations and settings, in `checker.config`,
  `checker.generations`, `checker.connections` and `checker.balance`. Nothing here needs
  Jepsen, so that CI can run it against the shared histories; `checker` is the adapter.

  Operations are maps in the order of the history: Jepsen's own, or those of a file. A
  verdict is `{:valid? true|false|:unknown, :rules #{…}, :why \"…\", :examples […]}`. What a
  history cannot show is unknown, and no run is green with that.

  What can mislead: an `:observe` of this suite holds many commits and applied
  generations, which `flat` takes apart; they then count as seen when it completed."
  (:require [clojure.edn :as edn]
            [fairlead.jepsen.checker [balance :as balance]
                                     [config :as config]
                                     [connections :as connections]
                                     [generations :as generations]]))

(def specified
  "jepsen/rules.edn: rules by verdict, or `:refused`, and by name."
  (delay (edn/read-string (slurp "rules.edn"))))

(defn reported
  "The rules by which a verdict may be false or unknown here: not those that only the harness in Go has."
  [of]
  (set (for [[rule {:keys [verdict only]}] (get @specified of)
             :when (and (contains? #{false :unknown} verdict) (not= :go only))]
         rule)))

(def verdicts
  "By workload of a history, its verdicts and their checkers."
  {:config      {:linearizable config/linearizable, :durable config/durable}
   :generations {:prefix    generations/prefix
                 :image     generations/image
                 :converged generations/converged
                 :fenced    generations/fenced}
   :connections {:unbroken connections/unbroken, :sticky connections/sticky}
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
  "The operations of a history that the rules of `workload` look at, and those of the nemesis."
  [workload ops]
  (let [ours (fs workload)]
    (sequence (comp (mapcat #(if (= :observe (:f %))
                               (when (= :ok (:type %)) (observed %))
                               [%]))
                    (filter #(or (= :nemesis (:process %)) (ours (:f %)))))
              ops)))

(defn verdict
  "One verdict of `workload` about operations. Throws if the checker reports a rule that it does not have."
  [workload name ops settings]
  (let [check (get-in verdicts [workload name])
        rules (reported name)
        found (check (flat workload ops) settings)]
    (when-let [strange (first (remove rules (:rules found)))]
      (throw (ex-info (str name " reports the rule " strange "; allowed: " (sort rules)) found)))
    found))

(defn judge
  "All verdicts about a history of one workload: a map by name. Throws, naming the
  operation, if a history has an operation of no workload."
  [workload ops settings]
  (let [known (into #{:observe :weigh} cat (vals fs))]
    (doseq [op ops]
      (when-not (or (= :nemesis (:process op)) (known (:f op)))
        (throw (ex-info (str "operation " (:index op) ": :f " (:f op) "; allowed: " (sort known)) {:op op})))))
  (into {} (for [name (keys (verdicts workload))]
             [name (verdict workload name ops settings)])))
