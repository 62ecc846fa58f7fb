import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, Revision } from '../../../contracts/event.ts'
import { decodeEvent, RegimeShifted, VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Regime } from '../../../contracts/regime.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { verdictStream } from '../../../contracts/streams.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { FactId } from '../../platform/ids/fact-id.ts'
import type { VerdictDraft } from '../engine.ts'

export interface RecorderOptions {
  readonly store: EventStore
  readonly idOf: FactId
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  /** Told when verdicts begin to wait for the store. */
  readonly onTrouble?: (error: ServiceError) => void
}

export interface Recorder {
  /**
   * Appends the verdicts of one series, oldest first, each once: those at or before the newest recorded bar
   * are known already and add nothing, whoever recorded them. Resolves when all are durable; waits out a
   * store that is away. Calls for one series are made one after the other.
   *
   * @returns the verdicts that this call added.
   */
  record(series: Series, drafts: readonly VerdictDraft[]): Promise<Verdict[]>
  /** What keeps verdicts from being recorded at the moment. */
  trouble(): string | undefined
}

/** The newest recorded verdict of a series and where its stream ends. */
interface Head {
  readonly revision: Revision | 'no-stream'
  readonly barClose: number
  readonly regime: Regime | undefined
}

/** A verdict may bring a regime shift, so half the events of an append, and small enough in bytes. */
const VERDICTS_PER_APPEND = Math.min(100, LIMITS.appendEvents / 2)
const RETRY_MS = [50, 200, 1_000, 5_000, 15_000] as const

export function createRecorder(options: RecorderOptions): Recorder {
  const { store, idOf, signal } = options
  const heads = new Map<string, Head>()
  let trouble: string | undefined

  /** Where the stream of a series ends, as far as known; kept over failures, so that a retry is the same append. */
  async function headOf(series: Series): Promise<Head> {
    const name = seriesName(series)
    const head = heads.get(name) ?? (await readHead(store, series))
    heads.set(name, head)
    return head
  }

  /** Appends what is not in the log yet; answers it, and whether the log had it from another process. */
  async function append(
    series: Series,
    drafts: readonly VerdictDraft[],
  ): Promise<{ verdicts: Verdict[]; replayed: boolean }> {
    for (;;) {
      const head = await headOf(series)
      const fresh = drafts.filter((draft) => draft.barClose > head.barClose)
      const verdicts = fresh.map((draft) => identified(series, draft, idOf))
      const [first, last] = [verdicts[0], verdicts.at(-1)]
      if (first === undefined || last === undefined) return { verdicts, replayed: false }
      try {
        const events = eventsOf(series, verdicts, head.regime, idOf)
        const { revision, replayed } = await store.append(verdictStream(series), events, {
          expected: head.revision,
        })
        heads.set(seriesName(series), { revision, barClose: last.barClose, regime: last.regime })
        return { verdicts, replayed }
      } catch (error) {
        const isRace =
          isServiceError(error, 'revision_conflict') || isServiceError(error, 'idempotency_conflict')
        if (!isRace) throw error
        // Somebody else records this series too, perhaps from another anchor: adopt what is there.
        heads.delete(seriesName(series))
        const theirs = await headOf(series)
        if (error.code === 'idempotency_conflict' && theirs.barClose < first.barClose) throw error
      }
    }
  }

  /** Repeats what failed for a reason that passes. The ids and the revision stay, so nothing is doubled. */
  async function persist(series: Series, drafts: readonly VerdictDraft[]): Promise<Verdict[]> {
    let mayBeOurs = false
    for (let tries = 0; ; tries++) {
      try {
        const { verdicts, replayed } = await append(series, drafts)
        trouble = undefined
        return replayed && !mayBeOurs ? [] : verdicts
      } catch (error) {
        if (!isPassing(error) || signal.aborted) throw error
        mayBeOurs ||= error.code === 'append_unknown'
        // Told when trouble begins; every series of a bar would repeat it.
        if (trouble === undefined) options.onTrouble?.(error)
        trouble = error.message
        await options.sleep(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 15_000, signal)
      }
    }
  }

  return {
    async record(series, drafts) {
      const added: Verdict[] = []
      for (let index = 0; index < drafts.length; index += VERDICTS_PER_APPEND) {
        added.push(...(await persist(series, drafts.slice(index, index + VERDICTS_PER_APPEND))))
      }
      return added
    },
    trouble: () => trouble,
  }
}

const isPassing = (error: unknown): error is ServiceError =>
  isServiceError(error, 'append_unknown') ||
  isServiceError(error, 'store_unavailable') ||
  isServiceError(error, 'store_full')

const identified = (series: Series, draft: VerdictDraft, idOf: FactId): Verdict => ({
  ...draft,
  verdictId: idOf('verdict', seriesName(series), String(draft.barClose)),
})

function eventsOf(
  series: Series,
  verdicts: readonly Verdict[],
  regime: Regime | undefined,
  idOf: FactId,
): NewEvent[] {
  let prior = regime
  return verdicts.flatMap((verdict) => {
    const events = verdictEvents(series, verdict, prior, idOf)
    prior = verdict.regime
    return events
  })
}

function verdictEvents(
  series: Series,
  verdict: Verdict,
  prior: Regime | undefined,
  idOf: FactId,
): NewEvent[] {
  const { verdictId: id, exchange, coin, timeframe, barClose, regime, confidence } = verdict
  const correlationId = `bar ${seriesName(series)} ${barClose}`
  const meta = { correlationId, actor: 'engine' }
  const recorded = newEvent(VerdictRecorded, { id, data: verdict, meta })
  if (prior === undefined || prior === regime) return [recorded]
  const shifted = newEvent(RegimeShifted, {
    id: idOf('regime-shift', seriesName(series), String(barClose)),
    data: { exchange, coin, timeframe, verdictId: id, barClose, regime, priorRegime: prior, confidence },
    meta: { ...meta, causationId: id },
  })
  return [recorded, shifted]
}

async function readHead(store: EventStore, series: Series): Promise<Head> {
  let revision: Revision | 'no-stream' = 'no-stream'
  // The newest event may be the shift that came with the newest verdict.
  for await (const recorded of store.read(verdictStream(series), { direction: 'backwards', limit: 2 })) {
    if (revision === 'no-stream') revision = recorded.revision
    const event = decodeEvent(recorded)
    if (event.type === 'VerdictRecorded') {
      return { revision, barClose: event.data.barClose, regime: event.data.regime }
    }
  }
  return { revision, barClose: Number.NEGATIVE_INFINITY, regime: undefined }
}
