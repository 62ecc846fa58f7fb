import type { Subject } from '../../contracts/domain/owner-accounts.ts'
import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { KeyLabel } from '../../contracts/events/account-events.ts'
import type { Origin } from '../../contracts/infra/event.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { FactId } from '../runtime/ids/fact-id.ts'
import type { AccountIndex } from './account-index.ts'
import type { AccountLog } from './account-log.ts'
import type { AccountKey } from './account-state.ts'
import { createApiKey, hashOf, hintOf } from './credentials.ts'
import type { NewKey } from './decide-account.ts'
import type { Identifier } from './identify.ts'
import type { SubjectKeys } from './subject-keys.ts'

/** A new key in clear, which is shown once. */
export interface IssuedKey {
  readonly key: string
  readonly keyId: string
  readonly hint: string
  readonly label: string
}

/** The parts that all operations on accounts share. */
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

/**
 * The record of a key, with its label sealed as personal.
 *
 * @param subject undefined where there is no account: the key will be refused, and nothing is sealed for it
 */
export async function recordOf(
  { subjectKeys }: Pick<AccountDeps, 'subjectKeys'>,
  subject: Subject | undefined,
  { key, keyId, hint, label: text }: IssuedKey,
  origin: Origin,
): Promise<NewKey> {
  const label: KeyLabel =
    text === '' || subject === undefined
      ? null
      : { sealed: await subjectKeys.seal(subject, labelPurpose(keyId), text, origin) }
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
    label === null ? [] : [{ purpose: labelPurpose(keyId), sealed: label.sealed }],
  )
  const opened = (sealed.length === 0 ? [] : await subjectKeys.unseal(subject, sealed)).values()
  return keys.map((key) => ({
    ...key,
    label: key.label === null ? '' : (opened.next().value ?? ''),
  }))
}

const labelPurpose = (keyId: string): string => `label of key ${keyId}`

/**
 * Runs `work`. To an error `limit_reached` it adds the labels of the keys, so that the owner can choose one to revoke.
 *
 * @throws the errors of `work`
 */
export async function withKeyNames<Result>(
  deps: Pick<AccountDeps, 'log' | 'subjectKeys'>,
  accountId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isServiceError(error, 'limit_reached')) throw error
    const { generation, keys } = await deps.log.load(accountId)
    const named = await openLabels(deps, { accountId, generation }, keys)
    const rows = named.map(({ keyId, hint, label }) => ({ key_id: keyId, hint, label }))
    throw new ServiceError('limit_reached', {
      message: error.message,
      details: { ...error.details, keys: rows },
      cause: error,
    })
  }
}

/** Always the same for a normalised address. Nobody can guess it without the secret of the store. */
export const accountIdOf = (idOf: FactId, email: string): string => idOf('account', email)
