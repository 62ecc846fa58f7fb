import type { Series } from '../../contracts/domain/series.ts'
import { openRecovery } from '../../services/payments/index.ts'
import {
  anAuthorization,
  encoded,
  nonceNumber,
  payerNumber,
  paymentV1,
  signAuthorization,
} from '../../services/payments/testing/sign-payment.ts'
import type { RecoverSigner } from '../../services/payments/verification/recover-signer.ts'
import { createRandom, type Random } from '../cluster/random.ts'
import type { DeliverySeen } from '../cluster/records.ts'
import { auditAtEnd, auditNow, type Evidence, unfinished } from './audit.ts'
import { FAULT_KINDS, type FaultKind, healAll, letFaultsHappen } from './faults.ts'
import { withOwnNode } from './own-node.ts'
import { createReceivers, type Mood } from './receivers.ts'
import type { Seams } from './seams.ts'
import { createSimulatedTime, type SimulatedTime } from './time.ts'
import {
  makeCalls,
  makePayments,
  openAccount,
  type Seen,
  type SignedPayment,
  type SubscribedAddress,
  subscribe,
} from './workload.ts'
import { createWorld, type World } from './world.ts'

/** Report of one seed. */
export interface SeedOutcome {
  readonly seed: number
  /** Findings, in words; empty where nothing is wrong. */
  readonly found: readonly string[]
  /** The same for two runs that were the same, step by step. */
  readonly trace: string
  readonly steps: number
  /** How long it took by the clock of the simulation, milliseconds. */
  readonly tookMs: number
}

const START = Date.UTC(2026, 10, 21, 12)
/** For so long faults happen, and callers ask. */
const [ACTIVE_LEAST_MS, ACTIVE_MOST_MS] = [10_000, 40_000]
/** So long all may take to come to its end once nothing fails any more. */
const FINISH_WITHIN_MS = 400_000
const LOOK_MS = 250
const FINISH_LOOK_MS = 5_000
const MOST_PLACES = 3
/** Seconds of market time in one of the simulation: a bar of a minute closes every six seconds. */
const MARKET_SPEED = 10
const PAYMENTS = 8
/** How long a payment may be settled, seconds. */
const VALID_S = 280
const SERIES: readonly Series[] = [
  { exchange: 'SIM', coin: 'BTC', timeframe: '1m' },
  { exchange: 'SIM', coin: 'ETH', timeframe: '1m' },
]

/** Slow parts that do not depend on a seed. */
interface Prepared {
  readonly recovery: RecoverSigner
  readonly payments: readonly SignedPayment[]
}

let prepared: Promise<Prepared> | undefined

async function prepare(): Promise<Prepared> {
  const recovery = await openRecovery({ report: () => undefined })
  const numbers = Array.from({ length: PAYMENTS }, (_, index) => index + 1)
  const payments = numbers.map(async (number): Promise<SignedPayment> => {
    const payer = payerNumber(1 + (number % 3))
    const validBefore = BigInt(START / 1_000 + VALID_S)
    const authorization = anAuthorization(payer, { nonce: nonceNumber(number), validBefore })
    const signature = await signAuthorization(payer, authorization)
    const { nonce } = authorization
    const header = encoded(paymentV1(authorization, signature))
    return { payer: authorization.payer, nonce, header }
  })
  return { recovery, payments: await Promise.all(payments) }
}

/**
 * Lives one seed through: some processes, some of the work, some of the faults, all drawn from it. In the end everything
 * is made well, and has to come to its end and to agree.
 *
 * @param onNote sees what happens as it happens
 */
export async function simulate(
  seed: number,
  seams: Seams = {},
  onNote?: (line: string) => void,
): Promise<SeedOutcome> {
  prepared ??= prepare()
  const ready = await prepared
  const time = createSimulatedTime(START, onNote)
  const random = createRandom(seed)
  const found = await withOwnNode({ time, random: random.fork('node') }, () =>
    live({ time, random, seams, ready }).catch((error: unknown) => [
      `the run broke off: ${error instanceof Error ? error.stack : String(error)}`,
    ]),
  )
  return { seed, found, trace: time.trace(), steps: time.steps(), tookMs: time.now() - START }
}

async function live(given: {
  readonly time: SimulatedTime
  readonly random: Random
  readonly seams: Seams
  readonly ready: Prepared
}): Promise<string[]> {
  const { time, random, seams, ready } = given
  const mood: Mood = { refuses: 0, losesAnswers: 0 }
  const deliveries: DeliverySeen[] = []
  const work = random.fork('work')
  const has = { calls: work.chance(0.6), payments: work.chance(0.6), webhooks: work.chance(0.6) }
  const world = createWorld({
    time,
    random,
    seams,
    recovery: ready.recovery,
    places: 1 + work.below(MOST_PLACES),
    series: SERIES.slice(0, 1 + work.below(SERIES.length)),
    marketSpeed: MARKET_SPEED,
    receivers: () => createReceivers({ time, random: random.fork('endpoints'), mood, seen: deliveries }),
  })
  const seen: Seen = { calls: [], paid: [], secrets: new Map() }
  const subscribed: SubscribedAddress[] = []
  let isOpen = true
  const options = { world, random: work, seen, isOpen: () => isOpen }
  await Promise.all(world.places.map((place) => place.start()))
  const account = await openAccount(options)

  const kinds = new Set<FaultKind>(FAULT_KINDS.filter(() => work.chance(0.4)))
  const faults = letFaultsHappen({ ...options, mood, kinds, random: random.fork('faults') })
  const watching = watch(world, () => isOpen)
  const working = Promise.all([
    has.calls ? makeCalls(options, account) : undefined,
    has.payments ? makePayments(options, ready.payments) : undefined,
    ...(has.webhooks ? ['a', 'b'] : []).map(async (name) => {
      await time.sleep(work.between(0, 5_000))
      subscribed.push(await subscribe(options, account.accountId, `https://${name}.example.com/`))
    }),
  ])
  await time.sleep(work.between(ACTIVE_LEAST_MS, ACTIVE_MOST_MS))
  isOpen = false
  await Promise.all([faults, watching])
  await healAll({ world, mood })
  await working
  world.market.end()
  const evidence: Evidence = { world, seen, deliveries, subscribed }
  const left = await finish(evidence)
  return [...new Set([...world.faults, ...left, ...auditAtEnd(evidence)])]
}

/** Looks at what must hold at any moment, while faults happen. */
async function watch(world: World, isOpen: () => boolean): Promise<void> {
  while (isOpen()) {
    await world.time.sleep(LOOK_MS)
    world.faults.push(...auditNow(world))
  }
}

/** Waits until all has come to its end. @returns what has not */
async function finish(evidence: Evidence): Promise<string[]> {
  const { time } = evidence.world
  const until = time.now() + FINISH_WITHIN_MS
  for (;;) {
    const left = unfinished(evidence)
    if (left.length === 0 || time.now() >= until) return left
    await time.sleep(FINISH_LOOK_MS)
  }
}
