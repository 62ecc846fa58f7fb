import { hash } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import {
  SEALED_SCHEMA,
  type SealedDays,
  type SealedFileName,
  type SealedManifest,
  sealedManifestSchema,
} from '../../../contracts/answers/sealed.ts'
import { isoDay } from '../../../contracts/domain/iso-time.ts'
import type { Exchange } from '../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent, type MarketKind } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { DaySealed } from '../../../contracts/events/proof-events.ts'
import { sealedStream } from '../../../contracts/events/streams.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  SEALED_DAY_PREFIX,
  type SealedDay,
  type SealedManifestRow,
  sealedManifestKey,
} from '../../../projections/index.ts'
import { type AppendPath, appendWithRetry, RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type FoundDay, findDays, manifestOf, type SealedFiles, sealDay } from './seal-day.ts'

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

const LOOK_EVERY_MS = 60_000
/** Verdicts of a day may come this much after it, with bars that are late. */
const LATE_MS = HOUR_MS
/** Days that the log is gone through for at once: where their series are is kept in memory. */
const DAYS_TOGETHER = 64

const UNFINISHED = 'unfinished-'

/** Removes folders of attempts that were killed: those over a day older than the one of this attempt. */
function removeLeft(folder: string, own: string): void {
  const begun = statSync(own).mtimeMs
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(UNFINISHED)) continue
    const left = statSync(join(folder, name), { throwIfNoEntry: false })
    if (left !== undefined && left.mtimeMs < begun - DAY_MS)
      rmSync(join(folder, name), { recursive: true, force: true })
  }
}

const madeElsewhere = (what: string): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `${what} was sealed by another release, and this process does not have its files.`,
    isForCallers: true,
  })

/**
 * Writes a day to files once it is over and every verdict has an outcome, and records their manifest in the log.
 * Serves the files, and makes those that this process lacks again from the log.
 */
export class DaySealer {
  readonly #options: DaySealerOptions
  readonly #patient = new AbortController()
  readonly #path: AppendPath
  readonly #making = new Map<string, Promise<void>>()

