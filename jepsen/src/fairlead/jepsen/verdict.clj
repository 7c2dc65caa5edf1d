; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.verdict
  "How a checker reports what it found. A violation is `[rule sentence]`, with the
  rule's name in jepsen/rules.edn.")

(def examples-max 8)

(defn unknown
  "The verdict that `rule` leaves open."
  [rule & words]
  {:valid? :unknown, :rules #{rule}, :why (apply str words), :examples []})

(defn judged
  "False with any violation; otherwise true, with the sentence `why` and examples
  of what was checked."
  ([violations why] (judged violations why []))
  ([violations why examples]
   (if (empty? violations)
     {:valid? true, :rules #{}, :why why, :examples (vec (take examples-max examples))}
     (let [sentences (distinct (map second violations))]
       {:valid?   false
        :rules    (into (sorted-set) (map first) violations)
        :why      (str (count sentences) " violations, the first: " (first sentences))
        :examples (vec (take examples-max sentences))}))))
