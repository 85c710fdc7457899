"""Neural MT with Marian models: the engine, the parameters that learn, help while decoding, and training."""
