import { ServiceError } from '../../contracts/errors.ts'
import type { Origin } from '../../contracts/event.ts'
import type { Tier } from '../../contracts/plans.ts'
import { type AccountDeps, accountIdOf, makeKey, recordOf, withKeyNames } from './account-deps.ts'
import type { AccountIndex } from './account-index.ts'
import type { AccountState } from './account-state.ts'
import { normaliseEmail } from './email.ts'
import { entitlementOf } from './identify.ts'

/** The account of a new key: an e-mail address, the id of an existing account, or neither for a new one. */
export interface AccountChoice {
  readonly email?: string | undefined
  readonly accountId?: string | undefined
}

export type OperatorAccounts = ReturnType<typeof createOperatorAccounts>

/**
 * The operator's commands on accounts.
 *
 * @param parts of `createAccounts`
 */
export function createOperatorAccounts(deps: AccountDeps) {
  const { log, subjectKeys, identifier, index, idOf, newId, now } = deps

  async function requireIndex(): Promise<AccountIndex> {
    await identifier.settled()
    if (index?.position() !== undefined) return index
    throw new ServiceError('key_unverifiable', {
      message: 'The read model of accounts does not follow the log at the moment.',
    })
  }

  /** The address sealed for an account that is to be opened; null where there is none to seal. */
  const sealFor = async (
    accountId: string,
    email: string | undefined,
    state: AccountState,
    origin: Origin,
  ) =>
    email === undefined || state.isOpen
      ? null
      : await subjectKeys.sealEmail({ accountId, generation: state.generation }, email, origin)

  return {
    /** For the operator: issues a key, to an account that is opened for it where need be. */
    async createKey(
      { email, accountId: known }: AccountChoice,
      { label, tier }: { readonly label: string; readonly tier?: Tier | undefined },
      origin: Origin,
    ) {
      if (email !== undefined && known !== undefined) {
        throw new ServiceError('invalid_request', { message: 'email, account_id: give one of the two' })
      }
      const address = email === undefined ? undefined : normaliseEmail(email)
      const accountId = known ?? (address === undefined ? newId() : accountIdOf(idOf, address))
      const issued = makeKey(deps, label)
      const create = (): Promise<unknown> =>
        log.execute(accountId, origin, async (state) => {
          const { generation, isOpen } = state
          const subject = isOpen || known === undefined ? { accountId, generation } : undefined
          return [
            ...(known === undefined
              ? [{ kind: 'Open', sealedEmail: await sealFor(accountId, address, state, origin) } as const]
              : []),
            ...(tier === undefined
              ? []
              : [{ kind: 'StartPlan', tier, source: 'operator', reference: null, now: now() } as const]),
            { kind: 'IssueKey', key: await recordOf(deps, subject, issued, origin) },
          ]
        })
      await withKeyNames(deps, accountId, create)
      await identifier.settled()
      const { plans } = await log.load(accountId)
      return { ...issued, accountId, tier: entitlementOf(plans, now()).tier }
    },
    /** The account that a key belongs to. @throws ServiceError `not_found`, `key_unverifiable` */
    async accountOfKey(keyId: string) {
      const place = (await requireIndex()).keyById(keyId)
      if (place !== undefined) return place.accountId
      throw new ServiceError('not_found', { message: `There is no key ${keyId} that applies.` })
    },
    /** Ids of accounts that are open, in order. @throws ServiceError `key_unverifiable` */
    async list({ after, limit }: { readonly after?: string | undefined; readonly limit: number }) {
      const ids: string[] = []
      for (const rows of (await requireIndex()).accountPages(after)) {
        ids.push(...rows.filter(({ state }) => state === 'open').map(({ accountId }) => accountId))
        if (ids.length >= limit) break
      }
      return ids.slice(0, limit)
    },
  }
}
