; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.scenario-test
  (:require [clojure.test :refer [deftest is testing]]
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
   {:node "mux2" :roles ["mux"]}])

(deftest roles
  (doseq [[step draw node program]
          [[{:fault :kill :on :leader} 5 "controller" "controller/controller"]
           [{:fault :kill :on :zookeeper-leader} 0 "controller2" "controller2/zookeeper"]
           [{:fault :loss :on :mux} 3 "mux2" "mux2/mux"]
           [{:fault :kill :on "mux1"} 3 "mux1" nil]
           [{:fault :halves :on :none} 3 nil nil]]]
    (is (= [node program] ((juxt :node :program) (scenario/resolve-step nodes draw step)))))
  (is (= "no node is server" (:error (scenario/resolve-step nodes 1 {:fault :kill :on :server})))))

(deftest commands-of-faults
  (is (= [["fault-ctl" "loss" "mux1" "10"]]
         (scenario/commands @scenarios :start {:fault :loss :node "mux1"})))
  (is (= [["fault-ctl" "loss" "mux1" "33"]]
         (scenario/commands @scenarios :start {:fault :loss :node "mux1" :percent 33})))
  (is (thrown-with-msg? clojure.lang.ExceptionInfo #":node" (scenario/commands @scenarios :start {:fault :loss})))
  (is (= :connections-of-node (scenario/may-break @scenarios {:fault :kill :on :server})))
  (is (= :nothing (scenario/may-break @scenarios {:fault :kill :on :mux}))))

(deftest each-step-of-each-schedule-has-commands
  (doseq [steps (conj (map :steps (vals (:switches @scenarios))) (get-in @scenarios [:schedules :short :steps]))
          step  steps
          phase [:start :heal]]
    (testing step
      (is (vector? (scenario/commands @scenarios phase (assoc step :node "n" :program "n/p")))))))
