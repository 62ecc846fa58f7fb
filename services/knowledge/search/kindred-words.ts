/**
 * Words that callers use for one another. The documentation has one name for a thing, and those who ask do not know
 * it yet. Every group is of one meaning in this house; a word is in one group at most.
 */
const KINDRED: readonly (readonly string[])[] = [
  ['price', 'cost', 'fee', 'expensive', 'cheap', 'pricing'],
  ['pay', 'payment', 'paid'],
  ['charge', 'bill', 'count', 'debit'],
  ['erase', 'forget', 'forgotten'],
  ['delete', 'remove', 'unsubscribe', 'cancel', 'quit'],
  ['revoke', 'lost', 'leak', 'stolen', 'compromised'],
  ['quota', 'allowance', 'credits'],
  ['remaining', 'left'],
  ['signal', 'verdict', 'prediction', 'recommendation'],
  ['exchange', 'venue'],
  ['endpoint', 'receiver', 'listener'],
  ['install', 'setup', 'deploy', 'deployment'],
  ['start', 'run', 'launch'],
  ['laptop', 'machine', 'computer', 'server', 'box', 'vps', 'host'],
  ['error', 'refusal', 'refused'],
  ['retry', 'retried', 'repeat', 'repeated', 'resend'],
  ['verify', 'verification', 'check', 'proof', 'prove'],
  ['historical', 'history', 'past', 'old', 'recorded'],
  ['download', 'export'],
  ['accuracy', 'accurate', 'good', 'reliable', 'performance'],
  ['sign', 'signature', 'signed'],
  ['currency', 'usdc', 'money'],
  ['chain', 'blockchain', 'network'],
  ['account', 'login', 'signup', 'register'],
  ['agent', 'mcp'],
  ['live', 'realtime', 'tail'],
  ['limit', 'maximum', 'cap'],
  ['simulated', 'fake', 'made'],
  ['configure', 'configuration', 'setting', 'option'],
  ['computed', 'calculated', 'decided'],
  ['valid', 'expire', 'expires'],
  ['daily', 'day'],
  ['backup', 'back'],
  ['biggest', 'largest', 'big', 'large', 'top'],
  ['push', 'webhook', 'hook', 'callback', 'notify', 'notification', 'alert'],
  ['disabled', 'disable', 'switched', 'deactivated', 'stopped'],
  ['flip', 'turn', 'change'],
  ['edit', 'edited', 'alter', 'modify', 'tamper', 'manipulate', 'rewrite'],
  ['payload', 'body', 'data'],
  ['down', 'outage', 'away', 'unreachable', 'offline', 'downtime'],
  ['crash', 'dies', 'died', 'dead', 'killed', 'sigkill'],
  ['losing', 'loss', 'lose'],
  ['win', 'right', 'correct'],
  ['twice', 'double', 'duplicate', 'identical'],
  ['fast', 'quick', 'quickly', 'speed', 'latency', 'delay', 'slow'],
  ['docs', 'documentation', 'manual'],
  ['param', 'parameter', 'argument', 'field'],
  ['example', 'sample', 'snippet'],
  ['candle', 'bar', 'kline'],
  ['factor', 'feature', 'input'],
  ['weight', 'weigh', 'coefficient'],
  ['profit', 'profitable', 'gain', 'earn'],
  ['guarantee', 'promise'],
  ['url', 'address', 'link'],
  ['coin', 'crypto', 'cryptocurrency', 'asset', 'ticker', 'symbol'],
  ['candlestick', 'ohlc', 'ohlcv'],
  ['timeframe', 'interval', 'period'],
  ['confidential', 'private', 'privacy'],
  ['refund', 'reimburse', 'compensate'],
  ['recompute', 'recalculate', 'reproduce'],
  ['threshold', 'cutoff'],
  ['logging', 'logs', 'verbose'],
  ['upgrade', 'update', 'migrate'],
  ['pause', 'interruption'],
  ['restore', 'recover', 'recovery'],
  ['metric', 'monitor', 'observe'],
  ['late', 'lag', 'behind'],
  ['customer', 'user', 'client'],
  ['kubernetes', 'k8s', 'helm', 'docker', 'container'],
  ['throughput', 'capacity', 'load'],
  ['format', 'layout', 'structure', 'schema'],
  ['message', 'event', 'delivery'],
  ['measure', 'score', 'rate'],
  ['issue', 'problem', 'trouble', 'fault'],
  ['begin', 'began', 'started'],
  ['trial', 'try', 'test', 'sandbox'],
  ['program', 'app', 'application', 'script'],
  ['reply', 'answer', 'respond', 'response'],
  ['save', 'keep', 'kept', 'stored'],
]

const GROUPS = new Map(KINDRED.flatMap((group) => group.map((word) => [word, group] as const)))

/** Other words for a word, or for the word that it is a form of. */
export function kindredOf(word: string): readonly string[] {
  const own = [word, ...ENDINGS.map((ending) => word.replace(ending, ''))].find((one) => GROUPS.has(one))
  return own === undefined ? [] : (GROUPS.get(own)?.filter((other) => other !== own) ?? [])
}

/** Endings of the forms of a word. */
const ENDINGS = [/s$/, /d$/, /ed$/, /ing$/]

/** Names of things that people ask about as one of their kind: what is asked of one coin is asked of all. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  coin: (
    'btc bitcoin eth ethereum ether sol solana doge dogecoin xrp ripple ada cardano bnb avax avalanche link chainlink ltc litecoin dot polkadot ' +
    'matic pepe shib shiba sui trx tron ton bch atom near apt arb op ena btcusdt ethusdt altcoin altcoins memecoin memecoins'
  ).split(' '),
  exchange: (
    'binance bybit okx bitget hyperliquid hl kucoin mexc bingx htx huobi phemex aster whitebit kraken coinbase bitfinex bitstamp gemini bitmex ' +
    'dydx uniswap deribit'
  ).split(' '),
}

const KIND_OF = new Map(
  Object.entries(KINDS).flatMap(([kind, names]) => names.map((name) => [name, kind] as const)),
)

/** @example kindOf('btc') === 'coin' */
export const kindOf = (word: string): string => KIND_OF.get(word) ?? word
