import { hash } from 'node:crypto'

/** The end of a chain of hashes: the kind of authority that attests it, and its statement as bytes. */
export interface Attestation {
  /** 8 bytes, in hex. */
  readonly tag: string
  readonly payload: Buffer
}

/** A message with its attestations, and the messages that operations make of it. */
export interface Timestamp {
  readonly message: Buffer
  readonly attestations: readonly Attestation[]
  readonly steps: readonly { readonly step: Step; readonly next: Timestamp }[]
}

type Step = { readonly kind: 'append' | 'prepend'; readonly bytes: Buffer } | { readonly kind: 'sha256' }

const MAGIC = Buffer.from('004f70656e54696d657374616d7073000050726f6f6600bf89e2e884e89294', 'hex')
const VERSION = 1
const SHA256 = 0x08
const APPEND = 0xf0
const PREPEND = 0xf1
const FORK = 0xff
const ATTESTATION = 0x00
/** A calendar promises to have it in a block; and it stands in a block of Bitcoin. */
export const PENDING = '83dfe30d2ef90c8e'
const BITCOIN = '0588960d73d71901'

const MOST_BYTES = 20_000
const MOST_DEPTH = 256
const MOST_MESSAGE = 4_096
const MOST_URI = 1_000

/** A detached timestamp of OpenTimestamps for a file with this SHA-256. */
export function formatTimestampFile(timestamp: Timestamp): Buffer {
  return Buffer.concat([MAGIC, Buffer.of(VERSION, SHA256), timestamp.message, ...written(timestamp)])
}

/** @throws TypeError for bytes that are no such file, or of operations that are not read here */
export function parseTimestampFile(bytes: Buffer): Timestamp {
  const start = MAGIC.length
  if (!bytes.subarray(0, start).equals(MAGIC) || bytes[start] !== VERSION || bytes[start + 1] !== SHA256)
    throw new TypeError('it is no timestamp of a SHA-256')
  const message = bytes.subarray(start + 2, start + 34)
  if (message.length !== 32) throw new TypeError('it is cut off')
  return parseTimestamp(bytes.subarray(start + 34), message)
}

/** Reads the answer of a calendar for a message. @throws TypeError */
export function parseTimestamp(bytes: Buffer, message: Buffer): Timestamp {
  if (bytes.length > MOST_BYTES) throw new TypeError(`it is longer than ${MOST_BYTES} bytes`)
  const reader = createReader(bytes)
  const timestamp = readTimestamp(reader, message, 0)
  if (!reader.isAtEnd()) throw new TypeError('something follows it')
  return timestamp
}

/** Both of two timestamps of one message. */
export function merged(one: Timestamp, other: Timestamp): Timestamp {
  const attestations = new Map(
    [...one.attestations, ...other.attestations].map((found) => [
      `${found.tag} ${found.payload.toString('hex')}`,
      found,
    ]),
  )
  const steps = new Map(one.steps.map((found) => [stepBytes(found.step).toString('hex'), found]))
  for (const { step, next } of other.steps) {
    const name = stepBytes(step).toString('hex')
    const before = steps.get(name)
    steps.set(name, { step, next: before === undefined ? next : merged(before.next, next) })
  }
  return { message: one.message, attestations: [...attestations.values()], steps: [...steps.values()] }
}

/** A timestamp with what is now known of one of the messages that it leads to. */
export function grafted(timestamp: Timestamp, known: Timestamp): Timestamp {
  const here = timestamp.message.equals(known.message) ? merged(timestamp, known) : timestamp
  return { ...here, steps: here.steps.map(({ step, next }) => ({ step, next: grafted(next, known) })) }
}

/** The calendars that have promised a block, each with the message to ask it about. */
export function promisesOf({ message, attestations, steps }: Timestamp): { uri: string; message: Buffer }[] {
  const own = attestations
    .filter(({ tag }) => tag === PENDING)
    .map(({ payload }) => ({ uri: createReader(payload).bytes(MOST_URI).toString(), message }))
  return [...own, ...steps.flatMap(({ next }) => promisesOf(next))]
}

