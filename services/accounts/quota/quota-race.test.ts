import fc, { type Scheduler } from 'fast-check'
import { expect, test } from 'vitest'
import { PLAN_LIMITS } from '../../../contracts/domain/plans.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { QuotaDebited } from '../../../contracts/events/quota-events.ts'
import { quotaStream } from '../../../contracts/events/streams.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import type { EventStore } from '../../log/event-store.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { dayOf, freeWindow, type Payer } from './balance.ts'
import type { QuotaLedger } from './quota-ledger.ts'
import { aDebit, aWorld, NOON, PAYER, sha256, type World } from './testing/ledger.fixture.ts'
import { logIndex } from './testing/log-index.fixture.ts'

const FAULTS = ['none', 'busy', 'lost-before', 'lost-after'] as const
type Fault = (typeof FAULTS)[number]

/** The calls of one client to one process. */
interface Command {
  readonly process: number
  readonly kind: 'debit' | 'find-and-debit'
  readonly key: number | null
  readonly request: number
  /** In the month before its turn, or after it. */
  readonly isLate: boolean
}

const anyCommand: fc.Arbitrary<Command> = fc.record({
  process: fc.nat(2),
  kind: fc.constantFrom<Command['kind']>('debit', 'find-and-debit'),
  key: fc.option(fc.nat(3), { freq: 4 }),
  request: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
  isLate: fc.boolean(),
})

const NOVEMBER: Payer = PAYER
const DECEMBER: Payer = { ...PAYER, window: freeWindow(Date.UTC(2026, 11, 1)) }
const atOf = ({ isLate }: Command): number => (isLate ? DECEMBER.window.from : NOON)
const payerOf = ({ isLate }: Command): Payer => (isLate ? DECEMBER : NOVEMBER)

/**
 * A log that, like EventStoreDB's, recognises an append that is repeated at its place, and does not notice an id
 * that is somewhere else.
 */
const forgetful = (store: EventStore): EventStore => ({
  ...store,
  append: (stream, events, options) => {
    const place = `${stream} ${String(options.expected)}`
    const renamed = events.map((event) => ({ ...event, id: idAt(`${place} ${event.id}`) }))
    return store.append(stream, renamed, options)
  },
})

const idAt = (text: string): string => uuidV8(Buffer.from(sha256(text), 'hex'))

/** A process' way to the log: every answer and every request may be overtaken, and appends meet faults. */
function connection(store: EventStore, scheduler: Scheduler, faults: Fault[]): EventStore {
  const step = (what: string): Promise<unknown> => scheduler.schedule(Promise.resolve(), what)
  return {
    ...store,
    async append(stream, events, options) {
      const fault = faults.shift() ?? 'none'
      await step(`send ${events.length} expecting ${String(options.expected)} (${fault})`)
      if (fault === 'busy') throw new ServiceError('store_unavailable')
      if (fault === 'lost-before') throw new ServiceError('append_unknown')
      const result = await store.append(stream, events, options)
      await step('answer')
      if (fault === 'lost-after') throw new ServiceError('append_unknown')
      return result
    },
    async *read(stream, options) {
      const events: RecordedEvent[] = []
      for await (const event of store.read(stream, options)) events.push(event)
      await step('read')
      yield* events
    },
    async head() {
      const head = await store.head()
      await step('head')
      return head
    },
  }
}

interface Outcome {
  readonly command: Command
  readonly answer?: string
  readonly isReplay?: boolean
  readonly code?: string
}

async function run(ledger: QuotaLedger, command: Command, name: string): Promise<Outcome> {
  const payer = payerOf(command)
  const key = command.key === null ? {} : { key: `key ${command.key}` }
  const debit = aDebit(name, { ...key, requestHash: String(command.request).repeat(64) })
  try {
    const { idempotencyHash, requestHash } = debit
    const isFound = command.kind === 'find-and-debit' && idempotencyHash !== null
    const found = isFound ? await ledger.find(payer, { idempotencyHash, requestHash }) : undefined
    const { answer, isReplay } = found ?? (await ledger.debit(payer, debit, atOf(command)))
    return { command, answer, isReplay }
  } catch (error) {
    if (isServiceError(error)) return { command, code: error.code }
    throw error
  }
}

