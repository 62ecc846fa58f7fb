import { createHash } from 'node:crypto'
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
} from 'nats'
import { ServiceError } from '../../../contracts/errors.ts'
import { BUS_DUPLICATE_WINDOW_MS } from './bus.ts'
import { PUBLISHED_ROOT } from './subjects.ts'

/** What one log's processes use on a server that others use as well. */
export interface NatsNames {
  /** The stream that holds what was published. */
  readonly stream: string
  /** The pattern of all that it stores. */
  readonly stored: string
  /** The subject on the server for one of ours, or for a pattern. */
  subject(own: string): string
  /** Our subject for one on the server. */
  ownSubject(subject: string): string
}

const LOG_ID = /^[A-Za-z0-9-]{1,64}$/

/**
 * Names under which the processes of one log meet, and those of no other log: verdicts, questions and answers of
 * another deployment belong to a log that these processes have never seen.
 *
 * @example natsNames('018f…').subject('signal.trade_call') === 'signal-service.018f….signal.trade_call'
 */
export function natsNames(logId: string): NatsNames {
  if (!LOG_ID.test(logId)) {
    throw new ServiceError('internal_error', { message: `the log id ${JSON.stringify(logId)} is none` })
  }
  const prefix = `signal-service.${logId}.`
  return {
    stream: `SIGNALS-${logId}`,
    stored: `${prefix}${PUBLISHED_ROOT}.>`,
    subject: (own) => prefix + own,
    ownSubject: (subject) => (subject.startsWith(prefix) ? subject.slice(prefix.length) : subject),
  }
}

/** Signals only wake; whoever was away longer than this catches up from the event log. */
const STREAM_AGE_MS = 3_600_000
/** A server reserves it for each log's stream; the position that a signal carries takes some 200 bytes. */
const STREAM_BYTES = 67_108_864
/** Messages all consumers of one name hold together; each bounds its own share below it. */
const CONSUMER_ACK_PENDING = 8_192
const JETSTREAM_NOT_FOUND = 404

/**
 * Makes sure that the stream exists. One that an operator made is used as it is, with its replicas and bounds.
 *
 * @throws ServiceError `bus_unavailable` when the existing one does not take what is published.
 */
export async function ensureSignalStream(
  manager: JetStreamManager,
  { stream, stored }: NatsNames,
): Promise<{ readonly lastSequence: number }> {
  const existing = await manager.streams.info(stream).catch(undefinedWhenNotFound)
  const info =
    existing ??
    (await manager.streams.add({
      name: stream,
      subjects: [stored],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.Old,
      max_age: nanos(STREAM_AGE_MS),
      max_bytes: STREAM_BYTES,
      duplicate_window: nanos(BUS_DUPLICATE_WINDOW_MS),
    }))
  if (!info.config.subjects.includes(stored)) {
    const message = `the NATS stream ${stream} has the subjects ${info.config.subjects.join(', ')}, not ${stored}`
    throw new ServiceError('bus_unavailable', { message })
  }
  return { lastSequence: info.state.last_seq }
}

/**
 * Makes sure that the durable pull consumer of a name and a subject pattern exists; returns its own name.
 * There is one for each pattern, because nats-server 2.9 filters a consumer by one pattern only.
 */
export async function ensureDurableConsumer(
  manager: JetStreamManager,
  names: NatsNames,
  options: {
    readonly name: string
    /** On the server. */
    readonly pattern: string
    readonly ackWaitMs: number
    readonly forgetAfterMs: number | undefined
  },
): Promise<string> {
  const { name, pattern, ackWaitMs, forgetAfterMs } = options
  const durable = `${name}-${createHash('sha256').update(pattern).digest('hex').slice(0, 12)}`
  const ackWait = nanos(ackWaitMs)
  // Zero keeps a durable consumer for ever.
  const inactive = nanos(forgetAfterMs ?? 0)
  const { lastSequence } = await ensureSignalStream(manager, names)
  const existing = await manager.consumers.info(names.stream, durable).catch(undefinedWhenNotFound)
  if (existing === undefined) {
    await manager.consumers.add(names.stream, {
      durable_name: durable,
      description: `${name} on ${pattern}`,
      filter_subject: pattern,
      ack_policy: AckPolicy.Explicit,
      ack_wait: ackWait,
      inactive_threshold: inactive,
      max_ack_pending: CONSUMER_ACK_PENDING,
      replay_policy: ReplayPolicy.Instant,
      // A number, not "new": it means the same again when the server has to recover the consumer.
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: lastSequence + 1,
    })
  } else if (existing.config.ack_wait !== ackWait || (existing.config.inactive_threshold ?? 0) !== inactive) {
    const update = { ack_wait: ackWait, inactive_threshold: inactive }
    await manager.consumers.update(names.stream, durable, update)
  }
  return durable
}

function undefinedWhenNotFound(error: unknown): undefined {
  if (error instanceof NatsError && error.api_error?.code === JETSTREAM_NOT_FOUND) return undefined
  throw error
}
