import { SubjectKeyCreated } from '../../contracts/account-events.ts'
import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import { decodeEvent } from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import { subjectStream } from '../../contracts/streams.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import { seal, unseal } from '../platform/secrets/seal.ts'
import type { Origin } from './account-log.ts'

/** An account, between one erasure and the next. */
export interface Subject {
  readonly accountId: string
  readonly generation: number
}

/** Texts of a subject, unsealed, and what seals others of it. */
export interface OpenedTexts {
  readonly texts: readonly string[]
  readonly seal: (purpose: string, text: string) => string
}

export interface SubjectKeysOptions {
  readonly store: EventStore
  /** 32 bytes, under which the keys of all subjects are wrapped. */
  readonly wrappingKey: Uint8Array
  readonly random: (bytes: number) => Uint8Array
  readonly newId: () => string
}

/**
 * Seals what is personal under a key of its subject. The key lies wrapped in a stream of its own and nowhere else;
 * once that stream is erased, nobody can open what was sealed, wherever copies of it are.
 */
export interface SubjectKeys {
  /** Seals an e-mail address; makes the subject's key where there is none yet. */
  sealEmail(subject: Subject, email: string, origin: Origin): Promise<string>
  /**
   * Inverse of {@link SubjectKeys.sealEmail}.
   *
   * @throws ServiceError `account_unknown` where the subject was erased
   */
  unsealEmail(subject: Subject, sealed: string): Promise<string>
  /**
   * Seals another text of the subject; makes its key where there is none yet.
   *
   * @param purpose what the text is, `secret of 5f0c…`; it opens for the same purpose only
   * @throws ServiceError `stream_erased` where the subject was erased
   */
  seal(subject: Subject, purpose: string, text: string, origin: Origin): Promise<string>
  /**
   * Inverse of {@link SubjectKeys.seal}, for several texts at once: the key is fetched once.
   *
   * @throws ServiceError `account_unknown` where the subject was erased
   */
  unseal(
    subject: Subject,
    texts: readonly { readonly purpose: string; readonly sealed: string }[],
  ): Promise<readonly string[]>
  /**
   * What {@link SubjectKeys.unseal} does, and with the same look at the key what seals further texts: for a moment
   * only, since what it holds would outlive an erasure.
   *
   * @throws ServiceError `account_unknown` where the subject was erased
   */
  open(
    subject: Subject,
    texts: readonly { readonly purpose: string; readonly sealed: string }[],
  ): Promise<OpenedTexts>
  /** Whether the subject has a key, so that what is sealed can be opened. */
  has(subject: Subject): Promise<boolean>
  /** Forgets a subject, for good; doing it again does nothing. */
  erase(subject: Subject): Promise<void>
}

/** What the key that wraps the keys of all subjects is derived for. */
export const SUBJECT_KEYS_PURPOSE = 'subject keys'

const KEY_BYTES = 32
const nameOf = ({ accountId, generation }: Subject): string => `${accountId}.${generation}`
const keyContext = (subject: Subject): string => `key of ${nameOf(subject)}`
const emailContext = (subject: Subject): string => `e-mail of ${nameOf(subject)}`
/** Begins unlike the other two, whatever the purpose. */
const textContext = (subject: Subject, purpose: string): string => `text of ${nameOf(subject)}: ${purpose}`

/** Keys are not kept in memory, where they would outlive their erasure. */
export function createSubjectKeys({ store, wrappingKey, random, newId }: SubjectKeysOptions): SubjectKeys {
  const streamOf = ({ accountId, generation }: Subject): string => subjectStream(accountId, generation)

  async function find(subject: Subject): Promise<Uint8Array | undefined> {
    for await (const recorded of store.read(streamOf(subject), { limit: 1 })) {
      const event = decodeEvent(recorded)
      if (event.type !== 'SubjectKeyCreated') {
        throw new ServiceError('event_unreadable', {
          message: `The stream ${recorded.stream} begins with a ${recorded.type}.`,
        })
      }
      return unseal(event.data.wrappedKey, { key: wrappingKey, context: keyContext(subject) })
    }
    return undefined
  }

  async function create(subject: Subject, origin: Origin): Promise<Uint8Array> {
    const wrapped = seal(random(KEY_BYTES), { key: wrappingKey, context: keyContext(subject) }, random)
    const event = newEvent(SubjectKeyCreated, {
      id: newId(),
      data: { ...subject, wrappedKey: wrapped },
      meta: { ...origin },
    })
    try {
      await store.append(streamOf(subject), [event], { expected: 'no-stream' })
    } catch (error) {
      // Somebody else was as quick, or it is ours and only its answer was lost: what is there counts.
      if (!isServiceError(error, 'revision_conflict') && !isServiceError(error, 'append_unknown')) throw error
    }
    const key = await find(subject)
    if (key !== undefined) return key
    throw new ServiceError('store_unavailable', {
      message: `the key of account ${subject.accountId} was not recorded; try again`,
    })
  }

  async function requireKey(subject: Subject): Promise<Uint8Array> {
    const key = await find(subject)
    if (key !== undefined) return key
    throw new ServiceError('account_unknown', { message: 'The account was erased.' })
  }

  async function open(
    subject: Subject,
    texts: readonly { readonly purpose: string; readonly sealed: string }[],
  ): Promise<OpenedTexts> {
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
    async sealEmail(subject, email, origin) {
      const key = (await find(subject)) ?? (await create(subject, origin))
      return seal(Buffer.from(email), { key, context: emailContext(subject) }, random)
    },
    async unsealEmail(subject, sealed) {
      const key = await requireKey(subject)
      return Buffer.from(unseal(sealed, { key, context: emailContext(subject) })).toString('utf8')
    },
    async seal(subject, purpose, text, origin) {
      const key = (await find(subject)) ?? (await create(subject, origin))
      return seal(Buffer.from(text), { key, context: textContext(subject, purpose) }, random)
    },
    unseal: async (subject, texts) => (await open(subject, texts)).texts,
    open,
    async has(subject) {
      let count = 0
      for await (const { revision } of store.read(streamOf(subject), { limit: 1 })) count += revision + 1
      return count > 0
    },
    erase: (subject) => store.erase(streamOf(subject)),
  }
}
