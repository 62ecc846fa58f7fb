import type { Scope } from '../../../contracts/domain/oauth.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import type { AccountDeps } from '../account-deps.ts'
import type { SubjectKeys } from '../subject-keys.ts'
import { liveGrants } from './app-state.ts'

/** A program, as the owner of the account sees it. Times are Unix milliseconds. */
export interface AppView {
  readonly id: string
  readonly name: string
  readonly clientId: string
  readonly redirectHost: string
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  readonly expiresAt: number
}

const purposeOf = (id: string): string => `program ${id}`

/** Seals what a program is called, with what else is personal of an account. @throws ServiceError `account_unknown` */
export function sealFor(
  { subjectKeys }: { readonly subjectKeys: SubjectKeys },
  accountId: string,
  generation: number,
  id: string,
  text: string,
  origin: Origin,
): Promise<string> {
  return subjectKeys.seal({ accountId, generation }, purposeOf(id), text, origin)
}

/** Lists and ends the programs of an account. */
export function createAppList({ log, subjectKeys, identifier, now }: AccountDeps) {
  return {
    /** Programs of an account, oldest first. @throws ServiceError `account_unknown` */
    async apps(accountId: string): Promise<AppView[]> {
      const { isOpen, generation, apps } = await log.load(accountId)
      if (!isOpen) throw new ServiceError('account_unknown')
      const grants = liveGrants(apps, now()).filter(({ refreshHash }) => refreshHash !== null)
      const texts = grants.map(({ grantId, app }) => ({ purpose: purposeOf(grantId), sealed: app }))
      const opened = grants.length === 0 ? [] : await subjectKeys.unseal({ accountId, generation }, texts)
      return grants.map(({ grantId: id, scopes, grantedAt: createdAt, expiresAt }, at) => {
        const about = JSON.parse(opened[at] ?? '') as Pick<AppView, 'clientId' | 'name' | 'redirectHost'>
        return { ...about, id, scopes, createdAt, expiresAt }
      })
    },
    async end(accountId: string, id: string, reason: string, origin: Origin) {
      await log.execute(accountId, origin, ({ isOpen }) => {
        if (!isOpen) throw new ServiceError('account_unknown')
        return [{ kind: 'EndApp', grantId: id, reason }]
      })
      await identifier.settled()
    },
  }
}
