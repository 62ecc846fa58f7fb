CoinGeckoAPI = None
