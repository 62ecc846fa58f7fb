import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { RecordedEvent } from '../../contracts/infra/event.ts'
import { comparePositions, type Position, START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { decideAppend, type LogView } from '../../services/log/decide-append.ts'
import type { AppendResult, EventStore, ReadAllOptions } from '../../services/log/event-store.ts'
import { followLog, matchesFilter } from '../../services/log/follow-log.ts'
import { toPosition, toSequence } from '../../services/log/sequence-position.ts'
import { type EncodedAppend, requireErasable, validateAppend } from '../../services/log/validate-append.ts'
import { createWakeSignal, type WakeSignal } from '../../services/runtime/async/wake-signal.ts'

interface StoredRow extends Omit<RecordedEvent, 'data' | 'meta'> {
  readonly data: string
  readonly meta: string
}

/** The events themselves, apart from a handle on them, so that a test can reopen the same log. */
export interface MemoryLog {
  readonly rows: StoredRow[]
  readonly byId: Map<string, StoredRow>
  readonly byStream: Map<string, StoredRow[]>
  readonly appended: WakeSignal
}

export const createMemoryLog = (): MemoryLog => ({
  rows: [],
  byId: new Map(),
  byStream: new Map(),
  appended: createWakeSignal(),
})

/**
 * The log in memory, for tests: the same semantics as the embedded store, nothing durable.
 *
 * @example const store = openMemoryStore({ now: () => Date.UTC(2025, 0, 1) })
 */
export function openMemoryStore(options: { now: () => number; log?: MemoryLog }): EventStore {
  const log = options.log ?? createMemoryLog()
  const closing = new AbortController()

  const view: LogView = {
    findById: (id) => log.byId.get(id),
    headOf: (stream) => (log.byStream.get(stream)?.length ?? 0) - 1,
    isErased: (stream) => log.byStream.get(stream)?.[0]?.data === ERASED,
  }
  const head = (): Position => log.rows.at(-1)?.position ?? START
  const requireOpen = (): void => {
    if (closing.signal.aborted)
      throw new ServiceError('store_unavailable', { message: 'the store is closed' })
  }

  return {
    async append(stream, events, { expected }) {
      const append = validateAppend(stream, events, expected)
      requireOpen()
      const decision = decideAppend(append, view)
      if (decision.kind === 'refuse') throw new ServiceError(decision.refusal.code, decision.refusal)
      if (decision.kind === 'replay') {
        return { revision: decision.revision, position: decision.position, replayed: true }
      }
      const at = new Date(options.now()).toISOString()
      const newest = log.rows.at(-1)?.at ?? ''
      const result = insert(log, append, decision.firstRevision, at > newest ? at : newest)
      log.appended.notify()
      return result
    },

    async *read(stream, { from, to, direction = 'forwards', limit = Infinity, signal } = {}) {
      requireOpen()
      const rows = log.byStream.get(stream) ?? []
      const step = direction === 'forwards' ? 1 : -1
      const first = from ?? (step === 1 ? 0 : rows.length - 1)
      const last = to ?? (step === 1 ? rows.length - 1 : 0)
      let left = limit
      for (
        let index = clamp(first, step, rows.length);
        left > 0 && (last - index) * step >= 0;
        index += step
      ) {
        const row = rows[index]
        if (row === undefined || row.data === ERASED || signal?.aborted === true) return
        left -= 1
        yield recorded(row)
      }
    },

    async *readAll(readOptions: ReadAllOptions = {}) {
      const { after = START, upTo, filter, limit = Infinity, signal, onLooked } = readOptions
      requireOpen()
      const end = typeof upTo === 'string' ? toPosition(toSequence(upTo)) : head()
      const until = upTo instanceof Date ? upTo.toISOString() : undefined
      let left = limit
      for (let index = toSequence(after); left > 0 && index < log.rows.length; index++) {
        const row = log.rows[index]
        if (row === undefined || signal?.aborted === true) return
        if (comparePositions(row.position, end) > 0 || (until !== undefined && row.at > until)) return
        if (index % LIMITS.readPageEvents === 0) {
          await setImmediate()
          if (index > 0) await onLooked?.({ upTo: toPosition(index), events: LIMITS.readPageEvents })
        }
        if (!matchesFilter(row, filter)) continue
        left -= 1
        yield recorded(row)
      }
    },

    subscribe({ after, filter, signal }) {
      requireOpen()
      const readPage = (position: Position, limit: number) => {
        const first = toSequence(position)
        const rows = log.rows.slice(first, first + limit)
        return {
          events: rows.filter((row) => matchesFilter(row, filter)).map(recorded),
          lookedUpTo: rows.at(-1)?.position ?? position,
        }
      }
      const anyEnd = AbortSignal.any([signal, closing.signal])
      return followLog(after === 'end' ? head() : after, { readPage, head, appended: log.appended }, anyEnd)
    },

    async erase(stream) {
      requireErasable(stream)
      requireOpen()
      eraseRows(log, stream)
    },
    async head() {
      requireOpen()
      return head()
    },
    streams(prefix) {
      requireOpen()
      return { names: [...log.byStream.keys()].filter((name) => name.startsWith(prefix)), upTo: head() }
    },
    async health() {
      const ok = !closing.signal.aborted
      return { ok, adapter: 'memory', detail: ok ? `${log.rows.length} events` : 'closed' }
    },
    async close() {
      closing.abort()
    },
  }
}

/** Brings a first index into the stream without changing where a reading in this direction would begin. */
const clamp = (index: number, step: number, length: number): number =>
  step === 1 ? Math.max(index, 0) : Math.min(index, length - 1)

function insert(log: MemoryLog, append: EncodedAppend, firstRevision: number, at: string): AppendResult {
  const stream = log.byStream.get(append.stream) ?? []
  log.byStream.set(append.stream, stream)
  for (const [index, event] of append.events.entries()) {
    const row: StoredRow = {
      ...event,
      stream: append.stream,
      revision: firstRevision + index,
      position: String(log.rows.length + 1),
      at,
    }
    log.rows.push(row)
    log.byId.set(row.id, row)
    stream.push(row)
  }
  return {
    revision: firstRevision + append.events.length - 1,
    position: String(log.rows.length),
    replayed: false,
  }
}

/** Data of an erased event: no JSON, so that it cannot be taken for an event's. */
const ERASED = ''

function eraseRows(log: MemoryLog, stream: string): void {
  const erased = (log.byStream.get(stream) ?? []).map((row) => ({ ...row, data: ERASED, meta: ERASED }))
  if (erased.length > 0) log.byStream.set(stream, erased)
  for (const row of erased) {
    log.byId.set(row.id, row)
    log.rows[toSequence(row.position) - 1] = row
  }
}

const recorded = (row: StoredRow): RecordedEvent => ({
  ...row,
  data: JSON.parse(row.data) as RecordedEvent['data'],
  meta: JSON.parse(row.meta) as RecordedEvent['meta'],
})
