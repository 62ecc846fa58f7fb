import type { Tier } from '../../contracts/domain/plans.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { Origin } from '../../contracts/infra/event.ts'
import { LIMITS } from '../../contracts/limits.ts'
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

  /** Ids of accounts that are open, in order. */
  async function list({ after, limit }: { readonly after?: string | undefined; readonly limit: number }) {
    const ids: string[] = []
    for (const rows of (await requireIndex()).accountPages(after)) {
      ids.push(...rows.filter(({ state }) => state === 'open').map(({ accountId }) => accountId))
      if (ids.length >= limit) break
    }
    return ids.slice(0, limit)
  }

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
    /** @throws ServiceError `key_unverifiable` */
    list,
    endBefore: (before: number, after: string | undefined, origin: Origin) =>
      endBefore(deps, list, { before, after }, origin),
  }
}

/** Counts of one page of accounts, and the account to go on after. */
interface EndedPage {
  readonly keys: number
  readonly programs: number
  readonly next: string | undefined
}

/**
 * Ends what was issued before an instant, in a page of accounts: keys, sessions and programs. It can be asked again.
 *
 * @param page `before` in Unix milliseconds
 * @throws ServiceError `key_unverifiable`; of the store
 */
async function endBefore(
  { log, identifier }: AccountDeps,
  list: (page: { readonly after?: string | undefined; readonly limit: number }) => Promise<readonly string[]>,
  { before, after }: { readonly before: number; readonly after: string | undefined },
  origin: Origin,
): Promise<EndedPage> {
  const limit = LIMITS.accountRows
  const reason = `issued before an instant of ${origin.actor}`
  const ids = await list({ after, limit })
  const counts = { keys: 0, programs: 0 }
  for (const accountId of ids) {
    const { facts } = await log.execute(accountId, origin, () => [{ kind: 'EndBefore', before, reason }])
    counts.keys += facts.filter(({ type }) => type === 'KeyRevoked').length
    counts.programs += facts.filter(({ type }) => type === 'AppEnded').length
  }
  await identifier.settled()
  return { ...counts, next: ids.length < limit ? undefined : ids.at(-1) }
}
