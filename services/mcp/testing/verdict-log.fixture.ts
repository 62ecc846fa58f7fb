import { randomUUID } from 'node:crypto'
import { UniverseRanked } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { Regime } from '../../../contracts/regime.ts'
import { universeStream } from '../../../contracts/streams.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { Call, Verdict } from '../../../contracts/verdict.ts'
import { appendFacts, outcomeOf, verdictRecorded } from '../../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'

/** A log of verdicts with a clock that moves only when it is set. */
export interface VerdictLog {
  readonly store: EventStore
  now: number
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  record(
    coin: string,
    call: Call,
    about?: { readonly shiftedFrom?: Regime; readonly confidence?: number; readonly strength?: number },
  ): Promise<void>
  /** Records the outcomes of all verdicts that have none. */
  label(): Promise<void>
  /** Ranks the coins of the exchange, the largest first. */
  rank(coins: readonly string[]): Promise<void>
}

export function givenVerdicts(): VerdictLog {
  const begin = Date.UTC(2026, 0, 1)
  const log: VerdictLog = {
    store: openMemoryStore({ now: () => log.now }),
    now: begin,
    sleep: (milliseconds, signal) => sleep(Math.min(milliseconds, 5), signal),
    async record(coin, call, { shiftedFrom, ...more } = {}) {
      const verdictId = uuidV8(Buffer.from((++made).toString(16).padStart(32, '0'), 'hex'))
      const barClose = begin + made * 3_600_000
      const verdict = aVerdict({
        verdictId,
        coin,
        call,
        barClose,
        validUntil: barClose + 3_600_000,
        ...more,
        regime: 'TRENDING_UP',
        previous: shiftedFrom === undefined ? null : { regime: shiftedFrom, barClose: barClose - 3_600_000 },
      })
      await appendFacts(log.store, verdictRecorded(verdict))
      open.push(verdict)
    },
    async label() {
      await appendFacts(log.store, ...open.splice(0).map((verdict) => outcomeOf(verdict)))
    },
    async rank(coins) {
      const { exchange } = aVerdict({})
      const rows = coins.map((coin) => ({ coin, quoteVolume24h: 1, change24h: null }))
      const data = { exchange, rankedAt: log.now, coins: rows }
      const meta = { correlationId: 'test', actor: 'test' }
      const event = newEvent(UniverseRanked, { id: randomUUID(), data, meta })
      await log.store.append(universeStream(exchange), [event], { expected: 'any' })
    },
  }
  let made = 0
  const open: Verdict[] = []
  return log
}
