; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.checker
  "Jepsen's checkers: an adapter to the verdicts of `rules`, and checks of the run itself."
  (:require [clojure.string :as str]
            [fairlead.jepsen [bounds :as bounds]
                             [knossos :as knossos]
                             [rules :as rules]]
            [fairlead.jepsen.verdict :refer [judged unknown]]
            [jepsen.checker :as checker]))

(defn checker
  "Jepsen's checker for the verdict `name` of `workload`."
  [workload name settings]
  (reify checker/Checker
    (check [_ _ history _]
      (rules/verdict workload name history (assoc settings :search knossos/search)))))

(defn checkers
  "By name, Jepsen's checkers for all verdicts of `workload`."
  [workload settings]
  (into {} (for [name (keys (rules/verdicts workload))]
             [name (checker workload name settings)])))

(defn nemesis
  "Jepsen's checker of the run itself: whether all faults were made and healed. Unknown unless so many `steps` began (0
  where faults are drawn one by one); a step that found no node of its role has begun. Unknown also if no step found a
  node: then no fault was made."
  [steps]
  (reify checker/Checker
    (check [_ _ history _]
      (let [ops     (filter #(= :nemesis (:process %)) history)
            failed  (filter :exception ops)
            begun   (into #{} (keep #(when (and (str/starts-with? (name (:f %)) "start-") (contains? % :value)) (:step (:value %)))) ops)
            unfound (filter #(and (:error %) (str/starts-with? (name (:f %)) "start-")) ops)]
        (cond
          (seq failed)          (judged (for [{:keys [f error value]} failed]
                                          [:failed (str (name f) " " (pr-str value) ": " error)]) nil)
          (< (count begun) steps) (unknown :unbegun (count begun) " of " steps " steps began")
          (and (seq unfound) (= (count unfound) (count begun)))
          (unknown :no-node "none of " (count begun) " steps found a node of its role")
          :else                 (judged [] (str (count begun) " faults were made and healed, except " (count unfound)
                                                " that found no node of their role")))))))

(defn mptcp
  "Jepsen's checker of the run itself: if a `share` of connections asks for MPTCP, at least one had a second subflow."
  [share]
  (reify checker/Checker
    (check [_ _ history _]
      (let [answered (filter #(and (= :mptcp (:kind %)) (pos? (:requests % 0)))
                             (map :value (filter #(and (= :connection (:f %)) (= :ok (:type %))) history)))
            joined   (filter #(pos? (:subflows % 0)) answered)
            sentence (str (count joined) " of " (count answered) " connections by MPTCP had a second subflow")]
        (judged (when (and (pos? share) (empty? joined))
                  [[:one-subflow (str sentence "; clients need a second address, or :mptcp 0")]])
                sentence)))))

(defn idle
  "Jepsen's checker of the run itself: if a `share` of connections is idle, at least one was answered after its silence."
  [share]
  (reify checker/Checker
    (check [_ _ history _]
      (let [woken    (filter #(and (= :idle (:kind %)) (< 1 (:requests % 0)))
                             (map :value (filter #(and (= :connection (:f %)) (= :ok (:type %))) history)))
            sentence (str (count woken) " idle connections were answered after their silence")]
        (judged (when (and (pos? share) (empty? woken)) [[:none-woken sentence]]) sentence)))))

(def breaks
  "Jepsen's checker that shows what the run says of the chance of a break. It judges nothing."
  (reify checker/Checker
    (check [_ _ history _]
      {:valid? true, :bounds (bounds/bounds history)})))

(defn broken-on-purpose
  "Jepsen's checker of a run with a switch: valid if of all results of `checker` exactly those of `:red` are false;
  those of `:entailed` may be, too. A run with an unknown verdict is unknown."
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
