"""Published methods that learn from corrections one by one with nearest neighbours, for a comparison with `memory`.

    TokenStore      all stored states, a fixed weight            knn-mt        Khandelwal and others, ICLR 2021
    AdaptiveStore   a small network chooses weight and number    knn-adaptive  Zheng and others, ACL 2021
    PolicyStore     a second store chooses the weight            knn-kok       Wang and others, AAAI 2022
    SimilarStore    the states of the most similar pairs alone   sk-mt         Dai and others, ICLR 2023

The formulas are those of the papers and of their authors' code, and so are the defaults, unless a class says otherwise.
A key is the decoder's last state before a token, as in adaptive kNN-MT, KoK and SK-MT; the first paper takes the input
of the last feed-forward layer.

A distance is the squared Euclidean distance of two states. It is not divided by their width, unlike that of `memory`.
So temperatures and limits are on the scale of the papers, whose values were chosen for a model of width 1,024. The
search is exact: every stored state is compared. Keys have 16 bits, as in the authors' code.

None of the methods looks up exact repeats. `exact_match` adds this, so that a comparison with `memory` can be fair both
ways.
"""
