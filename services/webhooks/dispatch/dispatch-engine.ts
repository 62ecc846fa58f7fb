import { setImmediate } from 'node:timers/promises'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { Position } from '../../../contracts/position.ts'
import { evolveSubscription, type Subscription } from '../../../projections/index.ts'
import { mapInTurns } from '../../platform/async/map-in-turns.ts'
import type { Lease } from '../../platform/lease/leases.ts'
import type { Matched } from '../signals/signal.ts'
import { admitShards } from './admit-shards.ts'
import { createAttemptDesk } from './attempt-desk.ts'
import { createBeginnings } from './begin-lane.ts'
import { createCatchUp } from './catch-up.ts'
import type { DispatcherHealth, DispatcherOptions } from './dispatcher-options.ts'
import { createDueQueue } from './due-queue.ts'
import { createEndpointCare, type DueEntry } from './endpoint-care.ts'
import { createEndpointLog } from './endpoint-log.ts'
import { healthOf } from './health-of.ts'
import { createTurns } from './in-turn.ts'
import { createJournalTaker } from './journal-taker.ts'
import { createLane, type Lane, mayBegin, nextToProbe } from './lane.ts'
import { createLaneBook, type HeldShard } from './lane-book.ts'
import { createObedience } from './obey-subscription.ts'
import { createOwnerNotices } from './owner-notices.ts'
import { createPassBrake } from './pass-brake.ts'
import { createSignalPass } from './signal-pass.ts'
import { writeDownQuiet } from './write-down.ts'

/** A dispatcher at work: what it is told of, and what it does about it. */
export interface DispatchEngine {
  gained(lease: Lease): Promise<void>
  lost(lease: Lease): Promise<void>
  /** Looks at what is new in the log. */
  look(): Promise<void>
  /** Does what has come due. */
  doDue(): void
  /** When something comes due next; undefined where nothing does. */
  readonly nextDueAt: number | undefined
  /** Writes down how far endpoints have come that had nothing to be sent for a while. */
  writeDown(): Promise<void>
  /** Makes an endpoint of this process do what its stream says now. */
  readonly refresh: (subscriptionId: string) => Promise<void>
  holdsShardOf(subscriptionId: string): boolean
  health(): DispatcherHealth
  /** Resolves when nothing goes on any more, behind the loss of every shard. */
  settled(): Promise<void>
}

const CATCH_UP_PER_SECOND = 500
/** A degraded endpoint that has nothing to be probed with is looked at again after this. */
const NOTHING_TO_PROBE_MS = 60_000
/** Endpoints that read for themselves at a time, when shards are taken up. */
const READS_AT_ONCE = 8
/** How soon what could not be read is looked for again. */
const AGAIN_MS = 5_000
/** How long attempts have to come to their end when a shard is given up. */
const LETTING_GO_MS = 5_000
/** What ends the sending to an endpoint at once. */
const STOPPING = ['SubscriptionPaused', 'SubscriptionDisabled', 'SubscriptionRemoved']
/** Cursors that are written down at a time when a shard is given up. */
const WRITES_AT_ONCE = 32

