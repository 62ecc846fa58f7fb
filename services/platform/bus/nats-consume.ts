import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../async/clock.ts'
import type { ConsumeOptions, Consumption, ReportFault } from './bus.ts'
import { createIntake, type Intake } from './intake.ts'
import { type NatsPullSource, type NatsPullTarget, pullMessages } from './nats-pull.ts'
import { checkConsumerName, checkMaxInFlight, checkPatterns } from './subjects.ts'

export interface NatsConsumers {
  readonly consume: (options: ConsumeOptions) => Consumption
  /** Resolves when every consumption has ended. */
  readonly finish: () => Promise<void>
}

export interface NatsConsumersOptions extends NatsPullSource, Pick<Clock, 'now'> {
  readonly report: ReportFault
  /** Ends every consumption. */
  readonly closing: AbortSignal
}

type Pulled = Pick<NatsPullTarget, 'name' | 'pattern' | 'forgetAfterMs'>

/** Consumers over JetStream: one pull for each subject pattern, all into one iteration. */
export function createNatsConsumers(options: NatsConsumersOptions): NatsConsumers {
  const { now, ackWaitMs, closing } = options
  const pulls = new Set<Promise<void>>()

  /** Pulls one pattern into the intake until the signal; resolves when it is established, or ends before. */
  function pullInto(intake: Intake, what: Pulled, room: number, signal: AbortSignal) {
    const established = Promise.withResolvers<void>()
    let roomy = Promise.withResolvers<void>()
    const queue = intake.queue({ maxInFlight: room, onRoom: () => roomy.resolve() })
    signal.addEventListener('abort', () => roomy.resolve(), { once: true })
    const whenRoom = async (): Promise<number> => {
      if (queue.room() === 0 && !signal.aborted) {
        roomy = Promise.withResolvers()
        await roomy.promise
      }
      return queue.room()
    }
    const target = {
      ...what,
      signal,
      whenRoom,
      accept: queue.accept,
      onEstablished: established.resolve,
    }
    const pull = pullMessages(options, target).finally(() => {
      established.resolve()
      pulls.delete(pull)
    })
    pulls.add(pull)
    return established.promise
  }

  return {
    consume({ name, subjects, signal, maxInFlight = LIMITS.busInFlight, forgetAfterMs }) {
      checkConsumerName(name)
      checkPatterns(subjects)
      checkMaxInFlight(maxInFlight)
      const left = new AbortController()
      const ending = AbortSignal.any([signal, closing, left.signal])
      const intake = createIntake({ now, ackWaitMs, onEnd: () => left.abort() })
      const pulling = subjects.map((pattern) =>
        pullInto(intake, { name, pattern, forgetAfterMs }, maxInFlight, ending),
      )
      // After the pulls have let go, or what is given back would come straight to them again.
      const endIntake = (): void => queueMicrotask(intake.end)
      if (ending.aborted) intake.end()
      else ending.addEventListener('abort', endIntake, { once: true })
      return {
        established: Promise.all(pulling).then(() => undefined),
        [Symbol.asyncIterator]: intake.messages,
      }
    },
    finish: () => Promise.all(pulls).then(() => undefined),
  }
}
