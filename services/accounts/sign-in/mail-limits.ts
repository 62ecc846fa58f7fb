import { isServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { Cache, Count } from '../../runtime/cache/cache.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'

/** Who would be sent a sign-in mail, and because of whom. */
export interface WantedMail {
  /** In its one spelling. */
  readonly email: string
  /** What the caller is for limits. */
  readonly client: string
  /** Whether the address has an account that is open. */
  readonly hasAccount: boolean
}

/** Limits sign-in mails: no mailbox is flooded, and none is kept from being written to. */
export interface MailLimits {
  /** Counts a mail, and says whether it may be sent. */
  admits(mail: WantedMail): Promise<boolean>
}

export interface MailLimitsOptions {
  /** Where processes count together. */
  readonly cache: Pick<Cache, 'increment'>
  /** What this process counts in while that is away. */
  readonly fallback: Pick<Cache, 'increment'>
  readonly idOf: FactId
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
  /** Counts mails, sent and held back, for alarms. */
  readonly onMail: (outcome: 'sent' | 'held') => void
}

/**
 * The mailbox of an address: what stands behind a plus sign is the owner's way to sort mail, and one mailbox has as
 * many such addresses as somebody thinks up.
 *
 * @example mailboxOf('ada+news@example.com') === 'ada@example.com'
 */
export const mailboxOf = (email: string): string => email.replace(/\+[^@]*(?=@)/, '')

/**
 * Three counts, the narrowest first, so that what one refuses uses up nothing of the next: mails to a mailbox for one
 * client; mails to a mailbox, in a window half as long as a code is good for, so that whoever is sent none has a good
 * one; and mails in an hour. Past the latter, which is an alarm, those without an account wait.
 */
export function createMailLimits(options: MailLimitsOptions): MailLimits {
  const { cache, fallback, idOf, report, onMail } = options

  async function count(name: string, subject: string, ttlMs: number): Promise<Count> {
    const key = `${name}:${idOf(name, subject)}`
    try {
      return await cache.increment(key, { ttlMs })
    } catch (error) {
      if (!isServiceError(error, 'cache_unavailable')) throw error
      return fallback.increment(key, { ttlMs })
    }
  }

  async function isWithin(name: string, subject: string, ttlMs: number, limit: number): Promise<boolean> {
    return (await count(name, subject, ttlMs)).count <= limit
  }

  async function isWithinHour(hasAccount: boolean): Promise<boolean> {
    const { count: sent } = await count('sign-in-mails', 'all', HOUR_MS)
    if (sent === LIMITS.signInMailsPerHour + 1) {
      report('sign-in mails are held back', { per_hour: String(LIMITS.signInMailsPerHour) })
    }
    return sent <= (hasAccount ? 2 : 1) * LIMITS.signInMailsPerHour
  }

  async function isAdmitted({ email, client, hasAccount }: WantedMail): Promise<boolean> {
    const mailbox = mailboxOf(email)
    return (
      (await isWithin('sign-in-pair', `${mailbox} ${client}`, HOUR_MS, LIMITS.signInsPerMailboxAndAddress)) &&
      (await isWithin('sign-in-mailbox', mailbox, LIMITS.signInMailboxMs, LIMITS.signInsPerMailbox)) &&
      (await isWithinHour(hasAccount))
    )
  }

  return {
    async admits(mail) {
      const isAllowed = await isAdmitted(mail)
      onMail(isAllowed ? 'sent' : 'held')
      return isAllowed
    },
  }
}
