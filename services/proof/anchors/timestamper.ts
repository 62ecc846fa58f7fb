import { hash } from 'node:crypto'
import { assert } from '../../../contracts/assert.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CheckpointTimestamped, type NamedTreeHead } from '../../../contracts/proof-events.ts'
import { LOG_ANCHORS_STREAM } from '../../../contracts/streams.ts'
import { type AnchorRow, type CheckpointRow, NEWEST_CHECKPOINT } from '../../../projections/index.ts'
import { boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { appendLogEvent, type LogWriterOptions } from '../append-log-event.ts'
import { checkpointText } from '../notes/checkpoint.ts'
import {
  bitcoinBlockOf,
  formatTimestampFile,
  grafted,
  merged,
  parseTimestamp,
  parseTimestampFile,
  promisesOf,
  type Timestamp,
} from './timestamp-file.ts'

export interface TimestamperOptions extends LogWriterOptions {
  /** Addresses of calendars of OpenTimestamps. */
  readonly calendars: readonly string[]
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  /** Rows of stamps that are promised only, the oldest first. */
  readonly promised: (limit: number) => readonly { readonly row: JsonObject }[]
  readonly fetch: typeof globalThis.fetch
  /** Called when a calendar begins to fail, with the reason. */
  readonly onProblem: (calendar: string, why: string) => void
}

/** Blocks of Bitcoin are hours apart in calendars: more stamps would say no more. */
const STAMP_EVERY_MS = 3_600_000
const ASK_EVERY_MS = 600_000
const LOOK_EVERY_MS = 10_000
const PATIENCE_MS = 10_000
/** Stamps that are asked about at a time, the oldest. */
const ASKED_AT_ONCE = 8
const MOST_BYTES = 10_000
const HEADERS = { accept: 'application/vnd.opentimestamps.v1' }

/** Has checkpoints stamped by calendars of OpenTimestamps, which put them into blocks of Bitcoin some hours later. */
export class Timestamper {
  readonly #options: TimestamperOptions
  /** Begins with the start of this process: one that starts often does not stamp more often. */
  #stampFrom: number
  #askFrom: number
  readonly #problems = new Map<string, string>()

  constructor(options: TimestamperOptions) {
    this.#options = options
    this.#stampFrom = options.now()
    this.#askFrom = options.now()
  }

  async #ask(
    calendar: string,
    path: string,
    init: Pick<RequestInit, 'method' | 'body'>,
    message: Buffer,
    signal: AbortSignal,
  ) {
    try {
      const bounds = { fetch: this.#options.fetch, signal, timeMs: PATIENCE_MS, mostBytes: MOST_BYTES }
      const request = { ...init, headers: HEADERS }
      const { status, body } = await boundedFetch(`${calendar}${path}`, request, bounds)
      // It has been promised, and is not in a block yet.
      if (status === 404 && init.method === undefined) return undefined
      if (status < 200 || status >= 300) throw new Error(`it answers ${status}`)
      this.#problems.delete(calendar)
      return parseTimestamp(body, message)
    } catch (error) {
      const why = reasonOf(error)
      if (!signal.aborted && this.#problems.get(calendar) !== why) this.#options.onProblem(calendar, why)
      this.#problems.set(calendar, why)
      return undefined
    }
  }

  async #record(head: NamedTreeHead, timestamp: Timestamp, signal: AbortSignal): Promise<void> {
    const file = formatTimestampFile(timestamp).toString('base64')
    if (file.length > LIMITS.timestampCharacters) return
    const { origin, size, root } = head
    const data = {
      origin,
      size,
      root,
      file,
      bitcoinBlock: bitcoinBlockOf(timestamp),
      writtenAt: this.#options.now(),
    }
    const meta = { correlationId: `checkpoint ${size}`, actor: 'log' }
    const event = newEvent(CheckpointTimestamped, { id: this.#options.newId(), data, meta })
    await appendLogEvent(this.#options, LOG_ANCHORS_STREAM, event, signal)
  }

  async #stamp(signal: AbortSignal): Promise<void> {
    const newest = this.#options.row(NEWEST_CHECKPOINT) as CheckpointRow | undefined
    if (newest === undefined) return
    this.#stampFrom = this.#options.now() + STAMP_EVERY_MS
    const text = checkpointText({ ...newest, root: Buffer.from(newest.root, 'base64') })
    const message = hash('sha256', text, 'buffer')
    const answers = await Promise.all(
      this.#options.calendars.map((calendar) =>
        this.#ask(calendar, '/digest', { method: 'POST', body: new Uint8Array(message) }, message, signal),
      ),
    )
    const [first, ...others] = answers.filter((answer) => answer !== undefined)
    if (first !== undefined) await this.#record(newest, others.reduce(merged, first), signal)
  }

  /** Asks the calendars that promised a block. A stamp may name other addresses; only configured calendars are asked. */
  async #askAgain(signal: AbortSignal): Promise<void> {
    this.#askFrom = this.#options.now() + ASK_EVERY_MS
    for (const { row } of this.#options.promised(ASKED_AT_ONCE)) {
      const { timestamp, ...head } = row as AnchorRow
      if (timestamp === null) continue
      const before = parseTimestampFile(Buffer.from(timestamp.file, 'base64'))
      let after = before
      for (const { uri, message } of promisesOf(before)) {
        const calendar = this.#options.calendars.find((one) => one === uri.replace(/\/+$/, ''))
        if (calendar === undefined) continue
        const path = `/timestamp/${message.toString('hex')}`
        const known = await this.#ask(calendar, path, {}, message, signal)
        if (known !== undefined) after = grafted(after, known)
      }
      assert(after.message.equals(before.message), 'a timestamp stays that of its message')
      if (bitcoinBlockOf(after) !== null) await this.#record(head, after, signal)
    }
  }

  readonly look = async (signal: AbortSignal): Promise<void> => {
    if (this.#options.now() >= this.#stampFrom) await this.#stamp(signal)
    if (this.#options.now() >= this.#askFrom) await this.#askAgain(signal)
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look(signal).catch((error: unknown) => this.#options.onProblem('all', reasonOf(error)))
      await this.#options.sleep(LOOK_EVERY_MS, signal)
    }
  }
}
