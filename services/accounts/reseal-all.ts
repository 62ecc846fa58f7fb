import { reasonOf } from '../../contracts/errors/errors.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { type AccountIndex, untilFollowing } from './account-index.ts'
import type { SubjectKeys } from './subject-keys.ts'

export interface ResealOptions extends Pick<Clock, 'sleep'> {
  readonly subjectKeys: Pick<SubjectKeys, 'reseal'>
  /** Undefined where this process keeps no read models; another one does it then. */
  readonly index: AccountIndex | undefined
  /** The state of an account in the log. */
  readonly load: (accountId: string) => Promise<{ readonly isOpen: boolean; readonly generation: number }>
  readonly signal: AbortSignal
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

/** An account may have got its key from a process that did not use the new one yet. */
const AGAIN_MS = 600_000
const AFTER_TROUBLE_MS = 5_000
const ORIGIN = { correlationId: 'sealing key replaced', actor: 'start' }

/** Seals the keys of all accounts under the key that is used now, again and again until the signal. */
export async function resealAll(options: ResealOptions): Promise<void> {
  const { index, sleep, signal, report } = options
  if (index === undefined) return
  await untilFollowing(index, sleep, signal)
  while (!signal.aborted) {
    let wait = AGAIN_MS
    try {
      const count = await resealOnce(options, index)
      if (count > 0) report('keys of accounts are sealed under the newest key', { accounts: String(count) })
    } catch (error) {
      wait = AFTER_TROUBLE_MS
      if (!signal.aborted) report('sealing keys anew has to wait', { reason: reasonOf(error) })
    }
    await sleep(wait, signal)
  }
}

async function resealOnce(
  { subjectKeys, load, signal }: ResealOptions,
  index: AccountIndex,
): Promise<number> {
  let count = 0
  for (const page of index.accountPages()) {
    for (const { accountId } of page) {
      if (signal.aborted) return count
      const { isOpen, generation } = await load(accountId)
      if (!isOpen) continue
      const wasErased = async (): Promise<boolean> => (await load(accountId)).generation > generation
      if (await subjectKeys.reseal({ accountId, generation }, wasErased, ORIGIN)) count += 1
    }
  }
  return count
}
