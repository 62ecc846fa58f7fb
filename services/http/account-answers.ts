import type {
  AccountAnswer,
  KeyAnswerRow,
  SessionsAnswer,
  SignInAnswer,
} from '../../contracts/account-answers.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import type { Tier } from '../../contracts/plans.ts'
import type { QuotaBlock } from '../../contracts/service-block.ts'
import type { PlanPeriod } from '../../projections/index.ts'
import type { AccountView, IssuedKey, OpenedKey, SessionView } from '../accounts/index.ts'

export const toKeyRow = ({ keyId, hint, label, issuedAt }: OpenedKey): KeyAnswerRow => ({
  key_id: keyId,
  hint,
  label,
  created_at: isoTime(issuedAt),
})

/** @param ownId of the session that asks, where one does */
export const toSessionRow = (
  { sessionId, begunAt, seenAt, endsAt }: SessionView,
  ownId: string,
): SessionsAnswer['sessions'][number] => ({
  session_id: sessionId,
  begun_at: isoTime(begunAt),
  seen_at: isoTime(seenAt),
  ends_at: isoTime(endsAt),
  is_own: sessionId === ownId,
})

/** A key in the answer that shows it. */
export const toIssuedKey = ({ key, keyId, hint, label }: IssuedKey) => ({ key, key_id: keyId, hint, label })

export const toSignInAnswer = (
  issued: IssuedKey & { readonly accountId: string; readonly tier: Tier },
): SignInAnswer => ({ ...toIssuedKey(issued), account_id: issued.accountId, tier: issued.tier })

export const toAccountAnswer = (view: AccountView, quota: QuotaBlock): AccountAnswer => ({
  account_id: view.accountId,
  email: view.email,
  tier: view.tier,
  opened_at: isoTime(view.openedAt),
  plan: view.plan === undefined ? null : toPeriod(view.plan),
  next_plans: view.nextPlans.map(toPeriod),
  keys: view.keys.map(toKeyRow),
  quota,
})

const toPeriod = ({ tier, from, to }: PlanPeriod) => ({ tier, from: isoTime(from), to: isoTime(to) })
