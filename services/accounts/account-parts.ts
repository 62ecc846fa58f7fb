import type { FactId } from '../platform/ids/fact-id.ts'
import type { AccountIndex } from './account-index.ts'
import type { AccountLog } from './account-log.ts'
import { createApiKey, hashApiKey, hintOf } from './api-key.ts'
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
export interface AccountParts {
  readonly log: AccountLog
  readonly subjectKeys: SubjectKeys
  readonly identifier: Identifier
  /** Undefined where this process keeps no read models. */
  readonly index: AccountIndex | undefined
  readonly idOf: FactId
  readonly newId: () => string
  /** Unpredictable bytes. */
  readonly random: (bytes: number) => Uint8Array
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number
}

/** Makes a key, and what is recorded of it. */
export function makeKey(
  { random, newId }: Pick<AccountParts, 'random' | 'newId'>,
  label: string,
): { readonly issued: IssuedKey; readonly record: NewKey } {
  const key = createApiKey(random)
  const [keyId, hint] = [newId(), hintOf(key)]
  return { issued: { key, keyId, hint, label }, record: { keyId, hint, label, keyHash: hashApiKey(key) } }
}

/** Always the same for an address in its one spelling, and not to be guessed without the secret of the store. */
export const accountIdOf = (idOf: FactId, email: string): string => idOf('account', email)
