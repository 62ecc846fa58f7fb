import type { Consumer, JetStreamClient, JetStreamManager, JsMsg } from 'nats'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { sleep } from '../async/sleep.ts'
import type { ReportFault } from './bus.ts'
import type { Delivery } from './intake.ts'
import { decodeBody } from './message-body.ts'
import type { NatsLink } from './nats-connection.ts'
import { ensureDurableConsumer, type NatsNames } from './nats-stream.ts'

/** How long one pull waits for messages; half of it without a sign of life ends it early. */
const PULL_EXPIRES_MS = 10_000
const RETRY_FLOOR_MS = 100
const RETRY_CEILING_MS = 5_000

export const MESSAGE_ID_HEADER = 'Nats-Msg-Id'

/** Where messages are pulled from. */
export interface NatsPullSource {
  readonly link: NatsLink
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly names: NatsNames
  readonly ackWaitMs: number
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly report: ReportFault
}

/** What is pulled, and for whom. */
export interface NatsPullTarget {
  readonly name: string
  readonly pattern: string
  /** The server forgets a durable consumer that nobody pulls from for so long; undefined where it keeps it. */
  readonly forgetAfterMs: number | undefined
  readonly signal: AbortSignal
  /** The durable consumer is there: what is published from now on is delivered. */
  readonly onEstablished: () => void
  /** Resolves when messages may be taken, with how many; at once when the signal is aborted. */
  readonly whenRoom: () => Promise<number>
  readonly accept: (delivery: Delivery) => void
}

/**
 * Pulls the messages of one durable consumer until the signal, over restarts of the server and over the loss
 * of stream and consumer, which are made again. Never rejects.
 */
export async function pullMessages(source: NatsPullSource, target: NatsPullTarget): Promise<void> {
  const { link, client, manager, names, ackWaitMs, random, report } = source
  const { name, forgetAfterMs, signal } = target
  const pattern = names.subject(target.pattern)
  let failures = 0
  while (await link.whenUp(signal)) {
    try {
      const durable = await ensureDurableConsumer(manager, names, { name, pattern, ackWaitMs, forgetAfterMs })
      const consumer = await client.consumers.get(names.stream, durable)
      target.onEstablished()
      while (link.isUp() && !signal.aborted) {
        const room = await target.whenRoom()
        if (room > 0 && !signal.aborted && link.isUp()) await pullBatch(consumer, room, source, target)
        failures = 0
      }
    } catch (error) {
      failures++
      if (signal.aborted) return
      if (link.isUp()) report(pullError(name, target.pattern, error))
      const backoffMs = Math.min(RETRY_CEILING_MS, RETRY_FLOOR_MS * 2 ** failures) * (0.5 + random())
      await sleep(backoffMs, signal)
    }
    if (signal.aborted) return
  }
}

async function pullBatch(
  consumer: Consumer,
  room: number,
  source: NatsPullSource,
  target: NatsPullTarget,
): Promise<void> {
  const { link } = source
  const { signal } = target
  const batch = await consumer.fetch({ max_messages: room, expires: PULL_EXPIRES_MS })
  // After a reconnect the client would ask for the whole batch again, past what there is room for.
  const stop = (): void => void batch.close()
  const stopListening = link.onDown(stop)
  signal.addEventListener('abort', stop, { once: true })
  try {
    if (signal.aborted || !link.isUp()) stop()
    for await (const message of batch) {
      const delivery = readMessage(message, source, target)
      if (delivery !== undefined) target.accept(delivery)
    }
  } finally {
    stopListening()
    signal.removeEventListener('abort', stop)
  }
}

/** A message that is none of ours is reported and taken out, or it would come back for ever. */
function readMessage(
  message: JsMsg,
  { link, names, report }: NatsPullSource,
  { name, pattern }: NatsPullTarget,
): Delivery | undefined {
  const unlessClosed = (tell: () => void) => () => {
    if (!link.connection.isClosed()) tell()
  }
  const { redelivered } = message
  const subject = names.ownSubject(message.subject)
  const id = message.headers?.get(MESSAGE_ID_HEADER) ?? ''
  try {
    if (id === '') throw new TypeError(`it has no ${MESSAGE_ID_HEADER}`)
    return {
      id,
      subject,
      redelivered,
      body: decodeBody(message.string()),
      acknowledge: unlessClosed(() => message.ack()),
      giveBack: unlessClosed(() => message.nak()),
    }
  } catch (error) {
    report(pullError(name, `${pattern}, message ${message.seq} to ${subject}`, error))
    unlessClosed(() => message.term())()
    return undefined
  }
}

function pullError(name: string, what: string, cause: unknown): ServiceError {
  const reason = reasonOf(cause)
  return new ServiceError('bus_unavailable', {
    message: `the consumer ${name} on ${what} failed: ${reason}`,
    cause,
  })
}
