
(define (problem one) (:domain attic)
  (:objects north south - room  crate chest safe - box  book - thing  torch - lamp)
  (:init (here north) (next north south) (next south north)
    (stands crate north) (stands safe north) (stands chest south) (locked safe)
    (in book crate) (in torch crate) (= (total-cost) 0))
  (:goal (and (in book chest) (exists (?l - lamp) (and (lit ?l) (not (in ?l crate)))))))
