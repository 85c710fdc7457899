"""Statistical MT on Thot, an engine made for online learning: training, tuning, translating, learning a pair."""
