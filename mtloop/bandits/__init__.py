"""Learning to translate from one number: what a translation was worth (2017). Learners over the translators."""
