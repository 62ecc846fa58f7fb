import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { comparePositions, isPosition, type Position, START } from '../../contracts/position.ts'
import type { ProjectionHealth } from '../log/projector/projector.ts'
import { createStreamPlaces } from '../runtime/admission/places.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { addressSite } from './client-address.ts'
import { createWaits } from './waits.ts'

/** Positions in the log that the read models of this process have reached. */
export interface ReadPositions {
  /** The newest position that this process has written or read: nothing that was written for a caller is after it. */
  newest(): Position
  /** The read models that have not come so far. @throws ServiceError `store_unavailable` where this process keeps none */
  behind(position: Position): readonly Late[]
  /** Position of the newest event. @throws ServiceError of the store */
  head(): Promise<Position>
}

type Late = Pick<ProjectionHealth, 'name' | 'position' | 'goesOn'>

/**
 * @returns names of the read models that stand still before it: nobody waits for them
 * @throws ServiceError `invalid_request`, `position_unknown`, `read_model_behind`, and those of too many who wait
 */
export type AwaitPosition = (
  given: unknown,
  by: { readonly address: string; readonly signal: () => AbortSignal },
) => Promise<readonly string[]>

export interface OwnWritesOptions extends Pick<Clock, 'sleep' | 'elapsed'> {
  readonly positions: ReadPositions
}

/** A function that waits until every read model that goes on has come to a position that an answer named. */
export function createAwaitPosition({ positions, sleep, elapsed }: OwnWritesOptions): AwaitPosition {
  const places = createStreamPlaces('waits for a position', {
    total: LIMITS.positionWaits,
    each: { address: LIMITS.positionWaitsPerAddress },
  })
  return async (given, { address, signal }) => {
    if (given === undefined) return []
    if (typeof given !== 'string' || !isPosition(given)) throw noPositionError()
    if (positions.behind(given).length === 0) return []
    const { give } = places.take({ address: addressSite(address) })
    try {
      await requireInLog(given, positions)
      const [since, gone] = [elapsed(), signal()]
      for (;;) {
        const behind = positions.behind(given)
        const late = behind.find(({ goesOn }) => goesOn)
        if (late === undefined) return behind.map(({ name }) => name)
        if (gone.aborted) throw new ServiceError('shutting_down')
        if (elapsed() - since >= LIMITS.positionWaitMs) throw behindError(given, late)
        await sleep(LIMITS.positionLookMs, gone)
      }
    } finally {
      give()
    }
  }
}

/** Nobody waits for what is not written. */
async function requireInLog(given: Position, positions: ReadPositions): Promise<void> {
  const head = await positions.head()
  const isOfThisLog = given === START || given.includes('/') === head.includes('/')
  if (isOfThisLog && comparePositions(given, head) <= 0) return
  throw new ServiceError('position_unknown', { message: `The log has no position ${given}.` })
}

/**
 * Answers to writes say up to where the log was written, and every read waits for `wait_for`, before its route begins
 * and takes a place of its own.
 */
export function useOwnWrites(
  app: FastifyInstance,
  positions: ReadPositions,
  awaitPosition: AwaitPosition,
  addressOf: (request: FastifyRequest) => string,
): void {
  const untilGone = createWaits(app)
  const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'
  app.addHook('preValidation', async (request, reply) => {
    const { wait_for: given, ...query } = request.query as Readonly<Record<string, unknown>>
    if (given === undefined || !isRead(request) || request.routeOptions.config.isUnlimited === true) return
    request.query = query
    const behind = await awaitPosition(given, {
      address: addressOf(request),
      signal: () => untilGone(reply),
    })
    if (behind.length > 0) reply.header('x-service-behind', behind.join(', '))
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    const newest = isRead(request) ? START : positions.newest()
    if (newest !== START) reply.header('x-service-position', newest)
    done()
  })
}

const noPositionError = (): ServiceError => {
  const problem = 'must be a position, as the header X-Service-Position of an answer gives it'
  return new ServiceError('invalid_request', {
    message: `wait_for: ${problem}`,
    details: { fields: [{ field: 'wait_for', problem }] },
  })
}

const behindError = (given: Position, { name, position }: Late): ServiceError =>
  new ServiceError('read_model_behind', {
    message: `After ${LIMITS.positionWaitMs / 1_000} s the read model ${name} has come to position ${position} and not to ${given}.`,
    details: { wait_for: given, read_model: name, position, retry_after_s: 1 },
  })
