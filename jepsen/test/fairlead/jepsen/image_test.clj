; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.image-test
  "The naive reader against protocol/vectors/delta.json, which every part is tested against."
  (:require [clojure.data.json :as json]
            [clojure.test :refer [deftest is testing]]
            [fairlead.jepsen.image :as image])
  (:import (java.net InetAddress)
           (java.util Arrays HexFormat)))

(def vectors
  (delay (json/read-str (slurp "../protocol/vectors/delta.json") :key-fn keyword)))

(defn unhex ^bytes [text]
  (.parseHex (HexFormat/of) text))

(defn address
  "16 bytes, IPv4 as ::ffff:a.b.c.d."
  [text]
  (let [bytes (.getAddress (InetAddress/getByName text))]
    (if (= 4 (alength bytes))
      (byte-array (concat (repeat 10 0) [-1 -1] bytes))
      bytes)))

(defn ring
  "A vector's image as a ring."
  [{:keys [service generation buckets backends runs]}]
  (assert (= buckets (reduce + (map :count runs))))
  {:service  service
   :generation generation
   :backends (into (sorted-map) (for [{:keys [id removed dead foreign weight] :as backend} backends]
                                  [id {:removed? removed, :dead? dead, :foreign? foreign, :weight weight
                                       :address (address (:address backend))}]))
   :buckets  (vec (mapcat #(repeat (:count %) [(:current %) (:history %)]) runs))})

(defn plain
  "A ring as plain data, to compare."
  [ring]
  (-> (select-keys ring [:service :generation :buckets])
      (assoc :backends (update-vals (image/listed ring) #(update % :address vec)))))

(deftest snapshots
  (doseq [row (:snapshots @vectors)]
    (testing (:name row)
      (is (= (plain (ring (:image row))) (plain (image/snapshot (unhex (:bytes row)))))))))

(deftest deltas
  (doseq [row (:apply @vectors)]
    (testing (:name row)
      (is (= (plain (ring (:result row)))
             (plain (image/delta (ring (:image row)) (unhex (get-in row [:delta :bytes] (:bytes row))))))))))

(deftest chains
  (doseq [row (:chains @vectors)]
    (testing (:name row)
      (let [result (reduce image/delta (image/snapshot (unhex (:snapshot row))) (map unhex (:deltas row)))]
        (is (= (plain (ring (:result row))) (plain result)))
        (is (= (:sum (:result row)) (image/sum result)))))))

(deftest damage-is-refused
  (let [bytes (unhex (:bytes (first (:snapshots @vectors))))]
    (doseq [[reason damaged] [["truncated" (Arrays/copyOf bytes 31)]
                              ["magic" (doto (aclone bytes) (aset 3 (byte 0x32)))]
                              ["checksum" (doto (aclone bytes) (aset 4 (byte 99)))]]]
      (is (thrown-with-msg? clojure.lang.ExceptionInfo (re-pattern reason) (image/snapshot damaged))))))