/** All but so many calls of November are used: one event says so. */
async function useAllBut(world: World, left: number): Promise<void> {
  const used = PLAN_LIMITS.free.callsPerWindow - left
  const day = dayOf(NOON - DAY_MS)
  const { requestId: _none, ...debit } = aDebit('before')
  const { id: payerId, window } = NOVEMBER
  const data = { payerId, window, day, ...debit, used, usedToday: 100 }
  const event = newEvent(QuotaDebited, {
    id: idAt('before'),
    data,
    meta: { correlationId: 'before', actor: 'test' },
  })
  await world.store.append(quotaStream(payerId, window.id), [event], { expected: 'no-stream' })
}

function checkLog(world: World, outcomes: readonly Outcome[], left: number): void {
  const [, ...fresh] = world.events()
  const totals = new Map<string, { used: number; days: Map<string, number> }>()
  for (const { stream, data } of fresh) {
    const usedBefore = data.window.id === NOVEMBER.window.id ? PLAN_LIMITS.free.callsPerWindow - left : 0
    const total = totals.get(stream) ?? { used: usedBefore, days: new Map<string, number>() }
    totals.set(stream, total)
    total.used += 1
    total.days.set(data.day, (total.days.get(data.day) ?? 0) + 1)
    expect(total.days.get(data.day)).toBeLessThanOrEqual(PLAN_LIMITS.free.callsPerDay ?? 0)
    expect(total.used).toBeLessThanOrEqual(PLAN_LIMITS.free.callsPerWindow)
    expect(data).toMatchObject({ used: total.used })
  }
  const inLog = fresh.map(({ data }) => data.answer)
  const answered = outcomes.flatMap(({ answer, isReplay }) =>
    answer === undefined || isReplay === true ? [] : [answer],
  )
  const replayed = outcomes.flatMap(({ answer, isReplay }) => (isReplay === true ? [answer] : []))
  // Every debit was answered by its first call or, where its confirmation was lost, by those that share its key.
  expect(new Set([...answered, ...replayed])).toEqual(new Set(inLog))
  expect(answered.filter((answer) => !inLog.includes(answer))).toEqual([])
  expect(new Set(answered).size).toBe(answered.length)
  const keys = fresh.flatMap(({ data }) => (data.idempotencyHash === null ? [] : [data.idempotencyHash]))
  expect(new Set(keys).size).toBe(keys.length)
}

/**
 * @param isForgetful of ids elsewhere; then a key is used in one window only: two processes whose clocks disagree
 *   about the turn of a window, and that have the same key at the same moment, are beyond what such a log notices
 */
test.each([
  ['that notices ids everywhere', false],
  ['that notices them at their place only', true],
])(
  'processes that race over a log %s: every debit is answered, every answer debited, none beyond the limit',
  async (_, isForgetful) => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(anyCommand, { minLength: 2, maxLength: 14 }),
        // So few that all waits together, on the one clock, are shorter than a caller waits.
        fc.array(fc.array(fc.constantFrom<Fault>('none', ...FAULTS), { maxLength: 5 }), {
          minLength: 3,
          maxLength: 3,
        }),
        fc.integer({ min: 0, max: 6 }),
        fc.nat(6),
        async (scheduler, any, faults, left, lag) => {
          const commands = isForgetful
            ? any.map((one) => ({ ...one, key: one.isLate ? null : one.key }))
            : any
          const world = aWorld()
          await useAllBut(world, left)
          const store = isForgetful ? forgetful(world.store) : world.store
          let lastAsked = 0
          // Behind by some events, and a step nearer each time somebody waits for it.
          const behind = (): number => Math.max(lastAsked, world.log.rows.length - lag)
          const ledgers = faults.map((ofProcess) =>
            world.ledger({
              store: connection(store, scheduler, ofProcess),
              index: logIndex(world.log, behind),
              sleep: async (milliseconds) => {
                lastAsked = world.log.rows.length
                world.now += milliseconds
                await scheduler.schedule(Promise.resolve(), 'wait')
              },
            }),
          )
          const running = commands.map((one, n) =>
            run(ledgers[one.process] ?? (ledgers[0] as QuotaLedger), one, `answer ${n}`),
          )
          const outcomes = await scheduler.waitFor(Promise.all(running))
          checkLog(world, outcomes, left)
          for (const { code } of outcomes) {
            expect([undefined, 'quota_exhausted', 'idempotency_mismatch']).toContain(code)
          }
          const refused = outcomes.filter(({ code }) => code === 'quota_exhausted')
          // Nothing is refused that was left: November was full then, and December never is.
          expect(refused.filter(({ command: { isLate } }) => isLate)).toEqual([])
        },
      ),
      { numRuns: 300 },
    )
  },
)
