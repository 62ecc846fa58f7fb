import { isDeepStrictEqual } from 'node:util'
import { isServiceError } from '../../../../contracts/errors/errors.ts'
import { DeliveriesAttempted } from '../../../../contracts/events/delivery-events.ts'
import { decodeEvent } from '../../../../contracts/events/event-catalogue.ts'
import { deliveryStream, subscriptionStream } from '../../../../contracts/events/streams.ts'
import { comparePositions, type Position } from '../../../../contracts/infra/position.ts'
import { isToRecover } from '../../deliveries/delivery-state.ts'
import { matchRange } from '../../signals/testing/match-range.fixture.ts'
import { aFilter, anId } from '../../signals/testing/signal-log.fixture.ts'
import { evolveSubscription, type Subscription } from '../../state/subscription-state.ts'
import { answered, DispatchWorld, type RunningDispatcher, unreachable } from './dispatch-world.fixture.ts'

const STEPS = 40
const NAMES = ['a', 'b', 'c', 'd'] as const
type Name = (typeof NAMES)[number]
/** How an endpoint is at the moment. */
type Mood = 'well' | 'shaky' | 'dead' | 'picky' | 'slow'
const MOODS: readonly Mood[] = ['well', 'well', 'shaky', 'dead', 'picky', 'slow']
const HOUR_MS = 3_600_000

/** Deliveries of an endpoint, and its behaviour. */
interface FuzzedEndpoint {
  mood: Mood
  /** Position of a pause; undefined while it is sent to. */
  pausedAt: Position | undefined
  isStopped: boolean
  /** Its owner moved its cursor: numbers begin anew behind all that were given. */
  isMoved: boolean
  readonly taken: Map<number, Set<string>>
}

/** Uniform in [0, 1), the same for one seed. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/**
 * A life of a few endpoints, drawn from a seed: signals, failures, pauses, disabling, filters, moves, recoveries, stores
 * that lose answers, restarts, kills at any await, several processes. At its end everything is made well and resumed.
 */
class FuzzedWorld {
  readonly faults: string[] = []
  readonly #world = new DispatchWorld()
  readonly #random: () => number
  readonly #endpoints = new Map<Name, FuzzedEndpoint>()
  readonly #shares: boolean
  #running: RunningDispatcher[] = []

  constructor(seed: number) {
    this.#random = createRandom(seed)
    this.#shares = this.#random() < 0.5
  }

