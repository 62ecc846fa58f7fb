import { ServiceError } from '../../../contracts/errors.ts'
import type { Origin } from '../../../contracts/event.ts'
import type { Scope } from '../../../contracts/oauth.ts'
import type { AccountDeps } from '../account-deps.ts'
import { hashOf } from '../credentials.ts'
import type { SubjectKeys } from '../subject-keys.ts'
import { liveGrants } from './app-state.ts'
import type { Tokens } from './tokens.ts'

/** A program or a machine, as the owner of the account sees it. Times are Unix milliseconds. */
export interface AppView {
  readonly id: string
  readonly kind: 'app' | 'machine'
  readonly name: string
  readonly clientId: string
  /** Undefined for a machine. */
  readonly redirectHost: string | undefined
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  /** Undefined for a machine, which stays until it is removed. */
  readonly expiresAt: number | undefined
}

export interface NewMachine {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** JSON of public keys; null where there is a secret. */
  readonly jwks: string | null
  readonly secret: string | null
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

export type AppList = ReturnType<typeof createAppList>

/** Lists, ends and creates the programs and machines of an account. */
export function createAppList(parts: AccountDeps & { readonly tokens: Tokens }) {
  const { log, subjectKeys, identifier, tokens, newId, now } = parts
  return {
    /** Programs and machines of an account, oldest first. @throws ServiceError `account_unknown` */
    async apps(accountId: string) {
      const { isOpen, generation, apps } = await log.load(accountId)
      if (!isOpen) throw new ServiceError('account_unknown')
      const grants = liveGrants(apps.grants, now()).filter(({ refreshHash }) => refreshHash !== null)
      const texts = [
        ...grants.map(({ grantId, app }) => ({ purpose: purposeOf(grantId), sealed: app })),
        ...apps.machines.flatMap(({ machineId, label }) =>
          'sealed' in label ? [{ purpose: purposeOf(machineId), sealed: label.sealed }] : [],
        ),
      ]
      const opened = (
        texts.length === 0 ? [] : await subjectKeys.unseal({ accountId, generation }, texts)
      ).values()
      const next = (): string => opened.next().value ?? ''
      const programs = grants.map(({ grantId: id, scopes, grantedAt: createdAt, expiresAt }): AppView => {
        const about = JSON.parse(next()) as Pick<AppView, 'clientId' | 'name' | 'redirectHost'>
        return { ...about, id, kind: 'app', scopes, createdAt, expiresAt }
      })
      const machines = apps.machines.map(({ machineId: id, label, scopes, createdAt }): AppView => {
        const name = 'sealed' in label ? next() : label.text
        return { ...machineView(tokens, accountId, id), name, scopes, createdAt }
      })
      return [...programs, ...machines]
    },
    async end(accountId: string, id: string, reason: string, origin: Origin) {
      await log.execute(accountId, origin, ({ isOpen, apps }) => {
        if (!isOpen) throw new ServiceError('account_unknown')
        const isMachine = apps.machines.some(({ machineId }) => machineId === id)
        return [
          isMachine
            ? { kind: 'RemoveMachine', machineId: id, reason }
            : { kind: 'EndApp', grantId: id, reason },
        ]
      })
      await identifier.settled()
    },
    async create(accountId: string, { name, scopes, jwks, secret }: NewMachine, origin: Origin) {
      const machineId = newId()
      await log.execute(accountId, origin, async ({ isOpen, generation }) => {
        if (!isOpen) throw new ServiceError('account_unknown')
        const label =
          name === ''
            ? ({ text: '' } as const)
            : { sealed: await sealFor(parts, accountId, generation, machineId, name, origin) }
        const secretHash = secret === null ? null : hashOf(secret)
        return [{ kind: 'CreateMachine', machineId, label, secretHash, jwks, scopes }]
      })
      await identifier.settled()
      return { ...machineView(tokens, accountId, machineId), name, scopes, createdAt: now() }
    },
  }
}

const machineView = (
  tokens: Tokens,
  accountId: string,
  id: string,
): Pick<AppView, 'id' | 'kind' | 'clientId' | 'redirectHost' | 'expiresAt'> => ({
  id,
  kind: 'machine',
  clientId: tokens.owned('machine', { accountId, appId: id }),
  redirectHost: undefined,
  expiresAt: undefined,
})
