; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.scenario-test
  (:require [clojure.edn :as edn]
            [clojure.test :refer [deftest is testing]]
            [fairlead.jepsen.scenario :as scenario]))

(def scenarios (delay (scenario/read-file "scenarios.edn")))

(deftest draws-of-a-seed
  ; The published outputs of SplitMix64 for seed 1234567.
  (is (= [6457827717110365317 3203168211198807973 9817491932198370423 4593380528125082431 16408922859458223821]
         (map #(if (neg? %) (+ % 18446744073709551616N) %) (take 5 (scenario/draws 1234567)))))
  (is (= :b (scenario/pick -1 [:a :b])) "draws are without sign")
  (is (nil? (scenario/pick 7 []))))

(def nodes
  [{:node "controller" :roles ["controller" "leader" "zookeeper" "zookeeper-follower"]}
   {:node "controller2" :roles ["controller" "follower" "zookeeper" "zookeeper-leader"]}
   {:node "mux1" :roles ["mux"]}
   {:node "mux2" :roles ["mux"]}
   {:node "server1" :roles ["agent"]}])

(deftest roles
  (doseq [[step draw node program]
          [[{:fault :kill :on :leader} 5 "controller" "controller/controller"]
           [{:fault :kill :on :agent} 5 "server1" "server1/agent"]
           [{:fault :kill :on :zookeeper-leader} 0 "controller2" "controller2/zookeeper"]
           [{:fault :loss :on :mux} 3 "mux2" "mux2/mux"]
           [{:fault :kill :on "mux1"} 3 "mux1" nil]
           [{:fault :halves :on :none} 3 nil nil]]]
    (is (= [node program] ((juxt :node :program) (scenario/resolve-step @scenarios nodes draw step)))))
  (is (= "no node is server" (:error (scenario/resolve-step @scenarios nodes 1 {:fault :kill :on :server})))))

(deftest what-a-schedule-needs
  (doseq [[described window hold] [[nil 120 nil]
                                   [(get-in @scenarios [:schedules :holds]) 8 600]
                                   [(get-in @scenarios [:switches :hold-off]) 8 0]]]
    (is (= [window hold] ((juxt :window-seconds :hold-seconds) (:cluster (scenario/needed @scenarios described)))))))

(deftest commands-of-faults
  (is (= [["fault-ctl" "loss" "mux1" "10"]]
         (scenario/commands @scenarios :start {:fault :loss :node "mux1"})))
  (is (= [["fault-ctl" "loss" "mux1" "33"]]
         (scenario/commands @scenarios :start {:fault :loss :node "mux1" :percent 33})))
  (is (thrown-with-msg? clojure.lang.ExceptionInfo #":node" (scenario/commands @scenarios :start {:fault :loss})))
  (is (= :connections-of-node (scenario/may-break @scenarios {:fault :kill :on :server})))
  (is (= :nothing (scenario/may-break @scenarios {:fault :kill :on :mux}))))

(deftest each-step-of-each-schedule-has-commands
  (doseq [steps (concat (map :steps (vals (:switches @scenarios)))
                         (map #(:steps (scenario/schedule @scenarios % 1800 7)) (keys (:schedules @scenarios))))
          step  steps
          phase [:start :heal]]
    (testing step
      (is (vector? (scenario/commands @scenarios phase (assoc step :node "n" :program "n/p")))))))

(deftest drawn-schedules
  (let [drawn (fn [seconds seed] (:steps (scenario/schedule @scenarios :long seconds seed)))
        steps (drawn 1800 7)]
    (is (= steps (drawn 1800 7)))
    (is (not= steps (drawn 1800 8)))
    (is (< 50 (count steps)))
    (is (every? #(<= 0 (:at %) (- 1800 (:settle-seconds (:usual @scenarios)) -1)) steps))
    (is (= {:seconds 150 :steps (get-in @scenarios [:schedules :short :steps])}
           (scenario/schedule @scenarios :short 1800 7)))
    (is (seq (for [[a b] (partition 2 1 steps) :when (< (:at b) (+ (:at a) (:for a 0)))] [a b]))
        "some overlap")
    (doseq [seed        (range 50)
            :let        [steps (drawn 900 seed)]
            [n step]    (map-indexed vector steps)
            :let        [{:keys [on alone]} (get-in @scenarios [:faults (:fault step)])
                         meets? (fn [a b] (< (:at a) (+ (:at b) (:for b 0))))]]
      (is (contains? on (:on step :none)))
      (when alone
        (is (not-any? (fn [[m other]] (and (not= m n) (meets? step other) (meets? other step)))
                      (map-indexed vector steps)))))))

(deftest the-harness-draws-the-same
  (let [{:keys [scenarios drawn]} (edn/read-string (slurp "drawn.edn"))]
    (is (<= 3 (count drawn)))
    (doseq [{:keys [schedule seconds seed faults moves steps moved]} drawn]
      (testing (str schedule " of seed " seed)
        (let [found (scenario/schedule scenarios schedule seconds seed {:faults faults :moves moves})]
          (is (= steps (:steps found)))
          (when moves
            (is (= moved (:moves found)))))))))
