; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.nemesis-test
  (:require [clojure.test :refer [deftest is]]
            [fairlead.jepsen.nemesis :as nemesis]
            [jepsen.generator.test :as gen.test]))

(deftest each-step-of-a-schedule-starts-and-heals-once
  (let [ops (gen.test/perfect* (nemesis/schedule [{:at 2 :for 5 :fault :kill :on :mux}
                                                 {:at 4 :fault :reshuffle :on :router}] 1))]
    (is (= [[2 :start-kill 0] [4 :start-reshuffle 1] [4 :heal-reshuffle 1] [7 :heal-kill 0]]
           (distinct (map (fn [{:keys [time f value]}] [(long (/ time 1e9)) f (:step value)]) ops))))
    (is (= [:mux :router] (distinct (keep (comp :on :value) ops))))))
