import { type Exchange, type Series, seriesName } from '../domain/series.ts'
import type { Timeframe } from '../domain/timeframes.ts'
import { LIMITS } from '../limits.ts'

/** Begins the names of streams that hold the key of what is personal. The thread of the writer loads this file, and no schemas. */
export const SUBJECT_PREFIX = 'subject-'

/** Whether a stream can be erased; it is then read by name only. */
export const isErasable = (stream: string): boolean => stream.startsWith(SUBJECT_PREFIX)

export const STORE_IDENTITY_STREAM = 'store-identity'
/** Losses of the log's end that its operator accepted. */
export const STORE_LOSSES_STREAM = 'store-losses'
export const MARKET_CLOCK_STREAM = 'store-market-clock'
/** Stretches of market time that a simulated market was run through. */
export const MARKET_RUNS_STREAM = 'store-market-runs'

const VERDICT_PREFIX = 'verdict-'

export const verdictStream = (series: Series): string => `${VERDICT_PREFIX}${seriesName(series)}`

/** The name of the series whose verdict stream this is; whether there can be such a series is not looked at. */
export const seriesOfVerdictStream = (stream: string): string | undefined =>
  stream.startsWith(VERDICT_PREFIX) ? stream.slice(VERDICT_PREFIX.length) : undefined

export const outcomeStream = (series: Series): string => `outcome-${seriesName(series)}`
export const universeStream = (exchange: Exchange): string => `scan-${exchange}.universe`
export const modelStream = (version: string): string => `model-${version}`
export const monitoredStream = (exchange: Exchange): string => `monitored-${exchange}`

export const LOG_KEYS_STREAM = 'log-keys'
export const LOG_CHECKPOINTS_STREAM = 'log-checkpoints'

export const sealedStream = (exchange: Exchange): string => `sealed-${exchange}`
export const accountStream = (accountId: string): string => `account-${accountId}`

/**
 * Holds the key of what is personal of one account, and nothing else. It ends when the account is erased.
 *
 * @param generation how many times the account was erased before
 */
export const subjectStream = (accountId: string, generation: number): string =>
  `${SUBJECT_PREFIX}${accountId}.${generation}`

/** Holds the key of a subject again, sealed under another key: its former stream is erased then. @param sealedUnder in hex */
export const resealedSubjectStream = (accountId: string, generation: number, sealedUnder: string): string =>
  `${subjectStream(accountId, generation)}.${sealedUnder}`

/** The first stream of a subject, of any of its streams. @throws TypeError for another stream */
export function firstStreamOf(stream: string): string {
  const [, first] = /^(subject-[0-9a-f-]+\.\d+)(?:\.[0-9a-f]+)?$/.exec(stream) ?? []
  if (first === undefined) throw new TypeError(`${stream} holds no key of a subject`)
  return first
}

/** Stands in a log that is being copied into, until the copy is whole; no process begins on such a log. */
export const UNFINISHED_COPY_STREAM = `${SUBJECT_PREFIX}unfinished-copy`

export const quotaStream = (payerId: string, windowId: string): string => `quota-${payerId}.${windowId}`

/** Parts of a payment that name it on its chain, in lower case. */
export interface AuthorizationName {
  readonly chainId: number
  /** The contract that the signature is for. */
  readonly contract: string
  readonly payer: string
  readonly nonce: string
}

/** An authorization is used once on its contract, and so has one stream; its first event claims it. */
export const paymentStream = ({ chainId, contract, payer, nonce }: AuthorizationName): string =>
  `payment-${chainId}.${contract}.${payer}.${nonce}`

export const subscriptionStream = (subscriptionId: string): string => `subscription-${subscriptionId}`
export const deliveryStream = (subscriptionId: string): string => `delivery-${subscriptionId}`
export const leaseStream = (group: string): string => `lease-${group}`
export const scanStream = (exchange: Exchange, timeframe: Timeframe): string =>
  `scan-${exchange}.${timeframe}`

export const chatStream = (payerId: string, windowId: string): string => `chat-${payerId}.${windowId}`

/** Starts with a lower-case letter, so that no name is taken for one of EventStoreDB's `$` streams. */
const STREAM_NAME = new RegExp(`^[a-z][A-Za-z0-9._:-]{0,${LIMITS.streamNameCharacters - 1}}$`)

export const isStreamName = (name: string): boolean => STREAM_NAME.test(name)
