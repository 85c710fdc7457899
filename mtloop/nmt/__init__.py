"""Neural MT on Marian models: the engine, what of a model learns, what helps while decoding, training."""
