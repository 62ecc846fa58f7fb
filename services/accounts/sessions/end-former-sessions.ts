import { isServiceError, reasonOf } from '../../../contracts/errors.ts'
import { accountStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../log/event-store.ts'
import { type AccountDeps, openLabels } from '../account-deps.ts'
import { type AccountIndex, untilFollowing } from '../account-index.ts'
import type { ResealOptions } from '../reseal-all.ts'

interface EndFormerSessionsOptions
  extends Omit<AccountDeps, 'now'>,
    Pick<ResealOptions, 'sleep' | 'signal' | 'report'> {
  readonly store: Pick<EventStore, 'read'>
}

/** How former releases marked a session, which was a key: who appended it, and what it was called. */
const FORMER = { actor: 'sign-in', label: 'browser session' } as const
const AFTER_TROUBLE_MS = 600_000
const ORIGIN = { correlationId: 'sessions of a former release', actor: 'start' }

/**
 * Revokes keys that were sessions of browsers in a former release: they never ended, and took the room of keys. Their
 * browsers sign in again. Once for each start.
 */
export async function endFormerSessions(options: EndFormerSessionsOptions): Promise<void> {
  const { index, sleep, signal } = options
  if (index === undefined) return
  await untilFollowing(index, sleep, signal)
  while (!signal.aborted && !(await endAll(options, index))) await sleep(AFTER_TROUBLE_MS, signal)
}

/** Whether every account was looked at; what stands in the way of one is reported, and holds no other up. */
async function endAll(options: EndFormerSessionsOptions, index: AccountIndex): Promise<boolean> {
  const { signal, report } = options
  let isWhole = true
  for (const page of index.accountPages()) {
    for (const { accountId, keys } of page) {
      if (signal.aborted || keys.length === 0) continue
      try {
        await endOf(options, accountId)
      } catch (error) {
        isWhole = false
        if (signal.aborted) continue
        report('ending sessions of a former release has to wait', { accountId, reason: reasonOf(error) })
      }
    }
  }
  return isWhole
}

async function endOf(options: EndFormerSessionsOptions, accountId: string): Promise<void> {
  const { log, store } = options
  const atSignIn = new Set<unknown>()
  for await (const { type, data, meta } of store.read(accountStream(accountId))) {
    if (type === 'KeyIssued' && meta.actor === FORMER.actor) atSignIn.add(data['keyId'])
  }
  if (atSignIn.size === 0) return
  const { generation, keys } = await log.load(accountId)
  const candidates = keys.filter(({ keyId }) => atSignIn.has(keyId))
  const sessions = (await openedLabels(options, { accountId, generation }, candidates)).filter(
    ({ label }) => label === FORMER.label,
  )
  if (sessions.length === 0) return
  await log.execute(accountId, ORIGIN, (state) =>
    sessions
      .filter(({ keyId }) => state.keys.some((key) => key.keyId === keyId))
      .map(({ keyId }) => ({ kind: 'RevokeKey', keyId, reason: 'a session of a former release' }) as const),
  )
}

/** None of an account that is erased in this moment. */
async function openedLabels(...[deps, subject, keys]: Parameters<typeof openLabels>) {
  try {
    return await openLabels(deps, subject, keys)
  } catch (error) {
    if (isServiceError(error, 'account_unknown')) return []
    throw error
  }
}