/** The lowest block of Bitcoin that it leads to, null for none. The block itself is not read. */
export function bitcoinBlockOf({ attestations, steps }: Timestamp): number | null {
  const heights = [
    ...attestations.filter(({ tag }) => tag === BITCOIN).map(({ payload }) => createReader(payload).number()),
    ...steps.flatMap(({ next }) => bitcoinBlockOf(next) ?? []),
  ]
  return heights.length === 0 ? null : Math.min(...heights)
}

/** All parts but the last one begin with a mark that another one follows. */
function written({ attestations, steps }: Timestamp): Buffer[] {
  const parts = [
    ...attestations.map(({ tag, payload }) => [
      Buffer.of(ATTESTATION),
      Buffer.from(tag, 'hex'),
      varBytes(payload),
    ]),
    ...steps.map(({ step, next }) => [stepBytes(step), ...written(next)]),
  ]
  if (parts.length === 0) throw new TypeError('a timestamp leads somewhere')
  return parts.flatMap((part, index) => (index < parts.length - 1 ? [Buffer.of(FORK), ...part] : part))
}

const stepBytes = (step: Step): Buffer =>
  step.kind === 'sha256'
    ? Buffer.of(SHA256)
    : Buffer.concat([Buffer.of(step.kind === 'append' ? APPEND : PREPEND), varBytes(step.bytes)])

const varBytes = (bytes: Buffer): Buffer => Buffer.concat([varNumber(bytes.length), bytes])

function varNumber(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left >>>= 7) {
    if (left < 128) return Buffer.from([...bytes, left])
    bytes.push((left & 127) | 128)
  }
}

type Reader = ReturnType<typeof createReader>

function createReader(all: Buffer) {
  let at = 0
  const take = (count: number): Buffer => {
    if (at + count > all.length) throw new TypeError('it is cut off')
    at += count
    return all.subarray(at - count, at)
  }
  const number = (): number => {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = take(1)[0] ?? 0
      value += (byte & 127) * 2 ** shift
      if (byte < 128) return value
    }
    throw new TypeError('a number is too long')
  }
  return {
    take,
    number,
    bytes(most: number): Buffer {
      const length = number()
      if (length > most) throw new TypeError(`${length} bytes are more than ${most}`)
      return take(length)
    },
    isAtEnd: () => at === all.length,
  }
}

function readTimestamp(reader: Reader, message: Buffer, depth: number): Timestamp {
  if (depth > MOST_DEPTH) throw new TypeError(`it has more than ${MOST_DEPTH} steps`)
  const attestations: Attestation[] = []
  const steps: { step: Step; next: Timestamp }[] = []
  for (let isLast = false; !isLast; ) {
    let tag = reader.take(1)[0]
    isLast = tag !== FORK
    if (tag === FORK) tag = reader.take(1)[0]
    if (tag === ATTESTATION)
      attestations.push({ tag: reader.take(8).toString('hex'), payload: reader.bytes(MOST_MESSAGE) })
    else {
      const step = readStep(reader, tag)
      steps.push({ step, next: readTimestamp(reader, applied(step, message), depth + 1) })
    }
  }
  return { message, attestations, steps }
}

function readStep(reader: Reader, tag: number | undefined): Step {
  if (tag === SHA256) return { kind: 'sha256' }
  if (tag === APPEND) return { kind: 'append', bytes: reader.bytes(MOST_MESSAGE) }
  if (tag === PREPEND) return { kind: 'prepend', bytes: reader.bytes(MOST_MESSAGE) }
  throw new TypeError(`the operation 0x${(tag ?? 0).toString(16)} is not read here`)
}

function applied(step: Step, message: Buffer): Buffer {
  if (step.kind === 'sha256') return hash('sha256', message, 'buffer')
  const result = Buffer.concat(step.kind === 'append' ? [message, step.bytes] : [step.bytes, message])
  if (result.length > MOST_MESSAGE) throw new TypeError('a message of it is too long')
  return result
}
