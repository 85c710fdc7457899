"""Statistical MT on Thot, a phrase-based engine with online learning: training, tuning, translating, adapting."""
