export type { IssuedKey, OpenedKey } from './account-deps.ts'
export { createAccountIndex } from './account-index.ts'
export type { Plan } from './account-state.ts'
export { type Accounts, type AccountView, createAccounts } from './accounts.ts'
export { type AttemptLimiter, createAttemptLimiter } from './attempt-limiter.ts'
export { ERASED_SUBJECTS_FILE, keepErasedSubjects, rememberErased, subjectsIn } from './erased-subjects.ts'
export type { Identity } from './identify.ts'
export { type Mailer } from './mail/mailer.ts'
export { createOperatorMailer } from './mail/operator-mailer.ts'
export { createSmtpMailer } from './mail/smtp-mailer.ts'
export type { Payer } from './quota/balance.ts'
export { createDebitIndex } from './quota/debit-index.ts'
export type { Debit, Debited } from './quota/plan-event.ts'
export { quotaBlock } from './quota/quota-block.ts'
export { createQuotaLedger, type QuotaLedger } from './quota/quota-ledger.ts'
export { dayOf, freeWindow, planWindow } from './quota/quota-window.ts'
export { createSiteAllowance } from './quota/site-allowance.ts'
export {
  type UsageQuery,
  type UsageReportOptions,
  type UsageSource,
  usageReport,
} from './quota/usage-report.ts'
export type { DebitIndex } from './quota/used-keys.ts'
export { SUBJECT_KEYS_PURPOSE, type WrappingKeys } from './subject-keys.ts'
export { createSubscriberAccounts } from './subscriber-accounts.ts'
