import { reasonOf } from '../../../contracts/errors.ts'
import { decodeEvent, type EventType, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { ModelChoice, SpeechChange } from '../../../contracts/model-events.ts'
import { MODEL_CHOICE_STREAM, speechStream } from '../../../contracts/streams.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'

/**
 * The choice of models and the withdrawals in the log; every process follows them, from the start and as they change.
 */
export interface StandingOrders {
  /** The withdrawal of a model for bars that close at an instant of market time; undefined when there is none. */
  withdrawal(modelVersion: string, timeframe: Timeframe, barClose: number): SpeechChange | undefined
  /** Which model the operator chose for bars that close at an instant; undefined where none was chosen. */
  chosen(barClose: number): ModelChoice | undefined
  /** Whether anything was ever withdrawn: most never ask further. */
  hasChanges(): boolean
  /** Reads what stands in the log; to be awaited before anything is computed. */
  load(): Promise<void>
  /** Takes what is appended from then on, until the signal. */
  follow(signal: AbortSignal): Promise<void>
}

export interface StandingOrdersOptions extends Pick<Clock, 'sleep'> {
  readonly store: Pick<EventStore, 'read' | 'head' | 'subscribe'>
  /** Versions of the models that may speak here. */
  readonly models: readonly string[]
  /** Told when the log cannot be followed just now. */
  readonly onFailure: (reason: string) => void
}

const TYPES = ['SpeechWithdrawn', 'SpeechRestored', 'ModelChosen'] as const satisfies readonly EventType[]
/** A bar may be older than the newest change, not than several: a change takes two weeks. */
const CHANGES_KEPT = 4
const CHOICES_KEPT = 16
const AGAIN_AFTER_MS = 5_000

type Change = SpeechChange & { readonly isWithdrawal: boolean }

/** @example const orders = createStandingOrders({ … }); await orders.load() */
export function createStandingOrders(options: StandingOrdersOptions): StandingOrders {
  const { store, models, sleep, onFailure } = options
  /** By stream, in the order in which they hold. */
  const changes = new Map<string, Change[]>()
  /** In the order in which they hold. */
  let choices: ModelChoice[] = []
  let after: Awaited<ReturnType<EventStore['head']>> | undefined

  function take(event: ServiceEvent): void {
    if (event.type === 'ModelChosen') choices = [...choices, event.data].slice(-CHOICES_KEPT)
    if (event.type !== 'SpeechWithdrawn' && event.type !== 'SpeechRestored') return
    const { stream, data, type } = event
    const known = (changes.get(stream) ?? []).filter(({ from }) => from !== data.from)
    const all = [...known, { ...data, isWithdrawal: type === 'SpeechWithdrawn' }]
    changes.set(stream, all.toSorted((a, b) => a.from - b.from).slice(-CHANGES_KEPT))
  }

  async function load(): Promise<void> {
    const head = await store.head()
    const streams = models.flatMap((model) => TIMEFRAMES.map((timeframe) => speechStream(model, timeframe)))
    await Promise.all(
      streams.map(async (stream) => {
        for await (const event of store.read(stream, { direction: 'backwards', limit: CHANGES_KEPT }))
          take(decodeEvent(event))
      }),
    )
    const chosen = []
    for await (const event of store.read(MODEL_CHOICE_STREAM, {
      direction: 'backwards',
      limit: CHOICES_KEPT,
    }))
      chosen.unshift(decodeEvent(event))
    choices = []
    for (const event of chosen) take(event)
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
    withdrawal(modelVersion, timeframe, barClose) {
      const newest = changes
        .get(speechStream(modelVersion, timeframe))
        ?.findLast(({ from }) => from <= barClose)
      return newest?.isWithdrawal === true ? newest : undefined
    },
    hasChanges: () => changes.size > 0,
    chosen: (barClose) => choices.findLast(({ from }) => from <= barClose),
    load,
    async follow(signal) {
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