  constructor(options: DaySealerOptions) {
    this.#options = options
    this.#path = {
      store: this.#options.store,
      policy: RETRY_FOR_CALLER,
      now: this.#options.now,
      sleep: this.#options.sleep,
      signal: this.#patient.signal,
    }
  }

  readonly #folderOf = (exchange: string, date: string): string =>
    join(this.#options.directory, `exchange=${exchange}`, `date=${date}`);

  *#days(
    prefix: string,
    from?: string,
  ): Generator<{ readonly key: string; readonly day: SealedDay }, void, void> {
    for (let after = from; ; ) {
      const page = this.#options.rows.range({
        prefix,
        limit: LIMITS.rowsPerPage,
        ...(after !== undefined && { after }),
      })
      for (const { key, row } of page) yield { key, day: row as SealedDay }
      after = page.at(-1)?.key
      if (page.length < LIMITS.rowsPerPage) return
    }
  }

  readonly #isDue = ({ sealed, verdicts, outcomes, openUntil, date }: SealedDay): boolean =>
    sealed === null &&
    verdicts > 0 &&
    verdicts === outcomes &&
    Math.max(openUntil, Date.parse(date) + DAY_MS + LATE_MS) <= this.#options.marketNow()

  /**
   * Makes the files of a day, and moves them to their place once they are as they have to be. They are written in a
   * folder that no other process has, since two may make the same day at once.
   */
  async #makeFiles<Checked>(
    day: Parameters<typeof sealDay>[1],
    signal: AbortSignal,
    check: (made: SealedFiles) => Checked,
  ): Promise<Checked> {
    const folder = this.#folderOf(day.exchange, day.date)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const unfinished = mkdtempSync(join(folder, UNFINISHED))
    try {
      removeLeft(folder, unfinished)
      const made = await sealDay(this.#options.store, day, unfinished, signal)
      signal.throwIfAborted()
      const checked = check(made)
      for (const name of Object.keys(made.files)) renameSync(join(unfinished, name), join(folder, name))
      return checked
    } finally {
      rmSync(unfinished, { recursive: true, force: true })
    }
  }

  /** The end of the stream of an exchange; undefined where the day is sealed and the read model does not know yet. */
  async #endOf(stream: string, { date }: FoundDay): Promise<Revision | 'no-stream' | undefined> {
    let end: Revision | 'no-stream' = 'no-stream'
    for await (const recorded of this.#options.store.read(stream, { direction: 'backwards' })) {
      const event = decodeEvent(recorded)
      if (event.type === 'DaySealed' && event.data.day === date) return undefined
      if (end === 'no-stream') end = recorded.revision
    }
    return end
  }

  async #seal(day: FoundDay & Pick<SealedDay, 'verdicts'>, signal: AbortSignal): Promise<void> {
    const { exchange, date } = day
    const stream = sealedStream(exchange)
    const expected = await this.#endOf(stream, day)
    if (expected === undefined) return
    const { made, text } = await this.#makeFiles(day, signal, (files) => {
      assert(
        files.rows === day.verdicts,
        'a sealed day has a row for each verdict that was counted',
        files.rows,
      )
      const about = { market: this.#options.market, checkpoint: this.#options.checkpoint() }
      return { made: files, text: JSON.stringify(manifestOf(files, day, about)) }
    })
    const bytes = Object.values(made.files).reduce((sum, file) => sum + file.bytes, 0)
    const data = { exchange, day: date, sha256: hash('sha256', text), manifest: text, rows: made.rows, bytes }
    const meta = { correlationId: `sealed ${exchange} ${date}`, actor: 'log' }
    const outcome = await appendWithRetry(this.#path, {
      stream,
      events: [newEvent(DaySealed, { id: this.#options.newId(), data, meta })],
      expected,
    })
    if (outcome.kind !== 'appended') throw outcome.error
  }

  #manifest(exchange: Exchange, date: string) {
    const row = this.#options.rows.get(sealedManifestKey(exchange, date)) as SealedManifestRow | undefined
    if (row === undefined) throw notSealedError(date)
    return row
  }

  /** Makes files again that this process does not have: they follow from the log. */
  async #make(about: SealedManifest, signal: AbortSignal): Promise<void> {
    const { exchange, date, after, up_to: upTo, files } = about
    if (about.schema_version !== SEALED_SCHEMA) throw madeElsewhere(`The day ${date} of ${exchange}`)
    const [day] = await findDays(this.#options.store, [{ exchange, date, after, upTo }], signal)
    assert(day !== undefined, 'a day that is looked for is found', date)
    await this.#makeFiles(day, signal, (made) => {
      const other = files.find(({ name, sha256 }) => made.files[name].sha256 !== sha256)
      if (other === undefined) return
      throw madeElsewhere(`${other.name} of ${exchange} on ${date}`)
    })
  }

  /** Seals every day that is due; one process at a time does. */
  readonly look = async (signal: AbortSignal): Promise<void> => {
    // Before any: what is sealed changes the rows that are read.
    const due = [...this.#days(SEALED_DAY_PREFIX)].map(({ day }) => day).filter(this.#isDue)
    for (let from = 0; from < due.length && !signal.aborted; from += DAYS_TOGETHER)
      for (const day of await findDays(this.#options.store, due.slice(from, from + DAYS_TOGETHER), signal))
        if (!signal.aborted) await this.#seal(day, signal)
  }

  /** Looks again and again, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#options.onProblem(error)
      })
      await this.#options.sleep(LOOK_EVERY_MS, signal)
    }
  }

  /** Days that were sealed, and those between them without verdicts. */
  list({
    exchange,
    after,
    limit,
  }: {
    readonly exchange: Exchange | undefined
    readonly after: string | undefined
    readonly limit: number
  }): Omit<SealedDays, 'notice'> {
    const prefix = exchange === undefined ? SEALED_DAY_PREFIX : `${SEALED_DAY_PREFIX}${exchange}/`
    const found: SealedDays['days'] = []
    let last: string | undefined
    let before =
      after === undefined ? undefined : { exchange: after.split('/')[0], date: after.split('/')[1] ?? '' }
    for (const { key, day } of this.#days(
      prefix,
      after === undefined ? undefined : `${SEALED_DAY_PREFIX}${after}`,
    )) {
      if (day.sealed === null) continue
      if (before?.exchange === day.exchange)
        for (let at = Date.parse(before.date) + DAY_MS; at < Date.parse(day.date); at += DAY_MS) {
          const date = isoDay(at)
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
  }

  /** As its bytes were hashed. @throws ServiceError `not_found` */
  manifest(exchange: Exchange, date: string): { readonly text: string; readonly sha256: string } {
    const { manifest: text, sha256 } = this.#manifest(exchange, date)
    return { text, sha256 }
  }

  /** @throws ServiceError `not_found`; `store_unavailable` where the file cannot be made again as it was */
  async file(
    exchange: Exchange,
    date: string,
    name: SealedFileName,
    signal: AbortSignal,
  ): Promise<SealedFile> {
    const about = sealedManifestSchema.parse(JSON.parse(this.#manifest(exchange, date).manifest))
    const entry = about.files.find((one) => one.name === name)
    if (entry === undefined) throw notSealedError(date)
    const file = join(this.#folderOf(exchange, date), name)
    if (!existsSync(file) || statSync(file).size !== entry.bytes) {
      const key = `${exchange}/${date}`
      const work = this.#making.get(key) ?? this.#make(about, signal).finally(() => this.#making.delete(key))
      this.#making.set(key, work)
      await work
    }
    return {
      bytes: entry.bytes,
      sha256: entry.sha256,
      read: (from, to) => createReadStream(file, { start: from, end: to }),
    }
  }
}

const notSealedError = (date: string): ServiceError =>
  new ServiceError('not_found', {
    message: `There is no sealed file of ${date}.`,
    nextStep:
      'Ask GET /sealed which days there are; one is sealed when all windows of its verdicts have closed.',
  })
