; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.without-jepsen
  "The tests that need no Jepsen, for jepsen/test-rules: a line `ok - NAME` or `not ok - NAME` each."
  (:require [clojure.test :as test]))

(def namespaces
  '[fairlead.jepsen.bounds-test fairlead.jepsen.image-test fairlead.jepsen.rules-test fairlead.jepsen.scenario-test])

(defn -main
  []
  (apply require namespaces)
  (let [before (atom nil)
        bad    (fn [] (reduce + (map #(get @test/*report-counters* % 0) [:fail :error])))
        report test/report]
    (binding [test/report (fn [{:keys [type] :as event}]
                            (report event)
                            (case type
                              :begin-test-var (reset! before (bad))
                              :end-test-var   (test/with-test-out
                                                (println (str (if (= @before (bad)) "ok - " "not ok - ")
                                                              (subs (str (:var event)) 2))))
                              nil))]
      (let [{:keys [fail error]} (apply test/run-tests namespaces)]
        (shutdown-agents)
        (System/exit (if (zero? (+ fail error)) 0 1))))))
