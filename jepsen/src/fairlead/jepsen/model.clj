; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.model
  "What one service's pool does with each operation, as if there were one
  controller and nobody else: the model that histories are linearized against.

  A pool is a revision and the weights by backend. It begins at revision 1
  without backends. A write that changes the weights raises the revision by one;
  one that leaves them as they are leaves it, too. An acknowledged write says
  which revision it led to, a read which one it saw: that makes the search for
  an order short, since hardly two orders fit."
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
          (if (= revision revision')
            (model/inconsistent "changes nothing")
            (Pool. revision' weights'))

          (= revision' (:revision value))
          (Pool. revision' weights')

          :else
          (model/inconsistent (str f " led to revision " (:revision value) ", here it would be " revision')))))))

(defn pool
  "A service that was created, and nothing more."
  []
  (Pool. 1 {}))
