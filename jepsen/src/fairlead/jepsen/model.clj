; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.model
  "What one service's pool does with each operation, as if there were one
  controller and nobody else: the model that histories are linearized against.

  A pool is a revision and the weights by backend. It begins at revision 1
  without backends. A write that changes the weights raises the revision by one;
  one that leaves them as they are leaves it, too. An acknowledged write says
  which revision it led to, a read which one it saw: that makes the search for
  an order short, since hardly two orders fit.

  Writes of unknown outcome would make it long, twice as long with each of them: any number of them might stand
  anywhere. So a pool knows beforehand what was seen of each revision, and lets such a write make
  one only where nothing contradicts that."
  (:require [knossos.model :as model])
  (:import (knossos.model Model)))

(defn write
  "The weights after a write of `f` with `payload`; nil if a pool with this
  revision and these weights would refuse it."
  [revision weights f {:keys [backend weight] :as payload}]
  (case f
    :add         (assoc weights backend weight)
    :weight      (when (contains? weights backend) (assoc weights backend weight))
    :conditional (when (and (contains? #{nil revision} (:if payload)) (contains? weights backend))
                   (assoc weights backend weight))
    :remove      (when (contains? weights backend) (dissoc weights backend))
    :apply       (:weights payload)))

(defn- agrees?
  "Whether an answer that tells of a revision can be true where the pool has these weights at it, and was brought there by
  another write."
  [revision weights {:keys [f value]}]
  (= weights (if (= :read f)
               (:weights value)
               (write revision weights f value))))

(defn could-make?
  "Whether a write of unknown outcome may have led to these weights at this revision: nobody looks beyond the last revision
  that was seen, and who tells of this one agrees."
  [seen revision weights]
  (and (<= revision (:last seen))
       (every? (partial agrees? revision weights) (get seen revision))))

; What was seen is the same for all pools of a history: metadata, which neither equality nor hashes look at.
(defrecord Pool [revision weights]
  Model
  (step [pool {:keys [f value]}]
    (if (= :read f)
      (if (and (= revision (:revision value)) (= weights (:weights value)))
        pool
        (model/inconsistent (str "read revision " (:revision value) " " (:weights value) " of revision "
                                 revision " " weights)))
      (let [weights'  (write revision weights f value)
            revision' (if (= weights weights') revision (inc revision))]
        (cond
          (nil? weights')
          (model/inconsistent (str f " " value " would be refused at revision " revision " " weights))

          ; Of unknown outcome. Where it changes nothing it may as well stand
          ; behind all others, so only those that do are worth trying.
          (nil? (:revision value))
          (cond
            (= revision revision')                             (model/inconsistent "changes nothing")
            (could-make? (meta pool) revision' weights') (assoc pool :revision revision' :weights weights')
            :else (model/inconsistent (str "revision " revision' " was seen to be another")))

          (= revision' (:revision value))
          (assoc pool :revision revision' :weights weights')

          :else
          (model/inconsistent (str f " led to revision " (:revision value) ", here it would be " revision')))))))

(defn pool
  "A service that was created, and nothing more, given all acknowledged operations, as `step` takes them."
  [acknowledged]
  (let [revision (comp :revision :value)]
    (with-meta (Pool. 1 {})
               (assoc (group-by revision acknowledged) :last (reduce max 1 (map revision acknowledged))))))
