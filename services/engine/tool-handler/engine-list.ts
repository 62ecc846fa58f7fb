import { isServiceError } from '../../../contracts/errors.ts'
import type { Bus } from '../../runtime/bus/bus.ts'

/** Asked of any process that computes, or of one by its name; the answer is its name. */
export const HERE_SUBJECT = 'engine.here'
/** How often is looked which there are, and how long one has to say that it is there. */
const LOOK_MS = 2_000
const HERE_WITHIN_MS = 1_000
/** Questions of a look that any of them answers: with a few of them, all are met within two or three looks. */
const QUESTIONS = 4
/** One that has been silent for so long is gone. */
const GONE_MS = 300_000

/** The processes that compute, as another one knows them. */
export interface EngineList {
  /** One that answers, each in its turn; undefined where none is known. @param but those that were asked already */
  pick(but: ReadonlySet<string>): string | undefined
  /** One has not answered within the time of an answer: nothing more is asked of it unless it says that it is there. */
  doubt(name: string): Promise<void>
  /** Looks which there are, until the signal. Rejects for faults of the program only. */
  run(signal: AbortSignal): Promise<void>
  health(): { readonly answering: number; readonly silent: number }
}

export function createEngineList(options: {
  readonly bus: Pick<Bus, 'request'>
  /** A clock that is never set, milliseconds. */
  readonly elapsed: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}): EngineList {
  const { bus, elapsed, sleep } = options
  /** By name: since when it has been silent; undefined while it answers. In the order of their turns. */
  const engines = new Map<string, number | undefined>()

  async function meet(): Promise<void> {
    try {
      const name = await bus.request(HERE_SUBJECT, null, { timeoutMs: HERE_WITHIN_MS })
      if (typeof name === 'string') engines.set(name, undefined)
    } catch (error) {
      // Nobody is there, or the bus is away: that is what its own health tells.
      if (!isServiceError(error)) throw error
    }
  }

  /** The bus reports a process that has ended at once; a process that hangs does not answer. */
  async function check(name: string): Promise<void> {
    try {
      await bus.request(`${HERE_SUBJECT}.${name}`, null, { timeoutMs: HERE_WITHIN_MS })
      engines.set(name, undefined)
    } catch (error) {
      if (!isServiceError(error)) throw error
      const since = engines.get(name) ?? elapsed()
      const isGone = error.details?.['isServed'] === false || elapsed() - since >= GONE_MS
      if (isGone) engines.delete(name)
      else engines.set(name, since)
    }
  }

  return {
    pick(but) {
      const name = [...engines].find(([one, since]) => since === undefined && !but.has(one))?.[0]
      if (name === undefined) return undefined
      engines.delete(name)
      engines.set(name, undefined)
      return name
    },
    async doubt(name) {
      if (engines.get(name) === undefined) engines.set(name, elapsed())
      await check(name)
    },
    async run(signal) {
      while (!signal.aborted) {
        await Promise.all([...Array.from({ length: QUESTIONS }, meet), ...[...engines.keys()].map(check)])
        await sleep(LOOK_MS, signal)
      }
    },
    health() {
      const silent = [...engines.values()].filter((since) => since !== undefined).length
      return { answering: engines.size - silent, silent }
    },
  }
}
