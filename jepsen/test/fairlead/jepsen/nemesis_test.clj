; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.nemesis-test
  (:require [clojure.test :refer [deftest is testing]]
            [fairlead.jepsen [checker :as checker]
                             [cluster :as cluster]
                             [nemesis :as nemesis]]
            [jepsen [checker :as jepsen]
                    [generator :as gen]
                    [nemesis :as nemesis.protocol]]
            [jepsen.generator.test :as gen.test]))

(defn begun
  "`[second f step]` of each operation that a schedule invokes, where each takes so many seconds."
  [steps seconds-of]
  (let [done (fn [_ op] (-> op
                            (update :time + (long (* 1e9 (seconds-of (:f op)))))
                            (assoc :done true)))]
    (for [{:keys [time f value] :as op} (gen.test/simulate (gen/nemesis (nemesis/schedule {:corrupt {:alone true}, :upgrade {:heal []}} steps 1)) done) :when (not (:done op))]
      [(long (/ time 1e9)) f (:step value)])))

(def steps
  [{:at 2 :for 5 :fault :kill :on :mux}
   {:at 4 :fault :reshuffle :on :router}])

(deftest each-step-of-a-schedule-starts-and-heals-once
  (is (= [[2 :start-kill 0] [4 :start-reshuffle 1] [4 :heal-reshuffle 1] [7 :heal-kill 0]]
         (begun steps (constantly 0))))
  (testing "a long command shortens no fault"
    (is (= [[2 :start-kill 0] [12 :start-reshuffle 1] [12 :heal-kill 0] [12 :heal-reshuffle 1]]
           (begun steps {:start-kill 10, :heal-kill 0, :start-reshuffle 0, :heal-reshuffle 0})))
    (is (= [[2 :start-reshuffle 0] [2 :heal-reshuffle 0] [12 :start-kill 1] [17 :heal-kill 1]]
           (begun [{:at 2 :fault :reshuffle :on :router} {:at 3 :for 5 :fault :kill :on :mux}]
                  {:start-kill 1, :heal-kill 0, :start-reshuffle 0, :heal-reshuffle 10}))))
  (testing "what nothing heals is waited for later"
    (is (= [[2 :start-upgrade 0] [3 :start-kill 1] [8 :heal-kill 1] [32 :heal-upgrade 0]]
           (begun [{:at 2 :fault :upgrade} {:at 3 :for 5 :fault :kill :on :mux}] (constantly 0)))))
  (testing "a fault that is alone waits for the others, and they for it"
    (is (= [[2 :start-kill 0] [9 :heal-kill 0] [9 :start-corrupt 1] [15 :heal-corrupt 1] [15 :start-kill 2] [16 :heal-kill 2]]
           (begun [{:at 2 :for 7 :fault :kill :on :zookeeper} {:at 4 :for 6 :fault :corrupt :on :zookeeper}
                   {:at 8 :for 1 :fault :kill :on :mux}]
                  (constantly 0))))))

(deftest what-nothing-heals-runs-beside
  (let [begun   (promise), go-on (promise)
        faults  {:upgrade {:start [["node-ctl" "upgrade" "--kind" :kind]], :heal [], :defaults {:kind "mux"}}}
        nemesis (nemesis/->Fault :upgrade (atom {}))
        run     (fn [f] (nemesis.protocol/invoke! nemesis {:scenarios {:faults faults}} {:f f, :value {:step 3}}))]
    (with-redefs [cluster/state (constantly {:nodes []})
                  cluster/run!  (fn [_ command] (deliver begun command) (is (deref go-on 60000 nil)))]
      (is (= 3 (:step (:value (run :start-upgrade)))))
      (is (= ["node-ctl" "upgrade" "--kind" "mux"] (deref begun 60000 nil)))
      (let [healed (future (run :heal-upgrade))]
        (is (not (realized? healed)))
        (deliver go-on true)
        (is (= {:step 3, :fault :upgrade} (:value (deref healed 60000 nil)))))
      (is (= "was not started" (:error (run :heal-upgrade)))))))

(defn op [f value & {:as more}]
  (merge {:process :nemesis :type :info :f f :value value} more))

(deftest checks-of-the-run-itself
  (doseq [[why valid? n ops]
          [["all steps" true 1 [(op :start-kill {:step 0}) (op :start-kill {:step 0 :node "mux1"}) (op :heal-kill {:step 0})]]
           ["no node of its role" true 2 [(op :start-kill {:step 0}) (op :start-kill {:step 0} :error "no node is leader")
                                         (op :start-kill {:step 1}) (op :start-kill {:step 1 :node "mux1"})]]
           ["never a node of its role" :unknown 1 [(op :start-kill {:step 0}) (op :start-kill {:step 0} :error "no node is leader")]]
           ["a step never began" :unknown 2 [(op :start-kill {:step 0}) (op :heal-kill {:step 0})]]
           ["a command failed" false 1 [(op :start-kill {:step 0}) (op :start-kill {:step 0} :error "indeterminate: …" :exception {})]]]]
    (testing why
      (is (= valid? (:valid? (jepsen/check (checker/nemesis n) nil ops nil)))))))

(deftest connections-by-mptcp
  (let [ended  (fn [kind subflows] {:f :connection :type :ok :value {:kind kind :requests 3 :subflows subflows}})
        judged (fn [share & ops] (:valid? (jepsen/check (checker/mptcp share) nil ops nil)))]
    (is (true? (judged 0.25 (ended :mptcp 0) (ended :mptcp 1))))
    (is (false? (judged 0.25 (ended :mptcp 0) (ended :tcp 0))))
    (is (false? (judged 0.25)))
    (is (true? (judged 0 (ended :tcp 0))))))

(deftest a-switch-must-turn-exactly-its-verdicts-red
  (let [judged (fn [red entailed results]
                 (:valid? (jepsen/check (checker/broken-on-purpose (reify jepsen/Checker (check [_ _ _ _] results))
                                                                   {:red red, :entailed entailed})
                                        nil [] nil)))]
    (doseq [[valid? red entailed a b]
            [[true #{:a} nil false true]
             [true #{:a} #{:b} false false]
             [true #{:a :b} nil false false]
             [false #{:a} nil true true]
             [false #{:a} nil false false]
             [false #{:a :b} nil false true]
             [:unknown #{:a} nil false :unknown]
             [false #{:c} nil true true]]]
      (is (= valid? (judged red entailed {:a {:valid? a}, :b {:valid? b}, :valid? false}))))))
