import { setTimeout as delay } from 'node:timers/promises'
import { ErrorCode, type JetStreamClient, NatsError } from 'nats'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Clock } from '../async/clock.ts'
import type { OutgoingMessage, PublishResult } from './bus.ts'
import { encodeBody } from './message-body.ts'
import type { NatsLink } from './nats-connection.ts'
import type { NatsNames } from './nats-stream.ts'
import { checkMessageId, checkPublishedSubject } from './subjects.ts'

/** Publishes under way at once; past it they are refused, so that an outage cannot fill the memory. */
const PUBLISHES_IN_FLIGHT = 4_096
/** After a restart the server answers on the connection a moment before its streams do. */
const RETRY_INTERVAL_MS = 100

export interface NatsPublishOptions extends Pick<Clock, 'now'> {
  readonly link: NatsLink
  readonly client: JetStreamClient
  readonly names: NatsNames
  readonly timeoutMs: number
  /** Makes the stream again where it is gone: a server may come back without its files. */
  readonly ensureStream: () => Promise<unknown>
}

/**
 * Publishes to the stream. A lost connection or acknowledgement is tried again within the time, which is
 * safe because the server drops what it has by its id.
 */
export function createNatsPublish(
  options: NatsPublishOptions,
): (message: OutgoingMessage) => Promise<PublishResult> {
  const { link, client, names, now, timeoutMs, ensureStream } = options
  let inFlight = 0

  /** One try; rejects as soon as the connection is lost instead of waiting for an answer that cannot come. */
  function tryOnce(id: string, subject: string, text: string, leftMs: number): Promise<PublishResult> {
    const { promise, resolve, reject } = Promise.withResolvers<PublishResult>()
    const stopListening = link.onDown(() => reject(new Error('the connection was lost')))
    client
      .publish(names.subject(subject), text, { msgID: id, timeout: leftMs })
      .then(({ duplicate }) => resolve({ duplicate }), reject)
      .finally(stopListening)
      .catch(reject)
    return promise
  }

  /** Why a try failed, in words; what can be done about it is done on the way. */
  async function recover(error: unknown): Promise<string> {
    const code = error instanceof NatsError ? error.code : undefined
    if (code === ErrorCode.Timeout) return 'no acknowledgement came'
    if (code !== ErrorCode.NoResponders) return reasonOf(error)
    return ensureStream().then(
      () => 'the stream was gone',
      (cause: unknown) => `there is no stream: ${reasonOf(cause)}`,
    )
  }

  async function publishInTime(id: string, subject: string, text: string): Promise<PublishResult> {
    const deadlineMs = now() + timeoutMs
    let reason = 'the connection is lost'
    while (!link.connection.isClosed()) {
      const leftMs = deadlineMs - now()
      if (leftMs <= 0 || !(await link.whenUp(AbortSignal.timeout(leftMs)))) break
      try {
        return await tryOnce(id, subject, text, Math.max(1, deadlineMs - now()))
      } catch (error) {
        reason = await recover(error)
        await delay(Math.min(RETRY_INTERVAL_MS, Math.max(0, deadlineMs - now())))
      }
    }
    throw new ServiceError('bus_unavailable', {
      message: `NATS at ${link.hosts} did not take message ${id} to ${subject} within ${timeoutMs} ms: ${reason}`,
    })
  }

  return async ({ id, subject, body }) => {
    checkMessageId(id)
    checkPublishedSubject(subject)
    const text = encodeBody(subject, body)
    if (inFlight >= PUBLISHES_IN_FLIGHT) {
      const message = `${inFlight} messages wait to be taken by NATS at ${link.hosts}; publish again later`
      throw new ServiceError('bus_unavailable', { message })
    }
    inFlight++
    try {
      return await publishInTime(id, subject, text)
    } finally {
      inFlight--
    }
  }
}
