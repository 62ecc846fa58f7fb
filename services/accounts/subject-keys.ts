import type { OpenedTexts, Subject } from '../../contracts/domain/owner-accounts.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import { SubjectKeyCreated } from '../../contracts/events/account-events.ts'
import { decodeEventOf } from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { resealedSubjectStream, subjectStream } from '../../contracts/events/streams.ts'
import type { Origin } from '../../contracts/infra/event.ts'
import {
  appendedOr,
  appendWithRetry,
  type LogUse,
  RETRY_FOR_CALLER,
  type UnknownOutcome,
} from '../log/append-with-retry.ts'
import { executeCommand } from '../log/command-handler.ts'
import { keyFingerprint, seal, unseal } from '../runtime/secrets/seal.ts'

export interface SubjectKeysOptions extends LogUse {
  /** Under which the keys of subjects are wrapped. */
  readonly wrapping: WrappingKeys
  readonly random: (bytes: number) => Uint8Array
}

/** Keys of 32 bytes that wrap the keys of subjects: a subject's may be under any of them. */
export interface WrappingKeys {
  /** Oldest first, those included that are not used yet. */
  readonly known: readonly Uint8Array[]
  /** Index of the one that wraps from now on. */
  readonly used: number
}

/** The purpose from which the wrapping key of all subjects is derived. */
export const SUBJECT_KEYS_PURPOSE = 'subject keys'

/** The only wrapping key, while it was never replaced. */
export const soleWrapping = (deriveSecret: (purpose: string) => Uint8Array): WrappingKeys => ({
  known: [deriveSecret(SUBJECT_KEYS_PURPOSE)],
  used: 0,
})

const KEY_BYTES = 32
const UNKNOWN: UnknownOutcome = {
  what: 'a key for what is sealed of this account was made',
  again: 'Send the request again: it is made once, and nothing else was recorded.',
}
export const nameOf = ({ accountId, generation }: Subject): string => `${accountId}.${generation}`
const keyContext = (subject: Subject): string => `key of ${nameOf(subject)}`
const emailContext = (subject: Subject): string => `e-mail of ${nameOf(subject)}`
/** The prefix keeps it apart from the other two for any purpose. */
const textContext = (subject: Subject, purpose: string): string => `text of ${nameOf(subject)}: ${purpose}`

/** Text that was sealed, and the purpose that it opens for. */
interface SealedText {
  readonly purpose: string
  readonly sealed: string
}

/**
 * Seals what is personal under a key of its subject. The key lies wrapped in a stream of its own and nowhere else;
 * once that stream is erased, nobody can open what was sealed, wherever copies of it are. Keys are not kept in memory,
 * where they would outlive their erasure.
 */