/** @param after where the log stands: what came before is looked through for each shard that is gained */
export function createDispatchEngine(
  options: DispatcherOptions,
  { after, signal }: { readonly after: Position; readonly signal: AbortSignal },
): DispatchEngine {
  const { store, leases, deliveries, holder, now, report, sleep } = options
  const book = createLaneBook(options.shards)
  const due = createDueQueue<DueEntry>()
  const whileStill = createTurns()
  const background = new Set<Promise<unknown>>()
  const journalOf = createJournalTaker(deliveries, holder)
  let trouble: string | undefined
  let isLooking = false
  let isToLookAgain = false
  /** How far {@link lookAhead} has come since the pass set out. */
  let lookedAhead: Position | undefined
  let gainedTogether: { readonly shards: HeldShard[]; readonly done: Promise<void> } | undefined

  /** What goes on by itself is waited for at the end, and what it fails with is told. */
  function inBackground(work: Promise<unknown>): void {
    const done = work.catch(report).finally(() => background.delete(done))
    background.add(done)
  }

  const pass = createSignalPass({
    store,
    after,
    onMatched,
    onSubscription,
    whenRoom: () => brake.whenRoom(),
    signal,
  })
  const catchUp = createCatchUp({
    store,
    pass,
    whileStill,
    now,
    signal,
    perSecond: options.catchUpPerSecond ?? CATCH_UP_PER_SECOND,
    onRead: (lane) => desk.offer(lane),
    onPause(lane) {
      if (!lane.isReadDue) due.add(lane.pausedUntil, { kind: 'read', lane })
      lane.isReadDue = true
    },
  })
  const endpoints = createEndpointLog({ ...options, signal })
  const care = createEndpointCare({
    endpoints,
    due,
    now,
    random: options.random,
    metrics: options.metrics,
    fallBehind: catchUp.fallBehind,
    notices: createOwnerNotices({ ...options, signal }),
    onSubscription: (lane, subscription) => obedience.obey(lane, subscription),
  })
  const desk = createAttemptDesk({
    ...options,
    journalOf,
    care,
    catchUp,
    due,
    onLost: close,
    holds: ({ shard, token }) => leases.held().some((held) => held.shard === shard && held.token === token),
    cutOff: ({ shard }) => book.shard(shard)?.cutOff.signal ?? signal,
  })
  const brake = createPassBrake({ isFull: catchUp.isFull, nextTurn: desk.nextTurn, signal })
  const obedience = createObedience({
    store,
    catchUp,
    journalOf,
    close,
    offer: desk.offer,
    onReplayNotFound: (lane) => due.add(now() + AGAIN_MS, { kind: 'seek_replays', lane }),
    report,
  })
  const beginnings = createBeginnings({ endpoints, deliveries, care, catchUp, obedience, due, journalOf })

  function onMatched(matched: Matched): void {
    const lane = book.get(matched.subscriptionId)
    if (lane?.mode !== 'live') return
    catchUp.offer(lane, matched)
    desk.offer(lane)
    brake.look(lane)
  }

  function onSubscription(event: ServiceEvent): void {
    if (!('subscriptionId' in event.data)) return
    const { subscriptionId } = event.data
    const lane = book.get(subscriptionId)
    const before = lane?.subscription
    if (before !== undefined && event.revision <= before.revision) return
    const subscription = evolveSubscription(before, event)
    if (subscription === undefined) return
    if (lane !== undefined) obedience.obey(lane, subscription)
    else if (event.type === 'SubscriptionCreated') create(subscriptionId, subscription)
  }

  /** An endpoint that was subscribed while its shard is here. */
  function create(subscriptionId: string, subscription: Subscription): void {
    const held = book.shard(book.shardOf(subscriptionId))
    if (held === undefined) return
    const cursor = { after: subscription.startAfter, sequence: 1 }
    const lane = createLane(subscription, { ...held, cursor, at: now() })
    book.add(lane)
    inBackground(beginnings.begin(lane))
  }

  async function gained(lease: Lease): Promise<void> {
    const held = book.open(lease)
    // Shards that are gained together are taken up together.
    gainedTogether ??= { shards: [], done: setImmediate().then(takeUp) }
    gainedTogether.shards.push(held)
    await gainedTogether.done
  }

  async function takeUp(): Promise<void> {
    const shards = gainedTogether?.shards ?? []
    gainedTogether = undefined
    const parts = { store, directory: options.directory, deliveries, book, pass, whileStill, now, signal }
    await admitShards(
      {
        ...parts,
        onMatched,
        onSubscription,
        onStray,
        whenRoom: brake.whenRoom,
        onAdmitted: beginnings.admit,
      },
      shards,
    )
    const behind = shards.flatMap(({ lanes }) => [...lanes]).filter(({ mode }) => mode === 'behind')
    const read = (lane: Lane): Promise<void> => catchUp.read(lane).catch(report)
    inBackground(mapInTurns(behind, READS_AT_ONCE, read))
    for (const { lanes } of shards) for (const lane of lanes) desk.offer(lane)
  }

  function close(lane: Lane): void {
    lane.isClosed = true
    catchUp.fallBehind(lane)
    lane.due.clear()
    lane.replays.length = 0
    book.remove(lane)
  }

  async function lost({ shard }: Lease): Promise<void> {
    const held = book.shard(shard)
    if (held === undefined) return
    const lanes = [...held.lanes]
    const cursors = new Map(lanes.map((lane) => [lane, lane.pass?.cursor(lane.subscription.subscriptionId)]))
    for (const lane of lanes) close(lane)
    book.close(shard)
    const letGo = new AbortController()
    const timeUp = sleep(LETTING_GO_MS, letGo.signal).then(() => held.cutOff.abort())
    await desk.settled(lanes)
    letGo.abort()
    await timeUp
    await mapInTurns([...cursors], WRITES_AT_ONCE, async ([{ journal }, cursor]) => {
      if (cursor !== undefined && journal?.isLost === false) await journal.advance(cursor)
    }).catch(report)
  }

  /** What no pass brings signals to reads for itself from where its delivery log stands. */
  function onStray(lane: Lane): void {
    report(strayError(lane))
    catchUp.fallBehind(lane)
    inBackground(catchUp.read(lane))
  }

  /** Endpoints that should have their signals from a pass, and are with none. */
  const strays = (): Lane[] =>
    [...book.all()].filter(
      (lane) =>
        lane.mode === 'live' &&
        mayBegin(lane) &&
        lane.pass?.cursor(lane.subscription.subscriptionId) === undefined,
    )

  function doDue(): void {
    for (let entry = due.take(now()); entry !== undefined; entry = due.take(now())) {
      if (!entry.lane.isClosed) doOne(entry)
    }
  }

  function doOne(entry: DueEntry): void {
    const { lane } = entry
    if (entry.kind === 'notice') inBackground(care.tell(lane, entry.notice, entry.since))
    if (entry.kind === 'probe' && entry.at === lane.probeAt) inBackground(probe(lane))
    if (entry.kind === 'seek_replays') inBackground(obedience.replay(lane))
    if (entry.kind === 'retry') lane.due.add(entry.sequence)
    if (entry.kind === 'replay') lane.replays.unshift(entry.replay)
    if (entry.kind === 'read') {
      lane.isReadDue = false
      inBackground(catchUp.read(lane))
    }
    desk.offer(lane)
  }

  async function probe(lane: Lane): Promise<void> {
    lane.probeAt = undefined
    if (lane.health.state !== 'degraded' || lane.isProbeDue) return
    const journal = await journalOf(lane)
    lane.isProbeDue = true
    lane.pausedUntil = 0
    const isNewsTurn = journal.state.open.size === 0 || lane.probesAnswered % 2 === 1
    if (isNewsTurn && lane.queue.length === 0) await catchUp.read(lane)
    if (nextToProbe(lane) === undefined && lane.queue.length === 0 && lane.underWay.size === 0) {
      lane.isProbeDue = false
      care.scheduleProbe(lane, now() + NOTHING_TO_PROBE_MS)
    }
    desk.offer(lane)
  }

  async function refresh(subscriptionId: string): Promise<void> {
    const lane = book.get(subscriptionId)
    if (lane !== undefined) obedience.obey(lane, await endpoints.newest(lane.subscription))
  }

  /** While the pass is on its way, those who left it behind are found: nothing more may be sent to them. */
  async function lookAhead(): Promise<void> {
    const from = lookedAhead ?? pass.position
    const upTo = await store.head()
    const reading = { after: from, upTo, filter: { types: STOPPING }, signal }
    for await (const { data } of store.readAll(reading)) {
      if (typeof data.subscriptionId === 'string') await refresh(data.subscriptionId)
    }
    if (isLooking) lookedAhead = upTo
  }

  function look(): Promise<void> {
    const looking = lookOn()
    inBackground(looking)
    return looking
  }

  async function lookOn(): Promise<void> {
    isToLookAgain = true
    if (isLooking) return lookAhead().catch(report)
    isLooking = true
    lookedAhead = undefined
    try {
      while (isToLookAgain && !signal.aborted) {
        isToLookAgain = false
        await whileStill(() => pass.advance())
      }
      trouble = undefined
    } catch (error) {
      trouble = reasonOf(error)
      report(error)
    } finally {
      isLooking = false
    }
  }

  return {
    gained,
    lost,
    look,
    doDue,
    get nextDueAt() {
      return due.nextAt
    },
    async writeDown() {
      let queued = 0
      for (const { queue } of book.all()) queued += queue.length
      catchUp.recount(queued)
      for (const lane of strays()) onStray(lane)
      await writeDownQuiet(book.all(), { now, journalOf })
    },
    refresh,
    holdsShardOf: (subscriptionId) => book.shard(book.shardOf(subscriptionId)) !== undefined,
    health: () => healthOf({ book, position: pass.position, attemptsUnderWay: desk.underWay, trouble }),
    async settled() {
      while (background.size > 0) await Promise.all(background)
    },
  }
}

const strayError = ({ subscription }: Lane): ServiceError =>
  new ServiceError('internal_error', {
    message: `subscription ${subscription.subscriptionId} is active and no pass through the log brings its signals; it reads from where its delivery log stands`,
  })
