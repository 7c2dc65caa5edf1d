; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.connections-test
  "The program that holds connections, here on this machine."
  (:require [clojure.test :refer [deftest is]]
            [fairlead.jepsen.cluster :as cluster]
            [fairlead.jepsen.workload.connections :as connections]))

(def agent! @#'connections/agent!)
(def hold! @#'connections/hold!)

(defn- slowly
  "Instead of `nodes exec`, a shell that takes its time before it runs the program."
  [seconds]
  (fn [_ command] (into ["sh" "-c" (str "sleep " seconds "; exec \"$@\"") "sh"] (drop 4 command))))

(deftest seconds-count-from-the-order
  (with-redefs [cluster/words (slowly 2)]
    (let [agent (agent! {} "client1")
          begun (System/nanoTime)
          told  (hold! agent {:id 1 :kind "tcp" :seconds 0 :host "127.0.0.1" :port 1 :pause 1 :answer 20})
          took  (/ (- (System/nanoTime) begun) 1e9)]
      (.close ^java.io.Writer (:out agent))
      (is (= ["refused" 0] [(:end told) (:requests told)]))
      (is (< (- took (:seconds told)) 2) "no order waits for the program to start"))))

(deftest a-program-that-does-not-start-is-named
  (with-redefs [cluster/words (constantly ["false"])]
    (is (thrown-with-msg? clojure.lang.ExceptionInfo #"does not start on client1" (agent! {} "client1")))))
