import { hash } from 'node:crypto'
import { createReadStream, existsSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Revision } from '../../../contracts/event.ts'
import { decodeEvent, type MarketKind } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { DaySealed } from '../../../contracts/proof-events.ts'
import {
  type SealedDays,
  type SealedFileName,
  type SealedManifest,
  sealedManifestSchema,
} from '../../../contracts/sealed-manifest.ts'
import { sealedStream } from '../../../contracts/streams.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import {
  SEALED_DAY_PREFIX,
  type SealedDay,
  type SealedManifestRow,
  sealedManifestKey,
} from '../../../projections/index.ts'
import { appendUntilKnown, LOOKS_AGAIN } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { manifestOf, NEWEST_SCHEMA, type SealedFiles, sealDay, unfinished } from './seal-day.ts'

export interface DaySealerOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  /** The read model of days. */
  readonly rows: {
    get(key: string): unknown
    range(options: {
      prefix: string
      after?: string
      limit: number
    }): readonly { readonly key: string; readonly row: unknown }[]
  }
  /** Folder of the files. */
  readonly directory: string
  readonly market: MarketKind
  /** Unix milliseconds. */
  readonly marketNow: () => number
  readonly checkpoint: () => SealedManifest['checkpoint']
  readonly newId: () => string
  readonly onProblem: (error: unknown) => void
}

/** A part of a sealed file. */
export interface SealedFile {
  readonly bytes: number
  readonly sha256: string
  /** @param to inclusive */
  read(from: number, to: number): Readable
}

/** Days that never change any more, as files. */
export interface DaySealer {
  /** Seals every day that is due; one process at a time does. */
  look(signal: AbortSignal): Promise<void>
  /** Looks again and again, until the signal. */
  run(signal: AbortSignal): Promise<void>
  /** Days that were sealed, and those between them without verdicts. */
  list(query: {
    readonly exchange: Exchange | undefined
    readonly after: string | undefined
    readonly limit: number
  }): Omit<SealedDays, 'notice'>
  /** As its bytes were hashed. @throws ServiceError `day_not_sealed` */
  manifest(exchange: Exchange, date: string): { readonly text: string; readonly sha256: string }
  /** @throws ServiceError `day_not_sealed`; `store_unavailable` where the file cannot be made again as it was */
  file(exchange: Exchange, date: string, name: SealedFileName, signal: AbortSignal): Promise<SealedFile>
}

const LOOK_EVERY_MS = 60_000
/** Verdicts of a day may come this much after it, with bars that are late. */
const LATE_MS = HOUR_MS

