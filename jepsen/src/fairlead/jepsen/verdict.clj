; SPDX-License-Identifier: Apache-2.0
(ns fairlead.jepsen.verdict
  "How a rule says what it found.")

(def examples-max 8)

(defn unknown
  [& words]
  {:valid? :unknown, :why (apply str words), :examples []})

(defn judged
  "What speaks against it, sentences, makes it false; nothing makes it true,
  with the sentence `why` and examples of what was looked at."
  ([against why] (judged against why []))
  ([against why examples]
   (if (empty? against)
     {:valid? true, :why why, :examples (vec (take examples-max examples))}
     {:valid?   false
      :why      (str (count against) " violations, the first: " (first against))
      :examples (vec (take examples-max against))})))