// oxlint-disable-next-line max-lines-per-function -- keys are cached, wrapped and erased in one map that nothing else may hold
export function createSubjectKeys(options: SubjectKeysOptions) {
  const { store, wrapping, random, newId } = options
  const { known, used } = wrapping
  const usedKey = usedOf(wrapping)
  const path = { ...options, policy: RETRY_FOR_CALLER }
  const streamOf = ({ accountId, generation }: Subject): string => subjectStream(accountId, generation)

  /** All streams that may hold the key: a reader that finds the former one erased finds the next one written. */
  const streamsOf = (subject: Subject): readonly string[] => [
    streamOf(subject),
    ...known
      .slice(1)
      .map((key) => resealedSubjectStream(subject.accountId, subject.generation, nameOfKey(key))),
  ]

  /** The key, where it is, and which key wraps it. */
  async function locate(subject: Subject) {
    for (const stream of streamsOf(subject)) {
      for await (const recorded of store.read(stream, { limit: 1 })) {
        const event = decodeEventOf(recorded, 'SubjectKeyCreated')
        return { stream, ...unwrapped(event.data.wrappedKey, known, keyContext(subject)) }
      }
    }
    return undefined
  }

  const find = async (subject: Subject): Promise<Uint8Array | undefined> => (await locate(subject))?.key

  /**
   * Wraps the key of a subject under the key that is used now, where it is under another one, and erases the old copy.
   *
   * @param isErased whether the log says that the subject was erased: asked when the new copy is there, so that an erasure at
   *   the same time misses none
   * @returns whether there was something to do
   */
  async function reseal(
    subject: Subject,
    isErased: () => Promise<boolean>,
    origin: Origin,
  ): Promise<boolean> {
    const found = await locate(subject)
    if (found === undefined || found.index === used) return false
    const target = resealedSubjectStream(subject.accountId, subject.generation, nameOfKey(usedKey))
    const event = newEvent(SubjectKeyCreated, {
      id: newId(),
      data: {
        ...subject,
        wrappedKey: seal(found.key, { key: usedKey, context: keyContext(subject) }, random),
      },
      meta: { ...origin },
    })
    const append = { stream: target, events: [event], expected: 'no-stream' } as const
    // One that is there already is of a process that ended before it erased the old one.
    appendedOr(await appendWithRetry(path, append), UNKNOWN)
    if (await isErased()) {
      for (const stream of streamsOf(subject)) await store.erase(stream)
      return false
    }
    await store.erase(found.stream)
    return true
  }

  /** The key that the stream begins with: ours, or that of somebody who was as quick. */
  async function create(subject: Subject, origin: Origin): Promise<Uint8Array> {
    const { result } = await executeCommand<Uint8Array | undefined, Uint8Array>(path, {
      stream: streamOf(subject),
      load: async () => ({ state: await find(subject), revision: 'no-stream' }),
      decide(ready) {
        if (ready !== undefined) return { events: [], result: ready }
        const key = random(KEY_BYTES)
        const wrappedKey = seal(key, { key: usedKey, context: keyContext(subject) }, random)
        const event = newEvent(SubjectKeyCreated, {
          id: newId(),
          data: { ...subject, wrappedKey },
          meta: { ...origin },
        })
        return { events: [event], result: key }
      },
      unknown: UNKNOWN,
    })
    return result
  }

  async function requireKey(subject: Subject): Promise<Uint8Array> {
    const key = await find(subject)
    if (key !== undefined) return key
    throw new ServiceError('account_unknown', { message: 'The account was erased.' })
  }

  /**
   * Unseals texts and returns a function that seals further ones with the same key. Use it briefly: a held key would
   * outlive an erasure.
   *
   * @throws ServiceError `account_unknown` where the subject was erased
   */
  async function open(subject: Subject, texts: readonly SealedText[]): Promise<OpenedTexts> {
    const key = await requireKey(subject)
    const contextOf = (purpose: string) => ({ key, context: textContext(subject, purpose) })
    return {
      texts: texts.map(({ purpose, sealed }) =>
        Buffer.from(unseal(sealed, contextOf(purpose))).toString('utf8'),
      ),
      seal: (purpose, text) => seal(Buffer.from(text), contextOf(purpose), random),
    }
  }

  return {
    /** Seals an e-mail address; makes the subject's key where there is none yet. */
    async sealEmail(subject: Subject, email: string, origin: Origin) {
      const key = (await find(subject)) ?? (await create(subject, origin))
      return seal(Buffer.from(email), { key, context: emailContext(subject) }, random)
    },
    /**
     * Inverse of `sealEmail`.
     *
     * @throws ServiceError `account_unknown` where the subject was erased
     */
    async unsealEmail(subject: Subject, sealed: string) {
      const key = await requireKey(subject)
      return Buffer.from(unseal(sealed, { key, context: emailContext(subject) })).toString('utf8')
    },
    /**
     * Seals another text of the subject; makes its key where there is none yet.
     *
     * @param purpose what the text is, `secret of 5f0c…`; it opens for the same purpose only
     * @throws ServiceError `account_unknown` where the subject was erased
     */
    async seal(subject: Subject, purpose: string, text: string, origin: Origin) {
      const key = (await find(subject)) ?? (await create(subject, origin).catch(unlessErased))
      return seal(Buffer.from(text), { key, context: textContext(subject, purpose) }, random)
    },
    /**
     * Inverse of `seal`, for several texts at once: the key is fetched once.
     *
     * @throws ServiceError `account_unknown` where the subject was erased
     */
    unseal: async (subject: Subject, texts: readonly SealedText[]) => (await open(subject, texts)).texts,
    open,
    /** Whether the subject has a key, so that what is sealed can be opened. */
    async has(subject: Subject) {
      for (const stream of streamsOf(subject))
        for await (const first of store.read(stream, { limit: 1 })) return first !== undefined
      return false
    },
    reseal,
    /** Forgets a subject, for good; doing it again does nothing. */
    async erase(subject: Subject) {
      for (const stream of streamsOf(subject)) await store.erase(stream)
    },
  }
}

export type SubjectKeys = ReturnType<typeof createSubjectKeys>

/** A stream that was erased takes no new key. */
function unlessErased(error: unknown): never {
  throw isServiceError(error, 'stream_erased') ? new ServiceError('account_unknown') : error
}

function usedOf({ known, used }: WrappingKeys): Uint8Array {
  const key = known[used]
  assert(key !== undefined, 'the key that wraps is one that is known', used)
  return key
}

/** Names a wrapping key in the names of streams, without telling it. */
const nameOfKey = (key: Uint8Array): string => keyFingerprint(key).slice(0, 16)

/** Opens what one of several keys has sealed, the newest first. */
function unwrapped(
  wrappedKey: string,
  known: readonly Uint8Array[],
  context: string,
): { readonly key: Uint8Array; readonly index: number } {
  for (let index = known.length - 1; ; index--) {
    try {
      return { key: unseal(wrappedKey, { key: known[index] as Uint8Array, context }), index }
    } catch (error) {
      if (index === 0) throw error
    }
  }
}
