; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.model
  "What one service's pool does with each operation, as if there were one controller and one
  client: the model that histories are linearized against.

  A pool is a revision and the weights by backend. It begins at revision 1 without backends. A
  write that changes the weights raises the revision by one; a write that changes nothing leaves
  it. An acknowledged write has the revision that it led to, a read the one that it saw: few
  orders fit, and the search for one is short.

  Each write of unknown outcome would double the search: it might take effect anywhere. So a pool
  has, from the start, what was seen of each revision, and such a write may lead to a revision
  only where nothing that was seen contradicts it.")

(defn write
  "The weights after a write of `f` with `payload`; nil if a pool with this
  revision and these weights rejects it."
  [revision weights f {:keys [backend weight] :as payload}]
  (case f
    :add         (assoc weights backend weight)
    :weight      (when (contains? weights backend) (assoc weights backend weight))
    :conditional (when (and (contains? #{nil revision} (:if payload)) (contains? weights backend))
                   (assoc weights backend weight))
    :remove      (when (contains? weights backend) (dissoc weights backend))
    :apply       (:weights payload)))

(defn- agrees?
  "Whether an answer with this revision is possible if another write led the pool to it with these weights."
  [revision weights {:keys [f value]}]
  (= weights (if (= :read f)
               (:weights value)
               (write revision weights f value))))

(defn could-make?
  "Whether a write of unknown outcome may have led to these weights at this revision: it is not above the last revision
  that was seen, and every answer with this revision agrees."
  [seen revision weights]
  (and (<= revision (:last seen))
       (every? (partial agrees? revision weights) (get seen revision))))

; What was seen is metadata: it is the same for all pools of a history, and equality and hashes ignore metadata.
(defrecord Pool [revision weights])

(defn step
  "The pool after an operation; a sentence if the operation is not possible there."
  [{:keys [revision weights] :as pool} {:keys [f value]}]
  (if (= :read f)
    (if (and (= revision (:revision value)) (= weights (:weights value)))
      pool
      (str "read revision " (:revision value) " " (:weights value) " of revision " revision " " weights))
    (let [weights'  (write revision weights f value)
          revision' (if (= weights weights') revision (inc revision))]
      (cond
        (nil? weights')
        (str f " " value " would be refused at revision " revision " " weights)

        ; Of unknown outcome. One that changes nothing can as well come after all others: only those that change
        ; something are worth trying.
        (nil? (:revision value))
        (cond
          (= revision revision')                             "changes nothing"
          (could-make? (meta pool) revision' weights') (assoc pool :revision revision' :weights weights')
          :else (str "revision " revision' " was seen to be another"))

        (= revision' (:revision value))
        (assoc pool :revision revision' :weights weights')

        :else
        (str f " led to revision " (:revision value) ", here it would be " revision')))))

(defn pool
  "A service that was just created, given all acknowledged operations of its history, as `step` takes them."
  [acknowledged]
  (let [revision (comp :revision :value)]
    (with-meta (Pool. 1 {})
               (assoc (group-by revision acknowledged) :last (reduce max 1 (map revision acknowledged))))))