  /** @returns what is wrong, in words; nothing where nothing is */
  async run(): Promise<readonly string[]> {
    for (const name of NAMES) await this.#open(name)
    await this.#start()
    if (this.#shares) await this.#start()
    for (let step = 0; step < STEPS; step++) {
      await this.#act(this.#one(NAMES))
      await this.#world.time.pass(this.#below(20_000), 1_000)
    }
    await this.#makeWell()
    for (const name of NAMES) await this.#check(name)
    for (const error of this.#world.errors.splice(0)) if (!isExpected(error)) this.faults.push(String(error))
    for (const running of this.#running) await running.stop()
    return this.faults
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #one<Item>(of: readonly Item[]): Item {
    return of[this.#below(of.length)] as Item
  }

  #of(name: Name): FuzzedEndpoint {
    return this.#endpoints.get(name) as FuzzedEndpoint
  }

  async #open(name: Name): Promise<void> {
    const endpoint: FuzzedEndpoint = {
      mood: 'well',
      pausedAt: undefined,
      isStopped: false,
      isMoved: false,
      taken: new Map(),
    }
    this.#endpoints.set(name, endpoint)
    this.#world.endpoint(name, async ({ sequence, deliveryId, sha256 }, signal) => {
      if (this.#isPaused(endpoint)) this.faults.push(`${name} was sent ${sequence} while it was paused`)
      const { mood } = endpoint
      const isLate = mood === 'slow' || this.#random() < 0.2
      if (isLate) await this.#world.time.sleep(this.#below(4_000), signal ?? new AbortController().signal)
      if (mood === 'dead') return unreachable
      if (mood === 'picky' && sequence % 3 === 0) return answered(this.#random() < 0.5 ? 400 : 500)
      if (mood === 'shaky' && this.#random() < 0.4) return this.#random() < 0.5 ? answered(503) : unreachable
      const seen = endpoint.taken.get(sequence) ?? new Set()
      endpoint.taken.set(sequence, seen.add(`${deliveryId} ${sha256}`))
      return answered(200)
    })
    await this.#world.subscribe(name, name === 'd' ? { filter: { assets: ['XRP'] } } : {})
  }

  async #start(): Promise<void> {
    this.#running.push(await this.#world.start({ shares: this.#shares, isMortal: true }))
  }

  async #act(name: Name): Promise<void> {
    const endpoint = this.#of(name)
    const actions: readonly (() => Promise<void> | void)[] = [
      () => this.#signals(),
      () => this.#signals(),
      () => this.#signals(),
      () => void (endpoint.mood = this.#one(MOODS)),
      () => this.#stop(name, 'SubscriptionPaused'),
      () => this.#stop(name, 'SubscriptionDisabled'),
      () => this.#resume(name),
      () => this.#resume(name),
      () => this.#move(name),
      () => this.#restart(),
      () => this.#kill(),
      () => this.#change(name),
      () => this.#recover(name),
      () => this.#troubleStore(),
    ]
    await this.#one(actions)()
  }

  #signals(): Promise<void> {
    const [coin, call] = [
      this.#one(['BTC', 'ETH', 'XRP']),
      this.#one(['BUY', 'SELL', 'HOLD', 'BUY'] as const),
    ]
    return this.#world.verdicts(1 + this.#below(12), { coin, call })
  }

  async #stop(name: Name, type: 'SubscriptionPaused' | 'SubscriptionDisabled'): Promise<void> {
    const endpoint = this.#of(name)
    if (endpoint.isStopped) return
    endpoint.isStopped = true
    await this.#world.say(name, type, { reason: 'drawn' })
    endpoint.pausedAt = await this.#world.store.head()
  }

