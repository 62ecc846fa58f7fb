import { CALLING_AUC } from '../../../contracts/calling-timeframes.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { decodeEvent, type EventType, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { SpeechChange } from '../../../contracts/model-events.ts'
import { speechStream } from '../../../contracts/streams.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'

export interface StandingOrdersOptions extends Pick<Clock, 'sleep'> {
  readonly store: Pick<EventStore, 'read' | 'head' | 'subscribe'>
  /** The model whose calls they are. */
  readonly modelVersion: string
  /** Told when the log cannot be followed just now. */
  readonly onFailure: (reason: string) => void
}

const TYPES = ['SpeechWithdrawn', 'SpeechRestored'] as const satisfies readonly EventType[]
/** A bar may be older than the newest change, not than several: a change takes two weeks. */
const CHANGES_KEPT = 4
const AGAIN_AFTER_MS = 5_000

type Change = SpeechChange & { readonly isWithdrawal: boolean }

/** The withdrawals of calls in the log; every process follows them, from the start and as they change. */
export function createStandingOrders(options: StandingOrdersOptions) {
  const { store, modelVersion, sleep, onFailure } = options
  /** By stream, in the order in which they hold. */
  const changes = new Map<string, Change[]>()
  let after: Awaited<ReturnType<EventStore['head']>> | undefined

  function take(event: ServiceEvent): void {
    if (event.type !== 'SpeechWithdrawn' && event.type !== 'SpeechRestored') return
    const { stream, data, type } = event
    const known = (changes.get(stream) ?? []).filter(({ from }) => from !== data.from)
    const all = [...known, { ...data, isWithdrawal: type === 'SpeechWithdrawn' }]
    changes.set(stream, all.toSorted((a, b) => a.from - b.from).slice(-CHANGES_KEPT))
  }

  /** Reads what stands in the log; to be awaited before anything is computed. */
  async function load(): Promise<void> {
    const head = await store.head()
    await Promise.all(
      TIMEFRAMES.map(async (timeframe) => {
        const stream = speechStream(modelVersion, timeframe)
        for await (const event of store.read(stream, { direction: 'backwards', limit: CHANGES_KEPT }))
          take(decodeEvent(event))
      }),
    )
    after = head
  }

  async function followOnce(signal: AbortSignal): Promise<void> {
    if (after === undefined) await load()
    for await (const item of store.subscribe({ after: after ?? 'end', filter: { types: TYPES }, signal })) {
      if (item.kind === 'event') take(decodeEvent(item.event))
      after = item.kind === 'event' ? item.event.position : item.position
    }
  }

  return {
    /** The withdrawal at a timeframe for bars that close at an instant of market time; undefined when there is none. */
    withdrawal(timeframe: Timeframe, barClose: number): SpeechChange | undefined {
      if (CALLING_AUC[timeframe] === undefined) return undefined
      const newest = changes
        .get(speechStream(modelVersion, timeframe))
        ?.findLast(({ from }) => from <= barClose)
      return newest?.isWithdrawal === true ? newest : undefined
    },
    load,
    /** Takes what is appended from then on, until the signal. */
    async follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          await followOnce(signal)
        } catch (error) {
          if (signal.aborted) return
          onFailure(reasonOf(error))
          await sleep(AGAIN_AFTER_MS, signal)
        }
      }
    },
  }
}
