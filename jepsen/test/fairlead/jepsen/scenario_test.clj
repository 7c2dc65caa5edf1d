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
    (is (= [node program] ((juxt :node :program) (scenario/resolve-step nodes draw step)))))
  (is (= "no node is server" (:error (scenario/resolve-step nodes 1 {:fault :kill :on :server})))))

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
    (is (every? #(<= 0 (:at %) (- 1800 scenario/settle-seconds -1)) steps))
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
  (let [scenarios {:faults    {:kill {:on #{:mux :leader} :heal [["x"]]}, :corrupt {:on #{:zookeeper} :alone true :heal [["x"]]}
                               :upgrade {:on #{:none} :heal []}}
                   :schedules {:long {:every 14 :for [4 10] :overlap 0.3 :weights {:kill 3 :corrupt 1 :upgrade 1}}}}]
    (is (= [{:at 7.0 :fault :kill :on :mux :for 9.8}
            {:at 21.0 :fault :kill :on :leader :for 9.2}
            {:at 35.0 :fault :kill :on :leader :for 6.4}
            {:at 42.0 :fault :kill :on :leader :for 6.6}
            {:at 63.0 :fault :kill :on :mux :for 8.0}
            {:at 77.0 :fault :corrupt :on :zookeeper :for 6.9}
            {:at 91.0 :fault :kill :on :mux :for 7.0}]
           (:steps (scenario/schedule scenarios :long 120 1))))
    (is (= {:seconds 40
            :moves   [0.0 13.3 26.6]
            :steps   [{:at 4.1 :fault :kill :on :mux :for 9.8}
                      {:at 14.9 :fault :kill :on :leader :for 9.2}
                      {:at 25.2 :fault :kill :on :leader :for 6.4}]}
           (scenario/schedule scenarios :long 40 1 {:faults 3 :moves 3})))
    (is (= {:seconds 90 :steps [] :moves [0.0 30.0 60.0]}
           (scenario/schedule {:schedules {:listed {:seconds 90 :steps [] :moves [7]}}} :listed 40 1 {:moves 3})))))
