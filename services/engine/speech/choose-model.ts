import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type ModelChoice, ModelChosen } from '../../../contracts/model-events.ts'
import type { ModelFile } from '../../../contracts/proof-events.ts'
import { MODEL_CHOICE_STREAM } from '../../../contracts/streams.ts'
import { CALLER_WAITS } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'
import { executeCommand } from '../../log/execute-command.ts'
import type { Clock } from '../../runtime/async/clock.ts'

export interface ChooseModelOptions extends Pick<Clock, 'sleep'> {
  readonly store: EventStore
  readonly newId: () => string
  /** The models that run here. */
  readonly files: readonly ModelFile[]
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number
  readonly signal: AbortSignal
}

/** The choice to record; undefined where that very file speaks already. */
export function decideChoice(
  chosen: ModelChoice | undefined,
  { modelVersion, sha256 }: Pick<ModelFile, 'modelVersion' | 'sha256'>,
  from: number,
): ModelChoice | undefined {
  if (chosen?.modelVersion === modelVersion && chosen.sha256 === sha256) return undefined
  // The newer of two choices holds, even if the clock of the market was set back between them.
  return { modelVersion, sha256, from: Math.max(from, chosen?.from ?? 0) }
}

/**
 * Has another model speak, for the bars that close from now on. Durable when it resolves.
 *
 * @throws ServiceError `model_unknown` for a version that does not run here; what the log refuses an append with
 */
export async function chooseModel(
  { store, newId, files, marketNow, now, sleep, signal }: ChooseModelOptions,
  modelVersion: string,
  meta: NewEvent['meta'],
): Promise<ModelChoice> {
  const file = files.find((one) => one.modelVersion === modelVersion)
  if (file === undefined) {
    const available = files.map((one) => one.modelVersion)
    throw new ServiceError('model_unknown', {
      message: `No model ${JSON.stringify(modelVersion)} runs here; there are ${available.join(', ')}.`,
      details: { given: modelVersion, available },
    })
  }
  const id = newId()
  const from = Math.floor(marketNow())
  const executed = await executeCommand(
    { store, policy: CALLER_WAITS, now, sleep, signal },
    {
      stream: MODEL_CHOICE_STREAM,
      unknown: { what: 'the model was changed', again: 'Ask for the list of models.' },
      async load() {
        for await (const recorded of store.read(MODEL_CHOICE_STREAM, { direction: 'backwards', limit: 1 })) {
          const event = decodeEvent(recorded)
          const state = event.type === 'ModelChosen' ? event.data : undefined
          return { state, revision: recorded.revision }
        }
        return { state: undefined, revision: 'no-stream' as const }
      },
      decide(chosen) {
        const choice = decideChoice(chosen, file, from)
        if (choice === undefined) return { events: [], result: chosen }
        return { events: [newEvent(ModelChosen, { id, data: choice, meta })], result: choice }
      },
    },
  )
  return executed.result ?? { modelVersion, sha256: file.sha256, from }
}
