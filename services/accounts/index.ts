export { type AccountIndex, createAccountIndex } from './account-index.ts'
export type { Origin } from './account-log.ts'
export type { IssuedKey } from './account-parts.ts'
export type { AccountKey, Plan, SubscriptionSlot } from './account-state.ts'
export { type Accounts, type AccountsOptions, type AccountView, createAccounts } from './accounts.ts'
export { type AttemptLimiter, type AttemptLimiterOptions, createAttemptLimiter } from './attempt-limiter.ts'
export type { Identity } from './identify.ts'
export { type Mail, MailError, type Mailer } from './mail/mailer.ts'
export { createOperatorMailer } from './mail/operator-mailer.ts'
export { createSmtpMailer, type SmtpMailerOptions } from './mail/smtp-mailer.ts'
export type { Balance, Payer } from './quota/balance.ts'
export { createDebitIndex } from './quota/debit-index.ts'
export type { Debit, Debited } from './quota/plan-event.ts'
export { quotaBlock } from './quota/quota-block.ts'
export { createQuotaLedger, type QuotaLedger, type QuotaLedgerOptions } from './quota/quota-ledger.ts'
export { dayOf, freeWindow, planWindow } from './quota/quota-window.ts'
export { createSiteAllowance, type SiteAllowanceOptions } from './quota/site-allowance.ts'
export {
  type UsageQuery,
  type UsageReportOptions,
  type UsageSource,
  usageReport,
} from './quota/usage-report.ts'
export type { DebitIndex } from './quota/used-keys.ts'
export type { Subject } from './subject-keys.ts'
export {
  createSubscriberAccounts,
  type SubscriberAccounts,
  type SubscriberAccountsOptions,
} from './subscriber-accounts.ts'
