import { LIMITS } from '../../contracts/limits.ts'
import type { AccountIndex } from './account-index.ts'
import type { SubjectKeys } from './subject-keys.ts'

export interface ResealOptions {
  readonly subjectKeys: Pick<SubjectKeys, 'reseal'>
  /** Undefined where this process keeps no read models; another one does it then. */
  readonly index: AccountIndex | undefined
  /** What the log says of an account. */
  readonly load: (accountId: string) => Promise<{ readonly isOpen: boolean; readonly generation: number }>
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}

const FOLLOW_MS = 250
/** An account may have got its key from a process that did not use the new one yet. */
const AGAIN_MS = 600_000
const AFTER_TROUBLE_MS = 5_000
const ORIGIN = { correlationId: 'sealing key replaced', actor: 'start' }

/** Seals the keys of all accounts under the key that is used now, again and again until the signal. */
export async function resealAll(options: ResealOptions): Promise<void> {
  const { index, sleep, signal, report } = options
  if (index === undefined) return
  while (index.position() === undefined && !signal.aborted) await sleep(FOLLOW_MS, signal)
  while (!signal.aborted) {
    let wait = AGAIN_MS
    try {
      const count = await resealOnce(options, index)
      if (count > 0) report('keys of accounts are sealed under the newest key', { accounts: String(count) })
    } catch (error) {
      wait = AFTER_TROUBLE_MS
      const reason = error instanceof Error ? error.message : String(error)
      if (!signal.aborted) report('sealing keys anew has to wait', { reason })
    }
    await sleep(wait, signal)
  }
}

async function resealOnce(
  { subjectKeys, load, signal }: ResealOptions,
  index: AccountIndex,
): Promise<number> {
  let count = 0
  for (let after: string | undefined; ; ) {
    const page = index.accounts({ after, limit: LIMITS.accountRows })
    for (const { accountId } of page) {
      if (signal.aborted) return count
      const { isOpen, generation } = await load(accountId)
      if (!isOpen) continue
      const wasErased = async (): Promise<boolean> => (await load(accountId)).generation > generation
      if (await subjectKeys.reseal({ accountId, generation }, wasErased, ORIGIN)) count += 1
    }
    if (page.length < LIMITS.accountRows) return count
    after = page.at(-1)?.accountId
  }
}
