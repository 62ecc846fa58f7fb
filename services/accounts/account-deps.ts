import type { KeyLabel } from '../../contracts/account-events.ts'
import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { Origin } from '../../contracts/event.ts'
import type { Subject } from '../../contracts/owner-accounts.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { FactId } from '../runtime/ids/fact-id.ts'
import type { AccountIndex } from './account-index.ts'
import type { AccountLog } from './account-log.ts'
import type { AccountKey } from './account-state.ts'
import { createApiKey, hashOf, hintOf } from './credentials.ts'
import type { NewKey } from './decide-account.ts'
import type { Identifier } from './identify.ts'
import type { SubjectKeys } from './subject-keys.ts'

/** A key, the one time that it is told. */
export interface IssuedKey {
  readonly key: string
  readonly keyId: string
  readonly hint: string
  readonly label: string
}

/** What the operations on accounts are made of. */
export interface AccountDeps extends Pick<Clock, 'now'> {
  readonly log: AccountLog
  readonly subjectKeys: SubjectKeys
  readonly identifier: Identifier
  /** Undefined where this process keeps no read models. */
  readonly index: AccountIndex | undefined
  readonly idOf: FactId
  readonly newId: () => string
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array
}

export function makeKey({ random, newId }: Pick<AccountDeps, 'random' | 'newId'>, label: string): IssuedKey {
  const key = createApiKey(random)
  return { key, keyId: newId(), hint: hintOf(key), label }
}

/** What is recorded of a key. Its label is sealed with what else is personal of the account. */
export async function recordOf(
  { subjectKeys }: Pick<AccountDeps, 'subjectKeys'>,
  subject: Subject,
  { key, keyId, hint, label: text }: IssuedKey,
  origin: Origin,
): Promise<NewKey> {
  const label: KeyLabel =
    text === '' ? { text } : { sealed: await subjectKeys.seal(subject, labelPurpose(keyId), text, origin) }
  return { keyId, hint, label, keyHash: hashOf(key) }
}

/** A key that applies, as its owner sees it. */
export interface OpenedKey extends Omit<AccountKey, 'label'> {
  readonly label: string
}

/** @throws ServiceError `account_unknown` where the account was erased since */
export async function openLabels(
  { subjectKeys }: Pick<AccountDeps, 'subjectKeys'>,
  subject: Subject,
  keys: readonly AccountKey[],
): Promise<readonly OpenedKey[]> {
  const sealed = keys.flatMap(({ keyId, label }) =>
    'sealed' in label ? [{ purpose: labelPurpose(keyId), sealed: label.sealed }] : [],
  )
  const opened = (sealed.length === 0 ? [] : await subjectKeys.unseal(subject, sealed)).values()
  return keys.map((key) => ({
    ...key,
    label: 'text' in key.label ? key.label.text : (opened.next().value ?? ''),
  }))
}

const labelPurpose = (keyId: string): string => `label of key ${keyId}`

/**
 * Does what may be refused because there are as many keys as there may be: whoever is to choose one to revoke is told
 * what they are called.
 *
 * @throws what `work` throws
 */
export async function namingKeys<Result>(
  deps: Pick<AccountDeps, 'log' | 'subjectKeys'>,
  accountId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isServiceError(error, 'too_many_keys')) throw error
    const { generation, keys } = await deps.log.load(accountId)
    const named = await openLabels(deps, { accountId, generation }, keys)
    const rows = named.map(({ keyId, hint, label }) => ({ key_id: keyId, hint, label }))
    throw new ServiceError('too_many_keys', {
      message: error.message,
      details: { ...error.details, keys: rows },
      cause: error,
    })
  }
}

/** Always the same for an address in its one spelling, and not to be guessed without the secret of the store. */
export const accountIdOf = (idOf: FactId, email: string): string => idOf('account', email)