export function createDaySealer(options: DaySealerOptions): DaySealer {
  const { store, rows, directory, market, marketNow, now, sleep } = options
  const patient = new AbortController()
  const path = { store, policy: LOOKS_AGAIN, now, sleep, signal: patient.signal }
  const making = new Map<string, Promise<void>>()

  const folderOf = (exchange: string, date: string): string =>
    join(directory, `exchange=${exchange}`, `date=${date}`)

  function* days(
    prefix: string,
    from?: string,
  ): Generator<{ readonly key: string; readonly day: SealedDay }, void, void> {
    for (let after = from; ; ) {
      const page = rows.range({ prefix, limit: LIMITS.rowsPerPage, ...(after !== undefined && { after }) })
      for (const { key, row } of page) yield { key, day: row as SealedDay }
      after = page.at(-1)?.key
      if (page.length < LIMITS.rowsPerPage) return
    }
  }

  const isDue = ({ sealed, verdicts, outcomes, openUntil, date }: SealedDay): boolean =>
    sealed === null &&
    verdicts > 0 &&
    verdicts === outcomes &&
    Math.max(openUntil, Date.parse(date) + DAY_MS + LATE_MS) <= marketNow()

  function keep(folder: string, { files }: SealedFiles): void {
    for (const name of Object.keys(files) as SealedFileName[])
      renameSync(unfinished(folder, name), join(folder, name))
  }

  /** The end of the stream of an exchange; undefined where the day is sealed and the read model does not know yet. */
  async function endOf(stream: string, { date }: SealedDay): Promise<Revision | 'no-stream' | undefined> {
    let end: Revision | 'no-stream' = 'no-stream'
    for await (const recorded of store.read(stream, { direction: 'backwards' })) {
      const event = decodeEvent(recorded)
      if (event.type === 'DaySealed' && event.data.day === date) return undefined
      if (end === 'no-stream') end = recorded.revision
    }
    return end
  }

  async function seal(day: SealedDay, signal: AbortSignal): Promise<void> {
    const { exchange, date } = day
    const stream = sealedStream(exchange)
    const expected = await endOf(stream, day)
    if (expected === undefined) return
    const folder = folderOf(exchange, date)
    const made = await sealDay(store, day, NEWEST_SCHEMA, folder, signal)
    if (signal.aborted) return
    if (made.rows !== day.verdicts)
      throw new Error(`${exchange} on ${date}: ${made.rows} of ${day.verdicts} verdicts are found`)
    const text = JSON.stringify(manifestOf(made, day, { market, checkpoint: options.checkpoint() }))
    keep(folder, made)
    const bytes = Object.values(made.files).reduce((sum, file) => sum + file.bytes, 0)
    const data = { exchange, day: date, sha256: hash('sha256', text), manifest: text, rows: made.rows, bytes }
    const meta = { correlationId: `sealed ${exchange} ${date}`, actor: 'log' }
    const outcome = await appendUntilKnown(path, {
      stream,
      events: [newEvent(DaySealed, { id: options.newId(), data, meta })],
      expected,
    })
    if (outcome.kind !== 'appended') throw outcome.error
  }

  function manifest(exchange: Exchange, date: string) {
    const row = rows.get(sealedManifestKey(exchange, date)) as SealedManifestRow | undefined
    if (row === undefined) throw new ServiceError('day_not_sealed')
    return row
  }

  /** Makes files again that this process does not have: they follow from the log. */
  async function make(about: SealedManifest, signal: AbortSignal): Promise<void> {
    const { exchange, date, after, up_to: upTo, files } = about
    const folder = folderOf(exchange, date)
    const made = await sealDay(store, { exchange, date, after, upTo }, about.schema_version, folder, signal)
    signal.throwIfAborted()
    const other = files.find(({ name, sha256 }) => made.files[name].sha256 !== sha256)
    if (other !== undefined)
      throw new ServiceError('store_unavailable', {
        message: `${other.name} of ${exchange} on ${date} was made by another release, and this process does not have it.`,
        isForCallers: true,
      })
    keep(folder, made)
  }

  async function look(signal: AbortSignal): Promise<void> {
    // One after the other: what is sealed changes the rows that are read.
    const due = [...days(SEALED_DAY_PREFIX)].map(({ day }) => day).filter(isDue)
    for (const day of due) if (!signal.aborted) await seal(day, signal)
  }

  return {
    look,
    async run(signal) {
      while (!signal.aborted) {
        await look(signal).catch(options.onProblem)
        await sleep(LOOK_EVERY_MS, signal)
      }
    },
    list({ exchange, after, limit }) {
      const prefix = exchange === undefined ? SEALED_DAY_PREFIX : `${SEALED_DAY_PREFIX}${exchange}/`
      const found: SealedDays['days'] = []
      let last: string | undefined
      let before =
        after === undefined ? undefined : { exchange: after.split('/')[0], date: after.split('/')[1] ?? '' }
      for (const { key, day } of days(
        prefix,
        after === undefined ? undefined : `${SEALED_DAY_PREFIX}${after}`,
      )) {
        if (day.sealed === null) continue
        if (before?.exchange === day.exchange)
          for (let at = Date.parse(before.date) + DAY_MS; at < Date.parse(day.date); at += DAY_MS) {
            const date = new Date(at).toISOString().slice(0, 10)
            found.push({ exchange: day.exchange, date, rows: 0, bytes: 0, manifest_sha256: null, path: null })
          }
        before = day
        const { sha256, rows: count, bytes } = day.sealed
        const at = `/sealed/exchange=${day.exchange}/date=${day.date}/`
        found.push({
          exchange: day.exchange,
          date: day.date,
          rows: count,
          bytes,
          manifest_sha256: sha256,
          path: at,
        })
        last = key.slice(SEALED_DAY_PREFIX.length)
        if (found.length >= limit) return { days: found, next: last }
      }
      return { days: found, next: null }
    },
    manifest(exchange, date) {
      const { manifest: text, sha256 } = manifest(exchange, date)
      return { text, sha256 }
    },
    async file(exchange, date, name, signal) {
      const about = sealedManifestSchema.parse(JSON.parse(manifest(exchange, date).manifest))
      const entry = about.files.find((one) => one.name === name)
      if (entry === undefined) throw new ServiceError('day_not_sealed')
      const file = join(folderOf(exchange, date), name)
      if (!existsSync(file) || statSync(file).size !== entry.bytes) {
        const key = `${exchange}/${date}`
        const work = making.get(key) ?? make(about, signal).finally(() => making.delete(key))
        making.set(key, work)
        await work
      }
      return {
        bytes: entry.bytes,
        sha256: entry.sha256,
        read: (from, to) => createReadStream(file, { start: from, end: to }),
      }
    },
  }
}