  /** Whether everybody who sends has read the pause in the log: before, a POST may still begin. */
  #isPaused({ pausedAt }: FuzzedEndpoint): boolean {
    if (pausedAt === undefined) return false
    return this.#running.every(
      ({ dispatcher, mortal }) =>
        mortal?.isDead === true || comparePositions(dispatcher.health().position, pausedAt) >= 0,
    )
  }

  async #resume(name: Name): Promise<void> {
    const endpoint = this.#of(name)
    if (!endpoint.isStopped) return
    endpoint.pausedAt = undefined
    endpoint.isStopped = false
    await this.#world.say(name, 'SubscriptionResumed', { from: 'cursor', after: null })
  }

  async #move(name: Name): Promise<void> {
    const endpoint = this.#of(name)
    if (this.#random() < 0.5) return
    endpoint.pausedAt = undefined
    endpoint.isStopped = false
    endpoint.isMoved = true
    const head = Number(await this.#world.store.head())
    const after = String(this.#random() < 0.5 ? head : Math.max(NAMES.length, this.#below(head)))
    await this.#world.say(name, 'SubscriptionResumed', { from: 'since', after })
  }

  async #change(name: Name): Promise<void> {
    const change = this.#random() < 0.5 ? { assets: ['ETH'] } : { onlyChanges: this.#random() < 0.5 }
    await this.#world.say(name, 'SubscriptionChanged', { filter: aFilter(change) })
  }

  #recover(name: Name): Promise<void> {
    return this.#world.say(name, 'RecoveryRequested', { since: 0 })
  }

  async #restart(): Promise<void> {
    const [first, ...rest] = this.#running
    await first?.stop()
    this.#running = rest
    await this.#start()
  }

  async #kill(): Promise<void> {
    const [first, ...rest] = this.#running
    first?.mortal?.killAt(1 + this.#below(60), this.#random() < 0.5)
    await this.#signals()
    await this.#world.time.pass(this.#below(5_000), 500)
    first?.mortal?.kill()
    this.#running = rest
    await this.#start()
  }

  #troubleStore(): void {
    const { mortal } = this.#one(this.#running)
    let left = this.#below(30)
    mortal?.problem(() => {
      left -= 1
      if (left < 0 || this.#random() < 0.5) return 'none'
      return this.#random() < 0.5 ? 'lost' : 'refused'
    })
  }

  async #makeWell(): Promise<void> {
    for (const { mortal } of this.#running) mortal?.problem(undefined)
    for (const name of NAMES) {
      const endpoint = this.#of(name)
      endpoint.mood = 'well'
      endpoint.pausedAt = undefined
      await this.#world.say(name, 'SubscriptionResumed', { from: 'cursor', after: null })
    }
    await this.#world.time.pass(0.5 * HOUR_MS, 2_000)
    await this.#world.verdicts(2)
    await this.#world.time.pass(20_000)
  }

  async #check(name: Name): Promise<void> {
    const { taken, isMoved } = this.#of(name)
    const subscription = await this.#subscription(name)
    const state = await this.#world.deliveries(name)
    const head = await this.#world.store.head()
    const count = await this.#count(subscription, { after: subscription.startAfter, sequence: 1 }, head)
    const left = await this.#count(subscription, state.cursor, head)
    const wrong = (what: string): void =>
      void this.faults.push(`${name}, ${subscription.state}, cursor ${JSON.stringify(state.cursor)}: ${what}`)
    if (left > 0) wrong(`${left} signals behind its cursor were not sent`)
    if (state.open.size > 0) wrong(`${[...state.open.keys()].join()} still wait for another try`)
    const unstable = [...taken].filter(([, bodies]) => bodies.size > 1).map(([sequence]) => sequence)
    if (unstable.length > 0) wrong(`${unstable.join()} had several ids or bodies`)
    if (!isMoved) {
      const missing = Array.from({ length: count }, (_, index) => index + 1).filter((one) => !taken.has(one))
      if (missing.length > state.counts.exhausted) wrong(`${missing.join()} of ${count} never arrived`)
      const extra = [...taken.keys()].filter((sequence) => sequence > count)
      if (extra.length > 0) wrong(`${extra.join()} are numbers of no signal`)
    }
    // Attempts without words of a receiver are recorded without a look at them.
    for await (const { type, revision, data } of this.#world.store.read(deliveryStream(anId(name)))) {
      const read = type === DeliveriesAttempted.type ? DeliveriesAttempted.data.safeParse(data) : undefined
      if (read?.success === false) wrong(`event ${revision} is not valid: ${read.error.message}`)
      else if (read !== undefined && !isDeepStrictEqual(read.data, data))
        wrong(`event ${revision} has more fields than its schema: ${JSON.stringify(data)}`)
    }
    if (isToRecover(subscription, state)) wrong('what was given up was not tried again')
  }

  async #subscription(name: Name): Promise<Subscription> {
    let subscription: Subscription | undefined
    for await (const recorded of this.#world.store.read(subscriptionStream(anId(name)))) {
      subscription = evolveSubscription(subscription, decodeEvent(recorded))
    }
    return subscription as Subscription
  }

  async #count(
    subscription: Subscription,
    from: Parameters<typeof matchRange>[2],
    upTo: string,
  ): Promise<number> {
    let count = 0
    const { store } = this.#world
    for await (const { sequence } of matchRange({ store }, subscription, from, upTo)) count = sequence
    return count === 0 ? 0 : count - from.sequence + 1
  }
}

/** Errors of a store in trouble, and of a process whose work was taken over. */
const isExpected = (error: unknown): boolean =>
  isServiceError(error, 'store_unavailable') ||
  isServiceError(error, 'append_unknown') ||
  isServiceError(error, 'outcome_unknown') ||
  isServiceError(error, 'lease_lost')

/** Lives one seed through. @returns what went wrong, in words */
export const fuzzDeliveries = (seed: number): Promise<readonly string[]> => new FuzzedWorld(seed).run()
