"""Stands in for the library of venues that Freqtrade imports: one venue with three markets, and the arithmetic of ticks."""
import decimal

__version__ = "4.0.0"
TRUNCATE, ROUND, ROUND_UP, ROUND_DOWN = range(4)
DECIMAL_PLACES, SIGNIFICANT_DIGITS, TICK_SIZE = 2, 3, 4
exchanges = ["binance"]


class BaseError(Exception):
    pass


for _name in ("ExchangeError", "NetworkError", "DDoSProtection", "NotSupported", "InvalidOrder", "InsufficientFunds", "OrderNotFound"):
    globals()[_name] = type(_name, (BaseError,), {})


def decimal_to_precision(n, rounding_mode=ROUND, precision=None, counting_mode=TICK_SIZE, padding_mode=None):
    tick = decimal.Decimal(str(precision))
    how = decimal.ROUND_DOWN if rounding_mode == TRUNCATE else decimal.ROUND_HALF_UP
    return str((decimal.Decimal(str(n)) / tick).quantize(decimal.Decimal(1), rounding=how) * tick)


class Precise:
    def __init__(self, number, decimals=None):
        self.number = decimal.Decimal(str(number))

    def __str__(self):
        return format(self.number, "f")

    def __float__(self):
        return float(self.number)

    def __neg__(self):
        return type(self)(-self.number)


def _operation(name):
    act = getattr(decimal.Decimal, name)

    def on_numbers(self, other):
        found = act(self.number, other.number)
        return found if isinstance(found, bool) else type(self)(found)

    return on_numbers


for _name in ("__add__", "__sub__", "__mul__", "__truediv__", "__mod__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Precise, _name, _operation(_name))


class binance:
    id, name, precisionMode, session, markets = "binance", "Binance", TICK_SIZE, None, None
    options, urls = {}, {}
    timeframes = {name: name for name in ("1m", "5m", "15m", "1h")}
    has = dict.fromkeys(
        ("fetchOHLCV", "fetchOrder", "cancelOrder", "createOrder", "fetchBalance", "fetchTickers", "fetchL2OrderBook", "createMarketOrder"), True
    )

    def __init__(self, config=None):
        self.markets = {f"{coin}/USDT": self._market(coin) for coin in ("BTC", "ETH", "DOGE")}

    @staticmethod
    def _market(coin):
        market = {"id": f"{coin}USDT", "symbol": f"{coin}/USDT", "base": coin, "quote": "USDT", "type": "spot", "info": {}}
        limits = {name: {"min": None, "max": None} for name in ("amount", "price", "cost")}
        market.update(active=True, spot=True, swap=False, future=False, linear=None, contractSize=None, limits=limits)
        return {**market, "precision": {"amount": 1e-8, "price": 1e-8}}

    @staticmethod
    def parse_timeframe(timeframe):
        return int(timeframe[:-1]) * {"m": 60, "h": 3_600, "d": 86_400}[timeframe[-1]]

    @staticmethod
    def round_timeframe(timeframe, timestamp, direction=ROUND_DOWN):
        length = binance.parse_timeframe(timeframe) * 1_000
        return timestamp - timestamp % length + (length if direction == ROUND_UP else 0)

    def set_markets_from_exchange(self, other):
        self.markets = other.markets

    def load_markets(self, reload=False, params=None):
        return self.markets

    def calculate_fee(self, **_):
        return {"rate": 0.001}


Exchange = binance
