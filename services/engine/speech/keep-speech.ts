import { isServiceError, type ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { speechStream } from '../../../contracts/streams.ts'
import type { SpeechRow } from '../../../projections/index.ts'
import { RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import { decideSpeech, evolveSpeech, SPEAKING } from './decide-speech.ts'

export interface KeepSpeechOptions extends Pick<Clock, 'sleep'> {
  readonly store: EventStore
  readonly idOf: FactId
  /** How every model does at every timeframe, as the read model has it. */
  readonly rows: () => Iterable<SpeechRow>
  /** Whether this process is the one that says so, of those that share the log. */
  readonly mayDecide: () => boolean
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number
  readonly signal: AbortSignal
  /** Told when a change cannot be recorded for now. */
  readonly onFailure: (error: ServiceError) => void
}

/** A due change stays due and takes effect on a later day, so a minute does not matter. Wall clock. */
const LOOK_EVERY_MS = 30_000

/** Records what the outcomes say is due of the models' speech, each change once. Until the signal. */
export async function keepSpeech(options: KeepSpeechOptions): Promise<void> {
  const { rows, mayDecide, sleep, signal, onFailure } = options
  while (!signal.aborted) {
    try {
      if (mayDecide()) for (const row of rows()) await recordDue(options, row)
    } catch (error) {
      if (!isServiceError(error)) throw error
      if (!signal.aborted) onFailure(error)
    }
    await sleep(LOOK_EVERY_MS, signal)
  }
}

const UNKNOWN = { what: 'speech was withdrawn or restored', again: 'It is looked at again.' }

/** Records what is due of one model at one timeframe. */
export async function recordDue(
  { store, idOf, now, sleep, signal }: Omit<KeepSpeechOptions, 'rows' | 'mayDecide' | 'onFailure'>,
  row: SpeechRow,
): Promise<void> {
  const { modelVersion, timeframe, due } = row
  if (due === null) return
  const stream = speechStream(modelVersion, timeframe)
  await executeCommand(
    { store, policy: RETRY_FOR_CALLER, now, sleep, signal },
    {
      stream,
      unknown: UNKNOWN,
      async load() {
        for await (const event of store.read(stream, { direction: 'backwards', limit: 1 }))
          return { state: evolveSpeech(SPEAKING, decodeEvent(event)), revision: event.revision }
        return { state: SPEAKING, revision: 'no-stream' }
      },
      decide(state) {
        const decided = decideSpeech(state, row, due)
        if (decided === undefined) return { events: [], result: undefined }
        const { definition, data } = decided
        const id = idOf('speech', modelVersion, timeframe, due.change, String(due.day))
        const meta = { correlationId: `speech ${modelVersion} ${timeframe} ${due.day}`, actor: 'engine' }
        return { events: [newEvent(definition, { id, data, meta })], result: undefined }
      },
    },
  )
}
