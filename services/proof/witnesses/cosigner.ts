import { assert } from '../../../contracts/assert.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { CheckpointCosigned } from '../../../contracts/proof-events.ts'
import { LOG_COSIGNATURES_STREAM } from '../../../contracts/streams.ts'
import {
  type CheckpointRow,
  COSIGNED_CHECKPOINT,
  type CosignedRow,
  NEWEST_CHECKPOINT,
} from '../../../projections/index.ts'
import { boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { appendLogEvent, type LogWriterOptions } from '../append-log-event.ts'
import { openCheckpoint } from '../notes/checkpoint.ts'
import type { Verifier } from '../notes/note-keys.ts'
import { ENTRY_KINDS, entryAt } from '../tree/entry.ts'
import { TILE_WIDTH } from '../tree/tile-path.ts'
import type { TreeReader } from '../tree/tree-reader.ts'
import { formatAddCheckpoint, parseSize } from './add-checkpoint.ts'
import type { Policy, PolicyWitness } from './policy.ts'

export interface CosignerOptions extends LogWriterOptions {
  readonly policy: Policy
  readonly tree: TreeReader
  /** A row of the read model of keys and checkpoints. */
  readonly row: (key: string) => JsonObject | undefined
  readonly fetch: typeof globalThis.fetch
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
  /** Called when a witness begins to fail, with the reason. */
  readonly onProblem: (witness: string, why: string) => void
}

const LOOK_EVERY_MS = 2_000
const PATIENCE_MS = 5_000
/** A witness that does not cosign is not asked for so long. */
const REST_MS = 30_000
/** Longer than the cosignatures of any witness. */
const MOST_BYTES = 100_000

/** Has the newest checkpoint cosigned. It waits for nobody: what is signed is served meanwhile. */
export class Cosigner {
  readonly #options: CosignerOptions
  /** The size that each witness is believed to know; it says so itself where that is wrong. */
  readonly #sizes = new Map<string, number>()
  readonly #resting = new Map<string, { readonly until: number; readonly why: string }>()

  constructor(options: CosignerOptions) {
    this.#options = options
  }

  /** Asks each witness that has not cosigned the newest checkpoint yet, and records what they say. */
  readonly look = async (signal: AbortSignal): Promise<void> => {
    const newest = this.#options.row(NEWEST_CHECKPOINT) as CheckpointRow | undefined
    if (newest === undefined || this.#options.tree.size() < newest.size) return
    const cosigners = cosignersOn(newest.note, this.#options.policy)
    const asked = this.#options.policy.witnesses.filter(
      ({ url, verifier }) =>
        url !== undefined &&
        !cosigners.includes(verifier) &&
        (this.#resting.get(verifier.vkey)?.until ?? 0) <= this.#options.now(),
    )
    const lines = await Promise.all(asked.map((witness) => this.#askOrRest(witness, newest, signal)))
    const note = `${newest.note}${lines.join('')}`
    if (note !== newest.note) await this.#record(newest, note, signal)
  }

  /** The line that a witness adds to the note; an empty text where it does not cosign, and then it rests for a while. */
  async #askOrRest(witness: PolicyWitness, newest: CheckpointRow, signal: AbortSignal): Promise<string> {
    const { vkey } = witness.verifier
    try {
      const line = await this.#ask(witness, newest, signal)
      this.#resting.delete(vkey)
      return line
    } catch (error) {
      if (signal.aborted) return ''
      const why = reasonOf(error)
      if (this.#resting.get(vkey)?.why !== why) this.#options.onProblem(witness.verifier.name, why)
      this.#resting.set(vkey, { until: this.#options.now() + REST_MS, why })
      return ''
    }
  }

  async #ask(witness: PolicyWitness, newest: CheckpointRow, signal: AbortSignal): Promise<string> {
    const { verifier } = witness
    const place = `${verifier.vkey} ${newest.origin}`
    const guess = this.#sizes.get(place) ?? 0
    const first = await this.#post(witness, newest, guess > newest.size ? 0 : guess, signal)
    const known = first.status === 409 ? parseSize(first.text.replace(/\n$/, '')) : undefined
    if (known !== undefined && known > newest.size)
      throw new Error(`it has seen a tree of ${known}, and this log has signed one of ${newest.size}`)
    const { status, text } = known === undefined ? first : await this.#post(witness, newest, known, signal)
    if (status !== 200) throw new Error(`it answers ${status}: ${text.slice(0, 200).trim()}`)
    const line = text
      .split('\n')
      .find((one) => cosignersOn(`${textOf(newest.note)}\n${one}\n`, { witnesses: [witness] }).length === 1)
    if (line === undefined) throw new Error('its answer holds no cosignature of its key')
    this.#sizes.set(place, newest.size)
    return `${line}\n`
  }

  async #post({ url }: PolicyWitness, newest: CheckpointRow, old: number, signal: AbortSignal) {
    const note = ownNote(newest)
    assert(old <= newest.size, 'a witness is asked from a size within the checkpoint', old)
    const request = {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: formatAddCheckpoint({ old, proof: this.#options.tree.consistency(old, newest.size), note }),
    }
    const bounds = { fetch: this.#options.fetch, signal, timeMs: PATIENCE_MS, mostBytes: MOST_BYTES }
    const { status, body } = await boundedFetch(`${url}/add-checkpoint`, request, bounds)
    return { status, text: body.toString() }
  }

  async #record(newest: CheckpointRow, note: string, signal: AbortSignal): Promise<void> {
    const { origin, size, root } = newest
    const cosigners = cosignersOn(note, this.#options.policy)
    const cosignedAt = this.#options.marketNow()
    const isQuorum = this.#options.policy.isMet(cosigners)
    const before = this.#options.row(COSIGNED_CHECKPOINT) as CosignedRow | undefined
    const countedFrom = before?.size ?? size
    const { verdicts, open } = countVerdicts(this.#options.tree, {
      from: countedFrom,
      to: size,
      at: cosignedAt,
    })
    const witnesses = [...new Set(cosigners.map(({ name }) => name))]
    const said = { origin, size, root, note, witnesses, isQuorum, cosignedAt }
    const event = newEvent(CheckpointCosigned, {
      id: this.#options.newId(),
      data: { ...said, countedFrom, verdicts, inTime: open },
      meta: { correlationId: `checkpoint ${size}`, actor: 'log' },
    })
    await appendLogEvent(this.#options, LOG_COSIGNATURES_STREAM, event, signal)
  }

  /** Looks again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.look(signal)
      } catch (error) {
        if (!signal.aborted) this.#options.onProblem('all', reasonOf(error))
      }
      await this.#options.sleep(LOOK_EVERY_MS, signal)
    }
  }
}

/** The witnesses of a policy that have cosigned a note; none where the note is not sound. */
export function cosignersOn(note: string, { witnesses }: Pick<Policy, 'witnesses'>): Verifier[] {
  try {
    const keys = witnesses.map(({ verifier }) => verifier)
    return openCheckpoint(note, keys).signatures.map(({ verifier }) => verifier)
  } catch {
    return []
  }
}

/**
 * Verdicts among the entries [from, to) of a tree, and those whose window is open at a time.
 *
 * @param range.at market time, Unix milliseconds
 */
export function countVerdicts(
  tree: Pick<TreeReader, 'entries'>,
  { from, to, at }: { readonly from: number; readonly to: number; readonly at: number },
): { readonly verdicts: number; readonly open: number } {
  let [verdicts, open] = [0, 0]
  for (let tile = Math.floor(from / TILE_WIDTH); tile * TILE_WIDTH < to; tile++) {
    const entries = tree.entries(tile)
    const [start, end] = [Math.max(from, tile * TILE_WIDTH), Math.min(to, (tile + 1) * TILE_WIDTH)]
    for (let index = start; index < end; index++) {
      const entry = entryAt(entries, index % TILE_WIDTH)
      if (entry?.kind !== ENTRY_KINDS.VerdictRecorded) continue
      verdicts += 1
      if (entry.opensAt > at) open += 1
    }
  }
  assert(open <= verdicts && verdicts <= Math.max(0, to - from), 'verdicts are counted once each', verdicts)
  return { verdicts, open }
}

const textOf = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1)

/** The note with the signatures of the log alone: a witness needs no others. */
function ownNote({ note, origin }: CheckpointRow): string {
  const text = textOf(note)
  const lines = note.slice(text.length + 1).split('\n')
  return `${text}\n${lines
    .filter((line) => line.startsWith(`— ${origin} `))
    .map((line) => `${line}\n`)
    .join('')}`
}
